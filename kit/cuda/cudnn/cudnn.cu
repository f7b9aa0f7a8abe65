/* SPDX-License-Identifier: Apache-2.0 */
/* Opening cuDNN, its handles and its errors; see cudnn.h. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn.h"
#include "kit/cuda/handles.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/loader.h"

#include <tenon/plugin/cuda.h>

#include <string.h>

#define MAJOR   "9"
#define LIBRARY "libcudnn.so." MAJOR

static bool open_library(tn_cudnn *functions, char *text, size_t bytes) {
#define NAME(function) #function,
    static const char *const names[] = {TN_CUDNN_FUNCTIONS(NAME)};
#undef NAME
    static const char *const others[] = {"libcudnn.so.8", "libcudnn.so.10", NULL};
    static const tn_cuda_loader wanted = {
        "cuDNN",         LIBRARY, others, "cudnnGetVersion", TN_CUDNN_LEAST_VERSION,
        TN_COUNT(names), names};
    void *found[TN_COUNT(names)];
    static_assert(sizeof(found) == sizeof(*functions), "a pointer a function");
    if (!tn_cuda_loader_open(&wanted, found, text, bytes)) return false;
    memcpy((void *)functions, found, sizeof(found));
    return true;
}

const tn_cudnn *tn_cudnn_open(const tn_host *host) {
    static tn_cudnn functions;
    static const bool is_open = [host] {
        char text[600];
        if (open_library(&functions, text, sizeof(text))) return true;
        host->log(host, TN_LOG_WARNING, text);
        return false;
    }();
    return is_open ? &functions : NULL;
}

tn_status tn_cudnn_check(tn_call *call, cudnnStatus_t status, const char *what) {
    if (status == CUDNN_STATUS_SUCCESS) return TN_OK;
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    char reason[400] = "";
    cudnn->cudnnGetLastErrorString(reason, sizeof(reason));
    const bool is_unsupported =
        CUDNN_STATUS_CATEGORY((int)status) == (int)CUDNN_STATUS_NOT_SUPPORTED;
    return call->host->fail(call, is_unsupported ? TN_ERROR_UNSUPPORTED : TN_ERROR_DEVICE,
                            "cuDNN: %s: %s %s", what, cudnn->cudnnGetErrorString(status), reason);
}

/* ----------------------------------------------------------------------------------------------
 * the handle */

static tn_status create_handle(tn_call *call, void *user, void **out_handle) TN_NOEXCEPT {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    (void)user;
    if (!cudnn) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s is missing", LIBRARY);
    *out_handle = tn_cuda_handle_take(TN_CUDA_HANDLE_CUDNN, call->device->index);
    if (*out_handle) return TN_OK;
    cudnnHandle_t handle = NULL;
    const int before = tn_cuda_enter(call);
    const cudnnStatus_t status = cudnn->cudnnCreate(&handle);
    tn_cuda_leave(call, before);
    *out_handle = handle;
    return tn_cudnn_check(call, status, "making a handle");
}

static void destroy_handle(tn_call *call, void *user, void *handle) TN_NOEXCEPT {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    (void)user;
    if (!cudnn || tn_cuda_handle_keep(TN_CUDA_HANDLE_CUDNN, call->device->index, handle)) return;
    const int before = tn_cuda_enter(call);
    (void)cudnn->cudnnDestroy((cudnnHandle_t)handle);
    tn_cuda_leave(call, before);
}

static const tn_resource handle_resource = {sizeof(tn_resource),  TN_SCOPE_CONTEXT,
                                            TN_CUDA_CUDNN(MAJOR), NULL,
                                            create_handle,        destroy_handle};

static const tn_resources *resources_of(const tn_call *call) {
    return (const tn_resources *)call->host->extension(call->host, TN_RESOURCES);
}

tn_status tn_cudnn_acquire(tn_call *call, cudnnHandle_t *out_handle) {
    void *handle = NULL;
    if (!resources_of(call))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host shares no resources");
    const tn_status status = resources_of(call)->acquire(call, &handle_resource, &handle);
    if (status == TN_OK) *out_handle = (cudnnHandle_t)handle;
    return status;
}

void tn_cudnn_release(tn_call *call, cudnnHandle_t handle) {
    if (handle) resources_of(call)->release(call, &handle_resource, handle);
}

tn_status tn_cudnn_use(tn_call *call, cudnnHandle_t handle) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    const cudaStream_t stream = (cudaStream_t)call->stream;
    cudaStream_t current = NULL;
    cudnnStatus_t status = cudnn->cudnnGetStream(handle, &current);
    if (status == CUDNN_STATUS_SUCCESS && current != stream)
        status = cudnn->cudnnSetStream(handle, stream);
    return tn_cudnn_check(call, status, "taking a stream");
}

#endif
