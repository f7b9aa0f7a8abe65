/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of floats by vectors, compiled once a processor level from reduce_rows_body.h: along
 * contiguous lanes, or down columns a vector of them at a time.
 */
#ifndef TENON_KIT_REDUCE_ROWS_H
#define TENON_KIT_REDUCE_ROWS_H

#include <stdint.h>
#include <tenon/kit/levels.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_REDUCE_SUM = 0,
    TN_REDUCE_SUM_SQUARE = 1,
    TN_REDUCE_SUM_ABSOLUTE = 2,
    TN_REDUCE_MAX = 3, /* NaN where there is one */
    TN_REDUCE_MIN = 4,
    TN_REDUCE_PRODUCT = 5, /* in double precision */
    TN_REDUCE_LOG_SUM_EXP = 6,
    TN_REDUCE_KIND_COUNT = 7
};

/* One lane of `count` contiguous elements; of none: 0, -infinity for MAX and LOG_SUM_EXP, infinity
 * for MIN, 1 for PRODUCT. */
typedef float (*tn_reduce_lane_function)(int64_t count, const float *x);
/* 1..width lanes beside each other, each of `count` elements `stride` apart. */
typedef void (*tn_reduce_columns_function)(int64_t count, int64_t stride, int64_t columns,
                                           const float *x, float *y);

/* `rows` consecutive lanes of `count` contiguous elements; each has the bits that the
 * lane function gives it. */
typedef void (*tn_reduce_rows_function)(int64_t rows, int64_t count, const float *x, float *y);

typedef struct tn_reduce_level {
    int64_t width; /* of the columns that are done at once */
    tn_reduce_lane_function lanes[TN_REDUCE_KIND_COUNT];
    tn_reduce_columns_function columns[TN_REDUCE_KIND_COUNT];
    tn_reduce_rows_function rows[TN_REDUCE_KIND_COUNT];
} tn_reduce_level;

extern const tn_reduce_level tn_reduce_baseline, tn_reduce_avx2, tn_reduce_avx512;

#ifdef __cplusplus
}
#endif

#endif
