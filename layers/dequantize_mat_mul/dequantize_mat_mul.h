/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DequantizeMatMul: a product with weights that are stored in 8 or 4 bits, which stand for
 * floating-point values: those of a block of rows and a column share a scale and a zero point. They
 * stay as they are in the plan and in memory, and become floats inside the product.
 */
#ifndef TN_LAYERS_DEQUANTIZE_MAT_MUL_H
#define TN_LAYERS_DEQUANTIZE_MAT_MUL_H

#include "dequantize_mat_mul/rows.h"
#include "kit/operator/layer.h"

enum {
    TN_DEQUANTIZE_A,
    TN_DEQUANTIZE_W,
    TN_DEQUANTIZE_SCALE,
    TN_DEQUANTIZE_ZERO,
    TN_DEQUANTIZE_BIAS
};

#define TN_DEQUANTIZE_TYPES "i4|u4|i8|u8|f8e4m3|f8e4m3fnuz|f8e5m2|f8e5m2fnuz"

typedef struct tn_dequantize_params {
    uint64_t present;
    int64_t block_size;
} tn_dequantize_params;

/* rows x depth times depth x columns; `block` rows of the weights share scales. */
typedef struct tn_dequantize_sizes {
    int64_t rows, depth, columns, block, blocks;
} tn_dequantize_sizes;

/* Checks the shapes of a node. TN_ERROR_SHAPE. */
tn_status tn_dequantize_mat_mul_read(tn_call *call, tn_dequantize_sizes *out_sizes);
/* Element `at` of weights or zero points, as a number. */
double tn_dequantize_stored(const tn_tensor *tensor, int64_t at);

extern const tn_kernel *const tn_dequantize_mat_mul_kernels[2];
TN_LEVEL_KERNELS_EXTERN(tn_dequantize_packed); /* packed.c */
extern const tn_rewrite *const tn_dequantize_mat_mul_rewrites[4];

#endif
