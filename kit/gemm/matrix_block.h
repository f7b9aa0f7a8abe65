/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a matrix product on the calling thread: of matrix_product.h, and for kernels that pack
 * while they run. */
#ifndef TN_KIT_GEMM_MATRIX_BLOCK_H
#define TN_KIT_GEMM_MATRIX_BLOCK_H

#include <tenon/kit/matrix_product.h>

/* Rows from..to-1 of the block of columns that begins at `first`, a multiple of a block's columns;
 * `packed` is that block alone, instead of product->packed, and `ahead` the one that comes next,
 * which is fetched into the cache meanwhile; or null. */
void tn_matrix_block_run(const tn_matrix_product *product, const float *packed, const float *ahead,
                         int64_t first, int64_t from, int64_t to);

#endif
