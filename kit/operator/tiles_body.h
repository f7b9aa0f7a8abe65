/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of tiles.h for one processor level. Included by a file a level, which names it as
 * TN_TRANSPOSE. A tile has as many rows as a vector has lanes; interleaving the halves of its rows
 * log2(lanes) times transposes it, as a deck of cards returns after so many perfect shuffles.
 */
#include <tenon/kit/vector.h>
#include "kit/operator/tiles.h"

#if TN_LANES == 16
#define LOW      0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define SHUFFLES 4
#elif TN_LANES == 8
#define LOW      0, 8, 1, 9, 2, 10, 3, 11
#define HIGH     4, 12, 5, 13, 6, 14, 7, 15
#define SHUFFLES 3
#else
#define LOW      0, 4, 1, 5
#define HIGH     2, 6, 3, 7
#define SHUFFLES 2
#endif

TN_INLINE void shuffle(const tn_vector *rows, tn_vector *out_rows) {
    TN_UNROLL for (int i = 0; i < TN_LANES / 2; i++) {
        out_rows[2 * i] = __builtin_shufflevector(rows[i], rows[i + TN_LANES / 2], LOW);
        out_rows[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + TN_LANES / 2], HIGH);
    }
}

static inline void tile(const uint32_t *from, int64_t from_stride, uint32_t *to,
                        int64_t to_stride) {
    tn_vector rows[TN_LANES], others[TN_LANES];
    TN_UNROLL for (int i = 0; i < TN_LANES; i++) rows[i] =
        tn_vector_load((const float *)(const void *)(from + i * from_stride));
    TN_UNROLL for (int i = 0; i < SHUFFLES / 2; i++) {
        shuffle(rows, others);
        shuffle(others, rows);
    }
    if (SHUFFLES % 2) {
        shuffle(rows, others);
        TN_UNROLL for (int i = 0; i < TN_LANES; i++) rows[i] = others[i];
    }
    TN_UNROLL for (int i = 0; i < TN_LANES; i++)
        tn_vector_store((float *)(void *)(to + i * to_stride), rows[i]);
}

void TN_TRANSPOSE(int64_t rows, int64_t columns, const uint32_t *from, int64_t from_stride,
                  uint32_t *to, int64_t to_stride) {
    const int64_t whole_rows = rows - rows % TN_LANES, whole = columns - columns % TN_LANES;
    for (int64_t r = 0; r < whole_rows; r += TN_LANES) {
        for (int64_t c = 0; c < whole; c += TN_LANES)
            tile(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
        for (int64_t c = whole; c < columns; c++)
            for (int64_t i = r; i < r + TN_LANES; i++)
                to[i * to_stride + c] = from[c * from_stride + i];
    }
    for (int64_t r = whole_rows; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            to[r * to_stride + c] = from[c * from_stride + r];
}
