/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoiAlign of 32-bit floats. A mean of samples that lie in a grid is separable: for each region the
 * rows that a row of cells reads, and their weights, are listed once for all channels, and so are
 * columns; a channel's rows are combined by vectors, then their columns. The largest of products is
 * not separable: what a cell reads is listed once, and several channels read it together.
 */
#include "kit/math/round_up.h"
#include "roi_align/roi_align.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>
#include <tenon/kit/resample.h>

#include <math.h>
#include <string.h>

enum {
    CHANNELS = 64, /* that an item of work has */
    ROWS = 8       /* of cells, whose columns are combined together */
};

/* What the cells along an axis read: cell i the elements index[first[i]] .. index[first[i + 1] - 1]
 * times their weights. The first of all, and how many there are from it to the last one. */
typedef struct axis_list {
    int64_t *first, *index;
    float *weight;
    int64_t count, begin, extent;
} axis_list;

/* A thread's scratch. */
typedef struct regions_scratch {
    axis_list lists[2];
    const float **rows;
    float *joined; /* ROWS rows */
    int64_t joined_floats;
} regions_scratch;

typedef struct regions_job {
    tn_call *call;
    const tn_resample_level *level;
    int64_t parts; /* of a region: of CHANNELS channels */
    bool is_max;
} regions_job;

/* ----------------------------------------------------------------------------------------------
 * lists */

/* Most elements that a cell reads along an axis: samples move one way, so that none comes back. */
static int64_t most_of_cell(const tn_call *call, uint32_t axis) {
    const int64_t samples = ((const tn_roi_align_params *)call->params)->sampling_ratio;
    const int64_t extent = call->inputs[ROI_X]->shape[axis];
    return samples > 0 && 2 * samples < extent ? 2 * samples : extent;
}

/* The next `bytes` bytes of memory, of which *used are used already; null where there is none. */
static void *take(char *memory, int64_t *used, int64_t bytes) {
    void *part = memory ? memory + *used : NULL;
    *used += (int64_t)tn_whole_lines((uint64_t)bytes);
    return part;
}

/* Bytes of a thread's scratch, and its parts in `memory`. */
static int64_t lay_out(const tn_call *call, char *memory, regions_scratch *out_scratch) {
    int64_t used = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t cells = call->outputs[0]->shape[2 + i];
        const int64_t most = cells * most_of_cell(call, 2 + i);
        out_scratch->lists[i].first = take(memory, &used, (cells + 1) * 8);
        out_scratch->lists[i].index = take(memory, &used, most * 8);
        out_scratch->lists[i].weight = take(memory, &used, most * 4);
    }
    out_scratch->rows = take(memory, &used, most_of_cell(call, 2) * 8);
    out_scratch->joined_floats = tn_whole_vectors(call->inputs[ROI_X]->shape[3]);
    out_scratch->joined = take(memory, &used, ROWS * out_scratch->joined_floats * 4);
    return used;
}

/* Adds to the cell that begins at element `first` of the list. */
static void add_element(axis_list *list, int64_t first, int64_t index, double weight) {
    for (int64_t i = list->count; i-- > first && i >= list->count - 3;) {
        if (list->index[i] != index) continue;
        list->weight[i] += (float)weight;
        return;
    }
    list->index[list->count] = index;
    list->weight[list->count++] = (float)weight;
}

static void list_axis(const tn_roi_axis *axis, int64_t cells, axis_list *list) {
    int64_t least = axis->extent, last = -1;
    list->count = 0;
    for (int64_t cell = 0; cell < cells; cell++) {
        const int64_t first = list->count;
        list->first[cell] = first;
        for (int64_t sample = 0; sample < axis->samples; sample++) {
            int64_t low, high;
            double share;
            if (!tn_roi_neighbours_find(axis, cell, sample, &low, &high, &share)) continue;
            add_element(list, first, low, (1 - share) / (double)axis->samples);
            add_element(list, first, high, share / (double)axis->samples);
            if (low < least) least = low;
            if (high > last) last = high;
        }
    }
    list->first[cells] = list->count;
    list->begin = least;
    list->extent = last - least + 1;
}

/* ----------------------------------------------------------------------------------------------
 * means */

/* The columns of whole vectors, where X has as many. */
static void widen(axis_list *columns, int64_t width) {
    int64_t extent = tn_whole_vectors(columns->extent);
    if (extent > width) extent = width;
    if (columns->begin > width - extent) columns->begin = width - extent;
    columns->extent = extent;
}

/* A row of cells of a channel: all columns of the region or, of far fewer that are read, those. */
static void join_rows(const regions_job *job, const regions_scratch *scratch, const float *plane,
                      int64_t width, int64_t row, bool is_dense, float *to) {
    const axis_list *rows = &scratch->lists[0], *columns = &scratch->lists[1];
    const int64_t first = rows->first[row], count = rows->first[row + 1] - first;
    const float *weights = rows->weight + first;
    const int64_t columns_count = is_dense ? columns->extent : columns->count;
    if (count == 0) memset(to, 0, (size_t)columns_count * sizeof(float));
    if (count == 0) return;
    for (int64_t t = 0; t < count; t++)
        scratch->rows[t] = plane + rows->index[first + t] * width + (is_dense ? columns->begin : 0);
    if (is_dense) {
        job->level->vertical(count, scratch->rows, weights, 1, columns_count, to);
        return;
    }
    for (int64_t k = 0; k < columns_count; k++) {
        to[k] = 0;
        for (int64_t t = 0; t < count; t++)
            to[k] += weights[t] * scratch->rows[t][columns->index[k]];
    }
}

/* The columns of `count` joined rows of cells. */
static void join_columns(const regions_scratch *scratch, bool is_dense, int64_t cells,
                         int64_t count, float *to) {
    const axis_list *columns = &scratch->lists[1];
    const int64_t stride = scratch->joined_floats;
    for (int64_t cell = 0; cell < cells; cell++) {
        float sums[ROWS] = {0};
        for (int64_t k = columns->first[cell]; k < columns->first[cell + 1]; k++) {
            const float *from =
                scratch->joined + (is_dense ? columns->index[k] - columns->begin : k);
            const float weight = columns->weight[k];
            for (int r = 0; r < ROWS; r++)
                sums[r] += weight * from[r * stride];
        }
        for (int64_t r = 0; r < count; r++)
            to[r * cells + cell] = sums[r];
    }
}

/* Channels first..last-1. */
static void find_means(const regions_job *job, regions_scratch *scratch,
                       const tn_roi_region *region, int64_t number, int64_t first, int64_t last) {
    const tn_tensor *x = job->call->inputs[ROI_X], *y = job->call->outputs[0];
    const int64_t width = x->shape[3], channels = x->shape[1], height = y->shape[2];
    for (uint32_t i = 0; i < 2; i++)
        list_axis(&region->axes[i], y->shape[2 + i], &scratch->lists[i]);
    axis_list *columns = &scratch->lists[1];
    const bool is_dense = columns->extent <= 8 * columns->count;
    if (is_dense && columns->count > 0) widen(columns, width);
    memset(scratch->joined, 0, (size_t)(ROWS * scratch->joined_floats) * sizeof(float));
    for (int64_t c = first; c < last; c++) {
        const float *plane =
            (const float *)x->data + (region->image * channels + c) * x->shape[2] * width;
        float *to = (float *)y->data + (number * channels + c) * height * y->shape[3];
        for (int64_t row = 0; row < height; row += ROWS, to += ROWS * y->shape[3]) {
            const int64_t count = height - row < ROWS ? height - row : ROWS;
            for (int64_t r = 0; columns->count > 0 && r < count; r++)
                join_rows(job, scratch, plane, width, row + r, is_dense,
                          scratch->joined + r * scratch->joined_floats);
            join_columns(scratch, is_dense, y->shape[3], count, to);
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * the largest */

enum { TAPS = 256 /* of a part of a cell: 64 samples of four elements */, TOGETHER = 8 };

typedef struct cell_taps {
    int64_t count, offsets[TAPS]; /* in a plane of X */
    float weights[TAPS];
    bool has_outside; /* a sample of nothing, which is 0 */
} cell_taps;

static void add_sample(const tn_roi_axis *axes, const int64_t *cell, int64_t sample,
                       cell_taps *taps) {
    int64_t low[2], high[2];
    double share[2];
    if (!tn_roi_neighbours_find(&axes[0], cell[0], sample / axes[1].samples, &low[0], &high[0],
                                &share[0]) ||
        !tn_roi_neighbours_find(&axes[1], cell[1], sample % axes[1].samples, &low[1], &high[1],
                                &share[1])) {
        taps->has_outside = true;
        return;
    }
    for (int i = 0; i < 4; i++, taps->count++) {
        const int64_t row = i < 2 ? low[0] : high[0], column = i % 2 ? high[1] : low[1];
        taps->offsets[taps->count] = row * axes[1].extent + column;
        taps->weights[taps->count] =
            (float)((i < 2 ? 1 - share[0] : share[0]) * (i % 2 ? share[1] : 1 - share[1]));
    }
}

typedef struct planes_of_cell {
    const float *x;
    float *y; /* the cell of the first channel */
    int64_t channels, x_plane, y_plane;
} planes_of_cell;

/* Raises *y of `count` channels, at most TOGETHER, which do not wait for each other. NaN counts for
 * nothing. */
static inline void raise_planes(const planes_of_cell *planes, const cell_taps *taps, int64_t c,
                                const int count) {
    const float *x = planes->x + c * planes->x_plane;
    float *y = planes->y + c * planes->y_plane, most[TOGETHER];
    for (int i = 0; i < count; i++) {
        most[i] = y[i * planes->y_plane];
        if (taps->has_outside && most[i] < 0) most[i] = 0;
    }
    for (int64_t t = 0; t < taps->count; t++) {
        const float *from = x + taps->offsets[t];
        for (int i = 0; i < count; i++) {
            const float value = taps->weights[t] * from[i * planes->x_plane];
            most[i] = value > most[i] ? value : most[i];
        }
    }
    for (int i = 0; i < count; i++)
        y[i * planes->y_plane] = most[i];
}

static void raise_cell(const planes_of_cell *planes, const tn_roi_axis *axes, const int64_t *cell) {
    const int64_t samples = axes[0].samples * axes[1].samples;
    for (int64_t c = 0; c < planes->channels; c++)
        planes->y[c * planes->y_plane] = samples > 0 ? -INFINITY : 0;
    for (int64_t first = 0; first < samples; first += TAPS / 4) {
        const int64_t left = samples - first, count = left < TAPS / 4 ? left : TAPS / 4;
        cell_taps taps;
        taps.count = 0;
        taps.has_outside = false;
        for (int64_t sample = first; sample < first + count; sample++)
            add_sample(axes, cell, sample, &taps);
        int64_t c = 0;
        for (; c + TOGETHER <= planes->channels; c += TOGETHER)
            raise_planes(planes, &taps, c, TOGETHER);
        for (; c < planes->channels; c++)
            raise_planes(planes, &taps, c, 1);
    }
}

/* Channels first..last-1. */
static void find_largest(const regions_job *job, const tn_roi_region *region, int64_t number,
                         int64_t first, int64_t last) {
    const tn_tensor *x = job->call->inputs[ROI_X], *y = job->call->outputs[0];
    const int64_t channels = x->shape[1], cells = y->shape[2] * y->shape[3];
    planes_of_cell planes = {
        .channels = last - first, .x_plane = x->shape[2] * x->shape[3], .y_plane = cells};
    planes.x = (const float *)x->data + (region->image * channels + first) * planes.x_plane;
    for (int64_t i = 0; i < cells; i++) {
        const int64_t cell[2] = {i / y->shape[3], i % y->shape[3]};
        planes.y = (float *)y->data + (number * channels + first) * cells + i;
        raise_cell(&planes, region->axes, cell);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the kernel */

/* An item is a part of a region's channels. */
static tn_status do_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const regions_job *job = user;
    const int64_t channels = job->call->inputs[ROI_X]->shape[1];
    regions_scratch scratch;
    const int64_t bytes = lay_out(job->call, NULL, &scratch);
    lay_out(job->call, (char *)job->call->workspace + thread * bytes, &scratch);
    for (int64_t item = begin; item < end; item++) {
        const int64_t number = item / job->parts, first = item % job->parts * CHANNELS;
        const int64_t last = channels - first < CHANNELS ? channels : first + CHANNELS;
        tn_roi_region region;
        TN_TRY(tn_roi_region_read(job->call, number, &region));
        if (job->is_max)
            find_largest(job, &region, number, first, last);
        else
            find_means(job, &scratch, &region, number, first, last);
    }
    return TN_OK;
}

static tn_status regions_reshape(tn_call *call) {
    regions_scratch scratch;
    call->workspace_bytes = (uint64_t)lay_out(call, NULL, &scratch) * call->threads;
    return TN_OK;
}

static tn_status regions_run(tn_call *call) {
    tn_status status;
    if (tn_roi_is_empty(call, &status)) return status;
    const tn_roi_align_params *params = call->params;
    regions_job job = {.call = call,
                       .level = call->user,
                       .parts = tn_divide_up(call->inputs[ROI_X]->shape[1], CHANNELS),
                       .is_max = params->mode == ROI_MAX};
    return call->host->parallel_for(call, call->outputs[0]->shape[0] * job.parts, 1, do_parts,
                                    &job);
}

static const char *const combinations[] = {"f32, f32, i64 -> f32"};
TN_LEVEL_KERNELS_OF(, tn_roi_regions, TN_LEVELS(tn_resample), "", 1, "RoiAlign", "regions",
                    "Regions on all threads; what is read is listed once for all channels.",
                    .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(combinations),
                    .reshape = regions_reshape, .run = regions_run);
