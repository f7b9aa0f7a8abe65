/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of convolutions by cuDNN; see cudnn_conv.h. A node is read into a `problem`;
 * problem and tactic give a plan (cudnn_conv_plan.cu); weights and the numbers of the epilogue are
 * copied to the device in prepare (cudnn_conv_constants.cu).
 */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_conv_plan.h"
#include "kit/cuda/finish.h"
#include <tenon/kit/cuda/launch.h>

extern "C" {
#include "kit/math/element.h"
}

#include <math.h>
#include <string.h>

/* Both operators have these inputs. */
enum { X = 0, W = 1, B = 2 };

typedef struct conv_state {
    tn_cudnn_problem problem; /* at the optimum */
    tn_cudnn_conv_plan plan;  /* for that */
    void *weights;            /* null: the node's own lie as cuDNN wants them */
    float *numbers;           /* `channels` biases, then as many scales */
} conv_state;

typedef struct conv_context {
    cudnnHandle_t handle;
    tn_cudnn_problem problem;
    tn_cudnn_conv_plan plan; /* for other shapes than the state's */
    const tn_cudnn_conv_plan *current;
    /* The arguments of the last run and the pack that holds them: a run with the same needs none.
     */
    void *data[TN_CUDNN_CONV_ARGUMENTS + 1];
    cudnnBackendDescriptor_t pack;
} conv_context;

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "cuDNN does not do this convolution");
}

/* ----------------------------------------------------------------------------------------------
 * accepts, tactics */

tn_status tn_cudnn_conv_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cudnn_problem problem;
    if (!tn_cudnn_problem_read(call, &problem) || !call->inputs[W]->data ||
        !tn_cudnn_open(call->host))
        return TN_ERROR_UNSUPPORTED;
    if (call->input_count > B && call->inputs[B] && !call->inputs[B]->data)
        return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < problem.epilogue.bias_count; i++)
        if (!call->operands[problem.epilogue.bias[i]]->data) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_cudnn_conv_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cudnn_problem problem;
    if (!tn_cudnn_problem_read(call, &problem)) return refuse(call);
    const int before = tn_cuda_enter(call);
    const tn_status status = tn_cudnn_conv_plan_count(call, &problem);
    tn_cuda_leave(call, before);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

static void free_state(tn_call *call, conv_state *state) {
    const tn_device *device = call->device;
    tn_cudnn_conv_plan_clear(&state->plan);
    if (state->weights) device->deallocate(device, state->weights, call->stream);
    if (state->numbers) device->deallocate(device, state->numbers, call->stream);
    call->host->deallocate(call->host, state);
}

tn_status tn_cudnn_conv_prepare(tn_call *call) TN_NOEXCEPT {
    conv_state *state = (conv_state *)call->host->allocate(call->host, sizeof(*state), 64);
    if (!state)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    memset(state, 0, sizeof(*state));
    const int before = tn_cuda_enter(call);
    tn_status status = tn_cudnn_problem_read(call, &state->problem) ? TN_OK : refuse(call);
    if (status == TN_OK)
        status = tn_cudnn_conv_plan_make(call, &state->problem, true, &state->plan);
    if (status == TN_OK)
        status = tn_cudnn_conv_constants(call, &state->problem, &state->weights, &state->numbers);
    if (status == TN_OK)
        call->state = state;
    else
        free_state(call, state);
    tn_cuda_leave(call, before);
    return status;
}

void tn_cudnn_conv_release(tn_call *call) TN_NOEXCEPT {
    const int before = tn_cuda_enter(call);
    free_state(call, (conv_state *)call->state);
    tn_cuda_leave(call, before);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

tn_status tn_cudnn_conv_open(tn_call *call) TN_NOEXCEPT {
    conv_context *context = (conv_context *)call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's context");
    memset(context, 0, sizeof(*context));
    const tn_status status = tn_cudnn_acquire(call, &context->handle);
    if (status != TN_OK) {
        call->host->deallocate(call->host, context);
        return status;
    }
    call->context = context;
    return TN_OK;
}

static void drop_pack(const tn_call *call, conv_context *context) {
    tn_cudnn_destroy(tn_cudnn_open(call->host), context->pack);
    context->pack = NULL;
}

void tn_cudnn_conv_close(tn_call *call) TN_NOEXCEPT {
    conv_context *context = (conv_context *)call->context;
    drop_pack(call, context);
    tn_cudnn_conv_plan_clear(&context->plan);
    tn_cudnn_release(call, context->handle);
    call->host->deallocate(call->host, context);
}

static bool is_same_shape(const tn_cudnn_problem *a, const tn_cudnn_problem *b) {
    return a->rank == b->rank && memcmp(a->x.shape, b->x.shape, a->rank * sizeof(int64_t)) == 0;
}

/* Sums of an unfused plan that are not of the output's type lie behind cuDNN's own workspace. */
static uint64_t sums_at(const tn_cudnn_conv_plan *plan) {
    return (plan->workspace_bytes + 255) / 256 * 256;
}

tn_status tn_cudnn_conv_reshape(tn_call *call) TN_NOEXCEPT {
    const conv_state *state = (const conv_state *)call->state;
    conv_context *context = (conv_context *)call->context;
    tn_status status = TN_OK;
    call->workspace_bytes = 0;
    context->current = NULL;
    drop_pack(call, context);
    if (call->outputs[0]->bytes == 0) return TN_OK;
    tn_cudnn_problem problem;
    if (!tn_cudnn_problem_read(call, &problem)) return refuse(call);
    if (is_same_shape(&problem, &state->problem)) {
        context->current = &state->plan;
    } else {
        if (!context->plan.plan || !is_same_shape(&problem, &context->problem)) {
            const int before = tn_cuda_enter(call);
            tn_cudnn_conv_plan_clear(&context->plan);
            status = tn_cudnn_conv_plan_make(call, &problem, false, &context->plan);
            tn_cuda_leave(call, before);
            if (status != TN_OK) return status;
        }
        context->current = &context->plan;
    }
    context->problem = problem;
    call->workspace_bytes = context->current->workspace_bytes;
    if (!context->current->is_fused && problem.storage == TN_I8)
        call->workspace_bytes = sums_at(context->current) +
                                (uint64_t)tn_element_count(call->outputs[0]) * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status make_pack(tn_call *call, conv_context *context, void *const *data) {
    const tn_cudnn_conv_plan *plan = context->current;
    void *chosen[TN_CUDNN_CONV_ARGUMENTS];
    if (context->pack && memcmp(context->data, data, sizeof(context->data)) == 0) return TN_OK;
    drop_pack(call, context);
    for (uint32_t i = 0; i < plan->argument_count; i++)
        chosen[i] = data[plan->arguments[i]];
    const tn_status status = tn_cudnn_check(
        call,
        tn_cudnn_pack_create(tn_cudnn_open(call->host), plan->argument_count, plan->arguments,
                             chosen, data[TN_CUDNN_CONV_ARGUMENTS], &context->pack),
        "taking arguments");
    if (status == TN_OK) memcpy(context->data, data, sizeof(context->data));
    return status;
}

static tn_status execute(tn_call *call, conv_context *context) {
    const tn_status status = tn_cudnn_use(call, context->handle);
    if (status != TN_OK) return status;
    return tn_cudnn_check(
        call,
        tn_cudnn_open(call->host)
            ->cudnnBackendExecute(context->handle, context->current->plan, context->pack),
        "a convolution");
}

static tn_status finish(tn_call *call, const conv_context *context, const void *sums) {
    const conv_state *state = (const conv_state *)call->state;
    const tn_cudnn_problem *problem = &context->problem;
    const int64_t channels = problem->y.shape[1];
    const int64_t plane = tn_window_count(problem->rank - 2, problem->y.shape + 2);
    if (!problem->has_epilogue && problem->storage != TN_I8) return TN_OK;
    tn_cuda_finish f = {};
    f.sums = sums;
    f.y = call->outputs[0]->data;
    f.y_type = call->outputs[0]->type;
    f.sum_type = problem->storage == TN_I8 ? (tn_type)TN_F32 : problem->storage;
    f.bias = problem->has_bias ? state->numbers : NULL;
    if (problem->storage == TN_I8) f.scale = state->numbers + channels;
    f.residual_scale = problem->residual_scale * problem->fold;
    f.y_scale = problem->is_folded ? 1.0f : problem->y_scale;
    if (problem->epilogue.residual != UINT32_MAX)
        f.residual = call->operands[problem->epilogue.residual]->data;
    f.activation = {problem->epilogue.activation, problem->epilogue.alpha, problem->epilogue.beta};
    f.outer = problem->is_last ? problem->y.shape[0] * plane : problem->y.shape[0];
    f.channels = channels;
    f.inner = problem->is_last ? 1 : plane;
    return tn_cuda_status(call, tn_cuda_finish_launch(&f, (cudaStream_t)call->stream),
                          "bias and activation after a convolution");
}

tn_status tn_cudnn_conv_run(tn_call *call) TN_NOEXCEPT {
    const conv_state *state = (const conv_state *)call->state;
    conv_context *context = (conv_context *)call->context;
    const tn_cudnn_conv_plan *plan = context->current;
    if (call->outputs[0]->bytes == 0 || !plan) return TN_OK;
    const tn_cudnn_problem *problem = &context->problem;
    const bool is_apart = !plan->is_fused && problem->storage == TN_I8;
    void *sums = is_apart ? (char *)call->workspace + sums_at(plan) : call->outputs[0]->data;
    void *data[TN_CUDNN_CONV_ARGUMENTS + 1] = {};
    data[TN_CUDNN_CONV_X] = call->inputs[X]->data;
    data[TN_CUDNN_CONV_W] = state->weights ? state->weights : call->inputs[W]->data;
    data[TN_CUDNN_CONV_Y] = sums;
    data[TN_CUDNN_CONV_BIAS] = state->numbers;
    data[TN_CUDNN_CONV_SCALE] = state->numbers + problem->y.shape[1];
    if (problem->epilogue.residual != UINT32_MAX)
        data[TN_CUDNN_CONV_RESIDUAL] = call->operands[problem->epilogue.residual]->data;
    data[TN_CUDNN_CONV_ARGUMENTS] = call->workspace;
    const int before = tn_cuda_enter(call);
    tn_status status = make_pack(call, context, data);
    if (status == TN_OK) status = execute(call, context);
    if (status == TN_OK && !plan->is_fused) status = finish(call, context, sums);
    tn_cuda_leave(call, before);
    return status;
}

const char *const tn_cudnn_conv_combinations[8] = {
    "f32, f32, f32? -> f32",           "f32:nhwc, f32, f32? -> f32:nhwc",
    "f16:nhwc, f32, f32? -> f16:nhwc", "bf16:nhwc, f32, f32? -> bf16:nhwc",
    "f16:nhwc, f16, f16? -> f16:nhwc", "bf16:nhwc, bf16, bf16? -> bf16:nhwc",
    "qi8:nhwc, f32, f32? -> qi8:nhwc", "qi8:nhwc, f32, f32? -> f32:nhwc",
};
const char *const tn_cudnn_conv_float_combinations[2] = {
    "f32, f32, f32? -> f32",
    "f32:nhwc, f32, f32? -> f32:nhwc",
};

#endif
