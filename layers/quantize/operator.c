/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuantizeLinear: y = saturate(round(x / scale) + zero_point), halves to the even number; the
 * division is one of 32-bit floats. Of NaN: the zero point. DequantizeLinear: y = (x - zero_point)
 * * scale. Floats of 8 and 4 bits are rounded without a zero point, and are meant as they are.
 */
#include "kit/math/small.h"
#include "kit/operator/layer.h"
#include "quantize/dynamic.h"
#include "quantize/quantize.h"

#include <math.h>

#define FIELD_AXIS                                                                                 \
    TN_FIELD(tn_quantize_params, axis, TN_FIELD_I64, TN_OPTIONAL, "1",                             \
             "axis along which scales differ; negative: from the end")
#define FIELD_BLOCK_SIZE                                                                           \
    TN_FIELD_RANGE(tn_quantize_params, block_size, TN_FIELD_I64, TN_OPTIONAL, "0", 0,              \
                   9223372036854775807.0,                                                          \
                   "elements along the axis that share a scale; 0: no blocks")
#define FIELD_OUTPUT_DTYPE                                                                         \
    TN_FIELD(tn_quantize_params, output_dtype, TN_FIELD_TYPE, TN_OPTIONAL, NULL,                   \
             "type of the output; absent: from the inputs")
#define FIELD_SATURATE                                                                             \
    TN_FIELD(tn_quantize_params, saturate, TN_FIELD_BOOL, TN_OPTIONAL, "1",                        \
             "floats of 8 bits: beyond the largest number comes that one, not NaN or infinity")
#define FIELD_PRECISION                                                                            \
    TN_FIELD(tn_quantize_params, precision, TN_FIELD_TYPE, TN_OPTIONAL, NULL,                      \
             "type of the division; it is one of 32-bit floats all the same")
static const tn_field axis_fields[] = {FIELD_AXIS};
static const tn_field quantize_linear_19_fields[] = {FIELD_AXIS, FIELD_SATURATE};
static const tn_field quantize_linear_21_fields[] = {FIELD_AXIS, FIELD_SATURATE, FIELD_BLOCK_SIZE,
                                                     FIELD_OUTPUT_DTYPE};
static const tn_field quantize_linear_23_fields[] = {FIELD_AXIS, FIELD_SATURATE, FIELD_BLOCK_SIZE,
                                                     FIELD_OUTPUT_DTYPE, FIELD_PRECISION};
static const tn_field dequantize_linear_21_fields[] = {FIELD_AXIS, FIELD_BLOCK_SIZE};
static const tn_field dequantize_linear_23_fields[] = {FIELD_AXIS, FIELD_BLOCK_SIZE,
                                                       FIELD_OUTPUT_DTYPE};

/* Opset 19 has floats of 8 bits, 21 integers of 4, 23 floats of 4 and 25 integers of 2. */
static bool is_offered(tn_type type, uint32_t version) {
    if (type == TN_U8 || type == TN_I8) return true;
    if (type == TN_U16 || type == TN_I16 || type == TN_I4 || type == TN_U4) return version >= 21;
    if (type >= TN_F8E4M3 && type <= TN_F8E5M2FNUZ) return version >= 19;
    return (type == TN_F4E2M1 || type == TN_I2 || type == TN_U2) && version >= 23;
}

static tn_status find_type(tn_call *call, tn_type *out_type) {
    const tn_quantize_params *params = call->params;
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    const tn_type asked = call->op->since_version >= 21 ? params->output_dtype : TN_NONE;
    const tn_type type = zero ? zero->type : asked != TN_NONE ? asked : TN_U8;
    if (zero && asked != TN_NONE && asked != type)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'output_dtype' is not the type of the zero point");
    if (!is_offered(type, call->op->since_version))
        return call->host->fail(call, TN_ERROR_TYPE,
                                "the output must be an integer of 8 bits, from opset 19 on also a "
                                "float of 8, from 21 on an integer of 4 or 16 bits, from 23 on "
                                "f4e2m1, i2 or u2");
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

/* An element of a quantised tensor, as a number. */
static double stored(const tn_tensor *tensor, int64_t at) {
    return tn_small_is(tensor->type) ? tn_small_load(tensor->data, tensor->type, at)
                                     : tn_element_f64(tensor, at);
}

static void quantize_element(const tn_call *call, int64_t at, int64_t scale_at) {
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT), *y = call->outputs[0];
    const float x = (float)tn_element_f64(call->inputs[TN_QUANTIZE_X], at);
    const float quotient = x / (float)tn_element_f64(call->inputs[TN_QUANTIZE_SCALE], scale_at);
    if (tn_small_is_float(y->type)) {
        const tn_quantize_params *params = call->params;
        tn_small_store_float(y->data, y->type, at, (double)quotient,
                             (tn_small_mode){params->saturate, TN_SMALL_UP});
        return;
    }
    const double rounded = isnan(quotient) ? 0 : nearbyint((double)quotient);
    const double value = rounded + (zero ? stored(zero, scale_at) : 0);
    if (!tn_small_is(y->type)) {
        tn_element_set_f64(y, at, value);
        return;
    }
    int64_t low, high;
    tn_small_range(y->type, &low, &high);
    tn_small_store_integer(y->data, y->type, at,
                           (int64_t)fmin(fmax(value, (double)low), (double)high));
}

static tn_status quantize_linear_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    if (tn_small_is(y->type) && y->bytes > 0) memset(y->data, 0, (size_t)y->bytes);
    return tn_quantize_compute(call, quantize_element);
}

static tn_status dequantize_linear_infer(tn_call *call) {
    const tn_quantize_params *params = call->params;
    tn_quantize_plan plan;
    TN_TRY(tn_quantize_read(call, &plan));
    const tn_type asked = call->op->since_version >= 23 ? params->output_dtype : TN_NONE;
    const tn_type type = asked != TN_NONE ? asked : call->inputs[TN_QUANTIZE_SCALE]->type;
    if (type != TN_F32 && type != TN_F16 && type != TN_BF16)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'output_dtype' must be a float of 16 or 32 bits");
    tn_infer_set_type(call, 0, type);
    return tn_infer_copy_shape(call, 0, TN_QUANTIZE_X);
}

static void dequantize_element(const tn_call *call, int64_t at, int64_t scale_at) {
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *scale = call->inputs[TN_QUANTIZE_SCALE];
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT), *y = call->outputs[0];
    const double meant = stored(x, at) - (zero ? stored(zero, scale_at) : 0);
    tn_element_set_f64(y, at, meant * tn_element_f64(scale, scale_at));
}

static tn_status dequantize_linear_reference(tn_call *call) {
    return tn_quantize_compute(call, dequantize_element);
}

#define SCALE_WORDS "one number, one for each element along the axis, or one for each block"
#define QUANTIZE_INPUTS(scale_types, zero_types)                                                   \
    {                                                                                              \
        TN_PORT("x", "f32|f16|bf16|i32", 0, "any tensor"),                                         \
            TN_PORT("y_scale", scale_types, 0, SCALE_WORDS),                                       \
            TN_PORT("y_zero_point", zero_types, TN_PORT_OPTIONAL,                                  \
                    "what zero becomes, in the output's type, shaped like the scale; absent: 0"),  \
    }
#define DEQUANTIZE_INPUTS(types, scale_types)                                                      \
    {                                                                                              \
        TN_PORT("x", "T:" types, 0, "a quantised tensor"),                                         \
            TN_PORT("x_scale", scale_types, 0, SCALE_WORDS),                                       \
            TN_PORT("x_zero_point", "T", TN_PORT_OPTIONAL,                                         \
                    "what zero is, shaped like the scale; absent: 0"),                             \
    }
#define TYPES_23 "u8|i8|u16|i16|" TN_SMALL_FLOATS "|f4e2m1|i4|u4|i2|u2"
static const tn_port quantize_linear_10_inputs[] = QUANTIZE_INPUTS("f32", "u8|i8");
static const tn_port quantize_linear_19_inputs[] = QUANTIZE_INPUTS("f32|f16|bf16|i32", TYPES_23);
static const tn_port quantize_linear_outputs[] = {
    TN_PORT("y", TYPES_23, 0, "the quantised tensor")};
static const tn_port dequantize_linear_10_inputs[] = DEQUANTIZE_INPUTS("u8|i8|i32", "f32");
static const tn_port dequantize_linear_19_inputs[] =
    DEQUANTIZE_INPUTS("i32|" TYPES_23, "f32|f16|bf16");
static const tn_port dequantize_linear_outputs[] = {
    TN_PORT("y", "f32|f16|bf16", 0, "the numbers that were meant")};

#define QUANTIZE_10                                                                                \
    "| x=f32[6]{0,2,3,1000,-254,-1000} y_scale=f32[]{2} y_zero_point=u8[]{128}",                   \
        "| x=f32[2,3,5,7] y_scale=f32[]{0.01} y_zero_point=i8[]{-3}",                              \
        "| x=f32[6]{0.5,1.5,2.5,-0.5,-1.5,nan} y_scale=f32[1]{1} y_zero_point=u8[1]{7}",           \
        "| x=f32[4]{0,1,300,-5} y_scale=f32[]{1}",                                                 \
        "| x=i32[3]{10,-7,1000} y_scale=f32[]{3} y_zero_point=i8[]{0}",                            \
        "| x=f32[0,3] y_scale=f32[]{1} y_zero_point=i8[]{0}",                                      \
        "| x=f32[1,64,56,56] y_scale=f32[]{0.0078} y_zero_point=u8[]{128}",                        \
        "| x=f32[2,3,19,31] y_scale=f32[]{0.01} y_zero_point=u8[]{120}",                           \
        "| x=f32[2,5,7,9] y_scale=f32[]{0.01} y_zero_point=i8[]{3}"
#define QUANTIZE_13                                                                                \
    QUANTIZE_10, "| x=f32[2,3,5] y_scale=f32[3]{0.1,0.02,0.003} y_zero_point=u8[3]{84,24,196}",    \
        "axis=-1 | x=f32[4,37] y_scale=f32[37] y_zero_point=i8[37]",                               \
        "axis=0 | x=f32[3,65] y_scale=f32[3]{0.1,0.02,0.003}"
#define QUANTIZE_19                                                                                \
    QUANTIZE_13, "| x=f16[9] y_scale=f16[]{0.01} y_zero_point=i8[]{1}",                            \
        "| x=f32[5]{0,1,1000,-5,nan} y_scale=f32[]{2} y_zero_point=f8e4m3[]{0}",                   \
        "saturate=0 | x=f32[3]{1,1000,-0.3} y_scale=f32[]{2} y_zero_point=f8e4m3fnuz[]{0}"
#define QUANTIZE_21                                                                                \
    QUANTIZE_19, "axis=1 block_size=2 | x=f32[2,5,3] y_scale=f32[2,3,3] y_zero_point=u8[2,3,3]",   \
        "| x=f32[4]{0,1,70000,-5} y_scale=f32[]{1} y_zero_point=u16[]{3}",                         \
        "output_dtype=i16 | x=f32[4]{0,1,70000,-50000} y_scale=f32[]{1}",                          \
        "| x=f32[6]{0.5,1.5,-2.5,nan,9e9,-9e9} y_scale=f32[]{1} y_zero_point=i16[]{-3}",           \
        "| x=f32[2,3,19,31] y_scale=f32[]{0.5} y_zero_point=u16[]{30000}",                         \
        "| x=f32[2,3,5] y_scale=f32[3]{0.5,0.25,2} y_zero_point=i16[3]{84,-24,19600}",             \
        "axis=-1 | x=f32[4,37] y_scale=f32[37] y_zero_point=u16[37]",                              \
        "| x=f32[5]{0,1,9,-5,2.5} y_scale=f32[]{1} y_zero_point=u4[]{3}",                          \
        "axis=0 | x=f32[3,3] y_scale=f32[3]{0.1,0.2,0.3} y_zero_point=i4[3]{1,-2,0}",              \
        "output_dtype=f8e5m2 | x=f32[3]{1,-3e5,0.3} y_scale=f32[]{2}"
static const char *const quantize_linear_10_cases[] = {QUANTIZE_10};
static const char *const quantize_linear_13_cases[] = {QUANTIZE_13};
static const char *const quantize_linear_19_cases[] = {QUANTIZE_19};
static const char *const quantize_linear_21_cases[] = {QUANTIZE_21};

#define DEQUANTIZE_10                                                                              \
    "| x=u8[4]{0,3,128,255} x_scale=f32[]{2} x_zero_point=u8[]{128}",                              \
        "| x=i8[2,3,5,7] x_scale=f32[]{0.01} x_zero_point=i8[]{-3}",                               \
        "| x=i32[3]{2147483647,-2147483648,9} x_scale=f32[1]{0.5}",                                \
        "| x=i8[0,3] x_scale=f32[]{1} x_zero_point=i8[]{0}",                                       \
        "| x=u8[1,64,56,56] x_scale=f32[]{0.0078} x_zero_point=u8[]{128}"
#define DEQUANTIZE_13                                                                              \
    DEQUANTIZE_10, "| x=u8[2,3,5] x_scale=f32[3]{0.1,0.02,0.003} x_zero_point=u8[3]{84,24,196}",   \
        "axis=-1 | x=i8[4,37] x_scale=f32[37] x_zero_point=i8[37]",                                \
        "axis=0 | x=i8[3,65] x_scale=f32[3]{0.1,0.02,0.003}",                                      \
        "axis=0 | x=i32[3] x_scale=f32[3]{0.1,0.02,0.003}"
#define DEQUANTIZE_19                                                                              \
    DEQUANTIZE_13, "| x=i8[9] x_scale=f16[]{0.01} x_zero_point=i8[]{1}",                           \
        "| x=u16[3]{0,65535,7} x_scale=f32[]{0.01} x_zero_point=u16[]{32767}",                     \
        "| x=i16[2,3,19,31] x_scale=f32[]{0.01} x_zero_point=i16[]{-300}",                         \
        "| x=i16[2,3,5] x_scale=f32[3]{0.5,0.25,2} x_zero_point=i16[3]{84,-24,19600}",             \
        "axis=-1 | x=u16[4,37] x_scale=f32[37] x_zero_point=u16[37]"
#define DEQUANTIZE_21                                                                              \
    DEQUANTIZE_19, "axis=1 block_size=2 | x=u8[2,5,3] x_scale=f32[2,3,3] x_zero_point=u8[2,3,3]",  \
        "axis=0 block_size=2 | x=i4[5,3] x_scale=f32[3,3]",                                        \
        "| x=u4[7] x_scale=f32[]{0.5} x_zero_point=u4[]{8}",                                       \
        "axis=1 | x=f8e4m3[2,3] x_scale=f16[3]"
static const char *const dequantize_linear_10_cases[] = {DEQUANTIZE_10};
static const char *const dequantize_linear_13_cases[] = {DEQUANTIZE_13};
static const char *const dequantize_linear_19_cases[] = {DEQUANTIZE_19};
static const char *const dequantize_linear_21_cases[] = {DEQUANTIZE_21};
static const char *const dequantize_linear_23_cases[] = {
    DEQUANTIZE_21, "output_dtype=f16 | x=i8[7] x_scale=f32[]{0.5}"};

#define LINEAR(prefix, name, version, words, input_version, case_version, ...)                     \
    TN_OPERATOR_VERSION(prefix, "", name, version, words, __VA_ARGS__,                             \
                        TN_INPUTS(prefix##_##input_version##_inputs),                              \
                        TN_OUTPUTS(prefix##_outputs), TN_CASES(prefix##_##case_version##_cases))
#define QUANTIZE(version, input_version, case_version, ...)                                        \
    LINEAR(quantize_linear, "QuantizeLinear", version,                                             \
           "Floating-point values as integers by scale and zero point.", input_version,            \
           case_version, __VA_ARGS__)
#define DEQUANTIZE(version, input_version, case_version, ...)                                      \
    LINEAR(dequantize_linear, "DequantizeLinear", version,                                         \
           "Floating-point values from integers by scale and zero point.", input_version,          \
           case_version, __VA_ARGS__)
#define FIELDS(table) TN_FIELDS(tn_quantize_params, table)
QUANTIZE(10, 10, 10, TN_NO_FIELDS);
QUANTIZE(13, 10, 13, FIELDS(axis_fields));
QUANTIZE(19, 19, 19, FIELDS(quantize_linear_19_fields));
QUANTIZE(21, 19, 21, FIELDS(quantize_linear_21_fields));
QUANTIZE(23, 19, 21, FIELDS(quantize_linear_23_fields));
DEQUANTIZE(10, 10, 10, TN_NO_FIELDS);
DEQUANTIZE(13, 10, 13, FIELDS(axis_fields));
DEQUANTIZE(19, 19, 19, FIELDS(axis_fields));
DEQUANTIZE(21, 19, 21, FIELDS(dequantize_linear_21_fields));
DEQUANTIZE(23, 19, 23, FIELDS(dequantize_linear_23_fields));

#define ROWS(prefix, revision, name)                                                               \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS(tn_quantize), "", revision, name, "rows",        \
                        "Rows between floats and integers of 8 and 16 bits, on all threads.",      \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(prefix##_combinations), .accepts = tn_quantize_accepts,    \
                        .reshape = tn_quantize_reshape, .run = tn_quantize_run)
static const char *const quantize_linear_combinations[] = {
    "f32, f32, u8? -> u8",
    "f32, f32, i8? -> i8",
    "f32:nhwc, f32, u8? -> u8:nhwc",
    "f32:nhwc, f32, i8? -> i8:nhwc",
    "f32, f32, u8? -> u8:nhwc",
    "f32, f32, i8? -> i8:nhwc",
    "f32, f32, i16? -> i16",
    "f32, f32, u16? -> u16",
    "f32:nhwc, f32, i16? -> i16:nhwc",
    "f32:nhwc, f32, u16? -> u16:nhwc",
};
static const char *const dequantize_linear_combinations[] = {
    "u8, f32, u8? -> f32",
    "i8, f32, i8? -> f32",
    "u8:nhwc, f32, u8? -> f32:nhwc",
    "i8:nhwc, f32, i8? -> f32:nhwc",
    "i16, f32, i16? -> f32",
    "u16, f32, u16? -> f32",
    "i16:nhwc, f32, i16? -> f32:nhwc",
    "u16:nhwc, f32, u16? -> f32:nhwc",
};
ROWS(quantize_linear, 2, "QuantizeLinear");
ROWS(dequantize_linear, 1, "DequantizeLinear");

TN_LAYER(quantize,
         TN_OPERATORS(&quantize_linear_10, &quantize_linear_13, &quantize_linear_19,
                      &quantize_linear_21, &quantize_linear_23, &dequantize_linear_10,
                      &dequantize_linear_13, &dequantize_linear_19, &dequantize_linear_21,
                      &dequantize_linear_23, &tn_dynamic_quantize_11),
         TN_KERNELS(TN_LEVEL_LIST(quantize_linear), TN_LEVEL_LIST(dequantize_linear),
                    TN_LEVEL_LIST(tn_dynamic_quantize)));
