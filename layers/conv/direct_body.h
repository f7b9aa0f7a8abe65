/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of the direct convolution, compiled by direct_<level>.c for that level's vectors.
 * Before it is included, TN_DIRECT_LEVEL names the table to define.
 *
 * Registers bound the tile: P*C accumulators, P loaded vectors and one broadcast weight fit the 32
 * registers of AVX-512 up to 3 x 8 or 4 x 6, the 16 of the others up to 3 x 4. Loading the P
 * vectors first and broadcasting one weight at a time keeps the loads, which mostly cross cache
 * lines, off the critical path.
 */
#include "conv/direct.h"
#include <tenon/kit/activation.h>

/* The general end of a tile: part of a vector at the end of a row, a residual, any activation.
 * `sums` is C rows of P vectors. */
static __attribute__((noinline)) void tile_finish(const tn_direct_tile *tile, const tn_vector *sums,
                                                  int vectors, int channels) {
    for (int c = 0; c < channels; c++) {
        for (int p = 0; p < vectors; p++) {
            const int64_t left = tile->positions - p * TN_LANES;
            const int64_t at = c * tile->channel_stride + p * TN_LANES;
            if (left <= 0) break;
            tn_vector value = sums[c * vectors + p];
            if (tile->residual)
                value += left >= TN_LANES ? tn_vector_load(tile->residual + at)
                                          : tn_vector_load_part(tile->residual + at, left);
            value = tn_activation_vector(tile->activation, tile->alpha, tile->beta, value);
            if (left >= TN_LANES)
                tn_vector_store(tile->output + at, value);
            else
                tn_vector_store_part(tile->output + at, value, left);
        }
    }
}

TN_INLINE void tile_run(const int vectors, const int channels, const tn_direct_tile *tile) {
    tn_vector sums[TN_DIRECT_CHANNELS][TN_DIRECT_VECTORS];
    TN_UNROLL for (int c = 0; c < channels; c++) {
        TN_UNROLL for (int p = 0; p < vectors; p++) sums[c][p] = tn_vector_all(tile->bias[c]);
    }
    const float *weights = tile->weights;
    for (int64_t tap = 0; tap < tile->taps; tap++) {
        const float *x = tile->x + tile->offsets[tap];
        tn_vector values[TN_DIRECT_VECTORS];
        TN_UNROLL for (int p = 0; p < vectors; p++) values[p] = tn_vector_load(x + p * TN_LANES);
        TN_UNROLL for (int c = 0; c < channels; c++) {
            const tn_vector weight = tn_vector_all(weights[c]);
            TN_UNROLL for (int p = 0; p < vectors; p++) sums[c][p] += values[p] * weight;
        }
        weights += channels;
    }
    if (tile->positions >= vectors * TN_LANES && !tile->residual &&
        tile->activation <= TN_ACTIVATION_RELU) {
        const tn_vector floor = tn_vector_all(tile->activation ? 0.0f : -__builtin_inff());
        TN_UNROLL for (int c = 0; c < channels; c++) {
            TN_UNROLL for (int p = 0; p < vectors; p++)
                tn_vector_store(tile->output + c * tile->channel_stride + p * TN_LANES,
                                tn_vector_max(sums[c][p], floor));
        }
        return;
    }
    tn_vector spilled[TN_DIRECT_CHANNELS * TN_DIRECT_VECTORS];
    TN_UNROLL for (int c = 0; c < channels; c++) {
        TN_UNROLL for (int p = 0; p < vectors; p++) spilled[c * vectors + p] = sums[c][p];
    }
    tile_finish(tile, spilled, vectors, channels);
}

#define TILE(C, P)                                                                                 \
    static void tile_##C##_##P(const tn_direct_tile *tile) {                                       \
        tile_run(P, C, tile);                                                                      \
    }
#define TILES_1(C) TILE(C, 1)
#define TILES_2(C) TILES_1(C) TILE(C, 2)
#define TILES_3(C) TILES_2(C) TILE(C, 3)
#define TILES_4(C) TILES_3(C) TILE(C, 4)
#define TILES_5(C) TILES_4(C) TILE(C, 5)
#define TILES_6(C) TILES_5(C) TILE(C, 6)
#define TILES_8(C) TILES_6(C) TILE(C, 7) TILE(C, 8)
#define ROW_1(C)   tile_##C##_1
#define ROW_2(C)   ROW_1(C), tile_##C##_2
#define ROW_3(C)   ROW_2(C), tile_##C##_3
#define ROW_4(C)   ROW_3(C), tile_##C##_4
#define ROW_5(C)   ROW_4(C), tile_##C##_5
#define ROW_6(C)   ROW_5(C), tile_##C##_6
#define ROW_8(C)   ROW_6(C), tile_##C##_7, tile_##C##_8

/* Lists of macros that are functions. */
/* clang-format off */
#if TN_LANES == 16
TILES_8(1) TILES_8(2) TILES_8(3) TILES_6(4) TILES_5(5) TILES_4(6) TILES_3(7) TILES_3(8)
const tn_direct_level TN_DIRECT_LEVEL = {
    .lanes = TN_LANES,
    .maximum_channels = 8,
    .maximum_vectors = {8, 8, 8, 6, 5, 4, 3, 3},
    .functions = {{ROW_8(1)}, {ROW_8(2)}, {ROW_8(3)}, {ROW_6(4)},
                  {ROW_5(5)}, {ROW_4(6)}, {ROW_3(7)}, {ROW_3(8)}}};
#else
TILES_8(1) TILES_5(2) TILES_4(3) TILES_3(4) TILES_2(5) TILES_2(6)
const tn_direct_level TN_DIRECT_LEVEL = {
    .lanes = TN_LANES,
    .maximum_channels = 6,
    .maximum_vectors = {8, 5, 4, 3, 2, 2},
    .functions = {{ROW_8(1)}, {ROW_5(2)}, {ROW_4(3)}, {ROW_3(4)}, {ROW_2(5)}, {ROW_2(6)}}};
#endif
/* clang-format on */
