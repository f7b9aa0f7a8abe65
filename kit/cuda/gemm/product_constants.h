/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels of product.h that multiply by a constant matrix keep of it: on the device, a row for
 * each column of the product. Their prepare, release, open and close.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_CONSTANTS_H
#define TN_KIT_CUDA_GEMM_PRODUCT_CONSTANTS_H

#include "kit/cuda/gemm/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel's state; its context is the tn_cuda_product_node of its shapes. */
typedef struct tn_cuda_product_constants {
    tn_cuda_product_node node; /* at the optimum */
    void *b;                   /* columns x depth, in node.b_type; null: the node's own lies so */
    float *bias;               /* one a column; null: none */
} tn_cuda_product_constants;

tn_status tn_cuda_product_constants_prepare(tn_call *call) TN_NOEXCEPT;
void tn_cuda_product_constants_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_product_constants_open(tn_call *call) TN_NOEXCEPT;
void tn_cuda_product_constants_close(tn_call *call) TN_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
