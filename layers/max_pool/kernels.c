/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool of floats without indices, a row at a time (rows.h), as kernels: one a processor level.
 */
#include <tenon/kit/levels.h>
#include <tenon/kit/open.h>
#include "max_pool/kernels.h"
#include "kit/window/byte_pool.h"
#include "max_pool/max_pool.h"
#include "max_pool/rows.h"

/* Two spatial axes, or one; false for what the rows do not do. */
static bool read_rows(const tn_call *call, tn_max_pool_rows *out_rows, int64_t *out_planes) {
    const tn_tensor *x = call->inputs[0];
    tn_call probe = *call;
    tn_window window;
    tn_open_stand_in room;
    const tn_tensor *const inputs[1] = {x ? tn_open_resolve(x, TN_OPEN_EXTENT, &room) : NULL};
    probe.inputs = inputs;
    if (!x || (x->rank != 3 && x->rank != 4) || tn_max_pool_window(&probe, &window) != TN_OK)
        return false;
    const uint32_t last = window.rank - 1;
    const bool is_flat = window.rank == 1;
    *out_rows = (tn_max_pool_rows){
        .in_height = is_flat ? 1 : window.input[0],
        .in_width = window.input[last],
        .out_height = is_flat ? 1 : window.output[0],
        .out_width = window.output[last],
        .kernel_height = is_flat ? 1 : window.kernel[0],
        .kernel_width = window.kernel[last],
        .stride_height = is_flat ? 1 : window.stride[0],
        .stride_width = window.stride[last],
        .dilation_height = is_flat ? 1 : window.dilation[0],
        .dilation_width = window.dilation[last],
        .pad_top = is_flat ? 0 : window.pad_begin[0],
        .pad_left = window.pad_begin[last],
    };
    *out_planes = x->shape[0] * x->shape[1];
    return true;
}

static tn_status rows_accepts(tn_call *call) {
    tn_max_pool_rows rows;
    int64_t planes;
    const bool has_indices = call->output_count > 1 && call->outputs[TN_MAX_POOL_INDICES];
    return !has_indices && read_rows(call, &rows, &planes) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static uint64_t scratch_bytes(const tn_max_pool_rows *rows) {
    return ((uint64_t)tn_max_pool_scratch_floats(rows) * sizeof(float) + 63) / 64 * 64;
}

static tn_status rows_reshape(tn_call *call) {
    tn_max_pool_rows rows;
    int64_t planes;
    if (!read_rows(call, &rows, &planes))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "pooling by rows does not do this window");
    call->workspace_bytes = scratch_bytes(&rows) * call->threads;
    return TN_OK;
}

typedef struct rows_job {
    tn_max_pool_rows rows;
    tn_max_pool_function function;
    const float *input;
    float *output;
    int64_t channels, input_image, output_image; /* from image to image, in elements */
    char *scratch;
} rows_job;

/* The planes begin..end-1 of one image. */
static void pool_image(const rows_job *job, int64_t image, int64_t begin, int64_t end,
                       uint32_t thread) {
    const tn_max_pool_rows *rows = &job->rows;
    job->function(
        rows, job->input + image * job->input_image + begin * rows->in_height * rows->in_width,
        job->output + image * job->output_image + begin * rows->out_height * rows->out_width,
        end - begin, (float *)(void *)(job->scratch + thread * scratch_bytes(rows)));
}

/* An item is a plane; images may lie apart. */
static tn_status pool_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rows_job *job = user;
    while (begin < end) {
        const int64_t image = begin / job->channels, first = begin % job->channels;
        const int64_t left = job->channels - first, count = left < end - begin ? left : end - begin;
        pool_image(job, image, first, first + count, thread);
        begin += count;
    }
    return TN_OK;
}

static tn_status rows_run(tn_call *call) {
    rows_job job = {.function = *(const tn_max_pool_function *)call->user,
                    .input = call->inputs[0]->data,
                    .output = call->outputs[0]->data,
                    .channels = call->inputs[0]->shape[1],
                    .input_image = call->inputs[0]->strides[0],
                    .output_image = call->outputs[0]->strides[0],
                    .scratch = call->workspace};
    int64_t planes;
    if (!read_rows(call, &job.rows, &planes)) return TN_ERROR_INTERNAL;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    const int64_t plane_reads =
        job.rows.out_height * job.rows.out_width * job.rows.kernel_height * job.rows.kernel_width;
    return call->host->parallel_for(call, planes, 40000 / (plane_reads + 1) + 1, pool_planes, &job);
}

static const char *const combinations[] = {"f32:strided -> f32:strided"};

#define ROWS_KERNEL(level, features_text)                                                          \
    static const tn_max_pool_function function_##level = tn_max_pool_rows_##level;                 \
    static const tn_kernel level = {                                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "MaxPool",                                                                           \
        .device = "cpu",                                                                           \
        .name = "rows_" #level,                                                                    \
        .doc = "Rows of a window joined first, then its columns.",                                 \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(combinations),                                                             \
        .accepts = rows_accepts,                                                                   \
        .reshape = rows_reshape,                                                                   \
        .run = rows_run,                                                                           \
        .user = (void *)(uintptr_t)&function_##level,                                              \
    }
ROWS_KERNEL(baseline, NULL);
ROWS_KERNEL(avx2, TN_KIT_FEATURES_avx2);
ROWS_KERNEL(avx512, TN_KIT_FEATURES_avx512);

static bool read_bytes(const tn_call *call, tn_byte_pool *out_pool) {
    tn_call probe = *call;
    tn_window window;
    return tn_max_pool_window(&probe, &window) == TN_OK &&
           tn_byte_pool_of_window(call, &window, out_pool);
}

TN_BYTE_POOL_KERNELS("MaxPool", read_bytes);

const tn_kernel *const tn_max_pool_kernels[6] = {&avx512,           &avx2,       &baseline,
                                                 &bytes_avx512vnni, &bytes_avx2, &bytes_baseline};
