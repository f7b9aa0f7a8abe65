/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of one input that are their expressions and have no kernels but fused, for operator.c
 * alone:
 *
 *     SINGLE(prefix, name, since_version, fields, expression, types of input and output, their
 *            names, what comes out, documentation, cases ...)
 */
typedef struct is_inf_params {
    uint64_t present;
    bool detect_negative, detect_positive;
} is_inf_params;
static const tn_field is_inf_fields[] = {
    TN_FIELD(is_inf_params, detect_negative, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether minus infinity is found"),
    TN_FIELD(is_inf_params, detect_positive, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether plus infinity is found"),
};

typedef struct shrink_params {
    uint64_t present;
    float bias, lambd;
} shrink_params;
static const tn_field shrink_fields[] = {
    TN_FIELD(shrink_params, bias, TN_FIELD_F32, TN_OPTIONAL, "0",
             "how far elements are moved towards zero"),
    TN_FIELD(shrink_params, lambd, TN_FIELD_F32, TN_OPTIONAL, "0.5",
             "elements of at most this magnitude become zero"),
};

#define SINGLE(prefix, of_name, version, field_table, text, in_types, out_types, in, out, result,  \
               words, ...)                                                                         \
    static const tn_port prefix##_inputs[] = {TN_PORT(in, in_types, 0, "any tensor")};             \
    static const tn_port prefix##_outputs[] = {TN_PORT(out, out_types, 0, result)};                \
    static const char *const prefix##_cases[] = {__VA_ARGS__};                                     \
    static const tn_operator prefix##_operator = {TN_OPERATOR_BEGIN("", of_name, version, words),  \
                                                  .traits = TN_OPERATOR_ELEMENTWISE,               \
                                                  field_table,                                     \
                                                  TN_INPUTS(prefix##_inputs),                      \
                                                  TN_OUTPUTS(prefix##_outputs),                    \
                                                  .expression = text,                              \
                                                  TN_CASES(prefix##_cases)};

SINGLE(bitwise_not, "BitwiseNot", 18, TN_NO_FIELDS, "bitnot(X)", "T:integer", "T", "X", "Y",
       "the complements", "Complement of each bit.", "| X=i32[2,3,5]", "| X=u8[3]{0,7,255}",
       "| X=i64[]{-9223372036854775808}", "| X=u64[2]{18446744073709551615,1}", "| X=i8[3,0,2]",
       "| X=u16[2]{1,65535} | Y=u16[2]{65534,0}", "| X=i16[2]{-1,7} | Y=i16[2]{0,-8}")

/* log(log(1)) is minus infinity, log(log(0)) NaN, which nothing equals. */
#define IS_INF "X == -log(log(detect_positive)) || X == log(log(detect_negative))"
#define IS_INF_CASES                                                                               \
    "| X=f32[2,3,5]", "| X=f32[5]{inf,-inf,nan,0,3e38}", "| X=f64[]{-inf}", "| X=f32[3,0,2]",      \
        "detect_negative=0 | X=f64[3]{inf,-inf,1e30} | Y=bool[3]{1,0,0}",                          \
        "detect_positive=0 | X=f32[4]{inf,-inf,nan,2} | Y=bool[4]{0,1,0,0}",                       \
        "detect_positive=0 detect_negative=0 | X=f32[2]{inf,-inf} | Y=bool[2]{0,0}"
SINGLE(is_inf_10, "IsInf", 10, TN_FIELDS(is_inf_params, is_inf_fields), IS_INF, "f64|f32", "bool",
       "X", "Y", "whether elements are infinite", "Whether elements are infinite.", IS_INF_CASES)
SINGLE(is_inf_20, "IsInf", 20, TN_FIELDS(is_inf_params, is_inf_fields), IS_INF, "float", "bool",
       "X", "Y", "whether elements are infinite", "Whether elements are infinite.", IS_INF_CASES,
       "| X=f16[4]{inf,-inf,nan,65504} | Y=bool[4]{1,1,0,0}", "| X=bf16[3]{inf,1,nan}")

SINGLE(is_nan, "IsNaN", 9, TN_NO_FIELDS, "X != X", "float", "bool", "X", "Y",
       "whether elements are NaN", "Whether elements are not a number.", "| X=f32[2,3,5]",
       "| X=f32[4]{nan,inf,-inf,0} | Y=bool[4]{1,0,0,0}", "| X=f64[]{nan}", "| X=f16[3]{nan,1,inf}",
       "| X=bf16[2]{nan,1}", "| X=f32[3,0,2]")

SINGLE(shrink, "Shrink", 9, TN_FIELDS(shrink_params, shrink_fields),
       "input < -lambd ? input + bias : input > lambd ? input - bias : 0", "T:number", "T", "input",
       "output", "the elements, close to zero or zero",
       "Elements moved towards zero, those of a small magnitude set to zero.",
       "| input=f32[2,3,5,7]", "lambd=1.5 bias=1.5 | input=f32[5]{-2,-1,0,1,2}",
       "lambd=1.5 bias=1.5 | input=f64[5]{-2,-1,0,1,2} | output=f64[5]{-0.5,0,0,0,0.5}",
       "lambd=1.5 bias=0.5 | input=f16[33]", "lambd=2 bias=1 | input=i32[5]{-9,-2,0,2,7}",
       "lambd=2 bias=1 | input=u8[3]{0,2,255} | output=u8[3]{0,0,254}", "| input=f32[]",
       "| input=f32[3,0,2]")

static const tn_port not_ports[] = {TN_PORT("X", "bool", 0, "any tensor"),
                                    TN_PORT("Y", "bool", 0, "the contrary")};
static const char *const not_cases[] = {"| X=bool[2]{0,1}", "| X=bool[]{1}", "| X=bool[3,0,2]",
                                        "| X=bool[2,3,5,7]", "| X=bool[2]{0,1} | Y=bool[2]{1,0}"};
/* A loop over bytes: the expression, by blocks, takes a hundred times as long. */
static tn_status not_reference(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->outputs[0]->bytes; i++)
        y[i] = !x[i];
    return TN_OK;
}
static const tn_operator not_operator = {TN_OPERATOR_BEGIN("", "Not", 1, "Logical negation."),
                                         .traits = TN_OPERATOR_ELEMENTWISE,
                                         TN_NO_FIELDS,
                                         .port_size = sizeof(tn_port),
                                         .input_count = 1,
                                         .inputs = not_ports,
                                         .output_count = 1,
                                         .outputs = not_ports + 1,
                                         .reference = not_reference,
                                         .expression = "!X",
                                         TN_CASES(not_cases)};
