/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of exact sums: zero points taken off, and sums as 8-bit integers of another scale or as
 * floats. Compiled once a processor level from integer_rows_body.h. */
#ifndef TN_KIT_INT8_INTEGER_ROWS_H
#define TN_KIT_INT8_INTEGER_ROWS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_integer_rows {
    /* sums[i] += factor * terms[i] - sum * zeros[i]; wraps. */
    void (*correct)(int64_t count, int32_t factor, const int32_t *terms, int32_t sum,
                    const int32_t *zeros, int32_t *sums);
    /* y[i] = saturate(round(sums[i] * factors[i]) + zero), halves to the even number; the product
     * is one of 32-bit floats. NaN becomes `zero`. */
    void (*to_bytes)(int64_t count, const int32_t *sums, const float *factors, int32_t zero,
                     bool is_signed, uint8_t *y);
    /* y[i] = sums[i] * factors[i] + biases[i], in 32-bit floats; biases null: none. */
    void (*to_floats)(int64_t count, const int32_t *sums, const float *factors, const float *biases,
                      float *y);
    int32_t (*sum_bytes)(int64_t count, const uint8_t *bytes);
    int32_t (*sum_words)(int64_t count, const int16_t *words);
    /* The sum of bytes, of which `flip` is inverted first, as signed numbers: to[i] has them. */
    int32_t (*copy)(int64_t count, const uint8_t *from, uint8_t flip, int8_t *to);
    /* to[c * to_stride + r] = from[r * from_stride + c] ^ flip, for all r < rows, c < columns. */
    void (*transpose)(int64_t rows, int64_t columns, const uint8_t *from, int64_t from_stride,
                      uint8_t flip, uint8_t *to, int64_t to_stride);
    /* Groups of 2 or 4 rows of up to `columns` columns side by side: to[(r / group * width + c) *
     * group + r % group] = from[r * from_stride + c] ^ flip, as signed numbers, whose sums of
     * columns are added to `sums`; zeros are behind the last row and the last column. */
    void (*interleave)(int64_t group, int64_t rows, int64_t columns, int64_t width,
                       const uint8_t *from, int64_t from_stride, uint8_t flip, int8_t *to,
                       int32_t *sums);
} tn_integer_rows;

extern const tn_integer_rows tn_integer_rows_baseline, tn_integer_rows_avx2,
    tn_integer_rows_avx512vnni;

#endif
