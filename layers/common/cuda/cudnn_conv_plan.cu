/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of convolutions; see cudnn_conv_plan.h. Tactics are the engine configurations for the
 * convolution with its epilogue in one operation, then those for the convolution alone.
 */
#if __has_include(<cudnn.h>)
#include "common/cuda/cudnn_conv_plan.h"

#include <string.h>

enum { MOST_FUSED = 5, MOST_PLAIN = 5, MOST_PLAIN_BESIDE_FUSED = 2 };

/* ----------------------------------------------------------------------------------------------
 * the epilogue as pointwise operations */

/* A graph as it grows: `at` is what the last operation gives, `next_id` names what is inside. */
typedef struct chain {
    tn_cudnn_graph *graph;
    const tn_cudnn_problem *problem;
    tn_cudnn_conv_plan *plan;
    cudnnBackendDescriptor_t at, y;
    uint32_t left; /* operations to come: the last one gives y */
    int64_t next_id;
} chain;

static cudnnBackendDescriptor_t inside(chain *c, cudnnDataType_t type) {
    tn_cudnn_tensor tensor = c->problem->y;
    tensor.id = c->next_id++;
    tensor.type = type;
    tensor.is_virtual = true;
    return tn_cudnn_graph_tensor(c->graph, &tensor);
}

static cudnnBackendDescriptor_t argument(chain *c, const tn_cudnn_tensor *tensor) {
    c->plan->arguments[c->plan->argument_count++] = tensor->id;
    return tn_cudnn_graph_tensor(c->graph, tensor);
}

/* Floats along the channels, or one float for all. */
static cudnnBackendDescriptor_t vector_argument(chain *c, int64_t id, int64_t count) {
    tn_cudnn_tensor tensor = {};
    tensor.id = id;
    tensor.type = CUDNN_DATA_FLOAT;
    tensor.rank = c->problem->rank;
    for (uint32_t i = 0; i < tensor.rank; i++) {
        tensor.shape[i] = i == 1 ? count : 1;
        tensor.strides[i] = i == 1 ? 1 : count;
    }
    return argument(c, &tensor);
}

static void add_step(chain *c, const tn_cudnn_pointwise *step, cudnnBackendDescriptor_t b) {
    cudnnBackendDescriptor_t to = --c->left == 0 ? c->y : inside(c, CUDNN_DATA_FLOAT);
    tn_cudnn_graph_pointwise(c->graph, step, c->at, b, to);
    c->at = to;
}

/* cuDNN's name of an activation; false: it has none. */
static bool name_activation(const tn_float_epilogue *epilogue, tn_cudnn_pointwise *out_step) {
    tn_cudnn_pointwise step = {};
    step.mode = CUDNN_POINTWISE_RELU_FWD;
    step.alpha = epilogue->alpha;
    switch (epilogue->activation) {
    case TN_ACTIVATION_RELU:
        break;
    case TN_ACTIVATION_LEAKY_RELU:
        step.slope = epilogue->alpha;
        break;
    case TN_ACTIVATION_CLIP:
        if (epilogue->beta == 0 || !(epilogue->alpha <= epilogue->beta)) return false;
        step.low = epilogue->alpha;
        step.high = epilogue->beta;
        break;
    case TN_ACTIVATION_SIGMOID:
        step.mode = CUDNN_POINTWISE_SIGMOID_FWD;
        break;
    case TN_ACTIVATION_TANH:
        step.mode = CUDNN_POINTWISE_TANH_FWD;
        break;
    case TN_ACTIVATION_GELU_ERF:
        step.mode = CUDNN_POINTWISE_GELU_FWD;
        break;
    case TN_ACTIVATION_GELU_TANH:
        step.mode = CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
        break;
    case TN_ACTIVATION_SWISH:
        step.mode = CUDNN_POINTWISE_SWISH_FWD;
        break;
    case TN_ACTIVATION_ELU:
        step.mode = CUDNN_POINTWISE_ELU_FWD;
        break;
    default:
        return false;
    }
    *out_step = step;
    return true;
}

/* The steps after the convolution: scale, residual, bias, activation, as far as they are there. */
static void add_epilogue(chain *c, const tn_cudnn_pointwise *activation) {
    const tn_cudnn_problem *problem = c->problem;
    const int64_t channels = problem->y.shape[1];
    const bool is_bytes = problem->storage == TN_I8;
    tn_cudnn_pointwise add = {}, multiply = {};
    add.mode = CUDNN_POINTWISE_ADD;
    multiply.mode = CUDNN_POINTWISE_MUL;
    if (is_bytes) add_step(c, &multiply, vector_argument(c, TN_CUDNN_CONV_SCALE, channels));
    if (problem->epilogue.residual != UINT32_MAX) {
        tn_cudnn_tensor residual = problem->y;
        residual.id = TN_CUDNN_CONV_RESIDUAL;
        add_step(c, &add, argument(c, &residual));
    }
    if (problem->has_bias) add_step(c, &add, vector_argument(c, TN_CUDNN_CONV_BIAS, channels));
    if (problem->epilogue.activation) add_step(c, activation, NULL);
}

/* ----------------------------------------------------------------------------------------------
 * graphs */

static void begin(chain *c, const tn_cudnn_problem *problem, tn_cudnn_conv_plan *plan) {
    *c = {};
    c->graph = &plan->graph;
    c->problem = problem;
    c->plan = plan;
    c->next_id = 100;
}

/* Writes down the convolution; what it gives is y when nothing comes after it. */
static void add_convolution(chain *c, cudnnDataType_t inside_type) {
    const tn_cudnn_problem *problem = c->problem;
    cudnnBackendDescriptor_t x = argument(c, &problem->x), w = argument(c, &problem->w);
    tn_cudnn_tensor y = problem->y;
    if (c->left == 0 && problem->storage == TN_I8) y.type = CUDNN_DATA_FLOAT;
    c->y = argument(c, &y);
    c->at = c->left == 0 ? c->y : inside(c, inside_type);
    tn_cudnn_graph_convolution(c->graph, &problem->convolution, x, w, c->at);
}

/* False where cuDNN cannot say it. */
static bool describe_fused(const tn_cudnn_problem *problem, tn_cudnn_conv_plan *plan) {
    const bool is_bytes = problem->storage == TN_I8;
    tn_cudnn_pointwise activation = {};
    chain c;
    if (!problem->has_epilogue && !is_bytes) return false;
    if (problem->epilogue.activation && !name_activation(&problem->epilogue, &activation))
        return false;
    if (problem->y_type == TN_I8 && !problem->is_folded) return false;
    /* cuDNN 9.19 crashes while it runs what it proposes for 8 bits with a residual. */
    if (is_bytes && problem->epilogue.residual != UINT32_MAX) return false;
    begin(&c, problem, plan);
    c.left = (is_bytes ? 1u : 0u) + (problem->epilogue.residual != UINT32_MAX ? 1u : 0u) +
             (problem->has_bias ? 1u : 0u) + (problem->epilogue.activation ? 1u : 0u);
    add_convolution(&c, is_bytes ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT);
    add_epilogue(&c, &activation);
    plan->is_fused = true;
    return true;
}

static void describe_plain(const tn_cudnn_problem *problem, tn_cudnn_conv_plan *plan) {
    chain c;
    begin(&c, problem, plan);
    add_convolution(&c, CUDNN_DATA_FLOAT);
    plan->is_fused = !problem->has_epilogue && problem->storage != TN_I8;
}

/* The configurations of the graph that *plan then holds. */
static uint32_t propose(const tn_call *call, const tn_cudnn_problem *problem, cudnnHandle_t handle,
                        bool is_fused, uint32_t limit, tn_cudnn_conv_plan *plan,
                        cudnnBackendDescriptor_t *configs) {
    const bool is_strict = problem->storage == TN_F32 && !problem->kind->may_round;
    *plan = {};
    plan->graph.cudnn = tn_cudnn_open(call->host);
    if (!is_fused)
        describe_plain(problem, plan);
    else if (!describe_fused(problem, plan))
        return 0;
    if (tn_cudnn_graph_finish(&plan->graph, handle) != CUDNN_STATUS_SUCCESS) return 0;
    return tn_cudnn_graph_configs(&plan->graph, is_strict, limit, configs);
}

uint32_t tn_cudnn_conv_plan_count(tn_call *call, const tn_cudnn_problem *problem,
                                  cudnnHandle_t handle) {
    cudnnBackendDescriptor_t configs[TN_CUDNN_MAX_CONFIGS];
    tn_cudnn_conv_plan plan;
    const uint32_t fused = propose(call, problem, handle, true, MOST_FUSED, &plan, configs);
    tn_cudnn_conv_plan_clear(&plan);
    const uint32_t limit = fused ? MOST_PLAIN_BESIDE_FUSED : MOST_PLAIN;
    const uint32_t plain = propose(call, problem, handle, false, limit, &plan, configs);
    tn_cudnn_conv_plan_clear(&plan);
    return fused + plain > 0 ? fused + plain : 1;
}

/* Tries the configurations of one graph from `index` on. */
static tn_status try_configs(tn_call *call, cudnnHandle_t handle, bool is_exact, uint32_t index,
                             uint32_t count, const cudnnBackendDescriptor_t *configs,
                             tn_cudnn_conv_plan *plan) {
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    for (uint32_t i = index; i < count; i++) {
        status = tn_cudnn_plan_create(plan->graph.cudnn, handle, configs[i], &plan->plan,
                                      &plan->workspace_bytes);
        if (status == CUDNN_STATUS_SUCCESS || is_exact) break;
    }
    return tn_cudnn_check(call, status, "planning a convolution");
}

tn_status tn_cudnn_conv_plan_make(tn_call *call, const tn_cudnn_problem *problem,
                                  cudnnHandle_t handle, bool is_exact, tn_cudnn_conv_plan *plan) {
    cudnnBackendDescriptor_t configs[TN_CUDNN_MAX_CONFIGS];
    const uint32_t fused = propose(call, problem, handle, true, MOST_FUSED, plan, configs);
    if (call->tactic < fused) {
        const tn_status status =
            try_configs(call, handle, is_exact, call->tactic, fused, configs, plan);
        if (status == TN_OK || is_exact) return status;
    }
    tn_cudnn_conv_plan_clear(plan);
    const uint32_t limit = fused ? MOST_PLAIN_BESIDE_FUSED : MOST_PLAIN;
    const uint32_t plain = propose(call, problem, handle, false, limit, plan, configs);
    const uint32_t index = call->tactic < fused ? 0 : call->tactic - fused;
    if (plan->graph.status != CUDNN_STATUS_SUCCESS)
        return tn_cudnn_check(call, plan->graph.status, plan->graph.failed);
    if (is_exact && index >= plain)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "cuDNN has %u ways of doing this convolution, number %u is asked",
                                fused + plain, call->tactic);
    return try_configs(call, handle, is_exact, index < plain ? index : 0, plain, configs, plan);
}

void tn_cudnn_conv_plan_clear(tn_cudnn_conv_plan *plan) {
    if (plan->graph.cudnn) {
        tn_cudnn_destroy(plan->graph.cudnn, plan->plan);
        tn_cudnn_graph_clear(&plan->graph);
    }
    *plan = {};
}

#endif
