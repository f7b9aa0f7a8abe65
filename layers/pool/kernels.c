/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools' kernels: MaxPool of floats without indices and AveragePool, a row at a time (rows.h),
 * one a processor level; those of 8 bits (kit/window/byte_pool.h); and those of any window and
 * type, on all threads.
 */
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>
#include <tenon/kit/reduce_rows.h>
#include "kit/operator/layer.h"
#include "kit/widened/widened.h"
#include "pool/pool.h"
#include "pool/rows.h"

/* The resolved window; of unknown extents that of a stand-in. */
static bool read_window(const tn_call *call, tn_window *out_window) {
    tn_call probe = *call;
    tn_open_stand_in stand_in;
    const tn_tensor *const inputs[1] = {
        tn_open_resolve(call->inputs[0], TN_OPEN_EXTENT, &stand_in)};
    probe.inputs = inputs;
    return tn_pool_window(&probe, out_window) == TN_OK;
}

/* Two spatial axes, or one; false for others. */
static bool read_max(const tn_call *call, tn_byte_pool *out_pool) {
    tn_window window;
    return read_window(call, &window) && tn_byte_pool_of_window(call, &window, out_pool);
}

/* The window without its first axis. */
static tn_window window_of_planes(const tn_window *window) {
    tn_window planes = {.rank = window->rank - 1};
    for (uint32_t i = 0; i < planes.rank; i++) {
        planes.input[i] = window->input[i + 1];
        planes.output[i] = window->output[i + 1];
        planes.kernel[i] = window->kernel[i + 1];
        planes.stride[i] = window->stride[i + 1];
        planes.dilation[i] = window->dilation[i + 1];
        planes.pad_begin[i] = window->pad_begin[i + 1];
        planes.pad_end[i] = window->pad_end[i + 1];
    }
    return planes;
}

/* Up to three spatial axes. */
static bool read_rows(const tn_call *call, tn_pool_volume *out_volume) {
    const tn_tensor *x = call->inputs[0];
    tn_window window;
    if (!x || x->rank < 3 || x->rank > 5 || !read_window(call, &window)) return false;
    const bool has_depth = window.rank == 3;
    const tn_window planes = has_depth ? window_of_planes(&window) : window;
    *out_volume = (tn_pool_volume){
        .in_depth = has_depth ? window.input[0] : 1,
        .out_depth = has_depth ? window.output[0] : 1,
        .kernel_depth = has_depth ? window.kernel[0] : 1,
        .stride_depth = has_depth ? window.stride[0] : 1,
        .dilation_depth = has_depth ? window.dilation[0] : 1,
        .pad_front = has_depth ? window.pad_begin[0] : 0,
        .pad_back = has_depth ? window.pad_end[0] : 0,
    };
    if (!tn_byte_pool_of_window(call, &planes, &out_volume->plane)) return false;
    out_volume->plane.counts_padding = ((const tn_pool_params *)call->params)->count_include_pad;
    return true;
}

static tn_status rows_accepts(tn_call *call) {
    tn_pool_volume volume;
    const bool has_indices = call->output_count > 1 && call->outputs[TN_POOL_INDICES];
    return !has_indices && read_rows(call, &volume) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static uint64_t scratch_bytes(const tn_pool_volume *volume) {
    return ((uint64_t)tn_pool_scratch_floats(volume) * sizeof(float) + 63) / 64 * 64;
}

static tn_status rows_reshape(tn_call *call) {
    tn_pool_volume volume;
    if (!read_rows(call, &volume))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "pooling by rows does not do this window");
    call->workspace_bytes = scratch_bytes(&volume) * call->threads;
    return TN_OK;
}

typedef struct rows_job {
    tn_pool_volume volume;
    tn_pool_rows_function function;
    const float *input;
    float *output;
    int64_t image_rows;                /* of the output */
    int64_t input_image, output_image; /* from image to image, in elements */
    char *scratch;
} rows_job;

/* An item is an output row; images may lie apart. */
static tn_status pool_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rows_job *job = user;
    char *scratch = job->scratch + thread * scratch_bytes(&job->volume);
    while (begin < end) {
        const int64_t image = begin / job->image_rows, first = begin % job->image_rows;
        const int64_t left = job->image_rows - first,
                      count = left < end - begin ? left : end - begin;
        job->function(&job->volume, job->input + image * job->input_image,
                      job->output + image * job->output_image, first, first + count,
                      (float *)(void *)scratch);
        begin += count;
    }
    return TN_OK;
}

static tn_status run_rows(tn_call *call, tn_pool_rows_function function) {
    enum { GRAIN = 40000 };
    rows_job job = {.function = function,
                    .input = call->inputs[0]->data,
                    .output = call->outputs[0]->data,
                    .input_image = call->inputs[0]->strides[0],
                    .output_image = call->outputs[0]->strides[0],
                    .scratch = call->workspace};
    if (!read_rows(call, &job.volume)) return TN_ERROR_INTERNAL;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    const tn_byte_pool *plane = &job.volume.plane;
    const int64_t reads = job.volume.kernel_depth * plane->kernel_height * (plane->in_width + 16) +
                          plane->out_width * plane->kernel_width + 16;
    job.image_rows = plane->channels * job.volume.out_depth * plane->out_height;
    return call->host->parallel_for(call, plane->batch * job.image_rows,
                                    tn_parallel_grain(GRAIN, reads), pool_rows, &job);
}

static tn_status rows_run(tn_call *call) {
    return run_rows(call, ((const tn_pool_rows_level *)call->user)->largest);
}
static tn_status mean_rows_run(tn_call *call) {
    return run_rows(call, ((const tn_pool_rows_level *)call->user)->mean);
}

static const char *const combinations[] = {"f32:strided -> f32:strided"};
#define ROWS(prefix, operator_name)                                                                \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS(tn_pool_rows), "", 2, operator_name, "rows",     \
                        "Rows of a window joined first, then its columns.",                        \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(combinations), .accepts = rows_accepts,                    \
                        .reshape = rows_reshape, .run = prefix##_run)
ROWS(rows, "MaxPool");
ROWS(mean_rows, "AveragePool");

/* ----------------------------------------------------------------------------------------------
 * whole planes */

typedef struct planes_job {
    tn_reduce_lane_function join;
    const float *x;
    float *y;
    int64_t count;
    float factor; /* of the joined elements */
} planes_job;

/* An item is a plane. */
static tn_status join_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const planes_job *job = user;
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++)
        job->y[plane] = job->factor * job->join(job->count, job->x + plane * job->count);
    return TN_OK;
}

static tn_status run_planes(tn_call *call, uint32_t kind) {
    enum { GRAIN = 16384 };
    const tn_tensor *x = call->inputs[0];
    const tn_reduce_level *level = call->user;
    planes_job job = {.join = level->lanes[kind],
                      .x = x->data,
                      .y = call->outputs[0]->data,
                      .count = tn_infer_product(x->shape, 2, x->rank),
                      .factor = 1};
    const int64_t planes = tn_infer_product(x->shape, 0, 2);
    if (planes == 0) return TN_OK;
    if (kind == TN_REDUCE_SUM) job.factor = 1.0f / (float)job.count;
    return call->host->parallel_for(call, planes, tn_parallel_grain(GRAIN, job.count + 1),
                                    join_planes, &job);
}

static tn_status largest_run(tn_call *call) {
    return run_planes(call, TN_REDUCE_MAX);
}
static tn_status mean_run(tn_call *call) {
    return run_planes(call, TN_REDUCE_SUM);
}

static const char *const planes_combinations[] = {"f32 -> f32"};
TN_LEVEL_KERNELS_OF(static, planes, TN_LEVELS(tn_reduce), "", 2, "GlobalMaxPool", "planes",
                    "Planes on all threads.", .traits = TN_KERNEL_DETERMINISTIC,
                    TN_COMBINATIONS(planes_combinations), .run = largest_run);
TN_LEVEL_KERNELS_OF(static, mean_planes, TN_LEVELS(tn_reduce), "", 2, "GlobalAveragePool", "planes",
                    "Planes on all threads.", .traits = TN_KERNEL_DETERMINISTIC,
                    TN_COMBINATIONS(planes_combinations), .run = mean_run);

/* ----------------------------------------------------------------------------------------------
 * 8 bits */

static bool read_average(const tn_call *call, tn_byte_pool *out_pool) {
    const tn_pool_params *params = call->params;
    if (!read_max(call, out_pool)) return false;
    out_pool->is_mean = true;
    out_pool->counts_padding = params->count_include_pad;
    return true;
}

/* One window over the whole plane; its axes beyond the first are joined. */
static bool read_global_average(const tn_call *call, tn_byte_pool *out_pool) {
    const tn_tensor *x = call->inputs[0];
    const int64_t width = tn_infer_product(x->shape, 3, x->rank), height = x->shape[2];
    const tn_window window = {.rank = 2,
                              .input = {height, width},
                              .output = {1, 1},
                              .kernel = {height, width},
                              .stride = {1, 1},
                              .dilation = {1, 1}};
    if (height < 1 || width < 1 || !tn_byte_pool_of_window(call, &window, out_pool)) return false;
    out_pool->is_mean = true;
    return true;
}

TN_BYTE_POOL_KERNELS(max, "MaxPool", max, read_max);
TN_BYTE_POOL_KERNELS(average, "AveragePool", mean, read_average);
TN_BYTE_POOL_KERNELS(global_average, "GlobalAveragePool", mean, read_global_average);

/* ----------------------------------------------------------------------------------------------
 * any window and type */

#define WINDOWS(prefix, operator_name)                                                             \
    TN_CPU_KERNEL(prefix##_planes, "", operator_name, "planes",                                    \
                  "Planes on all threads, in double precision.", .run = tn_##prefix##_run)
WINDOWS(max_pool, "MaxPool");
WINDOWS(average_pool, "AveragePool");
WINDOWS(lp_pool, "LpPool");
WINDOWS(global_max_pool, "GlobalMaxPool");
WINDOWS(global_average_pool, "GlobalAveragePool");
WINDOWS(global_lp_pool, "GlobalLpPool");

static const char *const halves[] = {"f16 -> f16", "bf16 -> bf16"};
TN_WIDENED_KERNELS(widened, rows, "MaxPool", TN_KERNEL_ANY_SHAPE, halves);
TN_WIDENED_KERNELS(widened_mean_rows, mean_rows, "AveragePool", TN_KERNEL_ANY_SHAPE, halves);
TN_WIDENED_KERNELS(widened_planes, planes, "GlobalMaxPool", 0, halves);
TN_WIDENED_KERNELS(widened_means, mean_planes, "GlobalAveragePool", 0, halves);

/* By operator: MaxPool, AveragePool, LpPool, and the global ones. */
const tn_kernel *const tn_pool_kernels[19] = {TN_LEVEL_LIST(rows),
                                              TN_LEVEL_LIST(widened),
                                              TN_LEVEL_LIST(max_bytes),
                                              &max_pool_planes,
                                              TN_LEVEL_LIST(mean_rows),
                                              TN_LEVEL_LIST(widened_mean_rows),
                                              TN_LEVEL_LIST(average_bytes),
                                              &average_pool_planes,
                                              TN_LEVEL_LIST(tn_quantized_average),
                                              &lp_pool_planes,
                                              TN_LEVEL_LIST(planes),
                                              TN_LEVEL_LIST(widened_planes),
                                              &global_max_pool_planes,
                                              TN_LEVEL_LIST(mean_planes),
                                              TN_LEVEL_LIST(widened_means),
                                              TN_LEVEL_LIST(global_average_bytes),
                                              &global_average_pool_planes,
                                              TN_LEVEL_LIST(tn_quantized_global_average),
                                              &global_lp_pool_planes};
