/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of planes and volumes of 32-bit floats, the largest or the mean of each window: the
 * window's rows are joined first (whole vectors), then its columns. Several rows are joined before
 * the columns of the first one are read, so that no load waits for a store of other bounds. The
 * loops are rows_body.h, compiled once a processor level.
 */
#ifndef TN_LAYERS_POOL_ROWS_H
#define TN_LAYERS_POOL_ROWS_H

#include "kit/window/byte_pool.h"

/* An axis before the rows; of planes all extents are 1. */
typedef struct tn_pool_volume {
    tn_byte_pool plane;
    int64_t in_depth, out_depth, kernel_depth, stride_depth, dilation_depth, pad_front, pad_back;
} tn_pool_volume;

/* The output rows begin..end-1 of an image, counted through its channels. `scratch` has room for
 * tn_pool_scratch_floats. */
typedef void (*tn_pool_rows_function)(const tn_pool_volume *volume, const float *input,
                                      float *output, int64_t begin, int64_t end, float *scratch);
typedef struct tn_pool_rows_level {
    tn_pool_rows_function largest, mean;
} tn_pool_rows_level;
extern const tn_pool_rows_level tn_pool_rows_baseline, tn_pool_rows_avx2, tn_pool_rows_avx512;

/* Before a row: its padding, so that the row is aligned. */
static inline int64_t tn_pool_row_lead(const tn_byte_pool *pool) {
    return (pool->pad_left + 15) / 16 * 16;
}
/* Of a row with its padding, and what vectors read behind it. */
static inline int64_t tn_pool_row_floats(const tn_byte_pool *pool) {
    int64_t reach = (pool->out_width - 1) * pool->stride_width +
                    (pool->kernel_width - 1) * pool->dilation_width + 1;
    int64_t row = pool->in_width + pool->pad_left;
    return ((reach > row ? reach : row) + 79) / 16 * 16;
}
/* Rows that are joined at once: of 8 KiB. */
static inline int64_t tn_pool_rows_at_once(const tn_byte_pool *pool) {
    const int64_t rows = 2048 / tn_pool_row_floats(pool);
    return rows > 16 ? 16 : rows > 1 ? rows : 1;
}
/* With the factors of a mean's columns, rows and planes. */
static inline int64_t tn_pool_scratch_floats(const tn_pool_volume *volume) {
    const tn_byte_pool *pool = &volume->plane;
    const int64_t factors = pool->out_width + pool->out_height + volume->out_depth;
    return tn_pool_row_floats(pool) * tn_pool_rows_at_once(pool) + (factors + 31) / 16 * 16;
}

#endif
