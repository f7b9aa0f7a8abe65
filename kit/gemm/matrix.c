/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of the matrix product's right side; see matrix.h. */
#include <tenon/kit/matrix.h>
#include "kit/region/tiles.h"

int64_t tn_matrix_packed_floats(const tn_matrix_level *level, int64_t depth, int64_t columns) {
    return (columns + level->lanes - 1) / level->lanes * level->lanes * depth;
}

void tn_matrix_pack(const tn_matrix_level *level, int64_t depth, int64_t columns, const float *from,
                    int64_t row_stride, int64_t column_stride, float scale, float *packed) {
    const int64_t lanes = level->lanes, block = lanes * level->vectors;
    for (int64_t first = 0; first < columns; first += block) {
        int64_t valid = columns - first < block ? columns - first : block;
        int64_t width = (valid + lanes - 1) / lanes * lanes;
        if (row_stride == 1 && scale == 1.0f) {
            tn_transpose_baseline.bytes_4(depth, valid, from + first * column_stride, column_stride,
                                          packed, width);
            for (int64_t k = 0; k < depth; k++, packed += width)
                for (int64_t n = valid; n < width; n++)
                    packed[n] = 0;
            continue;
        }
        for (int64_t k = 0; k < depth; k++) {
            const float *row = from + k * row_stride + first * column_stride;
            for (int64_t n = 0; n < valid; n++)
                packed[n] = row[n * column_stride] * scale;
            for (int64_t n = valid; n < width; n++)
                packed[n] = 0;
            packed += width;
        }
    }
}
