/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches of what a stream captures (TN_DEVICE_BRANCHES): a kernel that was captured behind
 * another one is moved beside it. Edges keep what they say of early starts
 * (tenon/kit/cuda/launch.cuh) wherever both ends are kernels. Declared in cuda.h.
 */
#include "cuda.h"

#if CUDART_VERSION >= 13000

/* Of a node before or behind another one, and the edge between them. */
enum { MOST_EDGES = 8 };
typedef struct edges {
    size_t count;
    cudaGraphNode_t nodes[MOST_EDGES];
    cudaGraphEdgeData data[MOST_EDGES];
} edges;

static cudaError_t find_before(cudaGraphNode_t node, edges *out) {
    out->count = MOST_EDGES;
    return cudaGraphNodeGetDependencies(node, out->nodes, out->data, &out->count);
}

static cudaError_t find_behind(cudaGraphNode_t node, edges *out) {
    out->count = MOST_EDGES;
    return cudaGraphNodeGetDependentNodes(node, out->nodes, out->data, &out->count);
}

static bool is_kernel(cudaGraphNode_t node) {
    enum cudaGraphNodeType type;
    return cudaGraphNodeGetType(node, &type) == cudaSuccess && type == cudaGraphNodeTypeKernel;
}

/* `like` where the node before is a kernel, which alone can let others start early. */
static cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to,
                            cudaGraphEdgeData like) {
    const cudaGraphEdgeData plain = {0};
    return cudaGraphAddDependencies(graph, &from, &to, is_kernel(from) ? &like : &plain, 1);
}

/* What the stream captures, and the node that it captured last; null: none, or several. */
static cudaError_t look(cudaStream_t stream, cudaGraph_t *out_graph, cudaGraphNode_t *out_last) {
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *last = NULL;
    const cudaGraphEdgeData *data = NULL;
    size_t count = 0;
    const cudaError_t error =
        cudaStreamGetCaptureInfo(stream, &status, NULL, out_graph, &last, &data, &count);
    *out_last = error == cudaSuccess && count == 1 ? last[0] : NULL;
    return error;
}

static cudaError_t put_beside(cudaGraph_t graph, cudaGraphNode_t first, cudaGraphNode_t second) {
    edges between, before, behind;
    cudaError_t error = find_before(second, &between);
    if (error == cudaSuccess) error = find_before(first, &before);
    if (error == cudaSuccess) error = find_behind(second, &behind);
    if (error != cudaSuccess) return error;
    if (between.count != 1 || between.nodes[0] != first || before.count >= MOST_EDGES ||
        behind.count > 1 || !is_kernel(first) || !is_kernel(second))
        return cudaSuccess;
    error = cudaGraphRemoveDependencies(graph, &first, &second, between.data, 1);
    for (size_t i = 0; i < before.count && error == cudaSuccess; i++)
        error = add_edge(graph, before.nodes[i], second, between.data[0]);
    if (behind.count == 1 && error == cudaSuccess)
        error = add_edge(graph, first, behind.nodes[0], behind.data[0]);
    return error;
}

void *tn_cuda_branches_last(const tn_device *device, void *stream) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t last = NULL;
    const int before = tn_cuda_device_enter(device);
    if (look(stream, &graph, &last) != cudaSuccess) (void)cudaGetLastError();
    tn_cuda_device_leave(device, before);
    return last;
}

tn_status tn_cuda_branches_put_beside(const tn_device *device, void *stream, void *first,
                                      void *second) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t last = NULL;
    const int before = tn_cuda_device_enter(device);
    cudaError_t error = look(stream, &graph, &last);
    /* What is captured last has to be behind all else. */
    if (error == cudaSuccess && last != second) error = put_beside(graph, first, second);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "putting kernels of a graph beside each other");
}

#else

void *tn_cuda_branches_last(const tn_device *device, void *stream) {
    (void)device;
    (void)stream;
    return NULL;
}

tn_status tn_cuda_branches_put_beside(const tn_device *device, void *stream, void *first,
                                      void *second) {
    (void)device;
    (void)stream;
    (void)first;
    (void)second;
    return TN_OK;
}

#endif
