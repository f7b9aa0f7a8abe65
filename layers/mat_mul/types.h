/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of double precision and of integers, which wrap: compiled once a processor level
 * from types_body.h. */
#ifndef TN_LAYERS_MAT_MUL_TYPES_H
#define TN_LAYERS_MAT_MUL_TYPES_H

#include <stdint.h>

/* y[m][n] = sum over k of a[m][k] * b[k][n]; all three without gaps. A depth of 0 gives zeros. */
typedef void (*tn_mat_mul_product)(int64_t rows, int64_t depth, int64_t columns, const void *a,
                                   const void *b, void *y);

typedef struct tn_mat_mul_types {
    tn_mat_mul_product f64, bits_32, bits_64; /* of integers low bits are all there is */
} tn_mat_mul_types;

extern const tn_mat_mul_types tn_mat_mul_types_baseline, tn_mat_mul_types_avx2,
    tn_mat_mul_types_avx512;

#endif
