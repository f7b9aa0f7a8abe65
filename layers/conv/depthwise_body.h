/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of depthwise.h, compiled by depthwise_<level>.c. Before it is included,
 * TN_DEPTHWISE_LEVEL names the table to define.
 *
 * A channel's byte, widened to 32 bits, is a pair of 16 bits: itself and its sign. A weight is a
 * pair of itself and zero, so that the sum of the pairs' products is the product of both.
 */
#include "conv/depthwise.h"
#include "kit/int8/dot_finish.h"

#include <string.h>

#if defined(__AVX512VNNI__)
TN_INLINE tn_vector_whole multiply_add(tn_vector_whole sum, tn_vector_whole x, tn_vector_whole w) {
    return (tn_vector_whole)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}
#elif defined(__AVX2__)
TN_INLINE tn_vector_whole multiply_add(tn_vector_whole sum, tn_vector_whole x, tn_vector_whole w) {
    return sum + (tn_vector_whole)_mm256_madd_epi16((__m256i)x, (__m256i)w);
}
#elif defined(__SSE2__)
TN_INLINE tn_vector_whole multiply_add(tn_vector_whole sum, tn_vector_whole x, tn_vector_whole w) {
    return sum + (tn_vector_whole)_mm_madd_epi16((__m128i)x, (__m128i)w);
}
#else
/* The weights' lower halves have their signs. */
TN_INLINE tn_vector_whole multiply_add(tn_vector_whole sum, tn_vector_whole x, tn_vector_whole w) {
    for (int i = 0; i < TN_LANES; i++)
        sum[i] += x[i] * (int32_t)(int16_t)w[i];
    return sum;
}
#endif

TN_INLINE void run(const int positions, const tn_depthwise_tile *tile) {
    tn_vector_whole sums[4];
    const int64_t left = tile->end.columns;
    TN_UNROLL for (int p = 0; p < positions; p++) sums[p] = (tn_vector_whole){0};
    if (left >= TN_LANES) {
        for (int64_t i = 0; i < tile->count; i++) {
            const tn_vector_whole w =
                tn_vector_whole_load(tile->weights + tile->taps[i] * TN_LANES);
            const int8_t *x = tile->x + (tile->first + tile->offsets[i]);
            TN_UNROLL for (int p = 0; p < positions; p++) sums[p] =
                multiply_add(sums[p], tn_byte_widen(x + p * tile->x_step, TN_LANES), w);
        }
    } else {
        for (int64_t i = 0; i < tile->count; i++) {
            const tn_vector_whole w =
                tn_vector_whole_load(tile->weights + tile->taps[i] * TN_LANES);
            const int8_t *x = tile->x + (tile->first + tile->offsets[i]);
            TN_UNROLL for (int p = 0; p < positions; p++) sums[p] =
                multiply_add(sums[p], tn_byte_widen(x + p * tile->x_step, left), w);
        }
    }
    const tn_dot_end *end = tile->end.end;
    if (end->is_plain && end->type == TN_I8) {
        const tn_vector low = tn_vector_all(end->low), high = tn_vector_all(end->high);
        const tn_vector scale = tn_vector_load(tile->end.scale),
                        bias = tn_vector_load(tile->end.bias);
        TN_UNROLL for (int p = 0; p < positions; p++) tn_byte_store(
            (int8_t *)tile->end.output + p * tile->end.row_stride,
            tn_byte_clamp(tn_vector_of_whole(sums[p]) * scale + bias, low, high), left);
        return;
    }
    if (end->type == TN_I32 && tile->end.column_stride == 1 && left >= TN_LANES) {
        int32_t *to = tile->end.output;
        TN_UNROLL for (int p = 0; p < positions; p++)
            memcpy(to + p * tile->end.row_stride, &sums[p], sizeof(sums[p]));
        return;
    }
    tn_dot_finish(&tile->end, sums, positions, 1);
}

static void run_four(const tn_depthwise_tile *tile) {
    run(4, tile);
}

static void run_one(const tn_depthwise_tile *tile) {
    run(1, tile);
}

#if defined(__AVX512VNNI__)
#include "conv/depthwise_rows.h"
#define ROWS .read_block = read_block, .row = run_row,
#else
#define ROWS
#endif

const tn_depthwise_level TN_DEPTHWISE_LEVEL = {
    .lanes = TN_LANES, ROWS.four = run_four, .one = run_one};
