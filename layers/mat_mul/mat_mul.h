/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator MatMul and its kernels share: the sizes that its shapes mean. */
#ifndef TN_LAYERS_MAT_MUL_MAT_MUL_H
#define TN_LAYERS_MAT_MUL_MAT_MUL_H

#include "kit/operator/layer.h"

/* A batch of products, rows x depth times depth x columns. A vector A counts as one row, a vector B
 * as one column; that axis is not in the output. */
typedef struct tn_mat_mul_sizes {
    int64_t rows, columns, depth;
    bool a_is_vector, b_is_vector;
    uint32_t batch_rank, a_batch_rank, b_batch_rank; /* axes before the matrices */
    int64_t batch[TN_MAX_RANK];                      /* broadcast */
} tn_mat_mul_sizes;

/* Checks the shapes of a MatMul node. TN_ERROR_SHAPE. */
tn_status tn_mat_mul_read(tn_call *call, tn_mat_mul_sizes *out_sizes);

/* Those on tiles are for this architecture. */
#if defined(__x86_64__)
enum { TN_MAT_MUL_KERNELS = 15 };
#else
enum { TN_MAT_MUL_KERNELS = 11 };
#endif
extern const tn_kernel
    *const tn_mat_mul_kernels[TN_MAT_MUL_KERNELS]; /* kernels.c; of these in batched.c: */
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_batched);
/* and in types_kernel.c: */
TN_LEVEL_KERNELS_EXTERN(tn_mat_mul_types_kernel);

#endif
