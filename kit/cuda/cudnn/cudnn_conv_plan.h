/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A convolution as cuDNN sees it: reading a node into tensors of rank 4 or 5, and making the plan
 * of one tactic. Nothing here runs; the callbacks are cudnn_conv.cu.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_CONV_PLAN_H
#define TN_KIT_CUDA_CUDNN_CUDNN_CONV_PLAN_H

#include "kit/cuda/cudnn/cudnn_conv.h"
#include "kit/cuda/cudnn/cudnn_graph.h"

extern "C" {
#include <tenon/kit/epilogue.h>
}

typedef struct tn_cudnn_problem {
    const tn_cudnn_conv *kind;
    uint32_t rank;
    bool is_last;    /* channels last in memory */
    tn_type storage; /* what is multiplied: of x as it is stored */
    tn_type y_type;
    tn_cudnn_tensor x, w, y;
    tn_cudnn_convolution convolution;
    /* Bounds of a clipping are over the output's scale where `fold` is. */
    tn_float_epilogue epilogue;
    bool has_bias, has_epilogue; /* epilogue: a bias, a residual or an activation */
    /* 8 bits: `fold` is 1 / y_scale where the activation lets it be multiplied in before it. */
    bool is_folded;
    float x_scale, y_scale, residual_scale, fold;
} tn_cudnn_problem;

/* False for what is left to other kernels. */
bool tn_cudnn_problem_read(const tn_call *call, tn_cudnn_problem *out_problem);

/* Arguments by their names in the graph. */
enum {
    TN_CUDNN_CONV_X = 0,
    TN_CUDNN_CONV_W = 1,
    TN_CUDNN_CONV_Y = 2,
    TN_CUDNN_CONV_BIAS = 3,
    TN_CUDNN_CONV_RESIDUAL = 4,
    TN_CUDNN_CONV_SCALE = 5,
    TN_CUDNN_CONV_ARGUMENTS = 6
};

typedef struct tn_cudnn_conv_plan {
    const tn_cudnn *cudnn;
    cudnnBackendDescriptor_t plan;
    uint64_t workspace_bytes;
    bool is_fused; /* bias, residual, activation and the output's type are cuDNN's work */
    uint32_t argument_count;
    int64_t arguments[TN_CUDNN_CONV_ARGUMENTS];
} tn_cudnn_conv_plan;

/* How many tactics there are, at least 1, in call->tactic_count. */
tn_status tn_cudnn_conv_plan_count(tn_call *call, const tn_cudnn_problem *problem);
/* The plan of call->tactic. With `is_exact` of nothing else; otherwise of the first after it that
 * can be made, for shapes that the tactic was not chosen for. *plan is zero before. */
tn_status tn_cudnn_conv_plan_make(tn_call *call, const tn_cudnn_problem *problem, bool is_exact,
                                  tn_cudnn_conv_plan *plan);
void tn_cudnn_conv_plan_clear(tn_cudnn_conv_plan *plan); /* a zeroed one is fine */

/* --- cudnn_conv_graph.cu --- */
/* The graph of the convolution with its epilogue in one operation, or alone. False where cuDNN
 * cannot say it. *graph is zero but for its functions; it is the caller's to clear in both cases.
 */
bool tn_cudnn_conv_graph(const tn_cudnn_problem *problem, cudnnHandle_t handle, bool is_fused,
                         tn_cudnn_graph *graph);
/* How a plan of that graph is called. */
void tn_cudnn_conv_plan_describe(const tn_cudnn_problem *problem, bool is_fused,
                                 tn_cudnn_conv_plan *plan);

/* --- cudnn_conv_constants.cu --- */
/* Weights as cuDNN wants them (null: as the node's own), and `channels` biases and then as many
 * scales; in the device's memory, the caller's. What was made before a failure is set too. */
tn_status tn_cudnn_conv_constants(tn_call *call, const tn_cudnn_problem *problem,
                                  void **out_weights, float **out_numbers);

#endif
