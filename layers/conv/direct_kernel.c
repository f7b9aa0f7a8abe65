/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution's kernels: packs the weights (prepare), plans for the shapes (reshape),
 * gathers the bias and walks the tiles (run). The inner loop is direct_body.h, the walk
 * direct_walk.c, the input's layout direct_layout.c, its numbers direct_plan.c.
 */
#include "conv/direct_kernel.h"
#include "conv/direct_walk.h"

#include <stdio.h>
#include <string.h>

typedef struct direct_context {
    tn_direct_plan plan;
    int32_t *offsets;
    int64_t offset_capacity;
} direct_context;

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct pack_job {
    const tn_direct_state *state;
    const tn_conv_geometry *geometry;
    const float *weights;
} pack_job;

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const tn_direct_state *state = job->state;
    const int64_t filters = job->geometry->filters;
    float *out = data;
    (void)bytes;
    for (int64_t group = 0; group < job->geometry->groups; group++) {
        for (int64_t b = 0; b < state->blocks; b++) {
            int64_t first = tn_direct_plan_first(filters, state->blocks, b);
            int64_t next = tn_direct_plan_first(filters, state->blocks, b + 1);
            for (int64_t tap = 0; tap < state->taps; tap++) {
                for (int64_t f = first; f < next; f++)
                    *out++ = job->weights[(group * filters + f) * state->taps + tap];
            }
        }
    }
    return TN_OK;
}

tn_status tn_conv_direct_accepts(tn_call *call) {
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    tn_direct_plan plan;
    const tn_direct_level *level = call->user;
    if (!call->inputs[1] || !call->inputs[1]->data || !tn_conv_geometry_read(call, &geometry) ||
        !tn_float_epilogue_read(call, 1, &epilogue))
        return TN_ERROR_UNSUPPORTED;
    int64_t block = tn_direct_plan_block(level, &geometry);
    return tn_direct_plan_make(level, &geometry, block, call->threads ? call->threads : 1, &plan)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_conv_direct_prepare(tn_call *call) {
    const tn_host *host = call->host;
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "the direct convolution does not do this geometry");
    tn_direct_state *state = host->allocate(host, sizeof(*state), 64);
    if (!state) return host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    memset(state, 0, sizeof(*state));
    state->level = call->user;
    state->taps = geometry.channels * geometry.kernel_height * geometry.kernel_width;
    state->block = tn_direct_plan_block(state->level, &geometry);
    state->blocks = (geometry.filters + state->block - 1) / state->block;
    state->has_bias = call->input_count > 2 && call->inputs[2];
    (void)tn_float_epilogue_read(call, 1, &state->epilogue);

    pack_job job = {state, &geometry, call->inputs[1]->data};
    char key[64]; /* blocks are of a group's filters */
    snprintf(key, sizeof(key), "blocks of %lld, %lld groups", (long long)state->block,
             (long long)geometry.groups);
    const void *packed = NULL;
    tn_status status =
        host->packed(call, 1, key, call->inputs[1]->bytes, pack_weights, &job, &packed);
    if (status != TN_OK) {
        host->deallocate(host, state);
        return status;
    }
    state->weights = packed;
    call->state = state;
    return TN_OK;
}

void tn_conv_direct_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

tn_status tn_conv_direct_open(tn_call *call) {
    direct_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

void tn_conv_direct_close(tn_call *call) {
    direct_context *context = call->context;
    call->host->deallocate(call->host, context->offsets);
    call->host->deallocate(call->host, context);
}

/* The bias of all filters lies before the copies. */
static uint64_t bias_floats(const tn_conv_geometry *g) {
    return (uint64_t)((g->groups * g->filters + 31) / 16 * 16);
}

tn_status tn_conv_direct_reshape(tn_call *call) {
    const tn_direct_state *state = call->state;
    direct_context *context = call->context;
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry) ||
        !tn_direct_plan_make(state->level, &geometry, state->block, call->threads, &context->plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the direct convolution does not do this geometry");
    const tn_direct_plan *plan = &context->plan;
    int64_t count = plan->table_count * plan->taps;
    if (count > context->offset_capacity) {
        int32_t *offsets = call->host->allocate(call->host, (uint64_t)count * sizeof(int32_t), 64);
        if (!offsets)
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld offsets",
                                    (long long)count);
        call->host->deallocate(call->host, context->offsets);
        context->offsets = offsets;
        context->offset_capacity = count;
    }
    tn_direct_plan_offsets(plan, context->offsets);
    call->workspace_bytes =
        (bias_floats(&geometry) + (uint64_t)plan->copies * (uint64_t)plan->copy_floats) *
        sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static void gather_bias(const tn_call *call, const tn_direct_state *state, int64_t filters,
                        float *bias) {
    if (state->has_bias)
        memcpy(bias, call->inputs[2]->data, (size_t)filters * sizeof(float));
    else
        memset(bias, 0, (size_t)filters * sizeof(float));
    for (uint32_t b = 0; b < state->epilogue.bias_count; b++) {
        const float *more = call->operands[state->epilogue.bias[b]]->data;
        for (int64_t i = 0; i < filters; i++)
            bias[i] += more[i];
    }
}

tn_status tn_conv_direct_run(tn_call *call) {
    const tn_direct_state *state = call->state;
    const direct_context *context = call->context;
    const tn_conv_geometry *g = &context->plan.geometry;
    float *bias = call->workspace;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    gather_bias(call, state, g->groups * g->filters, bias);
    tn_direct_run run = {.state = state,
                         .plan = &context->plan,
                         .offsets = context->offsets,
                         .input = call->inputs[0]->data,
                         .bias = bias,
                         .output = call->outputs[0]->data,
                         .copies = bias + bias_floats(g)};
    run.input_pitch = call->inputs[0]->strides[0];
    run.output_pitch = call->outputs[0]->strides[0];
    if (state->epilogue.residual != UINT32_MAX) {
        run.residual = call->operands[state->epilogue.residual]->data;
        run.residual_pitch = call->operands[state->epilogue.residual]->strides[0];
    }
    return tn_direct_walk(call, &run);
}
