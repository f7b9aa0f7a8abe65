/* SPDX-License-Identifier: Apache-2.0 */
/* DequantizeLinear: y = (x - zero_point) * scale. */
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "kit/quantize/quantize.h"
#include "kit/quantize/quantize_kernel.h"

static const tn_field dequantize_linear_13_fields[] = {TN_QUANTIZE_FIELD_AXIS};
static const tn_field dequantize_linear_21_fields[] = {TN_QUANTIZE_FIELD_AXIS,
                                                       TN_QUANTIZE_FIELD_BLOCK_SIZE};
static const tn_field dequantize_linear_23_fields[] = {
    TN_QUANTIZE_FIELD_AXIS, TN_QUANTIZE_FIELD_BLOCK_SIZE, TN_QUANTIZE_FIELD_OUTPUT_DTYPE};

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
    const int64_t whole = tn_element_load_i64(x->data, x->type, at) -
                          (zero ? tn_element_load_i64(zero->data, zero->type, scale_at) : 0);
    tn_element_store_f64(y->data, y->type, at,
                         (double)whole * tn_element_load_f64(scale->data, scale->type, scale_at));
}

static tn_status dequantize_linear_reference(tn_call *call) {
    return tn_quantize_compute(call, dequantize_element);
}

#define INPUTS(types, scale_types)                                                                 \
    {                                                                                              \
        TN_PORT("x", "T:" types, 0, "a quantised tensor"),                                         \
            TN_PORT("x_scale", scale_types, 0,                                                     \
                    "one number, one for each place along the axis, or one for each block"),       \
            TN_PORT("x_zero_point", "T", TN_PORT_OPTIONAL,                                         \
                    "what zero is, shaped like the scale; absent: 0"),                             \
    }
static const tn_port dequantize_linear_10_inputs[] = INPUTS("u8|i8|i32", "f32");
static const tn_port dequantize_linear_19_inputs[] = INPUTS("u8|i8|i32|u16|i16", "f32|f16|bf16");
static const tn_port dequantize_linear_outputs[] = {
    TN_PORT("y", "f32|f16|bf16", 0, "the numbers that were meant")};

#define CASES_10                                                                                   \
    "| x=u8[4]{0,3,128,255} x_scale=f32[]{2} x_zero_point=u8[]{128}",                              \
        "| x=i8[2,3,5,7] x_scale=f32[]{0.01} x_zero_point=i8[]{-3}",                               \
        "| x=i32[3]{2147483647,-2147483648,9} x_scale=f32[1]{0.5}",                                \
        "| x=i8[0,3] x_scale=f32[]{1} x_zero_point=i8[]{0}",                                       \
        "| x=u8[1,64,56,56] x_scale=f32[]{0.0078} x_zero_point=u8[]{128}"
#define CASES_13                                                                                   \
    CASES_10, "| x=u8[2,3,5] x_scale=f32[3]{0.1,0.02,0.003} x_zero_point=u8[3]{84,24,196}",        \
        "axis=-1 | x=i8[4,37] x_scale=f32[37] x_zero_point=i8[37]",                                \
        "axis=0 | x=i8[3,65] x_scale=f32[3]{0.1,0.02,0.003}",                                      \
        "axis=0 | x=i32[3] x_scale=f32[3]{0.1,0.02,0.003}"
#define CASES_19                                                                                   \
    CASES_13, "| x=i8[9] x_scale=f16[]{0.01} x_zero_point=i8[]{1}",                                \
        "| x=u16[3]{0,65535,7} x_scale=f32[]{0.01} x_zero_point=u16[]{32767}"
#define CASES_21                                                                                   \
    CASES_19, "axis=1 block_size=2 | x=u8[2,5,3] x_scale=f32[2,3,3] x_zero_point=u8[2,3,3]"
static const char *const dequantize_linear_10_cases[] = {CASES_10};
static const char *const dequantize_linear_13_cases[] = {CASES_13};
static const char *const dequantize_linear_19_cases[] = {CASES_19};
static const char *const dequantize_linear_21_cases[] = {CASES_21};
static const char *const dequantize_linear_23_cases[] = {
    CASES_21, "output_dtype=f16 | x=i8[7] x_scale=f32[]{0.5}"};

#define DEQUANTIZE(version, field_rows, input_table, case_table)                                   \
    TN_OPERATOR_VERSION(dequantize_linear, "", "DequantizeLinear", version,                        \
                        "Real numbers from integers by scale and zero point.",                     \
                        TN_INPUTS(input_table), TN_OUTPUTS(dequantize_linear_outputs),             \
                        TN_CASES(case_table), field_rows)
#define FIELDS(table) TN_FIELDS(tn_quantize_params, table)
DEQUANTIZE(10, TN_NO_FIELDS, dequantize_linear_10_inputs, dequantize_linear_10_cases);
DEQUANTIZE(13, FIELDS(dequantize_linear_13_fields), dequantize_linear_10_inputs,
           dequantize_linear_13_cases);
DEQUANTIZE(19, FIELDS(dequantize_linear_13_fields), dequantize_linear_19_inputs,
           dequantize_linear_19_cases);
DEQUANTIZE(21, FIELDS(dequantize_linear_21_fields), dequantize_linear_19_inputs,
           dequantize_linear_21_cases);
DEQUANTIZE(23, FIELDS(dequantize_linear_23_fields), dequantize_linear_19_inputs,
           dequantize_linear_23_cases);

static const char *const dequantize_linear_combinations[] = {
    "u8, f32, u8? -> f32",
    "i8, f32, i8? -> f32",
    "u8:nhwc, f32, u8? -> f32:nhwc",
    "i8:nhwc, f32, i8? -> f32:nhwc",
};
TN_QUANTIZE_KERNELS(dequantize_linear, "DequantizeLinear", dequantize_linear_combinations);

TN_LAYER(dequantize_linear,
         TN_OPERATORS(&dequantize_linear_10, &dequantize_linear_13, &dequantize_linear_19,
                      &dequantize_linear_21, &dequantize_linear_23),
         dequantize_linear_kernels);
