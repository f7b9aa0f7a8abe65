/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposition of matrices of elements of 1, 2, 4 and 8 bytes in square tiles held in registers,
 * compiled once a processor level from tiles_body.h.
 */
#ifndef TN_KIT_REGION_TILES_H
#define TN_KIT_REGION_TILES_H

#include <stddef.h>
#include <stdint.h>

/* to[r * to_stride + c] = from[c * from_stride + r] for r < rows, c < columns; strides in elements.
 */
typedef void (*tn_transpose_function)(int64_t rows, int64_t columns, const void *from,
                                      int64_t from_stride, void *to, int64_t to_stride);

typedef struct tn_transpose_level {
    tn_transpose_function bytes_1, bytes_2, bytes_4, bytes_8;
} tn_transpose_level;

extern const tn_transpose_level tn_transpose_baseline, tn_transpose_avx2, tn_transpose_avx512;

static inline tn_transpose_function tn_transpose_of(const tn_transpose_level *level,
                                                    size_t element_bytes) {
    return element_bytes == 1   ? level->bytes_1
           : element_bytes == 2 ? level->bytes_2
           : element_bytes == 4 ? level->bytes_4
                                : level->bytes_8;
}

#endif
