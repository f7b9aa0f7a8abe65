/* SPDX-License-Identifier: Apache-2.0 */
/* Opening cuBLASLt, its handles and its errors; see cublaslt.h. */
#if __has_include(<cublasLt.h>)
#include "kit/cuda/cublaslt.h"
#include "kit/cuda/handles.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/loader.h"

#include <tenon/plugin/cuda.h>

#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define LIBRARY         "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR)

static bool open_library(tn_cublaslt *functions, char *text, size_t bytes) {
#define NAME(function) #function,
    static const char *const names[] = {TN_CUBLASLT_FUNCTIONS(NAME)};
#undef NAME
    static const char *const others[] = {"libcublasLt.so.11", "libcublasLt.so.12",
                                         "libcublasLt.so.13", "libcublasLt.so.14", NULL};
    static const tn_cuda_loader wanted = {
        "cuBLASLt",      LIBRARY, others, "cublasLtGetVersion", CUBLAS_VER_MAJOR * 10000,
        TN_COUNT(names), names};
    void *found[TN_COUNT(names)];
    static_assert(sizeof(found) == sizeof(*functions), "a pointer a function");
    if (!tn_cuda_loader_open(&wanted, found, text, bytes)) return false;
    memcpy((void *)functions, found, sizeof(found));
    return true;
}

const tn_cublaslt *tn_cublaslt_open(const tn_host *host) {
    static tn_cublaslt functions;
    static const bool is_open = [host] {
        char text[600];
        if (open_library(&functions, text, sizeof(text))) return true;
        host->log(host, TN_LOG_WARNING, text);
        return false;
    }();
    return is_open ? &functions : NULL;
}

tn_status tn_cublaslt_check(tn_call *call, cublasStatus_t status, const char *what) {
    if (status == CUBLAS_STATUS_SUCCESS) return TN_OK;
    const tn_status answer = status == CUBLAS_STATUS_ALLOC_FAILED    ? TN_ERROR_MEMORY
                             : status == CUBLAS_STATUS_NOT_SUPPORTED ? TN_ERROR_UNSUPPORTED
                                                                     : TN_ERROR_DEVICE;
    return call->host->fail(call, answer, "cuBLASLt: %s: %s", what,
                            tn_cublaslt_open(call->host)->cublasLtGetStatusString(status));
}

static tn_status create_handle(tn_call *call, void *user, void **out_handle) TN_NOEXCEPT {
    const tn_cublaslt *lt = tn_cublaslt_open(call->host);
    (void)user;
    if (!lt) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s is missing", LIBRARY);
    *out_handle = tn_cuda_handle_take(TN_CUDA_HANDLE_CUBLASLT, call->device->index);
    if (*out_handle) return TN_OK;
    cublasLtHandle_t handle = NULL;
    const int before = tn_cuda_enter(call);
    const cublasStatus_t status = lt->cublasLtCreate(&handle);
    tn_cuda_leave(call, before);
    *out_handle = handle;
    return tn_cublaslt_check(call, status, "making a handle");
}

static void destroy_handle(tn_call *call, void *user, void *handle) TN_NOEXCEPT {
    const tn_cublaslt *lt = tn_cublaslt_open(call->host);
    (void)user;
    if (!lt || tn_cuda_handle_keep(TN_CUDA_HANDLE_CUBLASLT, call->device->index, handle)) return;
    const int before = tn_cuda_enter(call);
    (void)lt->cublasLtDestroy((cublasLtHandle_t)handle);
    tn_cuda_leave(call, before);
}

static const tn_resource handle_resource = {
    sizeof(tn_resource), TN_SCOPE_DEVICE, TN_CUDA_CUBLASLT(TEXT(CUBLAS_VER_MAJOR)), NULL,
    create_handle,       destroy_handle};

tn_status tn_cublaslt_acquire(tn_call *call, cublasLtHandle_t *out_handle) {
    void *handle = NULL;
    const tn_resources *resources =
        (const tn_resources *)call->host->extension(call->host, TN_RESOURCES);
    if (!resources)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host shares no resources");
    const tn_status status = resources->acquire(call, &handle_resource, &handle);
    if (status == TN_OK) *out_handle = (cublasLtHandle_t)handle;
    return status;
}

void tn_cublaslt_release(tn_call *call, cublasLtHandle_t handle) {
    if (!handle) return;
    const tn_resources *resources =
        (const tn_resources *)call->host->extension(call->host, TN_RESOURCES);
    resources->release(call, &handle_resource, handle);
}

#endif
