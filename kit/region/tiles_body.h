/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of tiles.h for one processor level. Included by a file a level, which names their
 * table as TN_TRANSPOSE. A tile has as many rows as a vector has elements; interleaving the halves
 * of its rows log2(elements) times transposes it, as a deck of cards returns after so many perfect
 * shuffles.
 */
#include <tenon/kit/vector.h>
#include "kit/region/tiles.h"

#include <stdbool.h>

/* How vectors of so many elements are interleaved: the lower halves, the upper ones. */
#define LOW_2       0, 2
#define HIGH_2      1, 3
#define LOW_4       0, 4, 1, 5
#define HIGH_4      2, 6, 3, 7
#define LOW_8       0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8      4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16      0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW(count)  LOW_##count
#define HIGH(count) HIGH_##count

/* COUNT rows or columns, the channels of pictures; `apart` elements lie between the planes. */
#define PLANES(TYPE, COUNT)                                                                        \
    static void join_##COUNT##_##TYPE(int64_t count, const TYPE *restrict from, int64_t apart,     \
                                      TYPE *restrict to) {                                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            TN_UNROLL for (int c = 0; c < COUNT; c++) to[i * COUNT + c] = from[c * apart + i];     \
    }                                                                                              \
    static void split_##COUNT##_##TYPE(int64_t count, const TYPE *restrict from,                   \
                                       TYPE *restrict to, int64_t apart) {                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            TN_UNROLL for (int c = 0; c < COUNT; c++) to[c * apart + i] = from[i * COUNT + c];     \
    }                                                                                              \
    TN_INLINE bool planes_##COUNT##_##TYPE(int64_t rows, int64_t columns, const TYPE *from,        \
                                           int64_t from_stride, TYPE *to, int64_t to_stride) {     \
        const bool joins = columns == COUNT && to_stride == COUNT;                                 \
        const bool splits = !joins && rows == COUNT && from_stride == COUNT;                       \
        if (joins) join_##COUNT##_##TYPE(rows, from, from_stride, to);                             \
        if (splits) split_##COUNT##_##TYPE(columns, from, to, to_stride);                          \
        return joins || splits;                                                                    \
    }

/* One element after the other. */
#define ELEMENTS(TYPE)                                                                             \
    TN_INLINE void elements_##TYPE(int64_t rows, int64_t columns, const TYPE *from,                \
                                   int64_t from_stride, TYPE *to, int64_t to_stride) {             \
        for (int64_t c = 0; c < columns; c++)                                                      \
            for (int64_t r = 0; r < rows; r++)                                                     \
                to[r * to_stride + c] = from[c * from_stride + r];                                 \
    }

/* Defines transpose_TYPE by tiles of SIZE vectors of SIZE elements, 2 to the power of SHUFFLES;
 * what columns are left is transposed by REST. */
#define TILES(TYPE, SIZE, SHUFFLES, has_planes, REST)                                              \
    typedef TYPE vector_##TYPE __attribute__((vector_size(SIZE * sizeof(TYPE)), may_alias));       \
    typedef TYPE unaligned_##TYPE                                                                  \
        __attribute__((vector_size(SIZE * sizeof(TYPE)), aligned(sizeof(TYPE)), may_alias));       \
    TN_INLINE void shuffle_##TYPE(const vector_##TYPE *rows, vector_##TYPE *out_rows) {            \
        TN_UNROLL for (int i = 0; i < SIZE / 2; i++) {                                             \
            out_rows[2 * i] = __builtin_shufflevector(rows[i], rows[i + SIZE / 2], LOW(SIZE));     \
            out_rows[2 * i + 1] =                                                                  \
                __builtin_shufflevector(rows[i], rows[i + SIZE / 2], HIGH(SIZE));                  \
        }                                                                                          \
    }                                                                                              \
    static inline void tile_##TYPE(const TYPE *from, int64_t from_stride, TYPE *to,                \
                                   int64_t to_stride) {                                            \
        vector_##TYPE rows[SIZE], others[SIZE];                                                    \
        TN_UNROLL for (int i = 0; i < SIZE; i++) rows[i] =                                         \
            *(const unaligned_##TYPE *)(from + i * from_stride);                                   \
        TN_UNROLL for (int i = 0; i < SHUFFLES / 2; i++) {                                         \
            shuffle_##TYPE(rows, others);                                                          \
            shuffle_##TYPE(others, rows);                                                          \
        }                                                                                          \
        if (SHUFFLES % 2) {                                                                        \
            shuffle_##TYPE(rows, others);                                                          \
            TN_UNROLL for (int i = 0; i < SIZE; i++) rows[i] = others[i];                          \
        }                                                                                          \
        TN_UNROLL for (int i = 0; i < SIZE; i++) * (unaligned_##TYPE *)(to + i * to_stride) =      \
            rows[i];                                                                               \
    }                                                                                              \
    static void transpose_##TYPE(int64_t rows, int64_t columns, const void *source,                \
                                 int64_t from_stride, void *target, int64_t to_stride) {           \
        const TYPE *from = source;                                                                 \
        TYPE *to = target;                                                                         \
        const int64_t whole_rows = rows - rows % SIZE, whole = columns - columns % SIZE;           \
        if (has_planes(rows, columns, from, from_stride, to, to_stride)) return;                   \
        for (int64_t r = 0; r < whole_rows; r += SIZE) {                                           \
            for (int64_t c = 0; c < whole; c += SIZE)                                              \
                tile_##TYPE(from + c * from_stride + r, from_stride, to + r * to_stride + c,       \
                            to_stride);                                                            \
            if (whole < columns)                                                                   \
                REST(SIZE, columns - whole, from + whole * from_stride + r, from_stride,           \
                     to + r * to_stride + whole, to_stride);                                       \
        }                                                                                          \
        for (int64_t r = whole_rows; r < rows; r++)                                                \
            for (int64_t c = 0; c < columns; c++)                                                  \
                to[r * to_stride + c] = from[c * from_stride + r];                                 \
    }
#define NO_PLANES(rows, columns, from, from_stride, to, to_stride) false

PLANES(uint8_t, 2)
PLANES(uint8_t, 3)
#define FEW_BYTES(...) (planes_2_uint8_t(__VA_ARGS__) || planes_3_uint8_t(__VA_ARGS__))
ELEMENTS(uint8_t)
TILES(uint8_t, 16, 4, FEW_BYTES, elements_uint8_t)
PLANES(uint16_t, 2)
ELEMENTS(uint16_t)
TILES(uint16_t, 8, 3, planes_2_uint16_t, elements_uint16_t)
PLANES(uint32_t, 2)
PLANES(uint32_t, 3)
PLANES(uint32_t, 4)
#define FEW_PLANES(...)                                                                            \
    (planes_2_uint32_t(__VA_ARGS__) || planes_3_uint32_t(__VA_ARGS__) ||                           \
     planes_4_uint32_t(__VA_ARGS__))
PLANES(uint64_t, 2)
ELEMENTS(uint64_t)
#if TN_LANES > 4 /* the columns left by larger tiles */
typedef uint32_t quarter_t;
ELEMENTS(quarter_t)
TILES(quarter_t, 4, 2, NO_PLANES, elements_quarter_t)
#else
ELEMENTS(uint32_t)
#endif
#if TN_LANES == 16
TILES(uint32_t, 16, 4, FEW_PLANES, transpose_quarter_t)
TILES(uint64_t, 8, 3, planes_2_uint64_t, elements_uint64_t)
#elif TN_LANES == 8
TILES(uint32_t, 8, 3, FEW_PLANES, transpose_quarter_t)
TILES(uint64_t, 4, 2, planes_2_uint64_t, elements_uint64_t)
#else
TILES(uint32_t, 4, 2, FEW_PLANES, elements_uint32_t)
TILES(uint64_t, 2, 1, planes_2_uint64_t, elements_uint64_t)
#endif

const tn_transpose_level TN_TRANSPOSE = {transpose_uint8_t, transpose_uint16_t, transpose_uint32_t,
                                         transpose_uint64_t};
