/* SPDX-License-Identifier: Apache-2.0 */
/* See strided_copy.h. Axes that go on into one another are one; the two innermost ones are copied
 * in blocks. */
#include "run/strided/strided_copy.h"

#include <string.h>

static void add_axis(strided_copy *copy, int64_t extent, int64_t from, int64_t to) {
    const uint32_t last = copy->rank - 1;
    /* the axis before goes on where this one ends: both are one */
    if (copy->rank > 0 && copy->from[last] == extent * from && copy->to[last] == extent * to) {
        copy->extents[last] *= extent;
        copy->from[last] = from;
        copy->to[last] = to;
        return;
    }
    copy->extents[copy->rank] = extent;
    copy->from[copy->rank] = from;
    copy->to[copy->rank++] = to;
}

strided_copy strided_copy_make(const tn_shape *shape, const int64_t *strides, size_t element,
                               bool is_gather) {
    int64_t packed[TN_MAX_RANK], bytes = (int64_t)element;
    strided_copy copy = {.element = element};
    for (uint32_t axis = shape->rank; axis-- > 0;) {
        packed[axis] = bytes;
        bytes *= shape->extents[axis];
    }
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        const int64_t apart = strides[axis] * (int64_t)element;
        if (shape->extents[axis] == 1) continue;
        add_axis(&copy, shape->extents[axis], is_gather ? apart : packed[axis],
                 is_gather ? packed[axis] : apart);
    }
    return copy;
}

#define COPY_ROW(bytes)                                                                            \
    for (int64_t i = 0; i < count; i++)                                                            \
    memcpy(to + i * to_stride, from + i * from_stride, bytes)

static void copy_row(size_t element, int64_t count, const unsigned char *from, int64_t from_stride,
                     unsigned char *to, int64_t to_stride) {
    if (from_stride == (int64_t)element && to_stride == (int64_t)element)
        memcpy(to, from, (size_t)count * element);
    else if (element == 1)
        COPY_ROW(1);
    else if (element == 2)
        COPY_ROW(2);
    else if (element == 4)
        COPY_ROW(4);
    else
        COPY_ROW(8);
}

/* Elements of the two innermost axes that are copied at once, so that the lines of both memories
 * stay in the nearest cache. */
enum { BLOCK = 32 };

static int64_t at_most(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The two last axes. */
static void copy_plane(const strided_copy *copy, const unsigned char *from, unsigned char *to) {
    const uint32_t row = copy->rank - 2, column = copy->rank - 1;
    const int64_t rows = copy->extents[row], columns = copy->extents[column];
    const bool is_row = copy->from[column] == copy->to[column];
    const int64_t block = is_row ? columns : BLOCK;
    for (int64_t r = 0; r < rows; r += BLOCK)
        for (int64_t c = 0; c < columns; c += block)
            for (int64_t i = r; i < at_most(rows, r + BLOCK); i++)
                copy_row(copy->element, at_most(columns - c, block),
                         from + i * copy->from[row] + c * copy->from[column], copy->from[column],
                         to + i * copy->to[row] + c * copy->to[column], copy->to[column]);
}

void strided_copy_run(const strided_copy *copy, const unsigned char *from, unsigned char *to) {
    int64_t index[TN_MAX_RANK] = {0};
    if (copy->rank == 0) memcpy(to, from, copy->element);
    if (copy->rank == 1)
        copy_row(copy->element, copy->extents[0], from, copy->from[0], to, copy->to[0]);
    while (copy->rank > 1) {
        int64_t from_offset = 0, to_offset = 0;
        for (uint32_t axis = 0; axis + 2 < copy->rank; axis++) {
            from_offset += index[axis] * copy->from[axis];
            to_offset += index[axis] * copy->to[axis];
        }
        copy_plane(copy, from + from_offset, to + to_offset);
        uint32_t axis = copy->rank - 2; /* the next index of the outer axes */
        while (axis > 0 && ++index[axis - 1] == copy->extents[axis - 1])
            index[--axis] = 0;
        if (axis == 0) return;
    }
}
