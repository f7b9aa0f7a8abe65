/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of the convolution of 8-bit tensors that stand for floating-point values: quantises
 * and packs the weights (prepare), plans for the shapes (reshape), gathers scales and biases (run).
 * The bands are int8_run.c's, the layout int8_plan.c's; depthwise convolutions have kernels of
 * their own (depthwise.c).
 */
#include "kit/operator/layer.h"
#include "conv/int8_run.h"
#include "conv/kernels.h"
#include "kit/math/byte_table.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/levels.h>

#include <stdio.h>

typedef struct int8_context {
    tn_kernel_context kept; /* tables: offsets of groups, then of positions */
    tn_int8_plan plan;
} int8_context;

/* ----------------------------------------------------------------------------------------------
 * prepare */

static bool is_linear_or_last(const tn_tensor *tensor) {
    return tensor->format == TN_LINEAR || tensor->format == TN_NHWC;
}

/* Groups of a single channel and filter are depthwise.c's. */
static bool read_node(const tn_call *call, tn_conv_geometry *out_geometry,
                      tn_float_epilogue *out_epilogue) {
    return tn_dot_call_read(call, 1, out_epilogue) && is_linear_or_last(call->inputs[0]) &&
           is_linear_or_last(call->outputs[0]) && tn_conv_geometry_read(call, out_geometry) &&
           (out_geometry->groups == 1 || out_geometry->channels > 1 || out_geometry->filters > 1);
}

static bool make_plan(const tn_dot_level *level, const tn_conv_geometry *geometry, int64_t join,
                      uint32_t threads, tn_int8_plan *out_plan, tn_dot_layout *out_layout) {
    return tn_int8_plan_make(level, geometry, join, threads ? threads : 1, out_plan) &&
           tn_dot_layout_make(level, geometry->groups, out_plan->geometry.filters, out_plan->groups,
                              out_layout);
}

/* A node as it is prepared: joined outputs lie side by side with channels last alone. */
static bool read_plan(const tn_call *call, tn_int8_plan *out_plan, tn_dot_layout *out_layout,
                      tn_float_epilogue *out_epilogue) {
    const tn_dot_level *level = call->user;
    tn_conv_geometry geometry;
    if (!read_node(call, &geometry, out_epilogue)) return false;
    const int64_t join =
        call->outputs[0]->format == TN_NHWC ? tn_int8_plan_join(level, &geometry) : 1;
    return make_plan(level, &geometry, join, call->threads, out_plan, out_layout);
}

static tn_status int8_accepts(tn_call *call) {
    tn_float_epilogue epilogue;
    tn_int8_plan plan;
    tn_dot_layout layout;
    return read_plan(call, &plan, &layout, &epilogue) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct pack_job {
    tn_call *call;
    const tn_dot_layout *layout;
    const tn_int8_plan *plan;
} pack_job;

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const tn_host *host = job->call->host;
    const tn_conv_geometry *g = &job->plan->geometry;
    const int64_t filters = g->filters / job->plan->join,
                  taps =
                      tn_infer_product(job->call->inputs[1]->shape, 1, job->call->inputs[1]->rank);
    const uint64_t count =
        (uint64_t)(job->plan->join * job->plan->groups) * job->layout->level->group;
    int32_t *elements = host->allocate(host, count * sizeof(*elements), 64);
    (void)bytes;
    if (!elements)
        return host->fail(job->call, TN_ERROR_MEMORY, "no memory to pack %llu weights of a filter",
                          (unsigned long long)count);
    tn_int8_plan_elements(job->layout->level, job->plan, elements);
    const tn_dot_source source = {.from = job->call->inputs[1]->data,
                                  .matrix_stride = taps * filters,
                                  .column_stride = taps,
                                  .element_stride = 1,
                                  .period = filters,
                                  .elements = elements};
    tn_dot_pack(job->layout, &source, data);
    host->deallocate(host, elements);
    return TN_OK;
}

static tn_status int8_prepare(tn_call *call) {
    const tn_host *host = call->host;
    tn_float_epilogue epilogue;
    tn_int8_plan plan;
    tn_dot_layout layout;
    if (!read_plan(call, &plan, &layout, &epilogue))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "the quantised convolution does not do this node");
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_int8_state)));
    tn_int8_state *state = call->state;
    *state = (tn_int8_state){
        .level = call->user, .layout = layout, .join = plan.join, .epilogue = epilogue};
    /* Nodes that share weights may differ in their groups and in what is joined. */
    char key[64];
    snprintf(key, sizeof(key), "%lld groups, %lld runs, %lld joined, stride %lld",
             (long long)plan.geometry.groups, (long long)plan.runs, (long long)plan.join,
             plan.join > 1 ? (long long)plan.geometry.stride_width : 1LL);
    pack_job job = {call, &layout, &plan};
    return tn_kernel_state_finish(call, host->packed(call, 1, key, tn_dot_layout_bytes(&layout),
                                                     pack_weights, &job, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

static tn_status int8_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(int8_context));
}

/* Of scales and as many of biases, which lie before the copies. */
static int64_t channel_bytes(const tn_dot_layout *layout) {
    return (layout->matrices * layout->padded * (int64_t)sizeof(float) + 63) / 64 * 64;
}

static tn_status int8_reshape(tn_call *call) {
    const tn_int8_state *state = call->state;
    int8_context *context = call->context;
    tn_int8_plan *plan = &context->plan;
    tn_conv_geometry geometry;
    tn_dot_layout layout;
    if (!tn_conv_geometry_read(call, &geometry) ||
        !make_plan(state->level, &geometry, state->join, call->threads, plan, &layout))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the quantised convolution does not do these shapes");
    TN_TRY(tn_kernel_context_reserve(call,
                                     (uint64_t)(plan->groups + plan->positions) * sizeof(int32_t)));
    int32_t *offsets = context->kept.tables;
    tn_int8_plan_offsets(state->level, plan, offsets, offsets + plan->groups);
    call->workspace_bytes =
        (uint64_t)channel_bytes(&state->layout) * 2 + (uint64_t)plan->copy_bytes * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status int8_run_node(tn_call *call) {
    const tn_int8_state *state = call->state;
    const int8_context *context = call->context;
    const tn_int8_plan *plan = &context->plan;
    const int32_t *offsets = context->kept.tables;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    char *workspace = call->workspace;
    float *scale = call->workspace,
          *bias = (float *)(void *)(workspace + channel_bytes(&state->layout));
    tn_int8_run run = {.state = state,
                       .plan = plan,
                       .offsets = offsets,
                       .positions = offsets + plan->groups,
                       .scale = scale,
                       .bias = bias,
                       .input = call->inputs[0]->data,
                       .is_input_last = call->inputs[0]->format == TN_NHWC,
                       .is_output_last = call->outputs[0]->format == TN_NHWC,
                       .output = call->outputs[0]->data,
                       .copies = workspace + 2 * channel_bytes(&state->layout)};
    const float fold = tn_dot_end_make(call, &state->epilogue, &run.end);
    tn_dot_end_gather(call, &state->epilogue, &state->layout, state->blob,
                      plan->geometry.filters / plan->join, 1.0f, fold,
                      fold * tn_byte_scale(call->inputs[0]), scale, bias);
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    return tn_int8_run_all(call, &run);
}

static const char *const combinations[] = {
    "qi8:nhwc, f32, f32? -> qi8:nhwc", "qi8:nhwc, f32, f32? -> qi8",
    "qi8:nhwc, f32, f32? -> f32:nhwc", "qi8:nhwc, f32, f32? -> f32",
    "qi8, f32, f32? -> qi8:nhwc",      "qi8, f32, f32? -> qi8",
    "qi8, f32, f32? -> f32:nhwc",      "qi8, f32, f32? -> f32",
};

TN_LEVEL_KERNELS_OF(, tn_conv_int8, TN_LEVELS_VNNI(tn_dot), "", 2, "Conv", "int8",
                    "8-bit products, exact sums; weights quantised a filter.",
                    .traits = TN_KERNEL_DETERMINISTIC,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = int8_accepts, .prepare = int8_prepare,
                    .release = tn_kernel_state_destroy, .open = int8_open,
                    .close = tn_kernel_context_destroy, .reshape = int8_reshape,
                    .run = int8_run_node);
