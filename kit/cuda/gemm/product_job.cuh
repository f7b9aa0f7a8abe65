/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch of a product by a constant matrix is given, of kernels with the state of
 * product_constants.h. */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_JOB_CUH
#define TN_KIT_CUDA_GEMM_PRODUCT_JOB_CUH

#include "kit/cuda/gemm/product_constants.h"
#include <tenon/kit/cuda/activate.cuh>

namespace {

struct product_job {
    const void *a, *b, *residual; /* b: columns x depth; null: no residual */
    const float *bias;            /* null: none */
    void *y;
    int32_t rows, columns, depth; /* elements */
    float alpha, residual_factor;
    tn_cuda_activation activation;
};

/* Of a call of `run`, whose context is the node of its shapes. */
inline product_job product_job_of(const tn_call *call) {
    const tn_cuda_product_constants *state = (const tn_cuda_product_constants *)call->state;
    const tn_cuda_product_node *node = (const tn_cuda_product_node *)call->context;
    const tn_cuda_product *p = &node->product;
    product_job job = {};
    job.a = call->inputs[0]->data;
    job.b = state->b ? state->b : call->inputs[1]->data;
    job.residual = tn_cuda_product_addend(call, node);
    job.residual_factor = node->has_matrix ? p->c_factor : 1.0f;
    job.bias = state->bias;
    job.y = call->outputs[0]->data;
    job.rows = (int32_t)p->rows;
    job.columns = (int32_t)p->columns;
    job.depth = (int32_t)p->depth;
    job.alpha = p->alpha;
    job.activation = {node->epilogue.activation, node->epilogue.alpha, node->epilogue.beta};
    return job;
}

} // namespace

#endif
