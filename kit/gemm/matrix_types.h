/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of double precision and of integers, which wrap: compiled once a processor level
 * from matrix_types_body.h. */
#ifndef TN_KIT_GEMM_MATRIX_TYPES_H
#define TN_KIT_GEMM_MATRIX_TYPES_H

#include "kit/math/element.h"

/* y[m][n] = sum over k of a[m][k] * b[k][n]; all three without gaps. A depth of 0 gives zeros. */
typedef void (*tn_matrix_types_product)(int64_t rows, int64_t depth, int64_t columns, const void *a,
                                        const void *b, void *y);

typedef struct tn_matrix_types {
    tn_matrix_types_product f64, bits_32, bits_64; /* of integers low bits are all there is */
} tn_matrix_types;

extern const tn_matrix_types tn_matrix_types_baseline, tn_matrix_types_avx2, tn_matrix_types_avx512;

/* That of a type: f64, or an integer of 32 or 64 bits. */
static inline tn_matrix_types_product tn_matrix_types_of(const tn_matrix_types *level,
                                                         tn_type type) {
    if (type == TN_F64) return level->f64;
    return tn_element_bytes(type) == 4 ? level->bits_32 : level->bits_64;
}

#endif
