/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elementwise functions of tenon/kit/rows.h on the GPU, four numbers at a time and with
 * the library's full precision. Operators and epilogues alike go through tn_map_four.
 */
#ifndef TN_KIT_CUDA_POINTWISE_MAP_CUH
#define TN_KIT_CUDA_POINTWISE_MAP_CUH

#include "kit/cuda/pointwise/chain.h"

static __device__ __forceinline__ float tn_map_sigmoid(float x) {
    return __fdiv_rn(1.0f, 1.0f + expf(-x));
}
static __device__ __forceinline__ float tn_map_softplus(float x) {
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}
static __device__ __forceinline__ float tn_map_within(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
static __device__ __forceinline__ float tn_map_gelu_tanh(float x) {
    const float inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
}
/* x / 2 * erfc(-x / sqrt(2)): the tail keeps its digits. */
static __device__ __forceinline__ float tn_map_gelu_erf(float x) {
    return 0.5f * x * erfcf(-x * 0.70710678118654752f);
}
static __device__ __forceinline__ float tn_map_sign(float x) {
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
}

#define TN_MAP_EACH(expression)                                                                    \
    {                                                                                              \
        _Pragma("unroll") for (int i = 0; i < 4; i++) {                                            \
            const float x = v[i];                                                                  \
            v[i] = (expression);                                                                   \
        }                                                                                          \
        break;                                                                                     \
    }

/* One copy of the code for a kernel, called: the functions are large, and memory is what the
 * kernels wait for. */
static __device__ __noinline__ float4 tn_map_called(uint32_t map, float alpha, float beta,
                                                    float4 four) {
    float v[4] = {four.x, four.y, four.z, four.w};
    switch (map) {
    case TN_ACTIVATION_SIGMOID:
        TN_MAP_EACH(tn_map_sigmoid(x))
    case TN_ACTIVATION_TANH:
        TN_MAP_EACH(tanhf(x))
    case TN_ACTIVATION_GELU_ERF:
        TN_MAP_EACH(tn_map_gelu_erf(x))
    case TN_ACTIVATION_GELU_TANH:
        TN_MAP_EACH(tn_map_gelu_tanh(x))
    case TN_ACTIVATION_SWISH:
        TN_MAP_EACH(x * tn_map_sigmoid(alpha * x))
    case TN_ACTIVATION_ELU:
        TN_MAP_EACH(x < 0 ? alpha * expm1f(x) : x)
    case TN_MAP_EXP:
        TN_MAP_EACH(expf(x))
    case TN_MAP_ERF:
        TN_MAP_EACH(erff(x))
    case TN_MAP_SQRT:
        TN_MAP_EACH(__fsqrt_rn(x))
    case TN_MAP_NEG:
        TN_MAP_EACH(-x)
    case TN_MAP_ABS:
        TN_MAP_EACH(fabsf(x))
    case TN_MAP_RECIPROCAL:
        TN_MAP_EACH(__frcp_rn(x))
    case TN_MAP_LOG:
        TN_MAP_EACH(logf(x))
    case TN_MAP_FLOOR:
        TN_MAP_EACH(floorf(x))
    case TN_MAP_CEIL:
        TN_MAP_EACH(ceilf(x))
    case TN_MAP_ROUND:
        TN_MAP_EACH(rintf(x))
    case TN_MAP_SIGN:
        TN_MAP_EACH(tn_map_sign(x))
    case TN_MAP_SELU:
        TN_MAP_EACH(beta * (x < 0 ? alpha * expm1f(x) : x))
    case TN_MAP_CELU:
        TN_MAP_EACH(x < 0 ? alpha * expm1f(__fdiv_rn(x, alpha)) : x)
    case TN_MAP_SOFTPLUS:
        TN_MAP_EACH(tn_map_softplus(x))
    case TN_MAP_SOFTSIGN:
        TN_MAP_EACH(__fdiv_rn(x, 1.0f + fabsf(x)))
    case TN_MAP_MISH:
        TN_MAP_EACH(x * tanhf(tn_map_softplus(x)))
    case TN_MAP_THRESHOLDED_RELU:
        TN_MAP_EACH(x > alpha ? x : 0.0f)
    case TN_MAP_THRESHOLD:
        TN_MAP_EACH(x > alpha ? 1.0f : 0.0f)
    case TN_MAP_SIN:
        TN_MAP_EACH(sinf(x))
    case TN_MAP_COS:
        TN_MAP_EACH(cosf(x))
    case TN_MAP_TAN:
        TN_MAP_EACH(tanf(x))
    case TN_MAP_ASIN:
        TN_MAP_EACH(asinf(x))
    case TN_MAP_ACOS:
        TN_MAP_EACH(acosf(x))
    case TN_MAP_ATAN:
        TN_MAP_EACH(atanf(x))
    case TN_MAP_SINH:
        TN_MAP_EACH(sinhf(x))
    case TN_MAP_COSH:
        TN_MAP_EACH(coshf(x))
    case TN_MAP_ASINH:
        TN_MAP_EACH(asinhf(x))
    case TN_MAP_ACOSH:
        TN_MAP_EACH(acoshf(x))
    case TN_MAP_ATANH:
        TN_MAP_EACH(atanhf(x))
    default:
        break;
    }
    return make_float4(v[0], v[1], v[2], v[3]);
}

/* What costs no more than the call is done in place. */
static __device__ __forceinline__ void tn_map_four(const tn_cuda_step &step, float *v) {
    const float alpha = step.alpha, beta = step.beta;
    switch (step.map) {
    case TN_ACTIVATION_RELU:
        TN_MAP_EACH(x < 0 ? 0.0f : x)
    case TN_ACTIVATION_LEAKY_RELU:
        TN_MAP_EACH(x < 0 ? alpha * x : x)
    case TN_ACTIVATION_CLIP:
        TN_MAP_EACH(tn_map_within(x, alpha, beta))
    case TN_ACTIVATION_HARD_SIGMOID:
        TN_MAP_EACH(tn_map_within(alpha * x + beta, 0.0f, 1.0f))
    case TN_ACTIVATION_HARD_SWISH:
        TN_MAP_EACH(x * tn_map_within(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f))
    default: {
        const float4 y = tn_map_called(step.map, alpha, beta, make_float4(v[0], v[1], v[2], v[3]));
        v[0] = y.x, v[1] = y.y, v[2] = y.z, v[3] = y.w;
    }
    }
}
#undef TN_MAP_EACH

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
