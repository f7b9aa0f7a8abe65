/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposition of matrices of 4-byte elements in square tiles held in registers, compiled once a
 * processor level from tiles_body.h.
 */
#ifndef TN_KIT_OPERATOR_TILES_H
#define TN_KIT_OPERATOR_TILES_H

#include <stdint.h>

/* to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < columns. */
typedef void (*tn_transpose_function)(int64_t rows, int64_t columns, const uint32_t *from,
                                      int64_t from_stride, uint32_t *to, int64_t to_stride);

void tn_transpose_baseline(int64_t rows, int64_t columns, const uint32_t *from, int64_t from_stride,
                           uint32_t *to, int64_t to_stride);
void tn_transpose_avx2(int64_t rows, int64_t columns, const uint32_t *from, int64_t from_stride,
                       uint32_t *to, int64_t to_stride);
void tn_transpose_avx512(int64_t rows, int64_t columns, const uint32_t *from, int64_t from_stride,
                         uint32_t *to, int64_t to_stride);

#endif
