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

/* x / 2 * erfc(-x / sqrt(2)) for results of 16 or 8 bits, within 2e-5 of its value from -9 on, and
 * -1e-18 below. It is max(x, 0) - |x| * p, where p is the probability that a normal number exceeds
 * |x|: 2 to the power of a polynomial, fitted on 0 ... 9. NaN stays NaN. */
static __device__ __forceinline__ float tn_cuda_gelu_short(float x) {
    const float size = fminf(fabsf(x), 9.0f);
    float above, tail, power = -1.21831272e-06f;
    power = fmaf(power, size, 4.75814595e-05f);
    power = fmaf(power, size, -0.000806772674f);
    power = fmaf(power, size, 0.00797203369f);
    power = fmaf(power, size, -0.0527763218f);
    power = fmaf(power, size, -0.459712356f);
    power = fmaf(power, size, -1.15074849f);
    power = fmaf(power, size, -1.00003088f);
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(tail) : "f"(power));
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(above) : "f"(x));
    return fmaf(-size, tail, above);
}

/* x / (1 + exp(-alpha * x)), for results of 16 or 8 bits. */
static __device__ __forceinline__ float tn_cuda_swish_short(float alpha, float x) {
    return x * __fdividef(1.0f, 1.0f + __expf(-alpha * x));
}

/* N results of type T. */
template <typename T, int N>
static __device__ __forceinline__ void tn_cuda_activate_all(const tn_cuda_activation &how,
                                                            float (&x)[N]) {
    if (how.kind == 0) return;
    if (sizeof(T) < 4 && how.kind == TN_ACTIVATION_GELU_ERF) {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = tn_cuda_gelu_short(x[i]);
    } else if (sizeof(T) < 4 && how.kind == TN_ACTIVATION_SWISH) {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = tn_cuda_swish_short(how.alpha, x[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = tn_cuda_activate(how, x[i]);
    }
}

#endif
