/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of the last two axes of float tensors by separable resampling (tenon/kit/resample.h), as
 * kernels: one a processor level. */
#include <tenon/kit/levels.h>
#include "resize/kernels.h"
#include "kit/operator/physical.h"
#include <tenon/kit/resample.h>
#include "resize/resize.h"

#include <string.h>

/* The tables of both axes, kept by a context for its present shapes. */
typedef struct separable_context {
    tn_resample_axis vertical, horizontal;
    int64_t planes;
    void *memory;
    uint64_t capacity;
} separable_context;

/* Whether only the last two axes change, and each output depends on a few inputs. */
static bool is_separable(const tn_resize_plan *plan) {
    if (plan->rank < 3 || plan->rank > 6) return false;
    for (uint32_t i = 0; i + 2 < plan->rank; i++) {
        if (!plan->axes[i].is_identity) return false;
    }
    for (uint32_t i = plan->rank - 2; i < plan->rank; i++) {
        const tn_resize_axis *axis = &plan->axes[i];
        if (axis->taps < 1 || axis->taps > TN_RESAMPLE_MAXIMUM_TAPS || axis->input < 1 ||
            axis->output < 1 || axis->input > INT32_MAX ||
            axis->output > INT32_MAX / TN_RESAMPLE_MAXIMUM_TAPS)
            return false;
    }
    return plan->coordinates != TN_RESIZE_TF_CROP_AND_RESIZE;
}

static tn_status separable_accepts(tn_call *call) {
    tn_resize_plan plan;
    return tn_resize_read(call, &plan) == TN_OK && is_separable(&plan) ? TN_OK
                                                                       : TN_ERROR_UNSUPPORTED;
}

static tn_status separable_open(tn_call *call) {
    separable_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the resize's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

static void separable_close(tn_call *call) {
    separable_context *context = call->context;
    call->host->deallocate(call->host, context->memory);
    call->host->deallocate(call->host, context);
}

static uint64_t table_bytes(const tn_resize_axis *axis) {
    return (uint64_t)(axis->taps * axis->output) * (sizeof(int32_t) + sizeof(float));
}

/* Fills one axis's tables at `memory` and returns what lies behind them. */
static char *fill_axis(const tn_resize_plan *plan, uint32_t index, char *memory,
                       tn_resample_axis *out_axis) {
    const tn_resize_axis *axis = &plan->axes[index];
    int64_t indices[TN_RESAMPLE_MAXIMUM_TAPS];
    double weights[TN_RESAMPLE_MAXIMUM_TAPS];
    int32_t *index_table = (int32_t *)(void *)memory;
    float *weight_table = (float *)(index_table + axis->taps * axis->output);
    for (int64_t i = 0; i < axis->output; i++) {
        (void)tn_resize_taps(plan, index, i, indices, weights); /* no crop: always inside */
        for (int64_t t = 0; t < axis->taps; t++) {
            index_table[t * axis->output + i] = (int32_t)indices[t];
            weight_table[t * axis->output + i] = (float)weights[t];
        }
    }
    *out_axis =
        (tn_resample_axis){axis->input, axis->output, axis->taps, index_table, weight_table};
    return memory + table_bytes(axis);
}

static tn_status separable_reshape(tn_call *call) {
    separable_context *context = call->context;
    tn_resize_plan plan;
    tn_status status = tn_resize_read(call, &plan);
    if (status != TN_OK) return status;
    if (!is_separable(&plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "separable resampling does not do these axes");
    const uint64_t bytes =
        table_bytes(&plan.axes[plan.rank - 2]) + table_bytes(&plan.axes[plan.rank - 1]);
    if (bytes > context->capacity) {
        void *memory = call->host->allocate(call->host, bytes, 64);
        if (!memory)
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %llu bytes of tables",
                                    (unsigned long long)bytes);
        call->host->deallocate(call->host, context->memory);
        context->memory = memory;
        context->capacity = bytes;
    }
    char *rest = fill_axis(&plan, plan.rank - 2, context->memory, &context->vertical);
    (void)fill_axis(&plan, plan.rank - 1, rest, &context->horizontal);
    context->planes = 1;
    for (uint32_t i = 0; i + 2 < plan.rank; i++)
        context->planes *= call->inputs[0]->shape[i];
    call->workspace_bytes =
        (uint64_t)tn_resample_scratch_floats(&context->vertical, &context->horizontal) *
        sizeof(float) * call->threads;
    return TN_OK;
}

typedef struct separable_job {
    const separable_context *context;
    const tn_resample_level *level;
    const float *input;
    float *output, *scratch;
} separable_job;

/* An item is an output row of a plane. */
static tn_status resample_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const separable_job *job = user;
    const tn_resample_axis *vertical = &job->context->vertical,
                           *horizontal = &job->context->horizontal;
    float *scratch = job->scratch + thread * tn_resample_scratch_floats(vertical, horizontal);
    while (begin < end) {
        const int64_t plane = begin / vertical->out, first = begin % vertical->out;
        const int64_t last =
            first + end - begin < vertical->out ? first + end - begin : vertical->out;
        tn_resample_plane(
            job->level, vertical, horizontal, job->input + plane * vertical->in * horizontal->in,
            job->output + plane * vertical->out * horizontal->out, first, last, scratch);
        begin += last - first;
    }
    return TN_OK;
}

static tn_status separable_run(tn_call *call) {
    const separable_context *context = call->context;
    separable_job job = {.context = context,
                         .level = call->user,
                         .input = call->inputs[0]->data,
                         .output = call->outputs[0]->data,
                         .scratch = call->workspace};
    return call->host->parallel_for(call, context->planes * context->vertical.out,
                                    16384 / (context->horizontal.out + 1) + 1, resample_rows, &job);
}

static const char *const combinations[] = {"f32, *?... -> f32"};

#define SEPARABLE_KERNEL(level_name, features_text)                                                \
    static const tn_kernel level_name = {                                                          \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Resize",                                                                            \
        .device = "cpu",                                                                           \
        .name = "separable_" #level_name,                                                          \
        .doc = "Rows resampled across once, then joined down.",                                    \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(combinations),                                                             \
        .accepts = separable_accepts,                                                              \
        .open = separable_open,                                                                    \
        .close = separable_close,                                                                  \
        .reshape = separable_reshape,                                                              \
        .run = separable_run,                                                                      \
        .user = (void *)(uintptr_t)&tn_resample_##level_name,                                      \
    }
SEPARABLE_KERNEL(baseline, NULL);
SEPARABLE_KERNEL(avx2, TN_KIT_FEATURES_avx2);
SEPARABLE_KERNEL(avx512, TN_KIT_FEATURES_avx512);

/* ----------------------------------------------------------------------------------------------
 * channels last and blocked: positions of several channels beside each other */

typedef struct lanes_job {
    const separable_context *context;
    const tn_resample_level *level;
    int64_t lanes;
    const float *input;
    float *output;
} lanes_job;

static tn_status lanes_accepts(tn_call *call) {
    return call->inputs[0]->rank == 4 ? separable_accepts(call) : TN_ERROR_UNSUPPORTED;
}

/* An item is an output row of an image or of a block of its channels. */
static tn_status resample_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const tn_resample_axis *vertical = &job->context->vertical,
                           *horizontal = &job->context->horizontal;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t plane = i / vertical->out;
        job->level->lanes(vertical, horizontal, i % vertical->out, job->lanes,
                          job->input + plane * vertical->in * horizontal->in * job->lanes,
                          job->output + i * horizontal->out * job->lanes);
    }
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    const separable_context *context = call->context;
    const tn_tensor *output = call->outputs[0];
    const int64_t block = tn_physical_block(output->format), channels = output->shape[1];
    const int64_t planes =
        block ? output->shape[0] * ((channels + block - 1) / block) : output->shape[0];
    lanes_job job = {.context = context,
                     .level = call->user,
                     .lanes = block ? block : channels,
                     .input = call->inputs[0]->data,
                     .output = output->data};
    if (output->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, planes * context->vertical.out,
                                    16384 / (context->horizontal.out * job.lanes) + 1,
                                    resample_lanes, &job);
}

static const char *const lanes_combinations[] = {
    "f32:nhwc, *?... -> f32:nhwc", "f32:c16, *?... -> f32:c16", "f32:c8, *?... -> f32:c8"};

#define LANES_KERNEL(level_name, features_text)                                                    \
    static const tn_kernel lanes_##level_name = {                                                  \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Resize",                                                                            \
        .device = "cpu",                                                                           \
        .name = "lanes_" #level_name,                                                              \
        .doc = "Channels beside each other resampled at once.",                                    \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(lanes_combinations),                                                       \
        .accepts = lanes_accepts,                                                                  \
        .open = separable_open,                                                                    \
        .close = separable_close,                                                                  \
        .reshape = separable_reshape,                                                              \
        .run = lanes_run,                                                                          \
        .user = (void *)(uintptr_t)&tn_resample_##level_name,                                      \
    }
LANES_KERNEL(baseline, NULL);
LANES_KERNEL(avx2, TN_KIT_FEATURES_avx2);
LANES_KERNEL(avx512, TN_KIT_FEATURES_avx512);

const tn_kernel *const tn_resize_kernels[7] = {
    &avx512, &avx2, &baseline, &lanes_avx512, &lanes_avx2, &lanes_baseline, &tn_resize_bytes};
