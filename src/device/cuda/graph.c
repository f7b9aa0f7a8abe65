/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captured graphs of a GPU. One that is launched on a stream which is itself being captured becomes
 * a part of that graph: so a caller captures a network that runs as a graph already. Declared in
 * cuda.h.
 */
#include "cuda.h"

#include <stdlib.h>

typedef struct captured {
    cudaGraph_t graph; /* to be put into others */
    cudaGraphExec_t executable;
} captured;

tn_status tn_cuda_capture_begin(const tn_device *device, void *stream) {
    if (!stream) return tn_cuda_error_set_text(TN_ERROR_ARGUMENT, "capturing needs a stream");
    return tn_cuda_error_set(device,
                             cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                             "beginning a capture");
}

static void destroy(captured *made) {
    if (made->executable) (void)cudaGraphExecDestroy(made->executable);
    if (made->graph) (void)cudaGraphDestroy(made->graph);
    free(made);
}

/* What the kernels enqueued becomes a graph that can be launched; its memory on the GPU is made
 * ready here and not by the first launch. */
static cudaError_t finish_capture(cudaStream_t stream, captured *made) {
    cudaError_t error = cudaStreamEndCapture(stream, &made->graph);
    if (error == cudaSuccess && made->graph)
        error = cudaGraphInstantiate(&made->executable, made->graph, 0);
    if (error == cudaSuccess && made->executable) error = cudaGraphUpload(made->executable, stream);
    return error;
}

tn_status tn_cuda_capture_end(const tn_device *device, void *stream, void **out_graph) {
    captured *made = calloc(1, sizeof(*made)), none = {0};
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = finish_capture(stream, made ? made : &none);
    tn_cuda_device_leave(device, before);
    if (made && made->executable && error == cudaSuccess) {
        *out_graph = made;
        return TN_OK;
    }
    if (made) destroy(made);
    if (!made && none.executable) (void)cudaGraphExecDestroy(none.executable);
    if (!made && none.graph) (void)cudaGraphDestroy(none.graph);
    if (!made) return tn_cuda_error_set_text(TN_ERROR_MEMORY, "no memory for a graph");
    return error == cudaSuccess ? tn_cuda_error_set_text(TN_ERROR_DEVICE, "a capture gave no graph")
                                : tn_cuda_error_set(device, error, "ending a capture");
}

/* Puts a graph behind what the stream has captured so far. */
static cudaError_t add_to_capture(cudaGraph_t child, cudaStream_t stream) {
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    const cudaGraphNode_t *before = NULL;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData *edges = NULL;
    cudaError_t error =
        cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &before, &edges, &count);
#else
    cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &before, &count);
#endif
    if (error == cudaSuccess)
        error = cudaGraphAddChildGraphNode(&node, graph, before, count, child);
#if CUDART_VERSION >= 13000
    if (error == cudaSuccess)
        error = cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                    cudaStreamSetCaptureDependencies);
#else
    if (error == cudaSuccess)
        error =
            cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
#endif
    return error;
}

static cudaError_t launch(const captured *made, cudaStream_t stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &status);
    if (error != cudaSuccess) return error;
    return status == cudaStreamCaptureStatusActive ? add_to_capture(made->graph, stream)
                                                   : cudaGraphLaunch(made->executable, stream);
}

tn_status tn_cuda_graph_launch(const tn_device *device, void *graph, void *stream) {
    const cudaStream_t on = stream ? (cudaStream_t)stream : cudaStreamPerThread;
    const int before = tn_cuda_device_enter(device);
    cudaError_t error = launch(graph, on);
    if (error == cudaSuccess && !stream) error = cudaStreamSynchronize(on);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "launching a graph");
}

uint32_t tn_cuda_is_capturing(const tn_device *device, void *stream) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = stream ? cudaStreamIsCapturing(stream, &status) : cudaSuccess;
    tn_cuda_device_leave(device, before);
    return error == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

void tn_cuda_graph_destroy(const tn_device *device, void *graph) {
    (void)device;
    if (graph) destroy(graph);
}
