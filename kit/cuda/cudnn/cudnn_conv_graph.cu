/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution and what follows it as a graph for cuDNN; see cudnn_conv_plan.h. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_conv_plan.h"

/* ----------------------------------------------------------------------------------------------
 * the epilogue as pointwise operations */

/* A graph as it grows: `at` is what the last operation gives, `next_id` names what is inside. */
typedef struct chain {
    tn_cudnn_graph *graph;
    const tn_cudnn_problem *problem;
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

static bool can_fuse(const tn_cudnn_problem *problem, tn_cudnn_pointwise *activation) {
    const bool is_bytes = problem->storage == TN_I8;
    if (!problem->has_epilogue && !is_bytes) return false;
    if (problem->epilogue.activation && !name_activation(&problem->epilogue, activation))
        return false;
    if (problem->y_type == TN_I8 && !problem->is_folded) return false;
    /* cuDNN 9.19 crashes while it runs what it proposes for 8 bits with a residual. */
    return !is_bytes || problem->epilogue.residual == UINT32_MAX;
}

bool tn_cudnn_conv_graph(const tn_cudnn_problem *problem, cudnnHandle_t handle, bool is_fused,
                         tn_cudnn_graph *graph) {
    const bool is_bytes = problem->storage == TN_I8;
    tn_cudnn_pointwise activation = {};
    chain c = {};
    c.graph = graph;
    c.problem = problem;
    c.next_id = 100;
    if (is_fused) {
        if (!can_fuse(problem, &activation)) return false;
        c.left = (is_bytes ? 1u : 0u) + (problem->epilogue.residual != UINT32_MAX ? 1u : 0u) +
                 (problem->has_bias ? 1u : 0u) + (problem->epilogue.activation ? 1u : 0u);
    }
    add_convolution(&c, is_fused && is_bytes ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT);
    if (is_fused) add_epilogue(&c, &activation);
    return tn_cudnn_graph_finish(graph, handle) == CUDNN_STATUS_SUCCESS;
}

void tn_cudnn_conv_plan_describe(const tn_cudnn_problem *problem, bool is_fused,
                                 tn_cudnn_conv_plan *plan) {
    plan->argument_count = 0;
    plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_X;
    plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_W;
    plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_Y;
    plan->is_fused = is_fused || (!problem->has_epilogue && problem->storage != TN_I8);
    if (!is_fused) return;
    if (problem->storage == TN_I8) plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_SCALE;
    if (problem->epilogue.residual != UINT32_MAX)
        plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_RESIDUAL;
    if (problem->has_bias) plan->arguments[plan->argument_count++] = TN_CUDNN_CONV_BIAS;
}

#endif
