/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by our own CUDA kernels, where cuDNN is slow; the callbacks that all share are
 * cuda_conv.cu. With n images, c channels, k filters, output pixels (p, q), a window of r x s taps:
 *
 *   y[n][k][p][q] = sum over c, r, s of
 *       w[k][c][r][s] * x[n][c][p * stride + r * dilation - pad][q * stride + s * dilation - pad]
 *
 *   cuda_direct.cu          direct: each thread adds up its own pixels; for layers that are latency
 *   cuda_implicit_gemm.cu   k by (n, p, q) tiles on tensor cores, the depth (c, r, s) split
 * (split-k) cuda_row_stationary.cu  rows of few input channels stay in registers for all s; tensor
 * cores cuda_kn2row.cu          one product of depth c for all (k, s), added up after a shift by s
 *
 * The last three multiply 16-bit floats, 32-bit floats rounded to tf32, or 32-bit floats as the sum
 * of two tf32 numbers (cuda_number.cuh). cuda_implicit_gemm.cu also multiplies bytes: x and w are
 * quantised, x with one scale, w with one a filter; sums are whole numbers.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_CONV_H
#define TN_LAYERS_CONV_CUDA_CUDA_CONV_H

#include <tenon/kit/cuda/activate.cuh>

#include <cuda_runtime_api.h>

/* What a launch needs; passed by value. Its order decides which members a kernel loads in pairs,
 * and that decides how many registers kn2row spills: 5% of its time. */
typedef struct tn_cuda_conv {
    /* bias: of all filters, and behind them, of bytes, what a step of their sums is; residual null:
     * none */
    const float *x, *weights, *bias, *residual;
    float *y;
    int32_t groups, channels, filters; /* of a group */
    tn_type type; /* what is multiplied: x's type, or y's if that is a float of fewer bits */
    int32_t in_height, in_width, out_height, out_width;
    int32_t kernel_height, kernel_width, stride_height, stride_width;
    int32_t dilation_height, dilation_width, pad_top, pad_left;
    int32_t batch;
    tn_cuda_activation activation;
    int32_t window_height, window_width; /* y has the largest element of each; 1 and 1: all */
    int32_t y_height, y_width;           /* out_height and out_width, or the windows in them */
    bool is_x_linear, is_y_linear;       /* channels first, not last */
    bool is_rounded;                     /* 32-bit floats are rounded to tf32 for products */
    bool is_mean;                        /* y has the mean of each plane; the residual is as x */
    tn_type x_type, y_type;              /* as they are stored; the residual is stored as y is */
    int32_t x_pitch, y_pitch;            /* elements from one pixel to the next, channels last */
    float residual_scale, y_factor;      /* of y in 8 bits: floating-point values, steps */
} tn_cuda_conv;

/* A tactic: output rows and columns, and filters, of a block; blocks that share a sum's depth;
 * output pixels of a lane. What a kernel does not choose is 0. */
typedef struct tn_cuda_conv_config {
    int32_t rows, columns, filters, splits, pixels;
} tn_cuda_conv_config;

/* What a kernel's `user` points at. */
typedef struct tn_cuda_conv_kind {
    bool is_rounded; /* tn_cuda_conv's */
    /* The `index`th tactic; false: there are not so many. */
    bool (*choose)(const tn_cuda_conv *conv, uint32_t index, tn_cuda_conv_config *out_config);
    /* Whether a tactic does other shapes than those that it was chosen for. */
    bool (*fits)(const tn_cuda_conv *conv, const tn_cuda_conv_config *config);
    cudaError_t (*launch)(const tn_cuda_conv *conv, const tn_cuda_conv_config *config,
                          cudaStream_t stream);
    /* Bytes of packed weights, the same for all tactics, and filling them from [k][c][r][s], floats
     * or, where bytes are multiplied, those; they are zero before. Null: the node's own. */
    uint64_t (*get_weight_bytes)(const tn_cuda_conv *conv);
    void (*pack)(const tn_cuda_conv *conv, const void *from, void *to);
} tn_cuda_conv_kind;

#endif
