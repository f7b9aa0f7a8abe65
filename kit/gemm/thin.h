/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows by B as it is in memory, which is read once, so that packing it would take
 * longer than the product; and products with few columns, by dot products with B transposed. The
 * loops are thin_body.h, compiled once a processor level. A sum has the same bits wherever its unit
 * of work begins.
 */
#ifndef TN_KIT_GEMM_THIN_H
#define TN_KIT_GEMM_THIN_H

#include <tenon/kit/matrix_product.h>

enum {
    TN_THIN_ROWS = 4,    /* at most */
    TN_THIN_COLUMNS = 8, /* at most, where there are more rows */
    /* of a unit of work, at most: sums of as many columns stay in the first cache */
    TN_THIN_UNIT_ROWS = 64,
    TN_THIN_UNIT_COLUMNS = 4096,
    TN_THIN_GRAIN =
        1 << 16 /* floats of the larger side that a thread reads at least: 2 us or more */
};

/* Of a product without `level` and `packed`; b is contiguous. */
typedef struct tn_thin_level {
    /* Columns first..last-1, at most a unit, of all rows, of which there are few;
     * b[depth][columns]. */
    void (*columns)(const tn_matrix_product *product, const float *b, int64_t first, int64_t last);
    /* Rows first..last-1 of all columns, of which there are few; b[columns][depth]. */
    void (*rows)(const tn_matrix_product *product, const float *b, int64_t first, int64_t last);
} tn_thin_level;
extern const tn_thin_level tn_thin_baseline, tn_thin_avx2, tn_thin_avx512;

/* Columns of a unit for so many threads. */
static inline int64_t tn_thin_unit(int64_t columns, uint32_t threads) {
    enum { LEAST = 128 };
    const int64_t share = (columns / (threads ? threads : 1) + LEAST - 1) / LEAST * LEAST;
    if (share < LEAST) return LEAST;
    return share < TN_THIN_UNIT_COLUMNS ? share : TN_THIN_UNIT_COLUMNS;
}

/* For kernels that pack B by the level's functions where a product is not thin. */
static inline const tn_thin_level *tn_thin_of(const tn_matrix_level *level) {
    return level == &tn_matrix_avx512 ? &tn_thin_avx512
           : level == &tn_matrix_avx2 ? &tn_thin_avx2
                                      : &tn_thin_baseline;
}

#endif
