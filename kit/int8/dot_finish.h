/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general end of a tile of exact sums: scales, bias, residual, activation, rounding, stores.
 * For the loops that are compiled once a processor level (dot_body.h, the depthwise convolution's).
 */
#ifndef TN_KIT_INT8_DOT_FINISH_H
#define TN_KIT_INT8_DOT_FINISH_H

#include <tenon/kit/dot.h>
#include "kit/int8/dot_vector.h"
#include <tenon/kit/activation.h>

/* One vector of one row: `at` is its offset in the output, `left` how many lanes are valid. */
TN_INLINE tn_vector tn_dot_end_value(const tn_dot_tile *tile, tn_vector_whole sum, int v,
                                     int64_t at, int64_t left) {
    const tn_dot_end *end = tile->end;
    tn_vector value = tn_vector_of_whole(sum) * tn_vector_load(tile->scale + v * TN_LANES) +
                      tn_vector_load(tile->bias + v * TN_LANES);
    if (tile->residual && tile->column_stride == 1) {
        if (end->type == TN_I8)
            value += tn_byte_load((const int8_t *)tile->residual + at, left) * end->residual_scale;
        else
            value += left >= TN_LANES
                         ? tn_vector_load((const float *)tile->residual + at)
                         : tn_vector_load_part((const float *)tile->residual + at, left);
    } else if (tile->residual) {
        for (int i = 0; i < TN_LANES && i < left; i++)
            value[i] +=
                end->type == TN_I8
                    ? (float)((const int8_t *)tile->residual)[at + i * tile->column_stride] *
                          end->residual_scale
                    : ((const float *)tile->residual)[at + i * tile->column_stride];
    }
    value = tn_activation_vector(end->activation, end->alpha, end->beta, value) * end->unit;
    return tn_byte_clamp(value, tn_vector_all(end->low), tn_vector_all(end->high));
}

TN_INLINE void tn_dot_end_store(const tn_dot_tile *tile, tn_vector value, int64_t at,
                                int64_t left) {
    if (tile->column_stride == 1) {
        if (tile->end->type == TN_I8)
            tn_byte_store((int8_t *)tile->output + at, value, left);
        else if (left >= TN_LANES)
            tn_vector_store((float *)tile->output + at, value);
        else
            tn_vector_store_part((float *)tile->output + at, value, left);
        return;
    }
    int8_t bytes[TN_LANES];
    if (tile->end->type == TN_I8) tn_byte_store(bytes, value, TN_LANES);
    for (int i = 0; i < TN_LANES && i < left; i++) {
        if (tile->end->type == TN_I8)
            ((int8_t *)tile->output)[at + i * tile->column_stride] = bytes[i];
        else
            ((float *)tile->output)[at + i * tile->column_stride] = value[i];
    }
}

/* One vector of sums as it is. */
TN_INLINE void tn_dot_sums_store(const tn_dot_tile *tile, tn_vector_whole sum, int64_t at,
                                 int64_t left) {
    int32_t values[TN_LANES], *to = (int32_t *)tile->output + at;
    memcpy(values, &sum, sizeof(values));
    if (tile->column_stride == 1)
        memcpy(to, values, (size_t)(left < TN_LANES ? left : TN_LANES) * sizeof(*to));
    else
        for (int i = 0; i < TN_LANES && i < left; i++)
            to[i * tile->column_stride] = values[i];
}

/* The general end of a tile. `sums` is rows x vectors. */
static __attribute__((noinline)) void
tn_dot_finish(const tn_dot_tile *tile, const tn_vector_whole *sums, int rows, int vectors) {
    for (int m = 0; m < rows; m++) {
        for (int v = 0; v < vectors; v++) {
            const int64_t left = tile->columns - v * TN_LANES;
            const int64_t at = m * tile->row_stride + v * TN_LANES * tile->column_stride;
            if (left <= 0) break;
            if (tile->end->type == TN_I32)
                tn_dot_sums_store(tile, sums[m * vectors + v], at, left);
            else
                tn_dot_end_store(tile, tn_dot_end_value(tile, sums[m * vectors + v], v, at, left),
                                 at, left);
        }
    }
}

#endif
