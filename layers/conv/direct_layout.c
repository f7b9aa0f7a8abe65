/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the direct convolution's input; direct_plan.h says how. */
#include "conv/direct_layout.h"

#include <string.h>

/* Copies a row; `may_overrun` says that both rows may be overrun by a vector. */
static inline void copy_row(float *to, const float *from, int64_t count, bool may_overrun) {
    if (!may_overrun) {
        memcpy(to, from, (size_t)count * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < count; i += 8)
        memcpy(to + i, from + i, 8 * sizeof(float));
}

/* One kernel column of COLUMN_COPIES: which outputs see the input, and where the first of them
 * reads. */
typedef struct column_copy {
    int64_t first, last; /* outputs whose element is inside the row; before and behind lie zeros */
    int64_t source;      /* of output `first`, in the row */
} column_copy;

static column_copy column_copy_of(const tn_conv_geometry *g, int64_t column) {
    const int64_t start = column * g->dilation_width - g->pad_left, stride = g->stride_width;
    column_copy result = {.first = start < 0 ? (stride - 1 - start) / stride : 0, .last = 0};
    if (start < g->in_width) result.last = (g->in_width - start + stride - 1) / stride;
    if (result.last > g->out_width) result.last = g->out_width;
    if (result.first > result.last) result.first = result.last;
    result.source = start + result.first * stride;
    return result;
}

/* One row: `left` floats are readable from `row` on. */
static inline void copy_row_of(const tn_conv_geometry *g, const column_copy *column, float *to,
                               const float *row, int64_t left) {
    const int64_t count = column->last - column->first, stride = g->stride_width;
    for (int64_t i = 0; i < column->first; i++)
        to[i] = 0;
    if (stride == 1) {
        copy_row(to + column->first, row + column->source, count,
                 column->source + count + 8 <= left);
    } else {
        for (int64_t i = 0; i < count; i++)
            to[column->first + i] = row[column->source + i * stride];
    }
    for (int64_t i = column->last; i < g->out_width; i++)
        to[i] = 0;
}

/* Rows that see the input whole, with stride 1: copied in pieces of 8 floats as long as the reads
 * stay inside. Answers how many rows it did. */
static int64_t copy_whole_rows(const tn_conv_geometry *g, const column_copy *column, int64_t y,
                               int64_t rows, float *copy, const float *input, int64_t left) {
    const int64_t width = g->out_width, padded = (width + 7) / 8 * 8,
                  step = g->stride_height * g->in_width;
    if (g->stride_width != 1 || column->first != 0 || column->last != width || y < 0) return 0;
    const float *row = input + y * g->in_width + column->source;
    left -= y * g->in_width + column->source + padded;
    int64_t done = 0;
    for (; done < rows && y < g->in_height && left >= 0;
         done++, y += g->stride_height, left -= step) {
        for (int64_t i = 0; i < width; i += 8)
            memcpy(copy + i, row + i, 8 * sizeof(float));
        row += step;
        copy += width;
    }
    return done;
}

/* All rows of one vertical phase of one column and channel. */
static float *copy_plane(const tn_direct_plan *plan, const column_copy *column, int64_t phase,
                         float *copy, const float *input, int64_t left) {
    const tn_conv_geometry *g = &plan->geometry;
    int64_t y = phase - g->pad_top,
            r = copy_whole_rows(g, column, y, plan->phase_rows, copy, input, left);
    copy += r * g->out_width;
    y += r * g->stride_height;
    for (; r < plan->phase_rows; r++, copy += g->out_width, y += g->stride_height) {
        if (y < 0 || y >= g->in_height)
            memset(copy, 0, (size_t)g->out_width * sizeof(float));
        else
            copy_row_of(g, column, copy, input + y * g->in_width, left - y * g->in_width);
    }
    return copy;
}

/* Where a channel's plane begins in the input that a plane of the kernel sees; -1: padding. */
static int64_t plane_at(const tn_conv_geometry *g, const tn_direct_source *source,
                        int64_t kernel_plane, int64_t channel) {
    const int64_t plane = source->plane + kernel_plane * g->dilation_depth;
    if (plane < 0 || plane >= g->in_depth) return -1;
    return (channel * g->in_depth + plane) * g->in_height * g->in_width;
}

/* All columns of one plane of a channel, which begins `at` in the input. */
static float *copy_columns(const tn_direct_plan *plan, float *copy, const float *input,
                           int64_t at) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t all = g->channels * g->in_depth * g->in_height * g->in_width;
    const int64_t floats = g->kernel_width * g->stride_height * plan->plane_floats;
    if (at < 0) {
        memset(copy, 0, (size_t)floats * sizeof(float));
        return copy + floats;
    }
    for (int64_t k = 0; k < g->kernel_width; k++) {
        const column_copy column = column_copy_of(g, k);
        for (int64_t phase = 0; phase < g->stride_height; phase++)
            copy = copy_plane(plan, &column, phase, copy, input + at, all - at);
    }
    return copy;
}

void tn_direct_layout_column_copies(const tn_direct_plan *plan, float *copy,
                                    const tn_direct_source *source) {
    const tn_conv_geometry *g = &plan->geometry;
    for (int64_t plane = 0; plane < g->kernel_depth; plane++)
        for (int64_t c = 0; c < g->channels; c++)
            copy = copy_columns(plan, copy, source->input, plane_at(g, source, plane, c));
}

/* One row of LINE_BUFFER, split into phases: element i of the padded row, from `column` on, goes to
 * phase i % stride, there to i / stride. */
static void line_buffer_row(const tn_direct_plan *plan, float *to, const float *row,
                            int64_t column) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride_width;
    for (int64_t phase = 0; phase < stride; phase++, to += plan->phase_floats) {
        const int64_t start = column + phase - g->pad_left;
        int64_t i = 0, end = (g->in_width - start + stride - 1) / stride;
        if (start >= g->in_width) end = 0;
        if (end > plan->phase_floats) end = plan->phase_floats;
        for (; i < plan->phase_floats && start + i * stride < 0; i++)
            to[i] = 0;
        if (stride == 1 && end > i) {
            memcpy(to + i, row + start + i, (size_t)(end - i) * sizeof(float));
            i = end;
        } else {
            for (; i < end; i++)
                to[i] = row[start + i * stride];
        }
        for (; i < plan->phase_floats; i++)
            to[i] = 0;
    }
}

void tn_direct_layout_row(const tn_direct_plan *plan, float *ring, const tn_direct_source *source,
                          int64_t padded_row) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t channels = g->kernel_depth * g->channels, y = padded_row - g->pad_top;
    float *to = ring + padded_row % plan->slots * channels * plan->row_floats;
    if (y < 0 || y >= g->in_height) {
        memset(to, 0, (size_t)(channels * plan->row_floats) * sizeof(float));
        return;
    }
    for (int64_t c = 0; c < channels; c++, to += plan->row_floats) {
        const int64_t at = plane_at(g, source, c / g->channels, c % g->channels);
        if (at < 0)
            memset(to, 0, (size_t)plan->row_floats * sizeof(float));
        else
            line_buffer_row(plan, to, source->input + at + y * g->in_width, source->column);
    }
}
