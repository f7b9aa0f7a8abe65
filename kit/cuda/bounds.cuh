/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations for kernels that store many numbers a thread: the simple ones are a slope below zero
 * and bounds, without branches; the others are out of line, in one copy, since short kernels wait
 * for their code. See tenon/kit/cuda/activate.cuh. Nothing of the host's.
 */
#ifndef TN_KIT_CUDA_BOUNDS_CUH
#define TN_KIT_CUDA_BOUNDS_CUH

#include <tenon/kit/cuda/activate.cuh>
#include <tenon/kit/cuda/number.cuh>

#include <math.h>

struct tn_cuda_bounds {
    bool is_slow; /* another activation: tn_cuda_activate_apart */
    float slope, low, high;
};

static __device__ __forceinline__ tn_cuda_bounds tn_cuda_bounds_of(const tn_cuda_activation &how) {
    tn_cuda_bounds b = {false, 1.0f, -INFINITY, INFINITY};
    if (how.kind == TN_ACTIVATION_RELU) b.low = 0.0f;
    if (how.kind == TN_ACTIVATION_LEAKY_RELU) b.slope = how.alpha;
    if (how.kind == TN_ACTIVATION_CLIP) b.low = how.alpha, b.high = how.beta;
    b.is_slow = how.kind != 0 && how.kind != TN_ACTIVATION_RELU &&
                how.kind != TN_ACTIVATION_LEAKY_RELU && how.kind != TN_ACTIVATION_CLIP;
    return b;
}

/* NaN stays NaN. */
static __device__ __forceinline__ float tn_cuda_bound(const tn_cuda_bounds &b, float x) {
    x = x < 0.0f ? x * b.slope : x;
    return tn_number_most(tn_number_least(x, b.high), b.low);
}

/* Two 16-bit numbers of the first argument's type, within `low` and `high`, of which each has one
 * bound twice; NaN stays NaN. */
static __device__ __forceinline__ uint32_t tn_cuda_bound_two(__half, uint32_t x, uint32_t low,
                                                             uint32_t high) {
    asm("min.NaN.f16x2 %0, %0, %1;" : "+r"(x) : "r"(high));
    asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(x) : "r"(low));
    return x;
}
static __device__ __forceinline__ uint32_t tn_cuda_bound_two(__nv_bfloat16, uint32_t x,
                                                             uint32_t low, uint32_t high) {
    asm("min.NaN.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(high));
    asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(low));
    return x;
}

static __device__ __noinline__ float tn_cuda_activate_apart(uint32_t kind, float alpha, float beta,
                                                            float x) {
    const tn_cuda_activation how = {kind, alpha, beta};
    return tn_cuda_activate(how, x);
}

#endif
