/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of tenon/kit/matrix.h over all rows and columns, on the engine's threads: what the
 * kernels of tenon/kit/matrix_kernel.h and of other layers with constant matrices run.
 */
#ifndef TENON_KIT_MATRIX_PRODUCT_H
#define TENON_KIT_MATRIX_PRODUCT_H

#include <tenon/kit/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output[rows][columns] = activation(a[rows][depth] * packed + bias + residual), all contiguous. */
typedef struct tn_matrix_product {
    const tn_matrix_level *level;
    const float *a, *packed; /* of tn_matrix_pack with the same level */
    const float *bias;       /* one a column */
    const float *residual;   /* as the output, which it may be; null: none */
    float *output;
    int64_t rows, depth, columns;
    uint32_t activation; /* of TN_SIMPLE_ACTIVATIONS; 0: none */
    float alpha, beta;
    bool reverse; /* go over the packed side from its end: see tn_matrix_kernel_run */
} tn_matrix_product;

/* The same bits whatever the threads. Nothing is allocated; the status is parallel_for's. [called:
 * run] */
tn_status tn_matrix_product_run(tn_call *call, const tn_matrix_product *product);

#ifdef __cplusplus
}
#endif

#endif
