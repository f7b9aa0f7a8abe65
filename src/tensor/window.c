/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of windows; see window.h. */
#include "tensor/window.h"

/* One axis in the order of memory, in elements or, of a blocked one, in blocks. */
typedef struct window_axis {
    int64_t extent, offset, count;
} window_axis;

static bool is_within(int64_t extent, int64_t offset, int64_t count) {
    return offset >= 0 && count >= 0 && offset <= extent && count <= extent - offset;
}

/* Whole blocks: the part begins with one, and ends with one or with the tensor. */
static bool count_blocks(int64_t block, window_axis *axis) {
    const int64_t end = axis->offset + axis->count;
    if (axis->offset % block != 0 || (end % block != 0 && end != axis->extent)) return false;
    axis->extent = (axis->extent + block - 1) / block;
    axis->count = (end + block - 1) / block - axis->offset / block;
    axis->offset /= block;
    return true;
}

/* Fills the axes from the slowest to the fastest. */
static bool list_axes(tn_format format, const tn_shape *shape, const int64_t *offsets,
                      const int64_t *extents, window_axis *axes) {
    uint32_t order[TN_MAX_RANK];
    const int64_t block = tn_format_block(format);
    tn_format_axes(format, shape->rank, order);
    for (uint32_t i = 0; i < shape->rank; i++) {
        const uint32_t axis = order[i];
        axes[i] = (window_axis){shape->extents[axis], offsets[axis], extents[axis]};
        if (!is_within(shape->extents[axis], offsets[axis], extents[axis])) return false;
        if (block && axis == tn_format_axis(format) && !count_blocks(block, &axes[i])) return false;
    }
    return true;
}

/* Rows lie along the axes outside `row`; one of 1 index has no distance. False: the distances
 * differ. */
static bool find_pitch(const window_axis *axes, const size_t *strides, uint32_t row,
                       size_t *out_rows, size_t *out_pitch) {
    *out_rows = 1;
    *out_pitch = 0;
    for (uint32_t i = row; i-- > 0;) {
        if (axes[i].count == 1) continue;
        if (*out_rows > 1 && strides[i] != *out_pitch * *out_rows) return false;
        if (*out_rows == 1) *out_pitch = strides[i];
        *out_rows *= (size_t)axes[i].count;
    }
    return true;
}

bool tn_window_find(tn_type type, tn_format format, const tn_shape *shape, const int64_t *offsets,
                    const int64_t *extents, tn_window *out_window) {
    window_axis axes[TN_MAX_RANK];
    size_t strides[TN_MAX_RANK], rows = 1, pitch = 0, offset = 0;
    const uint32_t rank = shape->rank;
    if (!tn_format_fits(format, rank) || !list_axes(format, shape, offsets, extents, axes))
        return false;
    /* What is added up here fits: the whole tensor's sizes do. */
    size_t stride = tn_format_block(format) ? (size_t)tn_format_block(format) : 1,
           elements = stride;
    uint32_t row = 0; /* the innermost axis that is cut */
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = stride;
        stride *= (size_t)axes[i].extent;
        elements *= (size_t)axes[i].count;
        offset += (size_t)axes[i].offset * strides[i];
        if (row == 0 && axes[i].count != axes[i].extent) row = i;
    }
    if (elements > 0 && !find_pitch(axes, strides, row, &rows, &pitch)) return false;
    if (tn_type_is_packed(type) && (rows > 1 || offset * tn_type_bits(type) % 8 != 0)) return false;
    *out_window = (tn_window){.offset_bytes = tn_type_storage(type, offset),
                              .row_count = elements ? rows : 0,
                              .row_bytes = tn_type_storage(type, rows ? elements / rows : 0),
                              .pitch_bytes = tn_type_storage(type, pitch)};
    return true;
}
