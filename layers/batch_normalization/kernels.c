/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization of inference as one multiplication and one addition an element (channels.h),
 * in linear, channels-last and blocked formats, with the epilogue of row_program.h. Factors and
 * shifts come from the statistics in each run: they are few beside the elements.
 */
#include "batch_normalization/batch_normalization.h"
#include "batch_normalization/channels.h"
#include "kit/elementwise/row_program.h"
#include "kit/operator/layer.h"
#include "kit/widened/widened.h"
#include "kit/operator/physical.h"
#include <tenon/kit/open.h>

#include <math.h>

/* The tensor as `outer` parts of `count` positions, each of `lanes` channels beside each other.
 * Part i has the channels from i % groups * lanes on. */
typedef struct channel_parts {
    int64_t outer, count, lanes, groups;
} channel_parts;

typedef struct channels_job {
    const tn_row_program *epilogue;
    const tn_channels_level *level;
    channel_parts parts;
    int64_t chunk, chunks; /* positions of a chunk, chunks of a part */
    const float *x, *factors, *shifts;
    float *y;
} channels_job;

static channel_parts parts_of(const tn_tensor *x) {
    const int64_t block = tn_physical_block(x->format), channels = x->rank > 1 ? x->shape[1] : 1;
    const int64_t pixels = tn_infer_product(x->shape, 2, x->rank);
    if (block != 0) {
        const int64_t groups = (channels + block - 1) / block;
        return (channel_parts){x->shape[0] * groups, pixels, block, groups};
    }
    if (x->format == TN_LINEAR) return (channel_parts){x->shape[0] * channels, pixels, 1, channels};
    return (channel_parts){1, x->shape[0] * pixels, channels, 1};
}

static tn_status channels_accepts(tn_call *call) {
    tn_batch_normalization_sizes sizes;
    const tn_tensor *x = call->inputs[0];
    if (tn_batch_normalization_is_training(call) || !tn_row_epilogue_accepts(call) ||
        tn_batch_normalization_read(call, &sizes) != TN_OK ||
        !tn_open_fits(sizes.channels, x->rank > 1 ? x->shape[1] : 1))
        return TN_ERROR_UNSUPPORTED;
    /* Padded lanes get the factor and the shift zero; what comes after must leave zero alone. */
    return tn_physical_is_padded(x) && !tn_row_epilogue_keeps_zero(call, 0) ? TN_ERROR_UNSUPPORTED
                                                                            : TN_OK;
}

static int64_t table_floats(const channel_parts *parts) {
    return (parts->groups * parts->lanes + 15) / 16 * 16;
}

static tn_status channels_reshape(tn_call *call) {
    const channel_parts parts = parts_of(call->inputs[0]);
    TN_TRY(tn_open_ask(call, channels_accepts));
    call->workspace_bytes = (uint64_t)(2 * table_floats(&parts)) * sizeof(float);
    return TN_OK;
}

static void fill_tables(const tn_call *call, int64_t count, float *factors, float *shifts) {
    const tn_batch_normalization_params *params = call->params;
    const float *scale = call->inputs[TN_BATCH_NORMALIZATION_SCALE]->data,
                *bias = call->inputs[TN_BATCH_NORMALIZATION_B]->data,
                *mean = call->inputs[TN_BATCH_NORMALIZATION_MEAN]->data,
                *variance = call->inputs[TN_BATCH_NORMALIZATION_VARIANCE]->data;
    const int64_t channels = tn_element_count(call->inputs[TN_BATCH_NORMALIZATION_SCALE]);
    for (int64_t c = 0; c < count; c++) {
        factors[c] = shifts[c] = 0;
        if (c >= channels) continue;
        const double factor =
            (double)scale[c] / sqrt((double)variance[c] + (double)params->epsilon);
        factors[c] = (float)factor;
        shifts[c] = (float)((double)bias[c] - (double)mean[c] * factor);
    }
}

/* An item is a chunk of a part. */
static tn_status do_chunks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const channels_job *job = user;
    const channel_parts *parts = &job->parts;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t part = item / job->chunks, first = item % job->chunks * job->chunk;
        const int64_t count = parts->count - first < job->chunk ? parts->count - first : job->chunk;
        const int64_t channel = part % parts->groups * parts->lanes;
        const int64_t at = (part * parts->count + first) * parts->lanes;
        if (parts->lanes == 1)
            job->level->plane(count, job->factors[channel], job->shifts[channel], job->x + at,
                              job->y + at);
        else
            job->level->lanes(count, parts->lanes, job->factors + channel, job->shifts + channel,
                              job->x + at, job->y + at);
        const int64_t elements = count * parts->lanes;
        if (job->epilogue)
            tn_row_epilogue_run(job->epilogue, job->level->rows, elements, job->y + at);
    }
    return TN_OK;
}

static tn_status channels_run(tn_call *call) {
    enum { CHUNK = 4096, GRAIN = 4 };
    const tn_tensor *x = call->inputs[0];
    channels_job job = {.epilogue = call->state,
                        .level = call->user,
                        .parts = parts_of(x),
                        .factors = call->workspace,
                        .x = x->data,
                        .y = call->outputs[0]->data};
    if (x->bytes == 0) return TN_OK;
    float *factors = call->workspace, *shifts = factors + table_floats(&job.parts);
    fill_tables(call, table_floats(&job.parts), factors, shifts);
    job.shifts = shifts;
    job.chunk = CHUNK / job.parts.lanes + 1;
    job.chunks = (job.parts.count + job.chunk - 1) / job.chunk;
    const int64_t each = job.parts.count < job.chunk ? job.parts.count : job.chunk;
    return call->host->parallel_for(call, job.parts.outer * job.chunks,
                                    GRAIN * CHUNK / (each * job.parts.lanes) + 1, do_chunks, &job);
}

static const char *const combinations[] = {
    "f32, f32, f32, f32, f32 -> f32", "f32:nhwc, f32, f32, f32, f32 -> f32:nhwc",
    "f32:c16, f32, f32, f32, f32 -> f32:c16", "f32:c8, f32, f32, f32, f32 -> f32:c8"};
TN_LEVEL_KERNELS(channels, tn_channels, "BatchNormalization", "channels",
                 "One multiplication and one addition an element, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
                 .absorbs = TN_ROW_ABSORBS, TN_COMBINATIONS(combinations),
                 .accepts = channels_accepts, .prepare = tn_row_epilogue_prepare,
                 .release = tn_kernel_state_destroy, .reshape = channels_reshape,
                 .run = channels_run);

static const char *const halves[] = {
    "f16, f16, f16, f16, f16 -> f16",   "f16, f32, f32, f32, f32 -> f16",
    "f16, f16, f16, f32, f32 -> f16",   "bf16, bf16, bf16, bf16, bf16 -> bf16",
    "bf16, f32, f32, f32, f32 -> bf16", "bf16, bf16, bf16, f32, f32 -> bf16"};
TN_WIDENED_KERNELS(widened, channels, "BatchNormalization", TN_KERNEL_ANY_SHAPE, halves);

const tn_kernel *const tn_batch_normalization_kernels[2] = {TN_LEVEL_LIST(channels),
                                                            TN_LEVEL_LIST(widened)};
