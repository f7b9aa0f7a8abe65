/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of 32-bit floats on linear tensors by our own CUDA kernels, where libraries are
 * slow: few channels on large images (cuda_tile.cu), and layers so small that they are all latency
 * (cuda_small.cu). Weights lie on the device by kernel row ("line"), element of the row, filter,
 * the filters of a group padded with zeros; the callbacks that both share are cuda_direct.cu.
 */
#ifndef TN_LAYERS_CONV_CUDA_DIRECT_H
#define TN_LAYERS_CONV_CUDA_DIRECT_H

#include "common/cuda/activate.cuh"

#include <cuda_runtime_api.h>

extern "C" {
#include "conv/direct.h"
#include "conv/direct_kernel.h"
}

/* What a launch needs; passed by value. */
typedef struct tn_cuda_direct {
    const float *x, *weights, *bias, *residual; /* bias: of all filters; residual null: none */
    float *y;
    int32_t groups, channels, filters, padded; /* of a group */
    int32_t in_height, in_width, out_height, out_width;
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t dilation_height, dilation_width, pad_top, pad_left;
    int32_t batch;
    tn_cuda_activation activation;
} tn_cuda_direct;

/* A way of doing a convolution. `filters` a thread; the rest is cuda_tile.cu's and cuda_small.cu's.
 */
typedef struct tn_cuda_direct_config {
    int32_t filters, filter_groups, rows, splits;
} tn_cuda_direct_config;

/* What a kernel's `user` points at. */
typedef struct tn_cuda_direct_kind {
    /* The `index`th way of doing it; false: there are not so many. */
    bool (*choose)(const tn_conv_geometry *geometry, uint32_t index,
                   tn_cuda_direct_config *out_config);
    cudaError_t (*launch)(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                          cudaStream_t stream);
} tn_cuda_direct_kind;

bool tn_cuda_tile_choose(const tn_conv_geometry *geometry, uint32_t index,
                         tn_cuda_direct_config *out_config);
cudaError_t tn_cuda_tile_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                cudaStream_t stream);
bool tn_cuda_small_choose(const tn_conv_geometry *geometry, uint32_t index,
                          tn_cuda_direct_config *out_config);
cudaError_t tn_cuda_small_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                 cudaStream_t stream);

#endif
