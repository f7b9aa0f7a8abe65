/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpose's kernels: by runs (region.h), for any type and best where the last axis stays; and by
 * tiles (tiles.h), for 4-byte elements where the last axis goes elsewhere, one a processor level.
 */
#include "kit/operator/layer.h"
#include "transpose/tiles.h"
#include "transpose/transpose.h"

static tn_status runs_run(tn_call *call) {
    return tn_transpose_move(call, tn_region_copy_parallel);
}

/* A copy as matrices: `columns` is the output's last axis, `rows` the axis that is the input's last
 * one; the other axes number the matrices. */
typedef struct tiles_job {
    tn_transpose_function function;
    tn_region outer;
    int64_t rows, columns, to_stride, from_stride, bands;
    const uint32_t *from;
    uint32_t *to;
} tiles_job;

/* Rows of a matrix that are done together: as many as fill a cache line. */
enum { BAND = 16 };

/* False when the last axis stays, or no other is contiguous in the input. */
static bool read_tiles(tn_region *region, tiles_job *job) {
    if (region->element_bytes != 4 || !tn_region_simplify(region)) return false;
    const uint32_t last = region->rank - 1;
    uint32_t axis = 0;
    while (axis < last && region->from_strides[axis] != 1)
        axis++;
    if (axis == last) return false;
    job->rows = region->extents[axis];
    job->to_stride = region->to_strides[axis];
    job->columns = region->extents[last];
    job->from_stride = region->from_strides[last];
    job->bands = (job->rows + BAND - 1) / BAND;
    job->outer.rank = 0;
    for (uint32_t i = 0; i < last; i++) {
        if (i == axis) continue;
        job->outer.extents[job->outer.rank] = region->extents[i];
        job->outer.to_strides[job->outer.rank] = region->to_strides[i];
        job->outer.from_strides[job->outer.rank++] = region->from_strides[i];
    }
    return true;
}

/* An item is a band of rows of a matrix. */
static tn_status do_bands(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tiles_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t row = item % job->bands * BAND;
        int64_t rest = item / job->bands, to = row * job->to_stride, from = row;
        for (uint32_t i = job->outer.rank; i-- > 0; rest /= job->outer.extents[i]) {
            to += rest % job->outer.extents[i] * job->outer.to_strides[i];
            from += rest % job->outer.extents[i] * job->outer.from_strides[i];
        }
        job->function(job->rows - row < BAND ? job->rows - row : BAND, job->columns,
                      job->from + from, job->from_stride, job->to + to, job->to_stride);
    }
    return TN_OK;
}

static tn_status tiles_accepts(tn_call *call) {
    tn_region region;
    tiles_job job;
    TN_TRY(tn_transpose_region(call, &region));
    return read_tiles(&region, &job) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status tiles_run(tn_call *call) {
    enum { GRAIN = 16384 };
    tn_region region;
    tiles_job job = {.function = (tn_transpose_function)(uintptr_t)call->user,
                     .from = call->inputs[0]->data,
                     .to = call->outputs[0]->data};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(tn_transpose_region(call, &region));
    if (!read_tiles(&region, &job)) return runs_run(call); /* other shapes than it was made for */
    int64_t items = job.bands;
    for (uint32_t i = 0; i < job.outer.rank; i++)
        items *= job.outer.extents[i];
    return call->host->parallel_for(call, items, GRAIN / BAND / job.columns + 1, do_bands, &job);
}

static const tn_kernel runs = TN_REGION_KERNEL("Transpose", runs_run);
static const tn_kernel bytes = TN_REGION_BYTES_KERNEL("Transpose", tn_region_bytes_combinations,
                                                      tn_region_bytes_accepts, runs_run);

static const char *const combinations[] = {"f32|i32|u32 -> f32|i32|u32"};
TN_LEVEL_KERNELS(tiles, tn_transpose, "Transpose", "tiles", "Square tiles transposed in registers.",
                 .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(combinations),
                 .accepts = tiles_accepts, .run = tiles_run);

const tn_kernel *const tn_transpose_kernels[5] = {TN_LEVEL_LIST(tiles), &runs, &bytes};
