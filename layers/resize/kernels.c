/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize of the last two axes of float tensors by separable resampling (tenon/kit/resample.h), one
 * kernel a processor level: `separable` on linear tensors, where SIMD lanes are neighbours of a
 * row, and `lanes` with channels last or blocked, where they are channels.
 */
#include "kit/operator/layer.h"
#include "kit/widened/widened.h"
#include "resize/kernels.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/physical.h"
#include <tenon/kit/levels.h>
#include <tenon/kit/open.h>
#include <tenon/kit/resample.h>

typedef struct resample_context {
    tn_kernel_context kept; /* tables: of both axes, for the present shapes */
    tn_resample_axis vertical, horizontal;
    int64_t planes;
} resample_context;

bool tn_resize_changes_images(const tn_resize_plan *plan, int64_t most_taps) {
    if (plan->rank < 2 || plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE) return false;
    for (uint32_t i = 0; i < plan->rank; i++) {
        const tn_resize_axis *axis = &plan->axes[i];
        const bool fits = i + 2 < plan->rank
                              ? axis->is_identity
                              : axis->taps >= 1 && axis->taps <= most_taps && axis->input >= 1 &&
                                    axis->output >= 1 && axis->input <= INT32_MAX &&
                                    axis->output <= INT32_MAX / (4 * axis->taps);
        if (!fits) return false;
    }
    return true;
}

bool tn_resize_may_change_images(const tn_call *call) {
    const tn_resize_params *params = call->params;
    const bool is_cropped = call->op->since_version >= 11 &&
                            params->coordinate_transformation_mode == TN_RESIZE_TF_CROP_AND_RESIZE;
    return !is_cropped && call->inputs[0]->rank >= 2;
}

static bool has_rank(const tn_tensor *x) {
    return x->rank >= 3 && x->rank <= 6;
}

static bool read_plan(tn_call *call, tn_resize_plan *plan) {
    return tn_resize_read(call, plan) == TN_OK && has_rank(call->inputs[0]) &&
           tn_resize_changes_images(plan, TN_RESAMPLE_MAXIMUM_TAPS);
}

static tn_status separable_accepts(tn_call *call) {
    tn_resize_plan plan;
    const bool is_read = tn_open_has(call)
                             ? has_rank(call->inputs[0]) && tn_resize_may_change_images(call)
                             : read_plan(call, &plan);
    return is_read ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status resample_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(resample_context));
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

static tn_status resample_reshape(tn_call *call) {
    resample_context *context = call->context;
    tn_resize_plan plan;
    if (!read_plan(call, &plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "separable resampling does not do these axes");
    const uint32_t vertical = plan.rank - 2, horizontal = plan.rank - 1;
    TN_TRY(tn_kernel_context_reserve(call, table_bytes(&plan.axes[vertical]) +
                                               table_bytes(&plan.axes[horizontal])));
    char *rest = fill_axis(&plan, vertical, context->kept.tables, &context->vertical);
    (void)fill_axis(&plan, horizontal, rest, &context->horizontal);
    context->planes = tn_infer_product(call->inputs[0]->shape, 0, vertical);
    call->workspace_bytes =
        (uint64_t)tn_resample_scratch_floats(&context->vertical, &context->horizontal) *
        sizeof(float) * call->threads;
    return TN_OK;
}

typedef struct separable_job {
    const resample_context *context;
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
    const resample_context *context = call->context;
    separable_job job = {.context = context,
                         .level = call->user,
                         .input = call->inputs[0]->data,
                         .output = call->outputs[0]->data,
                         .scratch = call->workspace};
    return call->host->parallel_for(call, context->planes * context->vertical.out,
                                    16384 / (context->horizontal.out + 1) + 1, resample_rows, &job);
}

/* ----------------------------------------------------------------------------------------------
 * channels last and blocked: positions of several channels beside each other */

typedef struct lanes_job {
    const resample_context *context;
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
    const resample_context *context = call->context;
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

static const char *const separable_combinations[] = {"f32, *?... -> f32"};
static const char *const lanes_combinations[] = {
    "f32:nhwc, *?... -> f32:nhwc", "f32:c16, *?... -> f32:c16", "f32:c8, *?... -> f32:c8"};

#define RESAMPLE_KERNELS(prefix, levels, text)                                                     \
    TN_LEVEL_KERNELS_OF(static, prefix, levels(tn_resample), "", 1, "Resize", #prefix, text,       \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(prefix##_combinations), .accepts = prefix##_accepts,       \
                        .open = resample_open, .close = tn_kernel_context_destroy,                 \
                        .reshape = resample_reshape, .run = prefix##_run)
/* Gathers along a row are no faster with AVX-512 (bench/results/2026-11-24-kernels.md). */
RESAMPLE_KERNELS(separable, TN_LEVELS_AVX2, "Rows resampled across once, then joined down.");
RESAMPLE_KERNELS(lanes, TN_LEVELS, "Channels beside each other resampled at once.");

static const char *const halves[] = {"f16, *?... -> f16", "bf16, *?... -> bf16"};
TN_WIDENED_KERNELS_OF(widened, TN_LEVELS_MADE_AVX2, separable, "Resize", TN_KERNEL_ANY_SHAPE,
                      halves);

const tn_kernel *const tn_resize_kernels[5] = {TN_LEVEL_LIST(widened), TN_LEVEL_LIST(separable),
                                               TN_LEVEL_LIST(lanes), &tn_resize_int8_nearest,
                                               TN_LEVEL_LIST(tn_quantized_resize)};
