/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of planes of 32-bit floats, the largest or the mean of each window, a row at a time: the
 * window's rows are joined first (whole vectors), then its columns. The loops are rows_body.h,
 * compiled once a processor level.
 */
#ifndef TN_LAYERS_POOL_ROWS_H
#define TN_LAYERS_POOL_ROWS_H

#include "kit/window/byte_pool.h"

/* `planes` planes, one behind the other. `scratch` has room for tn_pool_scratch_floats. */
typedef void (*tn_pool_rows_function)(const tn_byte_pool *pool, const float *input, float *output,
                                      int64_t planes, float *scratch);
typedef struct tn_pool_rows_level {
    tn_pool_rows_function largest, mean;
} tn_pool_rows_level;
extern const tn_pool_rows_level tn_pool_rows_baseline, tn_pool_rows_avx2, tn_pool_rows_avx512;

/* Of a row with its padding, and what vectors read behind it. */
static inline int64_t tn_pool_row_floats(const tn_byte_pool *pool) {
    int64_t reach = (pool->out_width - 1) * pool->stride_width +
                    (pool->kernel_width - 1) * pool->dilation_width + 1;
    int64_t row = pool->in_width + pool->pad_left;
    return ((reach > row ? reach : row) + 63) / 16 * 16;
}
/* With the factors of a mean's columns and rows. */
static inline int64_t tn_pool_scratch_floats(const tn_byte_pool *pool) {
    return tn_pool_row_floats(pool) + (pool->out_width + pool->out_height + 31) / 16 * 16;
}

#endif
