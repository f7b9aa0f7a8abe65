/* SPDX-License-Identifier: Apache-2.0 */
/* Opening cuDNN, its handles and its errors; see cudnn.h. */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn.h"
#include "kit/cuda/loader.h"

#include <tenon/plugin/device.h>

#include <mutex>
#include <new>
#include <string.h>

#define LIBRARY "libcudnn.so.9"

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
 * handles */

struct tn_cudnn_handle {
    tn_cudnn_handle *next;
    cudnnHandle_t handle;
    uint32_t device;
    cudaStream_t owner; /* the stream that it was asked for; guarded by the table's mutex */
    uint64_t users;     /* likewise; 0: idle, kept for the next one */
    std::mutex mutex;
    cudaStream_t stream; /* that it works on; guarded by `mutex` */
};

/* All handles, and what guards the list. Making one takes milliseconds, so they are kept. */
static std::mutex table_mutex;
static tn_cudnn_handle *table_first;

static tn_status create(tn_call *call, const tn_cudnn *cudnn, tn_cudnn_handle **out_handle) {
    tn_cudnn_handle *made = new (std::nothrow) tn_cudnn_handle();
    if (!made) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a cuDNN handle");
    const cudnnStatus_t status = cudnn->cudnnCreate(&made->handle);
    if (status != CUDNN_STATUS_SUCCESS) {
        delete made;
        return tn_cudnn_check(call, status, "making a handle");
    }
    made->device = call->device->index;
    made->next = table_first;
    table_first = made;
    *out_handle = made;
    return TN_OK;
}

tn_status tn_cudnn_handle_retain(tn_call *call, tn_cudnn_handle **out_handle) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    if (!cudnn) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s is missing", LIBRARY);
    const cudaStream_t stream = (cudaStream_t)call->stream;
    const std::lock_guard<std::mutex> guard(table_mutex);
    tn_cudnn_handle *found = NULL;
    for (tn_cudnn_handle *handle = table_first; handle; handle = handle->next) {
        if (handle->device != call->device->index) continue;
        if (handle->users == 0 || handle->owner == stream) found = handle;
        if (handle->users > 0 && handle->owner == stream) break;
    }
    if (!found) {
        const tn_status status = create(call, cudnn, &found);
        if (status != TN_OK) return status;
    }
    found->owner = stream;
    found->users++;
    *out_handle = found;
    return TN_OK;
}

void tn_cudnn_handle_release(tn_cudnn_handle *handle) {
    if (!handle) return;
    const std::lock_guard<std::mutex> guard(table_mutex);
    handle->users--;
}

tn_status tn_cudnn_handle_lock(tn_call *call, tn_cudnn_handle *handle, cudnnHandle_t *out_handle) {
    handle->mutex.lock();
    const cudaStream_t stream = (cudaStream_t)call->stream;
    if (stream != handle->stream) {
        const cudnnStatus_t status =
            tn_cudnn_open(call->host)->cudnnSetStream(handle->handle, stream);
        if (status != CUDNN_STATUS_SUCCESS) {
            handle->mutex.unlock();
            return tn_cudnn_check(call, status, "taking a stream");
        }
        handle->stream = stream;
    }
    *out_handle = handle->handle;
    return TN_OK;
}

void tn_cudnn_handle_unlock(tn_cudnn_handle *handle) {
    handle->mutex.unlock();
}

#endif
