/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels by cuDNN share: the library, opened at first use and not linked, so that machines
 * without it load ours all the same; the handle of a context; and errors with cuDNN's own reason.
 * Graphs of operations are in cudnn_graph.h.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_H
#define TN_KIT_CUDA_CUDNN_CUDNN_H

#include <cudnn.h>
#include <tenon/plugin.h>

/* 9.8.0: plans for the properties of a GPU. */
#define TN_CUDNN_LEAST_VERSION 90800

/* The functions that are used, by their names in the library. */
#define TN_CUDNN_FUNCTIONS(item)                                                                   \
    item(cudnnCreate) item(cudnnDestroy) item(cudnnSetStream) item(cudnnGetStream)                 \
        item(cudnnGetErrorString) item(cudnnGetLastErrorString) item(cudnnGetVersion)              \
            item(cudnnBackendCreateDescriptor) item(cudnnBackendDestroyDescriptor)                 \
                item(cudnnBackendSetAttribute) item(cudnnBackendGetAttribute)                      \
                    item(cudnnBackendFinalize) item(cudnnBackendExecute)

typedef struct tn_cudnn {
#define TN_CUDNN_MEMBER(name) decltype(&::name) name;
    TN_CUDNN_FUNCTIONS(TN_CUDNN_MEMBER)
#undef TN_CUDNN_MEMBER
} tn_cudnn;

/* The library's functions, or null where it is missing: the first time, the log says so.
 * [thread: any] */
const tn_cudnn *tn_cudnn_open(const tn_host *host);

/* TN_OK, or host->fail with what failed and cuDNN's reason. */
tn_status tn_cudnn_check(tn_call *call, cudnnStatus_t status, const char *what);

/* The handle of the call's context, which all kernels share (tenon/plugin/cuda.h): in `open` and
 * `close`; a null one is fine to release. */
tn_status tn_cudnn_acquire(tn_call *call, cudnnHandle_t *out_handle);
void tn_cudnn_release(tn_call *call, cudnnHandle_t handle);
/* Before each use: its stream is the call's from here on. */
tn_status tn_cudnn_use(tn_call *call, cudnnHandle_t handle);

#endif
