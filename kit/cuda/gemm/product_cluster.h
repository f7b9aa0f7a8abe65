/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One or two products by constant matrices as one kernel, for few rows: of the rows x [rows][depth]
 *
 *   m = between(x * first + first_bias)                 [rows][middle] (may be left out: m = x)
 *   y = normalise(m * second + bias + residual)         [rows][columns]
 *
 * as layers of encoders have it ("Attention is all you need", A. Vaswani et al., 2017:
 * position-wise feed-forward networks, and the normalisation behind each residual). m is not
 * written to the GPU's memory. The node that the kernel computes is the last product; what is
 * before its input is absorbed (tenon/plugin/before.h). Reading the nodes is
 * product_cluster_node.cu, tactics and the launch product_cluster.cu, what a block does
 * product_cluster.cuh.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_CLUSTER_H
#define TN_KIT_CUDA_GEMM_PRODUCT_CLUSTER_H

#include <cuda_runtime_api.h>
#include <tenon/kit/cuda/activate.cuh>
#include <tenon/plugin.h>

enum {
    TN_CLUSTER_WARPS = 12,    /* of a block */
    TN_CLUSTER_COLUMNS = 384, /* the most of y, 32 a warp; and the most elements of x in depth */
    TN_CLUSTER_MIDDLE = 192,  /* the most of the middle that a block computes */
    TN_CLUSTER_VECTORS = 3,   /* of all columns: bias, scale and shift of the normalisation */
    TN_CLUSTER_TILE = 512     /* bytes of 16 x 16 weights */
};

/* Weights lie as the lanes of a warp read them, tiles of 16 columns by 16 of depth: lane 4g + t has
 * columns g and 8 + g at depths 2t, 2t + 1, 2t + 8 and 2t + 9, which are its operands of a product
 * (tenon/kit/cuda/matrix.cuh). The middle is shared out among the `splits` blocks of a cluster in
 * slices.
 *   first   [split][warp][depth: 12][columns: 2]   warp: 6 times 32 columns, twice 192 deep
 *   second  [split][depth: slice / 16][warp][columns: 2]
 *   vectors [split][TN_CLUSTER_MIDDLE], then [TN_CLUSTER_VECTORS][TN_CLUSTER_COLUMNS] */
typedef struct tn_cuda_cluster_product {
    const void *x, *residual; /* residual null: none; stored as y is */
    void *y;
    const void *first, *second;
    const float *vectors;
    int32_t rows, depth, middle, columns;
    tn_cuda_activation between;
    float epsilon;
    tn_type type; /* of x, y and the residual: 16-bit floats */
    bool has_first, has_norm;
} tn_cuda_cluster_product;

/* A tactic. */
typedef struct tn_cuda_cluster_config {
    int32_t splits, slice; /* blocks of a cluster; of the middle, in whole 16s */
} tn_cuda_cluster_config;

#ifdef __cplusplus
extern "C" {
#endif

/* The `index`th tactic; false: there are not so many. */
bool tn_cuda_cluster_choose(const tn_cuda_cluster_product *p, uint32_t index,
                            tn_cuda_cluster_config *out_config);
cudaError_t tn_cuda_cluster_launch(const tn_cuda_cluster_product *p,
                                   const tn_cuda_cluster_config *config, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
