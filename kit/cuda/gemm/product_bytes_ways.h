/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which the kernels of products in 8 bits (product_bytes_kernel.cu) do one, in the
 * order of what they are thought to take. For the host alone.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_BYTES_WAYS_H
#define TN_KIT_CUDA_GEMM_PRODUCT_BYTES_WAYS_H

#include "kit/cuda/gemm/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of b are padded with zeros to whole such steps. */
enum {
    TN_CUDA_BYTES_DEPTH = 128,
    TN_CUDA_BYTES_LINE = TN_CUDA_BYTES_DEPTH + 16, /* of a tile in shared memory */
    TN_CUDA_BYTES_FEW_ROWS = 8,
    TN_CUDA_BYTES_MOST_SPLITS = 8,
    TN_CUDA_BYTES_MOST_TACTICS = 6
};

enum {
    TN_CUDA_BYTES_TILE_32X32,
    TN_CUDA_BYTES_TILE_64X32,
    TN_CUDA_BYTES_TILE_64X64,
    TN_CUDA_BYTES_TILES,
    TN_CUDA_BYTES_FEW = TN_CUDA_BYTES_TILES /* a warp a column, for few rows */
};

/* `splits`: blocks that share the depth of one tile, 1, 2, 4 or 8. */
typedef struct tn_cuda_bytes_way {
    uint32_t tile, splits;
} tn_cuda_bytes_way;

/* The ways of a product, what is thought to be the fastest first; returns how many. */
uint32_t tn_cuda_bytes_ways(const tn_cuda_product *product,
                            tn_cuda_bytes_way ways[TN_CUDA_BYTES_MOST_TACTICS]);

#ifdef __cplusplus
}
#endif

#endif
