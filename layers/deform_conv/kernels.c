/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeformConv of floats by matrix products: for a block of positions of an image, what all elements
 * of the windows read becomes the packed right side of tenon/kit/matrix.h,
 *
 *     panel[(channel * taps + tap) * width + position of the block]
 *
 * which then meets each group's filters. Corners and weights are found once for all channels of a
 * group of offsets.
 */
#include "deform_conv/columns.h"
#include "deform_conv/deform_conv.h"
#include "kit/gemm/matrix_block.h"
#include "kit/operator/layer.h"
#include <tenon/kit/open.h>

typedef struct deform_level {
    const tn_matrix_level *matrix;
    tn_deform_columns_function read;
} deform_level;
#define LEVEL(name)                                                                                \
    static const deform_level level_##name = {&tn_matrix_##name, tn_deform_columns_read_##name}
LEVEL(baseline);
LEVEL(avx2);
LEVEL(avx512);

typedef struct deform_job {
    const tn_call *call;
    const deform_level *level;
    tn_deform_geometry geometry;
    int64_t width, blocks; /* of columns, and of an image */
    int64_t panel_floats, zero_floats;
    float *zeros, *panels;
} deform_job;

static int64_t width_of(const tn_matrix_level *matrix) {
    return (int64_t)matrix->lanes * matrix->vectors;
}

static tn_status read_job(tn_call *call, deform_job *job) {
    job->call = call;
    job->level = call->user;
    TN_TRY(tn_deform_conv_read(call, &job->geometry));
    const tn_deform_geometry *geometry = &job->geometry;
    job->width = width_of(job->level->matrix);
    job->blocks = (geometry->positions + job->width - 1) / job->width;
    job->zero_floats = (job->blocks + 1) * job->width;
    job->panel_floats = geometry->channels * geometry->taps * job->width;
    job->zeros = call->workspace;
    job->panels = job->zeros + (call->workspace ? job->zero_floats : 0);
    return TN_OK;
}

/* Where a run alone knows the extents, reshape asks for them. */
static tn_status deform_accepts(tn_call *call) {
    const deform_level *level = call->user;
    deform_job job;
    if (width_of(level->matrix) > TN_DEFORM_COLUMNS) return TN_ERROR_UNSUPPORTED;
    if (tn_open_has(call)) return TN_OK;
    TN_TRY(read_job(call, &job));
    return job.geometry.plane <= INT32_MAX ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status deform_reshape(tn_call *call) {
    deform_job job;
    int64_t floats = 0;
    TN_TRY(tn_open_ask(call, deform_accepts));
    TN_TRY(read_job(call, &job));
    if (!tn_infer_multiply(job.panel_floats, (int64_t)call->threads, &floats) ||
        !tn_infer_add(floats, job.zero_floats, &floats) ||
        !tn_infer_multiply(floats, sizeof(float), &floats))
        return call->host->fail(call, TN_ERROR_MEMORY, "the windows' elements are too many");
    call->workspace_bytes = (uint64_t)floats;
    return TN_OK;
}

/* The corners of `count` positions from `first` on; what follows up to the vector's end reads
 * nothing. */
static void find_columns(const deform_job *job, int64_t image, int64_t offset_group, int64_t tap,
                         int64_t first, int64_t count, tn_deform_columns *columns) {
    const int64_t lanes = job->level->matrix->lanes;
    columns->corners = 1u << job->geometry.window.rank;
    columns->count = (count + lanes - 1) / lanes * lanes;
    for (int64_t j = 0; j < columns->count; j++) {
        tn_deform_corners corners = {.at = {0}};
        columns->mask[j] = 0;
        if (j < count) {
            tn_deform_conv_corners(job->call, &job->geometry, image, offset_group, tap, first + j,
                                   &corners);
            columns->mask[j] = (float)tn_deform_conv_mask(job->call, &job->geometry, image,
                                                          offset_group, tap, first + j);
        }
        for (uint32_t i = 0; i < columns->corners; i++) {
            columns->at[i][j] = (int32_t)corners.at[i];
            columns->weight[i][j] = (float)corners.weight[i];
        }
    }
}

static void fill_panel(const deform_job *job, int64_t image, int64_t first, int64_t count,
                       float *panel) {
    const tn_deform_geometry *geometry = &job->geometry;
    const int64_t channels = geometry->channels / geometry->offset_group;
    const float *x = job->call->inputs[TN_DEFORM_X]->data;
    tn_deform_columns columns;
    for (int64_t unit = 0; unit < geometry->offset_group * geometry->taps; unit++) {
        const int64_t offset_group = unit / geometry->taps, tap = unit % geometry->taps;
        find_columns(job, image, offset_group, tap, first, count, &columns);
        for (int64_t c = offset_group * channels; c < (offset_group + 1) * channels; c++)
            job->level->read(&columns, x + (image * geometry->channels + c) * geometry->plane,
                             panel + (c * geometry->taps + tap) * columns.count);
    }
}

static void multiply(const deform_job *job, int64_t image, int64_t first, int64_t count,
                     const float *panel) {
    const tn_deform_geometry *geometry = &job->geometry;
    const int64_t filters = geometry->filters / geometry->group;
    const int64_t depth = geometry->channels / geometry->group * geometry->taps;
    const int64_t lanes = job->level->matrix->lanes, columns = (count + lanes - 1) / lanes * lanes;
    const tn_tensor *b = tn_infer_input(job->call, TN_DEFORM_B);
    for (int64_t group = 0; group < geometry->group; group++) {
        const int64_t filter = group * filters;
        float *output = (float *)job->call->outputs[0]->data +
                        (image * geometry->filters + filter) * geometry->positions;
        const tn_matrix_product product = {
            .level = job->level->matrix,
            .a = (const float *)job->call->inputs[TN_DEFORM_W]->data + filter * depth,
            .bias = job->zeros,
            .output = output,
            .rows = filters,
            .depth = depth,
            .columns = geometry->positions};
        tn_matrix_block_run(&product, panel + group * depth * columns, NULL, first, 0, filters);
        for (int64_t row = 0; b && row < filters; row++)
            for (int64_t j = 0; j < count; j++)
                output[row * geometry->positions + first + j] +=
                    ((const float *)b->data)[filter + row];
    }
}

/* An item is a block of positions of an image. */
static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const deform_job *job = user;
    float *panel = job->panels + job->panel_floats * thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / job->blocks, first = item % job->blocks * job->width;
        const int64_t left = job->geometry.positions - first;
        const int64_t count = left < job->width ? left : job->width;
        fill_panel(job, image, first, count, panel);
        multiply(job, image, first, count, panel);
    }
    return TN_OK;
}

/* Without elements in X all that is read is padding. */
static tn_status fill_with_bias(const deform_job *job) {
    const tn_tensor *b = tn_infer_input(job->call, TN_DEFORM_B);
    float *y = job->call->outputs[0]->data;
    for (int64_t i = 0, end = tn_element_count(job->call->outputs[0]); i < end; i++)
        y[i] =
            b ? ((const float *)b->data)[i / job->geometry.positions % job->geometry.filters] : 0;
    return TN_OK;
}

static tn_status deform_run(tn_call *call) {
    deform_job job;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    TN_TRY(read_job(call, &job));
    if (job.geometry.plane == 0 || job.geometry.channels == 0) return fill_with_bias(&job);
    memset(job.zeros, 0, (size_t)job.zero_floats * sizeof(float));
    return call->host->parallel_for(call, job.geometry.images * job.blocks, 1, do_blocks, &job);
}

static const char *const deform_combinations[] = {"f32, f32, f32, f32?, f32? -> f32"};
TN_LEVEL_KERNELS_OF(, tn_deform_conv, TN_LEVELS(level), "", 1, "DeformConv", "im2col",
                    "Blocks of windows' elements times the filters, on all threads.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(deform_combinations), .accepts = deform_accepts,
                    .reshape = deform_reshape, .run = deform_run);
