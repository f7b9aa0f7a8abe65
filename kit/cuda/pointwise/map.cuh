/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of functions that travel with a launch (chain.h), four numbers at a time: their numbers
 * are looked at once for four. Operators and epilogues alike go through tn_chain_four. The
 * functions are tenon/kit/cuda/functions.cuh.
 */
#ifndef TN_KIT_CUDA_POINTWISE_MAP_CUH
#define TN_KIT_CUDA_POINTWISE_MAP_CUH

#include <tenon/kit/cuda/functions.cuh>
#include "kit/cuda/pointwise/chain.h"

template <uint32_t MAP>
static __device__ __forceinline__ void tn_map_each(float alpha, float beta, float *v) {
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = tn_map_value<MAP>(alpha, beta, v[i]);
}

#define TN_MAP_CASE(map)                                                                           \
    case map:                                                                                      \
        tn_map_each<map>(alpha, beta, v);                                                          \
        break;

/* One copy of the code for a kernel, called: the functions are large, and memory is what the
 * kernels wait for. */
static __device__ __noinline__ float4 tn_map_called(uint32_t map, float alpha, float beta,
                                                    float4 four) {
    float v[4] = {four.x, four.y, four.z, four.w};
    switch (map) {
        TN_MAP_CASE(TN_ACTIVATION_SIGMOID)
        TN_MAP_CASE(TN_ACTIVATION_TANH)
        TN_MAP_CASE(TN_ACTIVATION_GELU_ERF)
        TN_MAP_CASE(TN_ACTIVATION_GELU_TANH)
        TN_MAP_CASE(TN_ACTIVATION_SWISH)
        TN_MAP_CASE(TN_ACTIVATION_ELU)
        TN_MAP_CASE(TN_MAP_EXP)
        TN_MAP_CASE(TN_MAP_ERF)
        TN_MAP_CASE(TN_MAP_SQRT)
        TN_MAP_CASE(TN_MAP_NEG)
        TN_MAP_CASE(TN_MAP_ABS)
        TN_MAP_CASE(TN_MAP_RECIPROCAL)
        TN_MAP_CASE(TN_MAP_LOG)
        TN_MAP_CASE(TN_MAP_FLOOR)
        TN_MAP_CASE(TN_MAP_CEIL)
        TN_MAP_CASE(TN_MAP_ROUND)
        TN_MAP_CASE(TN_MAP_SIGN)
        TN_MAP_CASE(TN_MAP_SELU)
        TN_MAP_CASE(TN_MAP_CELU)
        TN_MAP_CASE(TN_MAP_SOFTPLUS)
        TN_MAP_CASE(TN_MAP_SOFTSIGN)
        TN_MAP_CASE(TN_MAP_MISH)
        TN_MAP_CASE(TN_MAP_THRESHOLDED_RELU)
        TN_MAP_CASE(TN_MAP_THRESHOLD)
        TN_MAP_CASE(TN_MAP_SIN)
        TN_MAP_CASE(TN_MAP_COS)
        TN_MAP_CASE(TN_MAP_TAN)
        TN_MAP_CASE(TN_MAP_ASIN)
        TN_MAP_CASE(TN_MAP_ACOS)
        TN_MAP_CASE(TN_MAP_ATAN)
        TN_MAP_CASE(TN_MAP_SINH)
        TN_MAP_CASE(TN_MAP_COSH)
        TN_MAP_CASE(TN_MAP_ASINH)
        TN_MAP_CASE(TN_MAP_ACOSH)
        TN_MAP_CASE(TN_MAP_ATANH)
    }
    return make_float4(v[0], v[1], v[2], v[3]);
}

/* What costs no more than the call is done in place. */
static __device__ __forceinline__ void tn_map_four(const tn_cuda_step &step, float *v) {
    const float alpha = step.alpha, beta = step.beta;
    switch (step.map) {
        TN_MAP_CASE(TN_ACTIVATION_RELU)
        TN_MAP_CASE(TN_ACTIVATION_LEAKY_RELU)
        TN_MAP_CASE(TN_ACTIVATION_CLIP)
        TN_MAP_CASE(TN_ACTIVATION_HARD_SIGMOID)
        TN_MAP_CASE(TN_ACTIVATION_HARD_SWISH)
    default: {
        const float4 y = tn_map_called(step.map, alpha, beta, make_float4(v[0], v[1], v[2], v[3]));
        v[0] = y.x, v[1] = y.y, v[2] = y.z, v[3] = y.w;
    }
    }
}
#undef TN_MAP_CASE

static __device__ __forceinline__ void tn_chain_four(const tn_cuda_chain &chain, float *v) {
    for (uint32_t i = 0; i < chain.count; i++)
        tn_map_four(chain.steps[i], v);
}
static __device__ __forceinline__ float tn_chain_one(const tn_cuda_chain &chain, float x) {
    float v[4] = {x, x, x, x};
    if (chain.count) tn_chain_four(chain, v);
    return v[0];
}

#endif
