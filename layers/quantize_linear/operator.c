/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuantizeLinear: y = saturate(round(x / scale) + zero_point), halves to the even number; the
 * division is one of 32-bit floats. Of NaN: the zero point.
 */
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "kit/quantize/quantize.h"
#include "kit/quantize/quantize_kernel.h"

#include <math.h>

#define FIELD_SATURATE                                                                             \
    TN_FIELD(tn_quantize_params, saturate, TN_FIELD_BOOL, TN_OPTIONAL, "1",                        \
             "speaks of floats of 8 bits alone, which are not offered")
#define FIELD_PRECISION                                                                            \
    TN_FIELD(tn_quantize_params, precision, TN_FIELD_TYPE, TN_OPTIONAL, NULL,                      \
             "type of the division; it is one of 32-bit floats all the same")

static const tn_field quantize_linear_13_fields[] = {TN_QUANTIZE_FIELD_AXIS};
static const tn_field quantize_linear_19_fields[] = {TN_QUANTIZE_FIELD_AXIS, FIELD_SATURATE};
static const tn_field quantize_linear_21_fields[] = {TN_QUANTIZE_FIELD_AXIS, FIELD_SATURATE,
                                                     TN_QUANTIZE_FIELD_BLOCK_SIZE,
                                                     TN_QUANTIZE_FIELD_OUTPUT_DTYPE};
static const tn_field quantize_linear_23_fields[] = {
    TN_QUANTIZE_FIELD_AXIS, FIELD_SATURATE, TN_QUANTIZE_FIELD_BLOCK_SIZE,
    TN_QUANTIZE_FIELD_OUTPUT_DTYPE, FIELD_PRECISION};

static tn_status find_type(tn_call *call, tn_type *out_type) {
    const tn_quantize_params *params = call->params;
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    const tn_type asked = call->op->since_version >= 21 ? params->output_dtype : TN_NONE;
    const tn_type type = zero ? zero->type : asked != TN_NONE ? asked : TN_U8;
    if (zero && asked != TN_NONE && asked != type)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'output_dtype' is not the type of the zero point");
    if (type != TN_U8 && type != TN_I8 && type != TN_U16 && type != TN_I16)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "the output must be an integer of 8 or 16 bits");
    *out_type = type;
    return TN_OK;
}

static tn_status quantize_linear_infer(tn_call *call) {
    tn_quantize_plan plan;
    tn_type type = TN_NONE;
    TN_TRY(tn_quantize_read(call, &plan));
    TN_TRY(find_type(call, &type));
    tn_infer_set_type(call, 0, type);
    return tn_infer_copy_shape(call, 0, TN_QUANTIZE_X);
}

static double load(const tn_tensor *tensor, int64_t index) {
    return tn_element_load_f64(tensor->data, tensor->type, index);
}

static void quantize_element(const tn_call *call, int64_t at, int64_t scale_at) {
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT), *y = call->outputs[0];
    const float x = (float)load(call->inputs[TN_QUANTIZE_X], at);
    const float quotient = x / (float)load(call->inputs[TN_QUANTIZE_SCALE], scale_at);
    const double rounded = isnan(quotient) ? 0 : nearbyint((double)quotient);
    tn_element_store_f64(y->data, y->type, at, rounded + (zero ? load(zero, scale_at) : 0));
}

static tn_status quantize_linear_reference(tn_call *call) {
    return tn_quantize_compute(call, quantize_element);
}

#define INPUTS(scale_types, zero_types)                                                            \
    {                                                                                              \
        TN_PORT("x", "f32|f16|bf16|i32", 0, "any tensor"),                                         \
            TN_PORT("y_scale", scale_types, 0,                                                     \
                    "one number, one for each place along the axis, or one for each block"),       \
            TN_PORT("y_zero_point", zero_types, TN_PORT_OPTIONAL,                                  \
                    "what zero becomes, in the output's type, shaped like the scale; absent: 0"),  \
    }
static const tn_port quantize_linear_10_inputs[] = INPUTS("f32", "u8|i8");
static const tn_port quantize_linear_19_inputs[] = INPUTS("f32|f16|bf16|i32", "u8|i8|u16|i16");
static const tn_port quantize_linear_outputs[] = {
    TN_PORT("y", "u8|i8|u16|i16", 0, "the quantised tensor")};

#define CASES_10                                                                                   \
    "| x=f32[6]{0,2,3,1000,-254,-1000} y_scale=f32[]{2} y_zero_point=u8[]{128}",                   \
        "| x=f32[2,3,5,7] y_scale=f32[]{0.01} y_zero_point=i8[]{-3}",                              \
        "| x=f32[6]{0.5,1.5,2.5,-0.5,-1.5,nan} y_scale=f32[1]{1} y_zero_point=u8[1]{7}",           \
        "| x=f32[4]{0,1,300,-5} y_scale=f32[]{1}",                                                 \
        "| x=i32[3]{10,-7,1000} y_scale=f32[]{3} y_zero_point=i8[]{0}",                            \
        "| x=f32[0,3] y_scale=f32[]{1} y_zero_point=i8[]{0}",                                      \
        "| x=f32[1,64,56,56] y_scale=f32[]{0.0078} y_zero_point=u8[]{128}"
#define CASES_13                                                                                   \
    CASES_10, "| x=f32[2,3,5] y_scale=f32[3]{0.1,0.02,0.003} y_zero_point=u8[3]{84,24,196}",       \
        "axis=-1 | x=f32[4,37] y_scale=f32[37] y_zero_point=i8[37]",                               \
        "axis=0 | x=f32[3,65] y_scale=f32[3]{0.1,0.02,0.003}"
#define CASES_19 CASES_13, "| x=f16[9] y_scale=f16[]{0.01} y_zero_point=i8[]{1}"
#define CASES_21                                                                                   \
    CASES_19, "axis=1 block_size=2 | x=f32[2,5,3] y_scale=f32[2,3,3] y_zero_point=u8[2,3,3]",      \
        "| x=f32[4]{0,1,70000,-5} y_scale=f32[]{1} y_zero_point=u16[]{3}",                         \
        "output_dtype=i16 | x=f32[4]{0,1,70000,-50000} y_scale=f32[]{1}"
static const char *const quantize_linear_10_cases[] = {CASES_10};
static const char *const quantize_linear_13_cases[] = {CASES_13};
static const char *const quantize_linear_19_cases[] = {CASES_19};
static const char *const quantize_linear_21_cases[] = {CASES_21};

#define QUANTIZE(version, field_rows, input_table, case_table)                                     \
    TN_OPERATOR_VERSION(quantize_linear, "", "QuantizeLinear", version,                            \
                        "Real numbers as integers by scale and zero point.",                       \
                        TN_INPUTS(input_table), TN_OUTPUTS(quantize_linear_outputs),               \
                        TN_CASES(case_table), field_rows)
#define FIELDS(table) TN_FIELDS(tn_quantize_params, table)
QUANTIZE(10, TN_NO_FIELDS, quantize_linear_10_inputs, quantize_linear_10_cases);
QUANTIZE(13, FIELDS(quantize_linear_13_fields), quantize_linear_10_inputs,
         quantize_linear_13_cases);
QUANTIZE(19, FIELDS(quantize_linear_19_fields), quantize_linear_19_inputs,
         quantize_linear_19_cases);
QUANTIZE(21, FIELDS(quantize_linear_21_fields), quantize_linear_19_inputs,
         quantize_linear_21_cases);
QUANTIZE(23, FIELDS(quantize_linear_23_fields), quantize_linear_19_inputs,
         quantize_linear_21_cases);

static const char *const quantize_linear_combinations[] = {
    "f32, f32, u8? -> u8",
    "f32, f32, i8? -> i8",
    "f32:nhwc, f32, u8? -> u8:nhwc",
    "f32:nhwc, f32, i8? -> i8:nhwc",
};
TN_QUANTIZE_KERNELS(quantize_linear, "QuantizeLinear", quantize_linear_combinations);

TN_LAYER(quantize_linear,
         TN_OPERATORS(&quantize_linear_10, &quantize_linear_13, &quantize_linear_19,
                      &quantize_linear_21, &quantize_linear_23),
         quantize_linear_kernels);
