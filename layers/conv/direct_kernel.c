/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution's kernels: packs the weights (prepare), plans for the shapes (reshape),
 * gathers the bias (run). The tiles are direct_run.c's, a tile's loop is direct_body.h, the input's
 * layout direct_layout.c, its numbers direct_plan.c.
 */
#include "kit/operator/layer.h"
#include "conv/direct_run.h"
#include "conv/kernels.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>
#include <tenon/plugin/cost.h>

#include <stdio.h>

typedef struct direct_context {
    tn_kernel_context kept; /* tables: the taps' offsets */
    tn_direct_plan plan;
} direct_context;

static tn_status direct_accepts(tn_call *call) {
    const tn_direct_level *level = call->user;
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    tn_direct_plan plan;
    const bool is_read =
        call->inputs[1] && tn_conv_volume_read(call, &geometry) &&
        tn_float_epilogue_read(call, 1, &epilogue) &&
        tn_direct_plan_make(level, &geometry, tn_direct_plan_block(level, &geometry),
                            call->threads ? call->threads : 1, &plan);
    return is_read ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status direct_tactics(tn_call *call) {
    const tn_cost_service *costs = call->host->extension(call->host, TN_COSTS);
    tn_cost cost = {.size = sizeof(cost)};
    tn_conv_geometry geometry;
    call->tactic_count = 1;
    if (!costs || !tn_conv_volume_read(call, &geometry)) return TN_OK;
    cost.work = tn_direct_plan_work(call->user, &geometry);
    costs->set(call, 0, &cost);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct pack_job {
    const tn_conv_geometry *geometry;
    int64_t taps, blocks;
    const float *weights;
} pack_job;

/* The tap that comes `at`-th, taps being in the order of (d, r, c, s), as W counts it:
 * (c, d, r, s). */
static int64_t tap_of_weights(const tn_conv_geometry *g, int64_t at) {
    const int64_t column = at % g->kernel_width, channel = at / g->kernel_width % g->channels;
    const int64_t row = at / g->kernel_width / g->channels; /* of all planes of the kernel */
    return (channel * g->kernel_depth * g->kernel_height + row) * g->kernel_width + column;
}

/* From W[k][c][d][r][s] to, for each group and each block of K filters, taps of (d, r, c, s) times
 * K:
 *
 *     | k0 k1 .. kK-1 of tap 0 | k0 k1 .. kK-1 of tap 1 | ..
 *
 * Behind them 1, or NaN where a weight is an infinity or no number: padding is zeros, and not
 * nothing, to those. */
static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const int64_t filters = job->geometry->filters, taps = job->taps;
    float *out = data, nothing = 0;
    (void)bytes;
    for (int64_t group = 0; group < job->geometry->groups; group++) {
        for (int64_t b = 0; b < job->blocks; b++) {
            const int64_t first = tn_parallel_first(filters, job->blocks, b);
            const int64_t next = tn_parallel_first(filters, job->blocks, b + 1);
            for (int64_t at = 0; at < taps; at++) {
                const int64_t tap = tap_of_weights(job->geometry, at);
                for (int64_t f = first; f < next; f++) {
                    *out = job->weights[(group * filters + f) * taps + tap];
                    nothing += 0 * *out++;
                }
            }
        }
    }
    *out = 1 + nothing;
    return TN_OK;
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "the direct convolution does not do this geometry");
}

static tn_status direct_prepare(tn_call *call) {
    tn_conv_geometry geometry;
    if (!tn_conv_volume_read(call, &geometry)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_direct_state)));
    tn_direct_state *state = call->state;
    state->level = call->user;
    state->block = tn_direct_plan_block(state->level, &geometry);
    (void)tn_float_epilogue_read(call, 1, &state->epilogue);
    if (!call->inputs[1]->data) return TN_OK; /* each run has its own */
    pack_job job = {&geometry, tn_direct_plan_taps(&geometry),
                    (geometry.filters + state->block - 1) / state->block, call->inputs[1]->data};
    char key[64]; /* blocks are of a group's filters */
    snprintf(key, sizeof(key), "rows of taps and 1, blocks of %lld, %lld groups",
             (long long)state->block, (long long)geometry.groups);
    const void *packed = NULL;
    const tn_status status = call->host->packed(
        call, 1, key, call->inputs[1]->bytes + sizeof(float), pack_weights, &job, &packed);
    state->weights = packed;
    return tn_kernel_state_finish(call, status);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape, run */

static tn_status direct_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(direct_context));
}

/* The bias of all filters lies before the copies, and before it the weights where a run packs them.
 */
static int64_t bias_floats(const tn_conv_geometry *g) {
    return (g->groups * g->filters + 31) / 16 * 16;
}

static int64_t packed_floats(const tn_direct_state *state, const tn_direct_plan *plan) {
    const int64_t floats = plan->geometry.groups * plan->geometry.filters * plan->taps;
    return state->weights ? 0 : (floats + 16) / 16 * 16;
}

static tn_status direct_reshape(tn_call *call) {
    const tn_direct_state *state = call->state;
    direct_context *context = call->context;
    const tn_direct_plan *plan = &context->plan;
    tn_conv_geometry geometry;
    if (!tn_conv_volume_read(call, &geometry)) return refuse(call);
    const int64_t block =
        state->weights ? state->block : tn_direct_plan_block(state->level, &geometry);
    if (!tn_direct_plan_make(state->level, &geometry, block, call->threads, &context->plan))
        return refuse(call);
    TN_TRY(tn_kernel_context_reserve(call,
                                     (uint64_t)(plan->table_count * plan->taps) * sizeof(int32_t)));
    tn_direct_plan_offsets(plan, context->kept.tables);
    call->workspace_bytes = (uint64_t)(packed_floats(state, plan) + bias_floats(&geometry) +
                                       plan->copies * plan->copy_floats) *
                            sizeof(float);
    return TN_OK;
}

static tn_status direct_run(tn_call *call) {
    const tn_direct_state *state = call->state;
    const direct_context *context = call->context;
    const tn_conv_geometry *g = &context->plan.geometry;
    const tn_tensor *own = call->input_count > 2 ? call->inputs[2] : NULL;
    float *packed = call->workspace, *bias = packed + packed_floats(state, &context->plan);
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!state->weights) {
        pack_job job = {g, context->plan.taps, context->plan.blocks, call->inputs[1]->data};
        TN_TRY(pack_weights(&job, packed, 0));
    }
    tn_epilogue_gather_bias(call, &state->epilogue, own ? own->data : NULL, 1, 1.0f, 0,
                            g->groups * g->filters, bias);
    tn_direct_run run = {.state = state,
                         .plan = &context->plan,
                         .weights = state->weights ? state->weights : packed,
                         .offsets = context->kept.tables,
                         .input = call->inputs[0]->data,
                         .bias = bias,
                         .output = call->outputs[0]->data,
                         .copies = bias + bias_floats(g),
                         .input_pitch = call->inputs[0]->strides[0],
                         .output_pitch = call->outputs[0]->strides[0]};
    if (state->epilogue.residual != UINT32_MAX) {
        run.residual = call->operands[state->epilogue.residual]->data;
        run.residual_pitch = call->operands[state->epilogue.residual]->strides[0];
    }
    return tn_direct_run_all(call, &run);
}

static const char *const combinations[] = {"f32:strided, f32, f32? -> f32:strided"};

TN_LEVEL_KERNELS_OF(, tn_conv_direct, TN_LEVELS(tn_direct), "", 2, "Conv", "direct",
                    "Tiles of output positions times filters in registers.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = direct_accepts,
                    .tactics = direct_tactics, .prepare = direct_prepare,
                    .release = tn_kernel_state_destroy, .open = direct_open,
                    .close = tn_kernel_context_destroy, .reshape = direct_reshape,
                    .run = direct_run);
