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

static uint64_t bounds_bytes(const tn_dot_layout *layout) {
    const uint64_t blocks = (uint64_t)layout->matrices * (uint64_t)layout->blocks;
    return layout->level->narrow ? blocks * 2 * sizeof(int32_t) : 0;
}

uint64_t tn_dot_layout_bytes(const tn_dot_layout *layout) {
    const uint64_t columns = (uint64_t)layout->matrices * (uint64_t)layout->padded; /* < 2^63 */
    const uint64_t each = (uint64_t)layout->groups * layout->level->group + 8;
    return columns > UINT64_MAX / 4 / each ? 0 : columns * each + bounds_bytes(layout);
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

const int32_t *tn_dot_initial(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                              int64_t block, const tn_dot_form *form) {
    static const int32_t zeros[TN_DOT_VECTORS * LANES_MOST];
    if (form->shift == 0) return zeros;
    return (const int32_t *)blob + (layout->matrices + matrix) * layout->padded +
           tn_dot_block_first(layout, block);
}

const int8_t *tn_dot_weights_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                                int64_t block) {
    const int64_t depth = layout->groups * layout->level->group;
    return (const int8_t *)blob + layout->matrices * layout->padded * 8 +
           (matrix * layout->padded + tn_dot_block_first(layout, block)) * depth;
}

/* ----------------------------------------------------------------------------------------------
 * products of bytes without VNNI */

static int32_t *bounds_of(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                          int64_t block) {
    const uint64_t bytes = tn_dot_layout_bytes(layout) - bounds_bytes(layout);
    return (int32_t *)(void *)((char *)(uintptr_t)blob + bytes) +
           2 * (matrix * layout->blocks + block);
}

void tn_dot_bound_block(const tn_dot_layout *layout, void *blob, int64_t matrix, int64_t block) {
    if (!layout->level->narrow) return;
    layout->level->narrow->bound(tn_dot_weights_of(layout, blob, matrix, block), layout->groups,
                                 tn_dot_block_first(layout, block + 1) -
                                     tn_dot_block_first(layout, block),
                                 bounds_of(layout, blob, matrix, block));
}

tn_dot_choice tn_dot_choose(const tn_dot_layout *layout, const void *blob, int64_t matrix,
                            int64_t count, tn_dot_range range) {
    const tn_dot_narrow *narrow = layout->level->narrow;
    const tn_dot_choice own = {layout->level->form, -1};
    if (!narrow) return own;
    const tn_dot_form *form = narrow->forms[range.low < 0];
    const int32_t largest = range.high < range.low ? 0 : range.high + form->shift;
    const int32_t *bounds = bounds_of(layout, blob, matrix, 0);
    for (int64_t i = 0; i < count * layout->blocks; i++)
        if (bounds[2 * i] * largest > INT16_MAX) return own;
    return (tn_dot_choice){form, largest};
}

const tn_dot_level *tn_dot_block_level(const tn_dot_layout *layout, const void *blob,
                                       const tn_dot_choice *choice, int64_t matrix, int64_t block) {
    if (choice->largest < 0) return layout->level;
    const int32_t *bounds = bounds_of(layout, blob, matrix, block);
    return layout->level->narrow->levels[bounds[1] * choice->largest <= INT16_MAX];
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
            tn_dot_bound_block(layout, out_blob, m, block);
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
