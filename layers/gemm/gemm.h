/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Gemm and its kernels share: the fields, and the sizes they mean. */
#ifndef TN_LAYERS_GEMM_GEMM_H
#define TN_LAYERS_GEMM_GEMM_H

#include "kit/operator/layer.h"
#include <tenon/plugin.h>

typedef struct tn_gemm_params {
    uint64_t present;
    float alpha, beta;
    bool transA, transB;
    bool broadcast; /* only before opset 7 */
} tn_gemm_params;

/* Inputs: A, B, and C or absent. Output: Y = alpha * A' B' + beta * C. */
enum { TN_GEMM_A = 0, TN_GEMM_B = 1, TN_GEMM_C = 2 };

typedef struct tn_gemm_sizes {
    int64_t rows, columns, depth;
    int64_t a_row_stride, a_column_stride; /* of A', rows x depth */
    int64_t b_row_stride, b_column_stride; /* of B', depth x columns */
    int64_t c_row_stride, c_column_stride; /* of C as broadcast; zero where it does not vary */
} tn_gemm_sizes;

/* Checks the shapes of a Gemm node. TN_ERROR_SHAPE. */
tn_status tn_gemm_read(tn_call *call, tn_gemm_sizes *out_sizes);

/* Those on tiles are for this architecture. */
#if defined(__x86_64__)
enum { TN_GEMM_KERNELS = 8 };
#else
enum { TN_GEMM_KERNELS = 7 };
#endif
TN_LEVEL_KERNELS_EXTERN(tn_gemm_varying);                       /* varying.c */
extern const tn_kernel *const tn_gemm_kernels[TN_GEMM_KERNELS]; /* kernels.c */

#endif
