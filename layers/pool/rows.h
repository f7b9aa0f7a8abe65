/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max pooling of planes of 32-bit floats, a row at a time: the window's rows are joined first
 * (whole vectors), then its columns. The loops are rows_body.h, compiled once a processor level.
 */
#ifndef TN_LAYERS_POOL_ROWS_H
#define TN_LAYERS_POOL_ROWS_H

#include "kit/window/byte_pool.h"

/* `planes` planes, one behind the other. `scratch` has room for tn_max_pool_scratch_floats. A NaN
 * in the window may or may not come out. */
typedef void (*tn_max_pool_function)(const tn_byte_pool *pool, const float *input, float *output,
                                     int64_t planes, float *scratch);
void tn_max_pool_rows_baseline(const tn_byte_pool *pool, const float *input, float *output,
                               int64_t planes, float *scratch);
void tn_max_pool_rows_avx2(const tn_byte_pool *pool, const float *input, float *output,
                           int64_t planes, float *scratch);
void tn_max_pool_rows_avx512(const tn_byte_pool *pool, const float *input, float *output,
                             int64_t planes, float *scratch);

static inline int64_t tn_max_pool_scratch_floats(const tn_byte_pool *pool) {
    int64_t reach = (pool->out_width - 1) * pool->stride_width +
                    (pool->kernel_width - 1) * pool->dilation_width + 1;
    int64_t row = pool->in_width + pool->pad_left;
    return ((reach > row ? reach : row) + 31) / 16 * 16;
}

#endif
