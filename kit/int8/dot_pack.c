/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising and packing of weights; see dot_pack.h. */
#include "kit/int8/weight_scale.h"
#include "kit/math/round_up.h"
#include <tenon/kit/dot_pack.h>
#include <tenon/kit/parallel.h>

#include <string.h>

enum { LANES_MOST = 16 };

bool tn_dot_layout_make(const tn_dot_level *level, int64_t matrices, int64_t columns,
                        int64_t groups, tn_dot_layout *out_layout) {
    const int64_t lanes = level->lanes, limit = INT32_MAX;
    if (matrices <= 0 || columns <= 0 || groups <= 0 || matrices > limit || columns > limit ||
        groups > TN_DOT_DEPTH_LIMIT / level->group)
        return false;
    const int64_t vectors = (columns + lanes - 1) / lanes;
    *out_layout = (tn_dot_layout){.level = level,
                                  .matrices = matrices,
                                  .columns = columns,
                                  .groups = groups,
                                  .padded = vectors * lanes,
                                  .blocks = (vectors + level->vectors - 1) / level->vectors};
    return tn_dot_layout_bytes(out_layout) != 0;
}

/* What is before the weights of each block. */
static uint64_t arranged_bytes(const tn_dot_layout *layout) {
    const uint64_t groups = (uint64_t)layout->groups;
    if (!layout->level->narrow) return 0;
    return tn_whole_lines(sizeof(tn_dot_arranged) + (groups + groups / 2) * sizeof(uint16_t));
}

uint64_t tn_dot_layout_bytes(const tn_dot_layout *layout) {
    const uint64_t columns = (uint64_t)layout->matrices * (uint64_t)layout->padded; /* < 2^63 */
    const uint64_t each = (uint64_t)layout->groups * layout->level->group + 8;
    const uint64_t blocks = (uint64_t)layout->matrices * (uint64_t)layout->blocks;
    return columns > UINT64_MAX / 4 / each ? 0 : columns * each + blocks * arranged_bytes(layout);
}

int64_t tn_dot_block_first(const tn_dot_layout *layout, int64_t block) {
    const int64_t lanes = layout->level->lanes;
    return tn_parallel_first(layout->padded / lanes, layout->blocks, block) * lanes;
}

const float *tn_dot_scales(const tn_dot_layout *layout, const void *blob, int64_t matrix) {
    return (const float *)blob + matrix * layout->padded;
}

const int32_t *tn_dot_weight_sums(const tn_dot_layout *layout, const void *blob, int64_t matrix) {
    return (const int32_t *)blob + matrix * layout->padded;
}

static const char *arranged_first(const tn_dot_layout *layout, const void *blob) {
    return (const char *)blob + layout->matrices * layout->padded * 8;
}

static const int8_t *weights_at(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                int64_t first) {
    const int64_t depth = layout->groups * layout->level->group;
    const int64_t arranged = layout->matrices * layout->blocks * (int64_t)arranged_bytes(layout);
    return (const int8_t *)arranged_first(layout, blob) + arranged +
           (matrix * layout->padded + first) * depth;
}

const int8_t *tn_dot_weights_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                int64_t block) {
    return weights_at(layout, blob, matrix, tn_dot_block_first(layout, block));
}

/* ----------------------------------------------------------------------------------------------
 * products of bytes without VNNI */

static tn_dot_arranged *arranged_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                    int64_t block) {
    const int64_t at = (matrix * layout->blocks + block) * (int64_t)arranged_bytes(layout);
    return (tn_dot_arranged *)(uintptr_t)(arranged_first(layout, blob) + at);
}

static uint16_t *order_of(const tn_dot_arranged *arranged) {
    return (uint16_t *)(uintptr_t)(arranged + 1);
}

void tn_dot_arrange_block(const tn_dot_layout *layout, void *blob, int64_t matrix, int64_t block) {
    if (!layout->level->narrow) return;
    int8_t *weights = (int8_t *)(uintptr_t)tn_dot_weights_of(layout, blob, matrix, block);
    tn_dot_arranged *arranged = arranged_of(layout, blob, matrix, block);
    uint16_t *order = order_of(arranged);
    *arranged = layout->level->narrow->arrange(weights, layout->groups,
                                               tn_dot_block_first(layout, block + 1) -
                                                   tn_dot_block_first(layout, block),
                                               order, order + layout->groups);
}

tn_dot_choice tn_dot_choose(const tn_dot_layout *layout, tn_dot_range range) {
    const tn_dot_narrow *narrow = layout->level->narrow;
    if (!narrow) return (tn_dot_choice){layout->level->form, 0};
    const tn_dot_form *form = narrow->forms[range.low < 0];
    const int32_t largest = range.high + form->shift;
    return (tn_dot_choice){form, largest > 0 ? INT16_MAX / largest : INT16_MAX};
}

/* How many of the ascending numbers are at most `most`. */
static int64_t count_up_to(const uint16_t *numbers, int64_t count, int32_t most) {
    int64_t first = 0;
    while (first < count) {
        const int64_t middle = (first + count) / 2;
        if (numbers[middle] <= most)
            first = middle + 1;
        else
            count = middle;
    }
    return first;
}

/* Which groups are multiplied how. */
static void begin_groups(const tn_dot_layout *layout, const tn_dot_arranged *arranged, int32_t most,
                         tn_dot_tile *tile) {
    const int64_t count = layout->groups / 2;
    tile->order = order_of(arranged);
    const uint16_t *pairs = tile->order + layout->groups;
    tile->folded = arranged->first_pair > most   ? 0
                   : arranged->last_pair <= most ? 2 * count
                                                 : 2 * count_up_to(pairs, count, most);
    tile->single = arranged->largest <= most         ? layout->groups
                   : arranged->of_any > tile->folded ? arranged->of_any
                                                     : tile->folded;
}

void tn_dot_tile_begin(const tn_dot_layout *layout, const void *blob, const tn_dot_choice *choice,
                       int64_t matrix, int64_t block, tn_dot_tile *tile) {
    static const int32_t zeros[TN_DOT_VECTORS * LANES_MOST];
    const int32_t *initial = (const int32_t *)blob + (layout->matrices + matrix) * layout->padded;
    const int64_t first = tn_dot_block_first(layout, block);
    tile->groups = layout->groups;
    tile->columns = tn_dot_block_first(layout, block + 1) - first;
    tile->vectors = tile->columns / layout->level->lanes;
    tile->weights = weights_at(layout, blob, matrix, first);
    tile->initial = choice->form->shift == 0 ? zeros : initial + first;
    if (!layout->level->narrow) return;
    const tn_dot_arranged *arranged = arranged_of(layout, blob, matrix, block);
    begin_groups(layout, arranged, choice->most, tile);
    __builtin_prefetch((const char *)arranged + arranged_bytes(layout)); /* the next block's */
}

/* ----------------------------------------------------------------------------------------------
 * packing */

static float scale_of(const tn_dot_layout *layout, const tn_dot_source *source,
                      const int32_t *elements, const float *column) {
    float largest = 0;
    for (int64_t k = 0; k < layout->groups * layout->level->group; k++)
        if (elements[k] >= 0)
            largest = tn_weight_larger(largest, column[elements[k] * source->element_stride]);
    return tn_weight_scale(largest);
}

enum { SHIFT = 128 }; /* of activations, if any */

/* How the weights of a column become bytes. */
typedef enum weight_kind { WEIGHT_FLOAT, WEIGHT_SIGNED, WEIGHT_UNSIGNED } weight_kind;

static int8_t weight_at(weight_kind kind, const void *column, int64_t at, float scale) {
    switch (kind) {
    case WEIGHT_FLOAT:
        return tn_weight_quantise(((const float *)column)[at], scale);
    case WEIGHT_SIGNED:
        return ((const int8_t *)column)[at];
    case WEIGHT_UNSIGNED:
        return (int8_t)(((const uint8_t *)column)[at] ^ 0x80u);
    }
    return 0;
}

/* Column n of a matrix: `to` is its first group in the block, `step` bytes from group to group.
 * Writes the column's scale, or the sum of its weights, and what its sums begin at. */
static void pack_column(const tn_dot_layout *layout, const tn_dot_source *source, weight_kind kind,
                        const void *matrix, int64_t n, int8_t *to, int64_t step, float *out_scale,
                        int32_t *out_initial) {
    const int64_t group = layout->level->group;
    const int32_t *elements = source->elements + n / source->period * layout->groups * group;
    const size_t bytes = kind == WEIGHT_FLOAT ? sizeof(float) : 1;
    const void *column =
        (const char *)matrix + (size_t)(n % source->period * source->column_stride) * bytes;
    const float scale = kind == WEIGHT_FLOAT ? scale_of(layout, source, elements, column) : 1.0f;
    int32_t sum = 0;
    for (int64_t g = 0; g < layout->groups; g++) {
        for (int64_t i = 0; i < group; i++) {
            const int32_t element = elements[g * group + i];
            int8_t weight = 0;
            if (element >= 0)
                weight = weight_at(kind, column, element * source->element_stride, scale);
            to[g * step + i] = weight;
            sum += weight;
        }
    }
    if (kind == WEIGHT_FLOAT)
        *out_scale = scale;
    else
        memcpy(out_scale, &sum, sizeof(sum));
    *out_initial = sum * -SHIFT;
}

static void clear_column(const tn_dot_layout *layout, int8_t *to, int64_t step) {
    for (int64_t g = 0; g < layout->groups; g++) {
        for (int64_t i = 0; i < layout->level->group; i++)
            to[g * step + i] = 0;
    }
}

static void pack(const tn_dot_layout *layout, const tn_dot_source *source, weight_kind kind,
                 const void *from, void *out_blob) {
    const size_t weight_bytes = kind == WEIGHT_FLOAT ? sizeof(float) : 1;
    const int64_t group = layout->level->group;
    float *scales = out_blob;
    int32_t *initial = (int32_t *)out_blob + layout->matrices * layout->padded;
    for (int64_t m = 0; m < layout->matrices; m++) {
        const void *matrix =
            (const char *)from + (size_t)(m * source->matrix_stride) * weight_bytes;
        for (int64_t block = 0; block < layout->blocks; block++) {
            const int64_t first = tn_dot_block_first(layout, block);
            const int64_t width = tn_dot_block_first(layout, block + 1) - first;
            int8_t *weights = (int8_t *)(uintptr_t)tn_dot_weights_of(layout, out_blob, m, block);
            for (int64_t i = 0; i < width; i++, scales++, initial++) {
                *scales = 0;
                *initial = 0;
                if (first + i < layout->columns)
                    pack_column(layout, source, kind, matrix, first + i, weights + i * group,
                                width * group, scales, initial);
                else
                    clear_column(layout, weights + i * group, width * group);
            }
            tn_dot_arrange_block(layout, out_blob, m, block);
        }
    }
}

void tn_dot_pack(const tn_dot_layout *layout, const tn_dot_source *source, void *out_blob) {
    pack(layout, source, WEIGHT_FLOAT, source->from, out_blob);
}

void tn_dot_pack_bytes(const tn_dot_layout *layout, const tn_dot_source *source, const void *bytes,
                       bool is_unsigned, void *out_blob) {
    pack(layout, source, is_unsigned ? WEIGHT_UNSIGNED : WEIGHT_SIGNED, bytes, out_blob);
}

/* Whether each pair of weights beside each other in a group of a block may be multiplied by any
 * bytes. */
static bool group_is_narrow(const tn_dot_layout *layout, const tn_dot_source *source,
                            const void *bytes, bool is_unsigned, int64_t block, int64_t group) {
    const weight_kind kind = is_unsigned ? WEIGHT_UNSIGNED : WEIGHT_SIGNED;
    const int64_t size = layout->level->group, first = tn_dot_block_first(layout, block);
    const int64_t next = tn_dot_block_first(layout, block + 1);
    const int64_t last = next < layout->columns ? next : layout->columns;
    for (int64_t n = first; n < last; n++) {
        const int32_t *elements =
            source->elements + n / source->period * layout->groups * size + group * size;
        const char *column = (const char *)bytes + n % source->period * source->column_stride;
        int32_t sums[2] = {0, 0}; /* of positive, of negative weights */
        for (int64_t i = 0; i < size; i++) {
            if (i % 2 == 0) sums[0] = sums[1] = 0;
            if (elements[i] < 0) continue;
            const int32_t w = weight_at(kind, column, elements[i] * source->element_stride, 1);
            sums[w < 0] += w < 0 ? -w : w;
            if (sums[w < 0] * UINT8_MAX > INT16_MAX) return false;
        }
    }
    return true;
}

bool tn_dot_bytes_are_narrow(const tn_dot_layout *layout, const tn_dot_source *source,
                             const void *bytes, bool is_unsigned, bool has_signed_activations) {
    enum { SAMPLES = 256, LEAST = 60 /* percent */ };
    const int64_t all = layout->blocks * layout->groups; /* of the first matrix */
    const int64_t count = all < SAMPLES ? all : SAMPLES;
    int64_t narrow = 0;
    if (has_signed_activations) return true;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = tn_parallel_first(all, count, i);
        narrow += group_is_narrow(layout, source, bytes, is_unsigned, at / layout->groups,
                                  at % layout->groups);
    }
    return narrow * 100 >= count * LEAST;
}
