/* SPDX-License-Identifier: Apache-2.0 */
/* What kernel_run runs: a node's operator, shapes, fields and what is fused behind it. */
#ifndef TN_TESTS_CUDA_KERNEL_RUN_CASE_H
#define TN_TESTS_CUDA_KERNEL_RUN_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tenon/plugin.h>

typedef struct run_case {
    const char *name, *op;
    uint32_t rank;
    int64_t x[5], w[5]; /* Gemm: A and B, transB when `group` is 1; MatMul: the same, plain */
    int64_t strides[3], pads[6], dilations[3], group;
    bool has_bias, has_residual;
    uint32_t activation; /* in run_activations */
    const char *only;    /* a combination's beginning; null: all */
    bool has_mean;       /* of each plane; for kernels that list it */
} run_case;

typedef struct run_activation {
    uint32_t activation;
    float alpha, beta;
} run_activation;

extern const run_case run_cases[];
extern const size_t run_case_count;
extern const run_activation run_activations[];

#endif
