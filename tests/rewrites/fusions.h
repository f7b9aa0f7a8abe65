/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third party's library of operators that networks write with many nodes of ONNX's: attention,
 * rotary embedding, RMSNormalization, quantised MatMul, each with a reference, a kernel and
 * rewrites. What the files share.
 */
#ifndef TESTS_REWRITES_FUSIONS_H
#define TESTS_REWRITES_FUSIONS_H

#include <tenon/plugin/rewrite.h>

extern const tn_operator fusions_attention, fusions_rotary, fusions_rms, fusions_quantized;
extern const tn_kernel fusions_attention_kernel, fusions_rotary_kernel, fusions_rms_kernel,
    fusions_quantized_kernel;
extern const tn_rewrite *const fusions_attention_rewrites[4];
extern const tn_rewrite *const fusions_rotary_rewrites[3];
extern const tn_rewrite *const fusions_rms_rewrites[1];
extern const tn_rewrite *const fusions_quantized_rewrites[1];

static inline int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static inline int64_t last_of(const tn_tensor *tensor, uint32_t from_end) {
    return tensor->rank >= from_end ? tensor->shape[tensor->rank - from_end] : 1;
}

/* Where the row `row` of `y` (all axes but the last) lies in `x`, which broadcasts to it, in rows:
 * `x` has its own last extent. */
static inline int64_t row_in(const tn_tensor *x, const tn_tensor *y, int64_t row) {
    int64_t index = 0, step = 1;
    for (uint32_t i = 2; i <= y->rank; i++) {
        const int64_t extent = last_of(y, i), own = last_of(x, i);
        index += own == 1 ? 0 : row % extent * step;
        step *= own;
        row /= extent;
    }
    return index;
}

#endif
