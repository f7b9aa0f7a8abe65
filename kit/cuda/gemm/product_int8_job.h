/* SPDX-License-Identifier: Apache-2.0 */
/* What the host tells the kernels of products in 8 bits (product_int8_kernel.cu). */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_INT8_JOB_H
#define TN_KIT_CUDA_GEMM_PRODUCT_INT8_JOB_H

#include <tenon/kit/cuda/activate.cuh>
#include "kit/cuda/gemm/product_int8_tactics.h"

#include <cuda_runtime_api.h>

/* y = activation(a * b * scale[column] + bias[column] + residual * residual_scale), times y_factor
 * where y is stored in 8 bits. a: rows x depth, or as `image` says; b: columns x padded_depth. The
 * residual, null for none, is stored as y is. */
typedef struct tn_cuda_int8_job {
    const int8_t *a, *b;
    const float *scale, *bias;
    const void *residual;
    void *y;
    tn_type y_type; /* TN_I8 or TN_F32 */
    int32_t rows, columns, depth, padded_depth;
    float residual_scale, y_factor;
    tn_cuda_activation activation;
    tn_cuda_product_image image;
} tn_cuda_int8_job;

cudaError_t tn_cuda_int8_launch(const tn_cuda_int8_job *job, tn_cuda_int8_tactic tactic,
                                cudaStream_t stream);

#endif
