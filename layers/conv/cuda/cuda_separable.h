/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A separable convolution as one kernel: of the tensor x [n][h][w][channels] (channels last)
 *
 *   e = activation(x * expand + bias)     window 1x1, to `middle` channels   (may be left out)
 *   d = activation(e (3x3) window + bias) each channel with a window of its own (may be left out)
 *   y = activation(d * project + bias + residual)   window 1x1, to `filters` channels
 *
 * as networks for phones have it ("MobileNetV2: inverted residuals and linear bottlenecks", M.
 * Sandler et al., 2018). Neither e nor d is written to the GPU's memory. The node that the kernel
 * computes is the last one; what is before its input is absorbed (tenon/plugin/before.h). Reading
 * the nodes is cuda_separable_node.cu, tactics and the launch cuda_separable.cu, what a block does
 * cuda_separable.cuh.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_SEPARABLE_H
#define TN_LAYERS_CONV_CUDA_CUDA_SEPARABLE_H

#include <cuda_runtime_api.h>
#include <tenon/plugin.h>

/* Rows of constants of the middle's channels: the window's taps, its bias, that of the expansion.
 */
enum { TN_SEPARABLE_TAPS = 9, TN_SEPARABLE_ROWS = TN_SEPARABLE_TAPS + 2 };

/* An activation that keeps what is between two bounds, infinite ones where there is none. */
typedef struct tn_cuda_separable_clamp {
    float least, most;
} tn_cuda_separable_clamp;

typedef struct tn_cuda_separable {
    const void *x, *residual; /* residual null: none; stored as y is */
    void *y;
    const void *expand, *project;   /* [middle][depth], [filters][middle], of x's type */
    const float *rows;              /* [TN_SEPARABLE_ROWS][middle] */
    const float *bias;              /* [filters] */
    int32_t batch, channels, depth; /* depth: channels in whole 16s */
    int32_t middle, filters;
    int32_t in_height, in_width, out_height, out_width;
    int32_t stride, pad_top, pad_left;
    tn_cuda_separable_clamp of_expand, of_window, of_project; /* activations */
    tn_type type; /* of x, y and the residual: 16-bit floats */
    bool has_expand, has_window;
} tn_cuda_separable;

/* A tactic: output pixels of a block, and channels of `middle` that it has, in whole 16s; blocks of
 * a cluster share the pixels and add up their sums. */
typedef struct tn_cuda_separable_config {
    int32_t height, width, slice;
} tn_cuda_separable_config;

#ifdef __cplusplus
extern "C" {
#endif

/* The `index`th tactic, from the one that should be fastest; false: there are not so many. */
bool tn_cuda_separable_choose(const tn_cuda_separable *s, uint32_t index,
                              tn_cuda_separable_config *out_config);
/* Whether a tactic does other shapes than those that it was chosen for. */
bool tn_cuda_separable_fits(const tn_cuda_separable *s, const tn_cuda_separable_config *config);
cudaError_t tn_cuda_separable_launch(const tn_cuda_separable *s,
                                     const tn_cuda_separable_config *config, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
