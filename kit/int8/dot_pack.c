/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising and packing of weights; see dot_pack.h. */
#include "kit/int8/weight_scale.h"
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

/* What is behind the weights of all blocks, for each of them. */
static uint64_t arranged_bytes(const tn_dot_layout *layout) {
    const uint64_t groups = (uint64_t)layout->groups;
    if (!layout->level->narrow) return 0;
    return (sizeof(int32_t) + (groups + groups / 2) * sizeof(uint16_t) + 3) / 4 * 4;
}

static uint64_t all_arranged_bytes(const tn_dot_layout *layout) {
    return (uint64_t)layout->matrices * (uint64_t)layout->blocks * arranged_bytes(layout);
}

uint64_t tn_dot_layout_bytes(const tn_dot_layout *layout) {
    const uint64_t columns = (uint64_t)layout->matrices * (uint64_t)layout->padded; /* < 2^63 */
    const uint64_t each = (uint64_t)layout->groups * layout->level->group + 8;
    return columns > UINT64_MAX / 4 / each ? 0 : columns * each + all_arranged_bytes(layout);
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

const int8_t *tn_dot_weights_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                int64_t block) {
    const int64_t depth = layout->groups * layout->level->group;
    return (const int8_t *)blob + layout->matrices * layout->padded * 8 +
           (matrix * layout->padded + tn_dot_block_first(layout, block)) * depth;
}

/* ----------------------------------------------------------------------------------------------
 * products of bytes without VNNI */

typedef struct arranged {
    int32_t *largest;
    uint16_t *order, *pairs;
} arranged;

static arranged arranged_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                            int64_t block) {
    char *first =
        (char *)(uintptr_t)blob + tn_dot_layout_bytes(layout) - all_arranged_bytes(layout);
    void *at = first + (uint64_t)(matrix * layout->blocks + block) * arranged_bytes(layout);
    uint16_t *order = (uint16_t *)at + sizeof(int32_t) / sizeof(uint16_t);
    return (arranged){at, order, order + layout->groups};
}

void tn_dot_arrange_block(const tn_dot_layout *layout, void *blob, int64_t matrix, int64_t block,
                          bool is_ordered) {
    if (!layout->level->narrow) return;
    const arranged of = arranged_of(layout, blob, matrix, block);
    const int64_t width = tn_dot_block_first(layout, block + 1) - tn_dot_block_first(layout, block);
    int8_t *weights = (int8_t *)(uintptr_t)tn_dot_weights_of(layout, blob, matrix, block);
    *of.largest = layout->level->narrow->arrange(weights, layout->groups, width, is_ordered,
                                                 of.order, of.pairs);
}

tn_dot_choice tn_dot_choose(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                            int64_t count, tn_dot_range range) {
    const tn_dot_narrow *narrow = layout->level->narrow;
    const tn_dot_choice own = {layout->level->form, -1};
    if (!narrow) return own;
    const tn_dot_form *form = narrow->forms[range.low < 0];
    const int32_t largest = range.high < range.low ? 0 : range.high + form->shift;
    for (int64_t i = 0; i < count * layout->blocks; i++)
        if (*arranged_of(layout, blob, matrix, i).largest * largest > INT16_MAX) return own;
    return (tn_dot_choice){form, largest};
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

const tn_dot_level *tn_dot_tile_begin(const tn_dot_layout *layout, const void *blob,
                                      const tn_dot_choice *choice, int64_t matrix, int64_t block,
                                      tn_dot_tile *tile) {
    static const int32_t zeros[TN_DOT_VECTORS * LANES_MOST];
    const int32_t *initial = (const int32_t *)blob + (layout->matrices + matrix) * layout->padded;
    const int64_t first = tn_dot_block_first(layout, block);
    tile->groups = layout->groups;
    tile->columns = tn_dot_block_first(layout, block + 1) - first;
    tile->vectors = tile->columns / layout->level->lanes;
    tile->weights = tn_dot_weights_of(layout, blob, matrix, block);
    tile->initial = choice->form->shift == 0 ? zeros : initial + first;
    tile->folded = 0;
    if (!layout->level->narrow) return layout->level;
    const arranged of = arranged_of(layout, blob, matrix, block);
    tile->order = of.order;
    if (choice->largest < 0) return layout->level;
    const int32_t most = choice->largest ? INT16_MAX / choice->largest : INT32_MAX;
    tile->folded = 2 * count_up_to(of.pairs, layout->groups / 2, most);
    return layout->level->narrow->level;
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
                 const void *from, bool is_ordered, void *out_blob) {
    const size_t weight_bytes = kind == WEIGHT_FLOAT ? sizeof(float) : 1;
    const int64_t group = layout->level->group;
    float *scales = out_blob;
    int32_t *initial = (int32_t *)out_blob + layout->matrices * layout->padded;
    int8_t *weights = (int8_t *)out_blob + layout->matrices * layout->padded * 8;
    for (int64_t m = 0; m < layout->matrices; m++) {
        const void *matrix =
            (const char *)from + (size_t)(m * source->matrix_stride) * weight_bytes;
        for (int64_t block = 0; block < layout->blocks; block++) {
            const int64_t first = tn_dot_block_first(layout, block);
            const int64_t width = tn_dot_block_first(layout, block + 1) - first;
            for (int64_t i = 0; i < width; i++, scales++, initial++) {
                *scales = 0;
                *initial = 0;
                if (first + i < layout->columns)
                    pack_column(layout, source, kind, matrix, first + i, weights + i * group,
                                width * group, scales, initial);
                else
                    clear_column(layout, weights + i * group, width * group);
            }
            weights += width * group * layout->groups;
            tn_dot_arrange_block(layout, out_blob, m, block, is_ordered);
        }
    }
}

void tn_dot_pack(const tn_dot_layout *layout, const tn_dot_source *source, void *out_blob) {
    pack(layout, source, WEIGHT_FLOAT, source->from, true, out_blob);
}

void tn_dot_pack_bytes(const tn_dot_layout *layout, const tn_dot_source *source, const void *bytes,
                       bool is_unsigned, bool is_ordered, void *out_blob) {
    pack(layout, source, is_unsigned ? WEIGHT_UNSIGNED : WEIGHT_SIGNED, bytes, is_ordered,
         out_blob);
}
