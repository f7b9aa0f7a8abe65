/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of matrix_types.h for one processor level. Included by a file a level, which names
 * the table as TN_MATRIX_TYPES. A tile's sums are ROWS x VECTORS vectors; B is read where it is. */
#include "kit/gemm/matrix_types.h"
#include <tenon/kit/vector.h>

enum { ROWS = 4, VECTORS = 2 };

/* Defines product_NAME. `rest`: the columns behind the last whole tile, row by row of B. */
#define PRODUCT(name, TYPE)                                                                        \
    typedef TYPE vector_##name __attribute__((vector_size(TN_VECTOR_BYTES)));                      \
    typedef TYPE unaligned_##name                                                                  \
        __attribute__((vector_size(TN_VECTOR_BYTES), aligned(sizeof(TYPE)), may_alias));           \
    enum { WIDTH_##name = TN_VECTOR_BYTES / sizeof(TYPE) };                                        \
    TN_INLINE void tile_##name(const int rows, int64_t depth, int64_t columns, const TYPE *a,      \
                               const TYPE *b, TYPE *y) {                                           \
        vector_##name sums[ROWS][VECTORS];                                                         \
        TN_UNROLL for (int m = 0; m < rows; m++) TN_UNROLL for (int v = 0; v < VECTORS; v++)       \
            sums[m][v] = (vector_##name){0};                                                       \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            vector_##name right[VECTORS];                                                          \
            TN_UNROLL for (int v = 0; v < VECTORS; v++) right[v] =                                 \
                *(const unaligned_##name *)(b + k * columns + v * WIDTH_##name);                   \
            TN_UNROLL for (int m = 0; m < rows; m++) TN_UNROLL for (int v = 0; v < VECTORS; v++)   \
                sums[m][v] += a[m * depth + k] * right[v];                                         \
        }                                                                                          \
        TN_UNROLL for (int m = 0; m < rows; m++) TN_UNROLL for (int v = 0; v < VECTORS; v++) *     \
            (unaligned_##name *)(y + m * columns + v * WIDTH_##name) = sums[m][v];                 \
    }                                                                                              \
    static void rest_##name(int64_t depth, int64_t columns, int64_t count, const TYPE *a,          \
                            const TYPE *b, TYPE *y) {                                              \
        TYPE sums[VECTORS * WIDTH_##name] = {0};                                                   \
        for (int64_t k = 0; k < depth; k++)                                                        \
            for (int64_t n = 0; n < count; n++)                                                    \
                sums[n] += a[k] * b[k * columns + n];                                              \
        memcpy(y, sums, (size_t)count * sizeof(TYPE));                                             \
    }                                                                                              \
    static void product_##name(int64_t rows, int64_t depth, int64_t columns, const void *left,     \
                               const void *right, void *to) {                                      \
        enum { TILE = VECTORS * WIDTH_##name };                                                    \
        const TYPE *a = left, *b = right;                                                          \
        TYPE *y = to;                                                                              \
        for (int64_t n = 0; n < columns; n += TILE) {                                              \
            int64_t m = 0;                                                                         \
            for (; n + TILE <= columns && m + ROWS <= rows; m += ROWS)                             \
                tile_##name(ROWS, depth, columns, a + m * depth, b + n, y + m * columns + n);      \
            for (; n + TILE <= columns && m < rows; m++)                                           \
                tile_##name(1, depth, columns, a + m * depth, b + n, y + m * columns + n);         \
            for (; m < rows; m++)                                                                  \
                rest_##name(depth, columns, columns - n, a + m * depth, b + n,                     \
                            y + m * columns + n);                                                  \
        }                                                                                          \
    }

PRODUCT(f64, double)
PRODUCT(bits_32, uint32_t)
PRODUCT(bits_64, uint64_t)

const tn_matrix_types TN_MATRIX_TYPES = {product_f64, product_bits_32, product_bits_64};
