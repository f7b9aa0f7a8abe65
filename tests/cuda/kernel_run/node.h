/* SPDX-License-Identifier: Apache-2.0 */
/* A case's node in one combination: its tensors, its call, and what a right kernel answers. */
#ifndef TN_TESTS_CUDA_KERNEL_RUN_NODE_H
#define TN_TESTS_CUDA_KERNEL_RUN_NODE_H

#include "../../support/steps.h"
#include "case.h"
#include "conv/conv.h"
#include "conv_transpose/conv_transpose.h"
#include "gemm/gemm.h"
#include "tensor.h"

enum { RUN_SAMPLES = 2000, RUN_MEANS = 100 };

typedef struct run_node {
    const run_case *c;
    run_tensor x, w, b, residual, y;
    void *device_x, *device_w, *device_b, *device_residual, *device_y;
    tn_conv_params conv;
    tn_conv_transpose_params transposed;
    tn_gemm_params gemm;
    tn_operator op;
    seen_buffer buffers[3];
    tn_step steps[3];
    const tn_step *chain[3];
    const tn_tensor *inputs[3], *operands[1];
    tn_tensor *outputs[1];
    tn_call call;
    int64_t made[TN_MAX_RANK]; /* y's shape, before the mean where there is one */
    double ceiling;            /* the largest of the sampled results */
    int64_t sampled[RUN_SAMPLES];
    double expected[RUN_SAMPLES];
} run_node;

/* The node's tensors in a combination; weights are 32-bit floats. */
void run_node_make(run_node *n, const run_case *c, const tn_host *host, tn_type type,
                   tn_type w_type, tn_type y_type, tn_format format, tn_format y_format);
void run_node_clear(run_node *n);
/* In prepare constants lie in host memory, in run all lies on the device. */
void run_node_show(run_node *n, bool is_run);

/* --- reference.c --- */
/* Chooses elements of the output, and computes with sums in double precision what is right there.
 */
void run_reference_sample(run_node *n);
/* The largest difference over the largest result; NaN where a result is. */
double run_reference_compare(run_node *n);

#endif
