/* SPDX-License-Identifier: Apache-2.0 */
/* DequantizeMatMul: shapes, reference, table. */
#include "dequantize_mat_mul/dequantize_mat_mul.h"
#include "kit/math/small.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/open.h>

static tn_status check_shape(tn_call *call, uint32_t input, uint32_t rank, const int64_t *shape) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    char text[TN_INFER_SHAPE_TEXT_BYTES], wanted[TN_INFER_SHAPE_TEXT_BYTES];
    bool fits = !tensor || tensor->rank == rank;
    for (uint32_t i = 0; tensor && fits && i < rank; i++)
        fits = tensor->shape[i] == shape[i];
    if (fits) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has the shape %s, expected %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
                            tn_infer_shape_text(rank, shape, wanted, sizeof(wanted)));
}

tn_status tn_dequantize_mat_mul_read(tn_call *call, tn_dequantize_sizes *out_sizes) {
    const tn_dequantize_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_DEQUANTIZE_A, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, TN_DEQUANTIZE_W, 2, 2));
    const tn_tensor *a = call->inputs[TN_DEQUANTIZE_A], *w = call->inputs[TN_DEQUANTIZE_W];
    const int64_t depth = w->shape[0], columns = w->shape[1], block = params->block_size;
    if (!tn_open_fits(a->shape[a->rank - 1], depth))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the last extent of A is %lld, but the weights have %lld rows",
                                (long long)a->shape[a->rank - 1], (long long)depth);
    const int64_t blocks = depth / block + (depth % block != 0);
    const int64_t scales[2] = {blocks, columns};
    TN_TRY(check_shape(call, TN_DEQUANTIZE_SCALE, 2, scales));
    TN_TRY(check_shape(call, TN_DEQUANTIZE_ZERO, 2, scales));
    TN_TRY(check_shape(call, TN_DEQUANTIZE_BIAS, 1, &columns));
    *out_sizes = (tn_dequantize_sizes){.rows = tn_infer_product(a->shape, 0, a->rank - 1),
                                       .depth = depth,
                                       .columns = columns,
                                       .block = block,
                                       .blocks = blocks};
    return TN_OK;
}

static tn_status infer(tn_call *call) {
    tn_dequantize_sizes sizes;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_dequantize_mat_mul_read(call, &sizes));
    const tn_tensor *a = call->inputs[TN_DEQUANTIZE_A];
    for (uint32_t i = 0; i < a->rank; i++)
        shape[i] = a->shape[i];
    shape[a->rank - 1] = sizes.columns;
    return tn_infer_set_shape(call, 0, a->rank, shape);
}

double tn_dequantize_stored(const tn_tensor *tensor, int64_t at) {
    return tn_small_is(tensor->type) ? tn_small_load(tensor->data, tensor->type, at)
                                     : tn_element_f64(tensor, at);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *zero = tn_infer_input(call, TN_DEQUANTIZE_ZERO);
    const tn_tensor *bias = tn_infer_input(call, TN_DEQUANTIZE_BIAS);
    tn_dequantize_sizes s;
    TN_TRY(tn_dequantize_mat_mul_read(call, &s));
    for (int64_t i = 0; i < s.rows * s.columns; i++) {
        const int64_t row = i / s.columns, n = i % s.columns;
        double sum = bias ? tn_element_f64(bias, n) : 0;
        for (int64_t k = 0; k < s.depth; k++) {
            const int64_t at = k / s.block * s.columns + n;
            const double code =
                tn_dequantize_stored(call->inputs[TN_DEQUANTIZE_W], k * s.columns + n) -
                (zero ? tn_dequantize_stored(zero, at) : 0);
            sum += tn_element_f64(call->inputs[TN_DEQUANTIZE_A], row * s.depth + k) * code *
                   tn_element_f64(call->inputs[TN_DEQUANTIZE_SCALE], at);
        }
        tn_element_set_f64(call->outputs[0], i, sum);
    }
    return TN_OK;
}

static tn_status operations(tn_call *call, double *out_operations) {
    tn_dequantize_sizes s;
    TN_TRY(tn_dequantize_mat_mul_read(call, &s));
    *out_operations = 2.0 * (double)s.rows * (double)s.depth * (double)s.columns;
    return TN_OK;
}

static const tn_field fields[] = {
    TN_FIELD_RANGE(tn_dequantize_params, block_size, TN_FIELD_I64, TN_REQUIRED, NULL, 1,
                   9223372036854775807.0, "rows of the weights that share scales"),
};
static const tn_port inputs[] = {
    TN_PORT("A", "f32", 0, "batch axes, rows, depth"),
    TN_PORT("W", "T:" TN_DEQUANTIZE_TYPES, 0, "depth, columns"),
    TN_PORT("scale", "f32", 0, "blocks of rows, columns"),
    TN_PORT("zero_point", "T", TN_PORT_OPTIONAL, "what stands for 0, as the scale; absent: 0"),
    TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "what is added, one number for each column"),
};
static const tn_port outputs[] = {TN_PORT("Y", "f32", 0, "batch axes, rows, columns")};
static const char *const dequantize_mat_mul_cases[] = {
    ("block_size=2 | A=f32[1,3]{1,2,3} W=u8[3,2]{1,2,3,4,5,6} scale=f32[2,2]{1,2,0.5,1} "
     "zero_point=u8[2,2]{1,0,3,2} | Y=f32[1,2]{7,32}"),
    "block_size=16 | A=f32[2,5,64] W=u4[64,70] scale=f32[4,70] zero_point=u4[4,70] bias=f32[70]",
    "block_size=32 | A=f32[1,300] W=i4[300,130] scale=f32[10,130]",
    "block_size=7 | A=f32[9,40] W=i4[40,6] scale=f32[6,6] zero_point=i4[6,6]",
    "block_size=4 | A=f32[3,9] W=u4[9,5] scale=f32[3,5]",
    "block_size=128 | A=f32[7,128] W=i8[128,65] scale=f32[1,65] bias=f32[65]",
    "block_size=64 | A=f32[1,256] W=u8[256,96] scale=f32[4,96] zero_point=u8[4,96]",
    "block_size=40 | A=f32[4,40] W=f8e4m3[40,67] scale=f32[1,67]",
    "block_size=8 | A=f32[4,40] W=f8e5m2[40,33] scale=f32[5,33]",
    "block_size=8 | A=f32[4,40] W=f8e4m3fnuz[40,3] scale=f32[5,3]",
    "block_size=8 | A=f32[40] W=f8e5m2fnuz[40,3] scale=f32[5,3]",
    "block_size=8 | A=f32[0,4] W=u8[4,3] scale=f32[1,3]",
    "block_size=8 | A=f32[2,0] W=u8[0,3] scale=f32[0,3] bias=f32[3]",
};
static const tn_operator dequantize_mat_mul_1 = {
    TN_OPERATOR_BEGIN("Tenon", "DequantizeMatMul", 1,
                      "Matrix product with weights of 8 or 4 bits that stand for floating-point "
                      "values."),
    TN_FIELDS(tn_dequantize_params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(dequantize_mat_mul_cases),
    .operations = operations};

TN_LAYER_WITH_REWRITES(dequantize_mat_mul, TN_OPERATORS(&dequantize_mat_mul_1),
                       tn_dequantize_mat_mul_kernels, tn_dequantize_mat_mul_rewrites);
