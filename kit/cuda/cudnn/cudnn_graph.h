/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of operations for cuDNN's backend interface (its documentation calls it the graph API):
 * tensors, a convolution, pointwise operations after it, the engine configurations that its
 * heuristics propose, and plans made of them, also as text. A mistake is remembered by the graph
 * and told by tn_cudnn_graph_finish, so that a graph is written down without a check a line.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_GRAPH_H
#define TN_KIT_CUDA_CUDNN_CUDNN_GRAPH_H

#include "kit/cuda/cudnn/cudnn.h"

enum { TN_CUDNN_MAX_DESCRIPTORS = 40, TN_CUDNN_MAX_OPERATIONS = 10, TN_CUDNN_MAX_CONFIGS = 16 };

typedef struct tn_cudnn_graph {
    const tn_cudnn *cudnn;
    uint32_t count, operation_count;
    cudnnBackendDescriptor_t descriptors[TN_CUDNN_MAX_DESCRIPTORS]; /* all that are owned */
    cudnnBackendDescriptor_t operations[TN_CUDNN_MAX_OPERATIONS];
    cudnnBackendDescriptor_t graph;
    cudnnStatus_t status; /* the first failure's */
    const char *failed;   /* what failed then */
} tn_cudnn_graph;

/* A tensor: `id` is its name in plans' arguments; a virtual one lives inside the graph only. */
typedef struct tn_cudnn_tensor {
    int64_t id;
    cudnnDataType_t type;
    uint32_t rank;
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
    bool is_virtual;
} tn_cudnn_tensor;

typedef struct tn_cudnn_convolution {
    bool is_transposed; /* the gradient by the data: x is then what the convolution would give */
    cudnnDataType_t compute_type;
    int64_t spatial_rank;
    int64_t strides[TN_MAX_RANK], dilations[TN_MAX_RANK], pads[TN_MAX_RANK];
} tn_cudnn_convolution;

typedef struct tn_cudnn_pointwise {
    cudnnPointwiseMode_t mode;
    double low, high, slope; /* RELU_FWD: the bounds, and the slope below the lower one */
    double alpha;            /* ELU_FWD's alpha, SWISH_FWD's beta */
} tn_cudnn_pointwise;

/* Zero a graph, then set `cudnn`. Descriptors belong to the graph; null after a failure. */
cudnnBackendDescriptor_t tn_cudnn_graph_tensor(tn_cudnn_graph *graph,
                                               const tn_cudnn_tensor *tensor);
void tn_cudnn_graph_convolution(tn_cudnn_graph *graph, const tn_cudnn_convolution *convolution,
                                cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                                cudnnBackendDescriptor_t y);
/* `b` null: of one argument. */
void tn_cudnn_graph_pointwise(tn_cudnn_graph *graph, const tn_cudnn_pointwise *pointwise,
                              cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                              cudnnBackendDescriptor_t y);
/* Makes the graph of its operations. Answers the first failure of all that was written down. */
cudnnStatus_t tn_cudnn_graph_finish(tn_cudnn_graph *graph, cudnnHandle_t handle);
void tn_cudnn_graph_clear(tn_cudnn_graph *graph); /* a zeroed one is fine */

/* What cuDNN says of a GPU, as text: plans of one are not for another. Empty after a failure. Asked
 * for once a GPU and kept. */
const char *tn_cudnn_properties(const tn_cudnn *cudnn, uint32_t device);

/* Engine configurations in the order of cuDNN's heuristics, without those that give up precision:
 * with `is_strict` none that rounds 32-bit floats to fewer bits. Always deterministic engines. They
 * belong to the graph, and each makes one plan: cuDNN 9.19 fails to compile a second one of the
 * same. Answers how many there are, `limit` at most. */
uint32_t tn_cudnn_graph_configs(tn_cudnn_graph *graph, bool is_strict, uint32_t limit,
                                cudnnBackendDescriptor_t *out_configs);

/* The plan of a configuration; the caller destroys it by tn_cudnn_destroy. It may take a second:
 * some engines are compiled for the graph. */
cudnnStatus_t tn_cudnn_plan_create(const tn_cudnn *cudnn, cudnnHandle_t handle,
                                   cudnnBackendDescriptor_t config,
                                   cudnnBackendDescriptor_t *out_plan);
/* The plan as text, what was compiled included: *out_bytes of it, when `text` is null how many
 * there are. And back, in a millisecond, on the same kind of GPU and version of cuDNN. */
cudnnStatus_t tn_cudnn_plan_write(const tn_cudnn *cudnn, cudnnBackendDescriptor_t plan,
                                  uint64_t capacity, char *text, uint64_t *out_bytes);
cudnnStatus_t tn_cudnn_plan_read(const tn_cudnn *cudnn, cudnnHandle_t handle, const char *text,
                                 uint64_t bytes, cudnnBackendDescriptor_t *out_plan);
cudnnStatus_t tn_cudnn_plan_workspace(const tn_cudnn *cudnn, cudnnBackendDescriptor_t plan,
                                      uint64_t *out_bytes);
/* The arguments of an execution; the caller destroys them by tn_cudnn_destroy. */
cudnnStatus_t tn_cudnn_pack_create(const tn_cudnn *cudnn, uint32_t count, const int64_t *ids,
                                   void *const *data, void *workspace,
                                   cudnnBackendDescriptor_t *out_pack);
void tn_cudnn_destroy(const tn_cudnn *cudnn, cudnnBackendDescriptor_t descriptor); /* null: fine */

#endif
