/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels by cuBLASLt share: the library, opened at first use and not linked, its handle, and
 * errors.
 */
#ifndef TN_KIT_CUDA_CUBLASLT_H
#define TN_KIT_CUDA_CUBLASLT_H

#include <cublasLt.h>
#include <tenon/plugin.h>

/* The functions that are used, by their names in the library. */
#define TN_CUBLASLT_FUNCTIONS(item)                                                                \
    item(cublasLtCreate) item(cublasLtDestroy) item(cublasLtGetStatusString)                       \
        item(cublasLtMatmulDescCreate) item(cublasLtMatmulDescDestroy)                             \
            item(cublasLtMatmulDescSetAttribute) item(cublasLtMatrixLayoutCreate)                  \
                item(cublasLtMatrixLayoutDestroy) item(cublasLtMatrixLayoutSetAttribute)           \
                    item(cublasLtMatmulPreferenceCreate) item(cublasLtMatmulPreferenceDestroy)     \
                        item(cublasLtMatmulPreferenceSetAttribute)                                 \
                            item(cublasLtMatmulAlgoGetHeuristic) item(cublasLtMatmul)

typedef struct tn_cublaslt {
#define TN_CUBLASLT_MEMBER(name) decltype(&::name) name;
    TN_CUBLASLT_FUNCTIONS(TN_CUBLASLT_MEMBER)
#undef TN_CUBLASLT_MEMBER
} tn_cublaslt;

/* The library's functions, or null where it is missing: the first time, the log says so.
 * [thread: any] */
const tn_cublaslt *tn_cublaslt_open(const tn_host *host);

/* TN_OK, or host->fail with what failed. */
tn_status tn_cublaslt_check(tn_call *call, cublasStatus_t status, const char *what);

/* The handle of the call's GPU, which all kernels share (tenon/plugin/cuda.h). In pairs, as
 * tn_resources says; a null handle is fine to release. */
tn_status tn_cublaslt_acquire(tn_call *call, cublasLtHandle_t *out_handle);
void tn_cublaslt_release(tn_call *call, cublasLtHandle_t handle);

#endif
