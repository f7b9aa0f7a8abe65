/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activations of tenon/plugin.h on one number, for CUDA kernels of convolutions and products
 * that store few numbers a thread; `activation` 0 is none. The functions are
 * tenon/kit/cuda/functions.cuh.
 */
#ifndef TENON_KIT_CUDA_ACTIVATE_CUH
#define TENON_KIT_CUDA_ACTIVATE_CUH

#include <tenon/kit/cuda/functions.cuh>

typedef struct tn_cuda_activation {
    uint32_t kind;
    float alpha, beta;
} tn_cuda_activation;

#define TN_ACTIVATE_CASE(activation)                                                               \
    case activation:                                                                               \
        return tn_map_value<activation>(alpha, beta, x);

/* Those that call functions of the library stay out of line: code, not registers, is their price.
 */
static __device__ __noinline__ float tn_cuda_activate_slow(uint32_t kind, float alpha, float x) {
    const float beta = 0;
    switch (kind) {
        TN_ACTIVATE_CASE(TN_ACTIVATION_SIGMOID)
        TN_ACTIVATE_CASE(TN_ACTIVATION_TANH)
        TN_ACTIVATE_CASE(TN_ACTIVATION_GELU_ERF)
        TN_ACTIVATE_CASE(TN_ACTIVATION_GELU_TANH)
        TN_ACTIVATE_CASE(TN_ACTIVATION_SWISH)
    default:
        return tn_map_value<TN_ACTIVATION_ELU>(alpha, beta, x);
    }
}

/* NaN stays NaN. */
static __device__ __forceinline__ float tn_cuda_activate(const tn_cuda_activation &how, float x) {
    const float alpha = how.alpha, beta = how.beta;
    switch (how.kind) {
    case 0:
        return x;
        TN_ACTIVATE_CASE(TN_ACTIVATION_RELU)
        TN_ACTIVATE_CASE(TN_ACTIVATION_LEAKY_RELU)
        TN_ACTIVATE_CASE(TN_ACTIVATION_CLIP)
        TN_ACTIVATE_CASE(TN_ACTIVATION_HARD_SIGMOID)
        TN_ACTIVATE_CASE(TN_ACTIVATION_HARD_SWISH)
    default:
        return tn_cuda_activate_slow(how.kind, how.alpha, x);
    }
}
#undef TN_ACTIVATE_CASE

#endif
