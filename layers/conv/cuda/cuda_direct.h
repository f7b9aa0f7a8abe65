/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by our own CUDA kernels, where libraries are slow: few channels on large images
 * (cuda_tile.cu in 32-bit floats, cuda_few.cu on tensor cores), few filters (cuda_narrow.cu, on
 * tensor cores), many channels and few places (cuda_deep.cu, on tensor cores), and layers so small
 * that they are all latency (cuda_staged.cu, cuda_small.cu). The callbacks that all share are
 * cuda_direct.cu.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_DIRECT_H
#define TN_LAYERS_CONV_CUDA_CUDA_DIRECT_H

#include <tenon/kit/cuda/activate.cuh>

#include <cuda_runtime_api.h>
#include <string.h>

extern "C" {
#include "conv/geometry.h"
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
    int32_t window_height, window_width; /* y has the largest element of each; 1 and 1: all */
    int32_t y_height, y_width;           /* out_height and out_width, or the windows in them */
    bool is_x_linear, is_y_linear;       /* channels first, not last */
    tn_type x_type, y_type;              /* as they are stored; the residual is stored as y is */
    tn_type type; /* the lower of the two: what is multiplied; floats for 8 bits */
    float residual_scale, y_factor; /* of y in 8 bits: real numbers, steps */
} tn_cuda_direct;

/* A way of doing a convolution. `filters` a thread or warp; the rest means to each kernel what its
 * file says. */
typedef struct tn_cuda_direct_config {
    int32_t filters, filter_groups, rows, splits, width;
} tn_cuda_direct_config;

/* What a kernel's `user` points at. `type` is tn_cuda_direct's. */
typedef struct tn_cuda_direct_kind {
    /* The `index`th way of doing it; false: there are not so many. */
    bool (*choose)(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                   tn_cuda_direct_config *out_config);
    cudaError_t (*launch)(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                          cudaStream_t stream);
    /* Whether other shapes can be done in a way that was chosen; null: always. For kernels that
     * take the node's own weights, or pack them so that they serve every way. */
    bool (*fits)(const tn_cuda_direct *direct, const tn_cuda_direct_config *config);
    /* Bytes of packed weights, and filling them (they are zero before). Null: the node's own. */
    uint64_t (*get_bytes)(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                          tn_type type);
    void (*pack)(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                 tn_type type, const float *from, void *to);
} tn_cuda_direct_kind;

/* As products in tf32 take it: rounded to 10 bits behind the point, ties away from zero. */
static inline float tn_cuda_direct_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* The numbers of a geometry, whose indices fit 32 bits. */
void tn_cuda_direct_describe(const tn_conv_geometry *geometry, tn_cuda_direct *out_direct);

bool tn_cuda_tile_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                         tn_cuda_direct_config *out_config);
cudaError_t tn_cuda_tile_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                cudaStream_t stream);
bool tn_cuda_small_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                          tn_cuda_direct_config *out_config);
cudaError_t tn_cuda_small_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                 cudaStream_t stream);

bool tn_cuda_staged_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                           tn_cuda_direct_config *out_config);
bool tn_cuda_staged_fits(const tn_cuda_direct *direct, const tn_cuda_direct_config *config);
cudaError_t tn_cuda_staged_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                  cudaStream_t stream);

bool tn_cuda_narrow_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                           tn_cuda_direct_config *out_config);
uint64_t tn_cuda_narrow_bytes(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                              tn_type type);
void tn_cuda_narrow_pack(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                         tn_type type, const float *from, void *to);
cudaError_t tn_cuda_narrow_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                  cudaStream_t stream);

bool tn_cuda_few_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                        tn_cuda_direct_config *out_config);
uint64_t tn_cuda_few_bytes(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                           tn_type type);
void tn_cuda_few_pack(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                      tn_type type, const float *from, void *to);
cudaError_t tn_cuda_few_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                               cudaStream_t stream);

bool tn_cuda_deep_choose(const tn_conv_geometry *geometry, tn_type type, uint32_t index,
                         tn_cuda_direct_config *out_config);
uint64_t tn_cuda_deep_bytes(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                            tn_type type);
void tn_cuda_deep_pack(const tn_conv_geometry *geometry, const tn_cuda_direct_config *config,
                       tn_type type, const float *from, void *to);
bool tn_cuda_deep_fits(const tn_cuda_direct *direct, const tn_cuda_direct_config *config);
cudaError_t tn_cuda_deep_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                cudaStream_t stream);

#endif
