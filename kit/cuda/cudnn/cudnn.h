/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels by cuDNN share: the library, opened at first use and not linked, so that machines
 * without it load ours all the same; handles, one a stream, shared by the nodes that run there;
 * and errors with cuDNN's own reason. Graphs of operations are in cudnn_graph.h.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_H
#define TN_KIT_CUDA_CUDNN_CUDNN_H

#include <cudnn.h>
#include <tenon/plugin.h>

/* 9.8.0: plans for the properties of a GPU. */
#define TN_CUDNN_LEAST_VERSION 90800

/* The functions that are used, by their names in the library. */
#define TN_CUDNN_FUNCTIONS(item)                                                                   \
    item(cudnnCreate) item(cudnnDestroy) item(cudnnSetStream) item(cudnnGetErrorString)            \
        item(cudnnGetLastErrorString) item(cudnnGetVersion) item(cudnnBackendCreateDescriptor)     \
            item(cudnnBackendDestroyDescriptor) item(cudnnBackendSetAttribute)                     \
                item(cudnnBackendGetAttribute) item(cudnnBackendFinalize)                          \
                    item(cudnnBackendExecute)

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

/* A handle for the call's device and stream. The same is lent to all who ask for the same two; each
 * releases it. Use it between lock and unlock: it then belongs to this thread and its stream is the
 * call's. */
typedef struct tn_cudnn_handle tn_cudnn_handle;
tn_status tn_cudnn_handle_retain(tn_call *call, tn_cudnn_handle **out_handle);
void tn_cudnn_handle_release(tn_cudnn_handle *handle); /* null is fine */
tn_status tn_cudnn_handle_lock(tn_call *call, tn_cudnn_handle *handle, cudnnHandle_t *out_handle);
void tn_cudnn_handle_unlock(tn_cudnn_handle *handle);

#endif
