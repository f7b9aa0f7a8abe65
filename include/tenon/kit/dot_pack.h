/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights as dot.h multiplies them: quantised symmetrically, one scale an output channel (the
 * largest magnitude over 127), rounded to nearest even, and laid out block after block. A blob
 * holds one or more matrices of the same size (a convolution's groups), and no pointers, so that it
 * can be shared and saved. With M matrices of N columns padded to whole vectors, G groups of D
 * elements, and a block of B columns:
 *
 *     float scale[M][N] | int32 initial[M][N] |
 *     where the level has tn_dot_narrow, for each matrix and block, in whole lines of 64 bytes:
 *     tn_dot_arranged | uint16 order[G] | uint16 pairs[G / 2] |
 *     then for each matrix and block int8 weights, group 0: w[0..D-1] of column 0, .. of column B-1
 *     | group 1: .. | .. | group G-1: ..
 *
 * where the initial sums are -128 times the sum of the column's weights.
 */
#ifndef TENON_KIT_DOT_PACK_H
#define TENON_KIT_DOT_PACK_H

#include <tenon/kit/dot.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_dot_layout {
    const tn_dot_level *level;
    int64_t matrices, columns, groups;
    int64_t padded; /* columns, up to whole vectors */
    int64_t blocks; /* of columns, their sizes differing by one vector at most */
} tn_dot_layout;

/* False when there is nothing to multiply or the sizes are beyond what sums of 32 bits hold. */
bool tn_dot_layout_make(const tn_dot_level *level, int64_t matrices, int64_t columns,
                        int64_t groups, tn_dot_layout *out_layout);
/* Of the blob; 0 when it is too large to say. */
uint64_t tn_dot_layout_bytes(const tn_dot_layout *layout);

/* Where the weights come from: matrix m's column n has at element k of its groups
 * from[m * matrix_stride + n % period * column_stride + e * element_stride], where e is
 * elements[n / period][k], or zero where that is negative. */
typedef struct tn_dot_source {
    const float *from;
    int64_t matrix_stride, column_stride, element_stride;
    int64_t period;          /* columns, or a part of them */
    const int32_t *elements; /* columns / period x groups x group */
} tn_dot_source;

/* A column with a weight that is not finite gets NaN as its scale. */
void tn_dot_pack(const tn_dot_layout *layout, const tn_dot_source *source, void *out_blob);

/* The same of the integers of 8 bits at `bytes`, instead of source->from: as they are,
 * unsigned ones less 128. Where others have their scales a blob of these has the sums of the
 * columns' weights, int32. */
void tn_dot_pack_bytes(const tn_dot_layout *layout, const tn_dot_source *source, const void *bytes,
                       bool is_unsigned, void *out_blob);
/* Whether a level with tn_dot_narrow is the faster one for such weights, as a part of them says:
 * most groups may be multiplied by any bytes, or activations are signed, and so may well be 0 or
 * more. */
bool tn_dot_bytes_are_narrow(const tn_dot_layout *layout, const tn_dot_source *source,
                             const void *bytes, bool is_unsigned, bool has_signed_activations);
const int32_t *tn_dot_weight_sums(const tn_dot_layout *layout, const void *blob, int64_t matrix);

/* Of one matrix: padded scales; the weights of a block of it. */
const float *tn_dot_scales(const tn_dot_layout *layout, const void *blob, int64_t matrix);
const int8_t *tn_dot_weights_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                int64_t block);
/* The first column of a block, a multiple of the lanes. */
int64_t tn_dot_block_first(const tn_dot_layout *layout, int64_t block);

/* How a run multiplies. */
typedef struct tn_dot_choice {
    const tn_dot_form *form;
    int32_t most; /* where layout->level->narrow counts: the largest sum of weights whose products
                     with these activations 16 bits hold */
} tn_dot_choice;

/* For activations in a range, which counts where layout->level->narrow is not null. */
tn_dot_choice tn_dot_choose(const tn_dot_layout *layout, tn_dot_range range);
/* Of a tile of a block: groups, weights and their order, initial sums, all columns. */
void tn_dot_tile_begin(const tn_dot_layout *layout, const void *blob, const tn_dot_choice *choice,
                       int64_t matrix, int64_t block, tn_dot_tile *tile);
/* For whoever packs a block's weights himself, and then has to call this. */
void tn_dot_arrange_block(const tn_dot_layout *layout, void *blob, int64_t matrix, int64_t block);

#ifdef __cplusplus
}
#endif

#endif
