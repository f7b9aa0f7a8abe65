/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DequantizeMatMul with floats that are made of the weights once, by the product of
 * tenon/kit/matrix_kernel.h: what MatMul would be if the weights had been floats. It takes more
 * memory than the kernels of kernels.c, and is faster where that memory is in a cache; times
 * decide.
 */
#include "dequantize_mat_mul/dequantize_mat_mul.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/matrix_kernel.h>

/* The extents of A may be unknown. */
static bool read_product(const tn_call *call, tn_matrix_problem *out_problem) {
    const tn_tensor *a = call->inputs[TN_DEQUANTIZE_A], *w = call->inputs[TN_DEQUANTIZE_W];
    const tn_tensor *zero = tn_infer_input(call, TN_DEQUANTIZE_ZERO);
    const tn_tensor *bias = tn_infer_input(call, TN_DEQUANTIZE_BIAS);
    if (!tn_layer_known_input(call, TN_DEQUANTIZE_W) ||
        !tn_layer_known_input(call, TN_DEQUANTIZE_SCALE) || (zero && !zero->data) || a->rank < 1 ||
        w->rank != 2)
        return false;
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < a->rank; i++)
        rows *= a->shape[i];
    *out_problem = (tn_matrix_problem){.rows = rows,
                                       .depth = w->shape[0],
                                       .columns = w->shape[1],
                                       .b_row_stride = w->shape[1],
                                       .b_column_stride = 1,
                                       .scale = 1,
                                       .bias_scale = 1,
                                       .has_bias = bias != NULL};
    return true;
}

static void write_weights(const tn_call *call, float *out_weights) {
    const tn_dequantize_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_DEQUANTIZE_W];
    const tn_tensor *zero = tn_infer_input(call, TN_DEQUANTIZE_ZERO);
    const float *scales = call->inputs[TN_DEQUANTIZE_SCALE]->data;
    const int64_t columns = w->shape[1];
    for (int64_t k = 0; k < w->shape[0]; k++) {
        const int64_t first = k / params->block_size * columns;
        for (int64_t n = 0; n < columns; n++) {
            const double offset = zero ? tn_dequantize_stored(zero, first + n) : 0;
            const float code = (float)(tn_dequantize_stored(w, k * columns + n) - offset);
            out_weights[k * columns + n] = code * scales[first + n];
        }
    }
}

/* FNV-1a (Fowler, Noll, Vo: 64 bits). */
static uint64_t add_bytes(uint64_t mark, const tn_tensor *tensor) {
    const uint8_t *bytes = tensor ? tensor->data : NULL;
    for (uint64_t i = 0; bytes && i < tensor->bytes; i++)
        mark = (mark ^ bytes[i]) * 0x100000001b3u;
    return mark;
}

/* Of scales, zero points and the size of blocks. */
static uint64_t mark_scales(const tn_call *call) {
    const tn_dequantize_params *params = call->params;
    const uint64_t begin = 0xcbf29ce484222325u ^ (uint64_t)params->block_size;
    return add_bytes(add_bytes(begin, call->inputs[TN_DEQUANTIZE_SCALE]),
                     tn_infer_input(call, TN_DEQUANTIZE_ZERO));
}

static const char *const combinations[] = {"f32, " TN_DEQUANTIZE_TYPES ", f32, " TN_DEQUANTIZE_TYPES
                                           "?, f32? -> f32"};
#define PACKED_USER(level)                                                                         \
    static const tn_matrix_kernel_user user_##level = {                                            \
        &tn_matrix_##level, read_product, write_weights, mark_scales, TN_DEQUANTIZE_BIAS}
PACKED_USER(baseline);
PACKED_USER(avx2);
PACKED_USER(avx512);
TN_LEVEL_KERNELS_OF(, tn_dequantize_packed, TN_LEVELS(user), "Tenon", 1, "DequantizeMatMul",
                    "packed", "Weights turned into floats once.",
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .accepts = tn_matrix_kernel_accepts,
                    .prepare = tn_matrix_kernel_prepare, .release = tn_matrix_kernel_release,
                    .open = tn_matrix_kernel_open, .close = tn_matrix_kernel_close,
                    .reshape = tn_matrix_kernel_reshape, .run = tn_matrix_kernel_run);
