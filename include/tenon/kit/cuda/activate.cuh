/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activations of tenon/plugin.h on one number, for CUDA kernels of convolutions and products
 * that store few numbers a thread; `activation` 0 is none. Kernels that are all about such
 * functions have map.cuh.
 */
#ifndef TENON_KIT_CUDA_ACTIVATE_CUH
#define TENON_KIT_CUDA_ACTIVATE_CUH

#include <tenon/plugin.h>

typedef struct tn_cuda_activation {
    uint32_t kind;
    float alpha, beta;
} tn_cuda_activation;

/* Those that call functions of the library stay out of line: code, not registers, is their price.
 */
static __device__ __noinline__ float tn_cuda_activate_slow(uint32_t kind, float alpha, float x) {
    switch (kind) {
    case TN_ACTIVATION_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case TN_ACTIVATION_TANH:
        return tanhf(x);
    case TN_ACTIVATION_GELU_ERF:
        return 0.5f * x * erfcf(-x * 0.70710678118654752f);
    case TN_ACTIVATION_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
    case TN_ACTIVATION_SWISH:
        return x / (1.0f + expf(-alpha * x));
    default: /* ELU */
        return x < 0 ? alpha * expm1f(x) : x;
    }
}

/* NaN stays NaN. */
static __device__ __forceinline__ float tn_cuda_activate(const tn_cuda_activation &how, float x) {
    switch (how.kind) {
    case 0:
        return x;
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0.0f : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? how.alpha * x : x;
    case TN_ACTIVATION_CLIP:
        x = x < how.alpha ? how.alpha : x;
        return x > how.beta ? how.beta : x;
    case TN_ACTIVATION_HARD_SIGMOID:
        x = how.alpha * x + how.beta;
        x = x < 0 ? 0.0f : x;
        return x > 1 ? 1.0f : x;
    case TN_ACTIVATION_HARD_SWISH: {
        const float gate = x * (1.0f / 6.0f) + 0.5f;
        return x * fminf(fmaxf(gate, 0.0f), 1.0f);
    }
    default:
        return tn_cuda_activate_slow(how.kind, how.alpha, x);
    }
}

#endif
