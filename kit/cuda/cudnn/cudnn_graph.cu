/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs for cuDNN; see cudnn_graph.h. Attributes and their types are those of NVIDIA's
 * documentation of the backend interface, cuDNN 9.
 */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_graph.h"

#include <string.h>

/* Remembers a failure; false after one. */
static bool note(tn_cudnn_graph *graph, cudnnStatus_t status, const char *what) {
    if (status != CUDNN_STATUS_SUCCESS && graph->status == CUDNN_STATUS_SUCCESS) {
        graph->status = status;
        graph->failed = what;
    }
    return graph->status == CUDNN_STATUS_SUCCESS;
}

static cudnnBackendDescriptor_t create(tn_cudnn_graph *graph, cudnnBackendDescriptorType_t type,
                                       const char *what) {
    cudnnBackendDescriptor_t descriptor = NULL;
    if (graph->status != CUDNN_STATUS_SUCCESS) return NULL;
    if (graph->count == TN_CUDNN_MAX_DESCRIPTORS) {
        note(graph, CUDNN_STATUS_NOT_SUPPORTED, "a graph of so many parts");
        return NULL;
    }
    if (!note(graph, graph->cudnn->cudnnBackendCreateDescriptor(type, &descriptor), what))
        return NULL;
    graph->descriptors[graph->count++] = descriptor;
    return descriptor;
}

static void set(tn_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                const void *values, const char *what) {
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph, graph->cudnn->cudnnBackendSetAttribute(descriptor, name, type, count, values),
             what);
}

static bool finalize(tn_cudnn_graph *graph, cudnnBackendDescriptor_t descriptor, const char *what) {
    return graph->status == CUDNN_STATUS_SUCCESS &&
           note(graph, graph->cudnn->cudnnBackendFinalize(descriptor), what);
}

static void add_operation(tn_cudnn_graph *graph, cudnnBackendDescriptor_t operation,
                          const char *what) {
    if (!finalize(graph, operation, what)) return;
    if (graph->operation_count == TN_CUDNN_MAX_OPERATIONS)
        note(graph, CUDNN_STATUS_NOT_SUPPORTED, "a graph of so many operations");
    else
        graph->operations[graph->operation_count++] = operation;
}

cudnnBackendDescriptor_t tn_cudnn_graph_tensor(tn_cudnn_graph *graph,
                                               const tn_cudnn_tensor *tensor) {
    const char *what = "describing a tensor";
    const int64_t alignment = 16;
    cudnnBackendDescriptor_t made = create(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);
    set(graph, made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type, what);
    set(graph, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor->rank, tensor->shape,
        what);
    set(graph, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor->rank, tensor->strides,
        what);
    set(graph, made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor->id, what);
    set(graph, made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment, what);
    if (tensor->is_virtual)
        set(graph, made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &tensor->is_virtual,
            what);
    return finalize(graph, made, what) ? made : NULL;
}

static cudnnBackendDescriptor_t describe_window(tn_cudnn_graph *graph,
                                                const tn_cudnn_convolution *convolution) {
    const char *what = "describing a convolution";
    const int64_t rank = convolution->spatial_rank;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    cudnnBackendDescriptor_t made = create(graph, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &convolution->compute_type, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, rank,
        convolution->strides, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, rank,
        convolution->dilations, what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, rank, convolution->pads,
        what);
    set(graph, made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, rank,
        convolution->pads, what);
    return finalize(graph, made, what) ? made : NULL;
}

/* The attributes of the two operations, in the order: descriptor, w, what the convolution reads,
 * what it gives, alpha, beta. */
static const cudnnBackendAttributeName_t forward_names[] = {
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
static const cudnnBackendAttributeName_t backward_names[] = {
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};

void tn_cudnn_graph_convolution(tn_cudnn_graph *graph, const tn_cudnn_convolution *convolution,
                                cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                                cudnnBackendDescriptor_t y) {
    const char *what = "a convolution";
    const float one = 1.0f, zero = 0.0f;
    const bool is_transposed = convolution->is_transposed;
    const cudnnBackendAttributeName_t *names = is_transposed ? backward_names : forward_names;
    cudnnBackendDescriptor_t read = is_transposed ? y : x, given = is_transposed ? x : y;
    cudnnBackendDescriptor_t window = describe_window(graph, convolution);
    cudnnBackendDescriptor_t made =
        create(graph,
               is_transposed ? CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                             : CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
               what);
    set(graph, made, names[0], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &window, what);
    set(graph, made, names[1], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w, what);
    set(graph, made, names[2], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &read, what);
    set(graph, made, names[3], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &given, what);
    set(graph, made, names[4], CUDNN_TYPE_FLOAT, 1, &one, what);
    set(graph, made, names[5], CUDNN_TYPE_FLOAT, 1, &zero, what);
    add_operation(graph, made, what);
}

static cudnnBackendDescriptor_t describe_pointwise(tn_cudnn_graph *graph,
                                                   const tn_cudnn_pointwise *pointwise) {
    const char *what = "describing a pointwise operation";
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t made = create(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
    set(graph, made, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &pointwise->mode,
        what);
    set(graph, made, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type, what);
    if (pointwise->mode == CUDNN_POINTWISE_RELU_FWD) {
        if (pointwise->low != 0)
            set(graph, made, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1,
                &pointwise->low, what);
        if (pointwise->high != 0)
            set(graph, made, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1,
                &pointwise->high, what);
        if (pointwise->slope != 0)
            set(graph, made, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, 1,
                &pointwise->slope, what);
    } else if (pointwise->mode == CUDNN_POINTWISE_ELU_FWD) {
        set(graph, made, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE, 1, &pointwise->alpha,
            what);
    } else if (pointwise->mode == CUDNN_POINTWISE_SWISH_FWD) {
        set(graph, made, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE, 1, &pointwise->alpha,
            what);
    }
    return finalize(graph, made, what) ? made : NULL;
}

void tn_cudnn_graph_pointwise(tn_cudnn_graph *graph, const tn_cudnn_pointwise *pointwise,
                              cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                              cudnnBackendDescriptor_t y) {
    const char *what = "a pointwise operation";
    cudnnBackendDescriptor_t description = describe_pointwise(graph, pointwise);
    cudnnBackendDescriptor_t made =
        create(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what);
    set(graph, made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
        &description, what);
    set(graph, made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x,
        what);
    if (b)
        set(graph, made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b,
            what);
    set(graph, made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y,
        what);
    add_operation(graph, made, what);
}

cudnnStatus_t tn_cudnn_graph_finish(tn_cudnn_graph *graph, cudnnHandle_t handle) {
    const char *what = "making a graph";
    cudnnBackendDescriptor_t made = create(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, what);
    set(graph, made, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        graph->operation_count, graph->operations, what);
    set(graph, made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle, what);
    if (finalize(graph, made, what)) graph->graph = made;
    return graph->status;
}

void tn_cudnn_graph_clear(tn_cudnn_graph *graph) {
    while (graph->count > 0)
        graph->cudnn->cudnnBackendDestroyDescriptor(graph->descriptors[--graph->count]);
    graph->operation_count = 0;
    graph->graph = NULL;
}

#endif
