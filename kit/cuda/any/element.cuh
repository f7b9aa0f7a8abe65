/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single elements of any type on the GPU, as a double or an int64: kit/math/element.h there. For
 * kernels that are compiled once for all types; what is fast for one of them knows it. The type is
 * the same for all threads, so that a switch costs a few instructions. Nothing of the host's.
 */
#ifndef TN_KIT_CUDA_ANY_ELEMENT_CUH
#define TN_KIT_CUDA_ANY_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <tenon/plugin.h>

static __device__ __forceinline__ bool tn_any_is_real(tn_type type) {
    return type >= TN_F64 && type <= TN_BF16;
}

static __device__ __forceinline__ double tn_any_f64(const void *data, tn_type type, int64_t at) {
    switch (type) {
    case TN_F64:
        return ((const double *)data)[at];
    case TN_F32:
        return (double)((const float *)data)[at];
    case TN_F16:
        return (double)__half2float(((const __half *)data)[at]);
    case TN_BF16:
        return (double)__bfloat162float(((const __nv_bfloat16 *)data)[at]);
    case TN_I64:
        return (double)((const int64_t *)data)[at];
    case TN_I32:
        return (double)((const int32_t *)data)[at];
    case TN_I16:
        return (double)((const int16_t *)data)[at];
    case TN_I8:
        return (double)((const int8_t *)data)[at];
    case TN_U64:
        return (double)((const uint64_t *)data)[at];
    case TN_U32:
        return (double)((const uint32_t *)data)[at];
    case TN_U16:
        return (double)((const uint16_t *)data)[at];
    default:
        return (double)((const uint8_t *)data)[at];
    }
}

/* Floats without their fraction; what is beyond 64 bits saturates, and NaN is 0. */
static __device__ __forceinline__ int64_t tn_any_whole(double value) {
    if (isnan(value)) return 0;
    if (value >= 9223372036854775808.0) return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

static __device__ __forceinline__ int64_t tn_any_i64(const void *data, tn_type type, int64_t at) {
    switch (type) {
    case TN_I64:
    case TN_U64:
        return ((const int64_t *)data)[at];
    case TN_I32:
        return ((const int32_t *)data)[at];
    case TN_I16:
        return ((const int16_t *)data)[at];
    case TN_I8:
        return ((const int8_t *)data)[at];
    case TN_U32:
        return ((const uint32_t *)data)[at];
    case TN_U16:
        return ((const uint16_t *)data)[at];
    case TN_U8:
    case TN_BOOL:
        return ((const uint8_t *)data)[at];
    default:
        return tn_any_whole(tn_any_f64(data, type, at));
    }
}

/* Integers keep their low bits; bool: value != 0; floats are rounded once. */
static __device__ __forceinline__ void tn_any_set_i64(void *data, tn_type type, int64_t at,
                                                      int64_t value) {
    switch (type) {
    case TN_F64:
        ((double *)data)[at] = (double)value;
        return;
    case TN_F32:
        ((float *)data)[at] = (float)value;
        return;
    case TN_F16:
        ((__half *)data)[at] = __double2half((double)value);
        return;
    case TN_BF16:
        ((__nv_bfloat16 *)data)[at] = __double2bfloat16((double)value);
        return;
    case TN_I64:
    case TN_U64:
        ((int64_t *)data)[at] = value;
        return;
    case TN_I32:
    case TN_U32:
        ((uint32_t *)data)[at] = (uint32_t)value;
        return;
    case TN_I16:
    case TN_U16:
        ((uint16_t *)data)[at] = (uint16_t)value;
        return;
    case TN_BOOL:
        ((uint8_t *)data)[at] = value != 0;
        return;
    default:
        ((uint8_t *)data)[at] = (uint8_t)value;
        return;
    }
}

/* To an integer of this type: to nearest, ties to even, saturated; NaN is 0. */
static __device__ __forceinline__ int64_t tn_any_round(double value, tn_type type) {
    const double nearest = rint(value);
    if (isnan(value)) return 0;
    if (type == TN_U64) {
        if (nearest >= 18446744073709551616.0) return -1;
        return nearest <= 0 ? 0 : (int64_t)(uint64_t)nearest;
    }
    if (type == TN_I64) return tn_any_whole(nearest);
    const bool is_signed = type <= TN_I8;
    const int bits = type == TN_I32 || type == TN_U32   ? 32
                     : type == TN_I16 || type == TN_U16 ? 16
                                                        : 8;
    const double above = (double)(INT64_C(1) << (is_signed ? bits - 1 : bits));
    const double low = is_signed ? -above : 0;
    return (int64_t)(nearest <= low ? low : nearest >= above ? above - 1 : nearest);
}

/* Rounded once to the type; bool: value != 0. */
static __device__ __forceinline__ void tn_any_set_f64(void *data, tn_type type, int64_t at,
                                                      double value) {
    switch (type) {
    case TN_F64:
        ((double *)data)[at] = value;
        return;
    case TN_F32:
        ((float *)data)[at] = (float)value;
        return;
    case TN_F16:
        ((__half *)data)[at] = __double2half(value);
        return;
    case TN_BF16:
        ((__nv_bfloat16 *)data)[at] = __double2bfloat16(value);
        return;
    case TN_BOOL:
        ((uint8_t *)data)[at] = value != 0;
        return;
    default:
        tn_any_set_i64(data, type, at, tn_any_round(value, type));
        return;
    }
}

/* An element of 1, 2, 4, 8 or 16 bytes as it is. */
static __device__ __forceinline__ void tn_any_copy(void *to, int64_t there, const void *from,
                                                   int64_t here, uint32_t bytes) {
    switch (bytes) {
    case 1:
        ((uint8_t *)to)[there] = ((const uint8_t *)from)[here];
        return;
    case 2:
        ((uint16_t *)to)[there] = ((const uint16_t *)from)[here];
        return;
    case 4:
        ((uint32_t *)to)[there] = ((const uint32_t *)from)[here];
        return;
    case 8:
        ((uint64_t *)to)[there] = ((const uint64_t *)from)[here];
        return;
    default:
        ((uint4 *)to)[there] = ((const uint4 *)from)[here];
        return;
    }
}
static __device__ __forceinline__ void tn_any_clear(void *to, int64_t there, uint32_t bytes) {
    const uint4 zero = {0, 0, 0, 0};
    tn_any_copy(to, there, &zero, 0, bytes);
}

/* The order of elements of a type in unsigned numbers: NaN is above all others, -0 equals 0. */
static __device__ __forceinline__ uint64_t tn_any_key(const void *data, tn_type type, int64_t at) {
    const uint64_t sign = UINT64_C(1) << 63;
    if (!tn_any_is_real(type))
        return (uint64_t)tn_any_i64(data, type, at) ^ (type == TN_U64 ? 0 : sign);
    const double value = tn_any_f64(data, type, at);
    if (isnan(value)) return ~UINT64_C(0);
    if (value == 0) return sign;
    union {
        double real;
        uint64_t bits;
    } as;
    as.real = value;
    return as.bits & sign ? ~as.bits : as.bits | sign;
}

#endif
