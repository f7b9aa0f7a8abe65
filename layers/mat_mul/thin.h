/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows, or with a single column, by B as it is in memory: it is read once, so that
 * packing it would take longer than the product. The loops are thin_body.h, compiled once a
 * processor level. A sum has the same bits wherever its unit of work begins.
 */
#ifndef TN_LAYERS_MAT_MUL_THIN_H
#define TN_LAYERS_MAT_MUL_THIN_H

#include <tenon/kit/matrix_product.h>

enum { TN_THIN_ROWS = 4 /* at most */ };

/* Of a product without `level` and `packed`; b is contiguous. */
typedef struct tn_thin_level {
    /* Columns first..last-1 of all rows, of which there are few; b[depth][columns]. */
    void (*columns)(const tn_matrix_product *product, const float *b, int64_t first, int64_t last);
    /* Rows first..last-1 of one column; b[depth]. */
    void (*rows)(const tn_matrix_product *product, const float *b, int64_t first, int64_t last);
} tn_thin_level;
extern const tn_thin_level tn_thin_baseline, tn_thin_avx2, tn_thin_avx512;

#endif
