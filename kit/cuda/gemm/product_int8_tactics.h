/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tactics in which the kernels of products in 8 bits (product_int8_kernel.cu) do one, in the
 * order of what they are thought to take. For the host alone.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_INT8_TACTICS_H
#define TN_KIT_CUDA_GEMM_PRODUCT_INT8_TACTICS_H

#include "kit/cuda/gemm/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of b are padded with zeros to whole such steps. */
enum {
    TN_CUDA_INT8_DEPTH = 128,
    TN_CUDA_INT8_LINE = TN_CUDA_INT8_DEPTH + 16, /* of a tile in shared memory */
    TN_CUDA_INT8_GEMV_ROWS = 8,
    TN_CUDA_INT8_MOST_SPLITS = 8,
    TN_CUDA_INT8_MOST_TACTICS = 6
};

enum {
    TN_CUDA_INT8_TILE_32X32,
    TN_CUDA_INT8_TILE_64X32,
    TN_CUDA_INT8_TILE_64X64,
    TN_CUDA_INT8_TILES,
    TN_CUDA_INT8_GEMV = TN_CUDA_INT8_TILES /* a warp a column, for few rows */
};

/* `splits`: blocks that share the depth of one tile, 1, 2, 4 or 8. */
typedef struct tn_cuda_int8_tactic {
    uint32_t tile, splits;
} tn_cuda_int8_tactic;

/* The tactics of a product, what is thought to be the fastest first; returns how many. */
uint32_t tn_cuda_int8_tactics(const tn_cuda_product *product,
                              tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS]);

#ifdef __cplusplus
}
#endif

#endif
