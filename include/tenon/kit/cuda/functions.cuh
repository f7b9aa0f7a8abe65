/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of tenon/kit/rows.h on one number on the GPU, with the library's full precision,
 * for nvcc and for what is compiled at run time. NaN stays NaN.
 */
#ifndef TENON_KIT_CUDA_FUNCTIONS_CUH
#define TENON_KIT_CUDA_FUNCTIONS_CUH

#ifndef __CUDACC_RTC__
#include <tenon/kit/rows.h>
#endif

static __device__ __forceinline__ float tn_map_sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}
static __device__ __forceinline__ float tn_map_softplus(float x) {
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}
static __device__ __forceinline__ float tn_map_within(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
static __device__ __forceinline__ float tn_map_where_negative(float x, float then) {
    return x < 0 ? then : x;
}

/* A map, by its number. */
template <uint32_t MAP> struct tn_map_function_of;
#define TN_MAP_VALUE(map, expression)                                                              \
    template <> struct tn_map_function_of<map> {                                                   \
        static __device__ __forceinline__ float value(float alpha, float beta, float x) {          \
            (void)alpha, (void)beta;                                                               \
            return expression;                                                                     \
        }                                                                                          \
    };
TN_MAP_VALUE(TN_ACTIVATION_RELU, tn_map_where_negative(x, 0.0f))
TN_MAP_VALUE(TN_ACTIVATION_LEAKY_RELU, tn_map_where_negative(x, alpha *x))
TN_MAP_VALUE(TN_ACTIVATION_CLIP, tn_map_within(x, alpha, beta))
TN_MAP_VALUE(TN_ACTIVATION_SIGMOID, tn_map_sigmoid(x))
TN_MAP_VALUE(TN_ACTIVATION_TANH, tanhf(x))
TN_MAP_VALUE(TN_ACTIVATION_HARD_SIGMOID, tn_map_within(alpha *x + beta, 0.0f, 1.0f))
TN_MAP_VALUE(TN_ACTIVATION_HARD_SWISH, x *fminf(fmaxf(x *(1.0f / 6.0f) + 0.5f, 0.0f), 1.0f))
/* x / 2 * erfc(-x / sqrt(2)): the tail keeps its digits. */
TN_MAP_VALUE(TN_ACTIVATION_GELU_ERF, 0.5f * x * erfcf(-x * 0.70710678118654752f))
/* x / 2 * (1 + tanh(...)), so that the tail keeps its digits. */
TN_MAP_VALUE(TN_ACTIVATION_GELU_TANH,
             x / (1.0f + expf(-1.5957691216057308f * (x + 0.044715f * x * x * x))))
TN_MAP_VALUE(TN_ACTIVATION_SWISH, x / (1.0f + expf(-alpha * x)))
TN_MAP_VALUE(TN_ACTIVATION_ELU, tn_map_where_negative(x, alpha *expm1f(x)))
TN_MAP_VALUE(TN_MAP_EXP, expf(x))
TN_MAP_VALUE(TN_MAP_ERF, erff(x))
TN_MAP_VALUE(TN_MAP_SQRT, sqrtf(x))
TN_MAP_VALUE(TN_MAP_NEG, -x)
TN_MAP_VALUE(TN_MAP_ABS, fabsf(x))
TN_MAP_VALUE(TN_MAP_RECIPROCAL, 1.0f / x)
TN_MAP_VALUE(TN_MAP_LOG, logf(x))
TN_MAP_VALUE(TN_MAP_FLOOR, floorf(x))
TN_MAP_VALUE(TN_MAP_CEIL, ceilf(x))
TN_MAP_VALUE(TN_MAP_ROUND, rintf(x))
TN_MAP_VALUE(TN_MAP_SIGN, x > 0 ? 1.0f : tn_map_where_negative(x, -1.0f))
TN_MAP_VALUE(TN_MAP_SELU, beta *tn_map_where_negative(x, alpha *expm1f(x)))
TN_MAP_VALUE(TN_MAP_CELU, tn_map_where_negative(x, alpha *expm1f(x / alpha)))
TN_MAP_VALUE(TN_MAP_SOFTPLUS, tn_map_softplus(x))
TN_MAP_VALUE(TN_MAP_SOFTSIGN, x / (1.0f + fabsf(x)))
TN_MAP_VALUE(TN_MAP_MISH, x *tanhf(tn_map_softplus(x)))
TN_MAP_VALUE(TN_MAP_THRESHOLDED_RELU, x > alpha ? x : 0.0f)
TN_MAP_VALUE(TN_MAP_THRESHOLD, x > alpha ? 1.0f : 0.0f)
TN_MAP_VALUE(TN_MAP_SIN, sinf(x))
TN_MAP_VALUE(TN_MAP_COS, cosf(x))
TN_MAP_VALUE(TN_MAP_TAN, tanf(x))
TN_MAP_VALUE(TN_MAP_ASIN, asinf(x))
TN_MAP_VALUE(TN_MAP_ACOS, acosf(x))
TN_MAP_VALUE(TN_MAP_ATAN, atanf(x))
TN_MAP_VALUE(TN_MAP_SINH, sinhf(x))
TN_MAP_VALUE(TN_MAP_COSH, coshf(x))
TN_MAP_VALUE(TN_MAP_ASINH, asinhf(x))
TN_MAP_VALUE(TN_MAP_ACOSH, acoshf(x))
TN_MAP_VALUE(TN_MAP_ATANH, atanhf(x))
TN_MAP_VALUE(TN_MAP_EXPM1, expm1f(x))
TN_MAP_VALUE(TN_MAP_LOG1P, log1pf(x))
TN_MAP_VALUE(TN_MAP_ERFC, erfcf(x))
TN_MAP_VALUE(TN_MAP_NOT, x == 0 ? 1.0f : 0.0f)
#undef TN_MAP_VALUE

template <uint32_t MAP>
static __device__ __forceinline__ float tn_map_value(float alpha, float beta, float x) {
    return tn_map_function_of<MAP>::value(alpha, beta, x);
}

/* The remainder with the sign of the divisor. */
static __device__ __forceinline__ float tn_combine_mod(float a, float b) {
    const float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* A combination, by its number. */
template <uint32_t COMBINE> struct tn_combine_function_of;
#define TN_COMBINE_VALUE(combine, expression)                                                      \
    template <> struct tn_combine_function_of<combine> {                                           \
        static __device__ __forceinline__ float value(float a, float b) { return expression; }     \
    };
TN_COMBINE_VALUE(TN_COMBINE_ADD, a + b)
TN_COMBINE_VALUE(TN_COMBINE_SUB, a - b)
TN_COMBINE_VALUE(TN_COMBINE_MUL, a *b)
TN_COMBINE_VALUE(TN_COMBINE_DIV, a / b)
TN_COMBINE_VALUE(TN_COMBINE_POW, powf(a, b))
TN_COMBINE_VALUE(TN_COMBINE_MAX, a != a || a > b ? a : b)
TN_COMBINE_VALUE(TN_COMBINE_MIN, a != a || a < b ? a : b)
TN_COMBINE_VALUE(TN_COMBINE_PRELU, tn_map_where_negative(a, a *b))
TN_COMBINE_VALUE(TN_COMBINE_LESS, a < b ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_LESS_EQUAL, a <= b ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_EQUAL, a == b ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_NOT_EQUAL, a != b ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_AND, a != 0 && b != 0 ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_OR, a != 0 || b != 0 ? 1.0f : 0.0f)
TN_COMBINE_VALUE(TN_COMBINE_FMAX, fmaxf(a, b))
TN_COMBINE_VALUE(TN_COMBINE_FMIN, fminf(a, b))
TN_COMBINE_VALUE(TN_COMBINE_FMOD, fmodf(a, b))
TN_COMBINE_VALUE(TN_COMBINE_MOD, tn_combine_mod(a, b))
#undef TN_COMBINE_VALUE

template <uint32_t COMBINE>
static __device__ __forceinline__ float tn_combine_value(float a, float b) {
    return tn_combine_function_of<COMBINE>::value(a, b);
}

#endif
