/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations that a CUDA kernel of ours does while it stores: a call's steps as numbers that
 * travel with the launch. The functions themselves are map.cuh.
 */
#ifndef TN_KIT_CUDA_POINTWISE_CHAIN_H
#define TN_KIT_CUDA_POINTWISE_CHAIN_H

#include <tenon/kit/rows.h>
#include <tenon/kit/known_steps.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_MOST_STEPS = 4 };

/* `map` is one of rows.h, the activations among them. */
typedef struct tn_cuda_step {
    uint32_t map;
    float alpha, beta;
} tn_cuda_step;

typedef struct tn_cuda_chain {
    uint32_t count;
    tn_cuda_step steps[TN_CUDA_MOST_STEPS];
} tn_cuda_chain;

/* What such a kernel's table says. */
#define TN_CUDA_CHAIN_ABSORBS TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 ")"

/* The call's steps; false: there are others than activations, or too many. */
bool tn_cuda_chain_read(const tn_call *call, tn_cuda_chain *out_chain);

#ifdef __cplusplus
}
#endif

#endif
