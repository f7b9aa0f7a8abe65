/* SPDX-License-Identifier: Apache-2.0 */
/* What the host tells the kernels of products in 8 bits (product_bytes_kernel.cu). */
#ifndef TN_LAYERS_CUDA_PRODUCT_BYTES_JOB_H
#define TN_LAYERS_CUDA_PRODUCT_BYTES_JOB_H

#include "common/cuda/activate.cuh"

#include <cuda_runtime_api.h>

/* Columns of b are padded with zeros to whole such steps. */
enum { TN_CUDA_BYTES_DEPTH = 128, TN_CUDA_BYTES_FEW_ROWS = 8, TN_CUDA_BYTES_TACTICS = 4 };

/* y = activation(a * b * scale[column] + bias[column] + residual * residual_scale), over y_scale
 * where y is stored in 8 bits. a: rows x depth; b: columns x padded_depth. The residual, null for
 * none, is stored as y is. */
typedef struct tn_cuda_bytes_job {
    const int8_t *a, *b;
    const float *scale, *bias;
    const void *residual;
    void *y;
    tn_type y_type; /* TN_I8 or TN_F32 */
    int32_t rows, columns, depth, padded_depth;
    float residual_scale, y_scale;
    tn_cuda_activation activation;
} tn_cuda_bytes_job;

/* The last tactic is for TN_CUDA_BYTES_FEW_ROWS rows at most. */
cudaError_t tn_cuda_bytes_launch(const tn_cuda_bytes_job *job, uint32_t tactic,
                                 cudaStream_t stream);

#endif
