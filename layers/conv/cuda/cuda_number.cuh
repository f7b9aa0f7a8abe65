/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What convolutions on tensor cores multiply (matrix.cuh): 8-bit integers, 16-bit floats, 32-bit
 * floats rounded to tf32, or 32-bit floats as sums of two tf32 numbers. How they are stored and
 * become words of operands, how weights are packed in those types, and launches by type. Private to
 * this folder.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_NUMBER_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_NUMBER_CUH

#include "conv/cuda/cuda_conv.h"
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

extern "C" {
#include "kit/math/element.h"
}

#include <string.h>

namespace {

/* A 32-bit float x = high + low, both tf32: x rounded, and the rest but for its last bit. A product
 * is high * high + high * low + low * high; what is left out is below 2^-21 of it, where rounding
 * it once to 32 bits is 2^-24. An infinity becomes NaN. */
struct tf32_sum {
    float value;
};

__device__ __forceinline__ void split(uint32_t word, uint32_t &high, uint32_t &low) {
    const float x = __uint_as_float(word);
    high = tn_tf32_round(x);
    low = __float_as_uint(x - __uint_as_float(high)); /* tensor cores read its first 11 bits */
}

} // namespace

template <> struct tn_matrix<tf32_sum> {
    enum { each = 1 };
    typedef tn_matrix<tn_tf32_number> tf32;
    static __device__ __forceinline__ void deep(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
        uint32_t a[4], rest[4], b[2], b_rest[2];
        split(a0, a[0], rest[0]), split(a1, a[1], rest[1]);
        split(a2, a[2], rest[2]), split(a3, a[3], rest[3]);
        split(b0, b[0], b_rest[0]), split(b1, b[1], b_rest[1]);
        tf32::deep(c, rest[0], rest[1], rest[2], rest[3], b[0], b[1]);
        tf32::deep(c, a[0], a[1], a[2], a[3], b_rest[0], b_rest[1]);
        tf32::deep(c, a[0], a[1], a[2], a[3], b[0], b[1]);
    }
    static __device__ __forceinline__ void flat(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t b0) {
        uint32_t a[2], rest[2], b, b_rest;
        split(a0, a[0], rest[0]), split(a1, a[1], rest[1]), split(b0, b, b_rest);
        tf32::flat(c, rest[0], rest[1], b);
        tf32::flat(c, a[0], a[1], b_rest);
        tf32::flat(c, a[0], a[1], b);
    }
};

namespace {

/* How a number is stored, and of how many tf32 numbers it is the sum (`parts`). `word`: an
 * operand's of 32 stored bits; `join`: of values at one depth and, where a word has two, the next;
 * bytes, of which it has four, are not joined.
 */
template <typename T> struct stored;
template <> struct stored<int8_t> {
    typedef int8_t type;
    enum { parts = 1 };
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
};
template <> struct stored<__half> {
    typedef __half type;
    enum { parts = 1 };
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
    static __device__ __forceinline__ uint32_t join(float low, float high) {
        const __half2 two = __floats2half2_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    enum { parts = 1 };
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
    static __device__ __forceinline__ uint32_t join(float low, float high) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
        return *(const uint32_t *)&two;
    }
};
template <> struct stored<tn_tf32_number> {
    typedef float type;
    enum { parts = 1 };
    static __device__ __forceinline__ uint32_t word(uint32_t bits) {
        return tn_tf32_round(__uint_as_float(bits));
    }
    static __device__ __forceinline__ uint32_t join(float low, float) { return tn_tf32_round(low); }
};
template <> struct stored<tf32_sum> {
    typedef float type;
    enum { parts = 2 };
    static __device__ __forceinline__ uint32_t word(uint32_t bits) { return bits; }
    static __device__ __forceinline__ uint32_t join(float low, float) {
        return __float_as_uint(low);
    }
};

/* `launch` with a number of the type of floats that is multiplied. */
template <typename Launch> cudaError_t launch_by_type(const tn_cuda_conv *d, const Launch &launch) {
    switch (d->type) {
    case TN_F16:
        return launch(__half());
    case TN_BF16:
        return launch(__nv_bfloat16());
    default:
        return d->is_rounded ? launch(tn_tf32_number()) : launch(tf32_sum());
    }
}

template <typename... P, typename... A>
cudaError_t launch_shared(void (*kernel)(P...), dim3 grid, int threads, int64_t bytes,
                          cudaStream_t stream, const A &...arguments) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    kernel<<<grid, threads, (size_t)bytes, stream>>>(arguments...);
    return cudaGetLastError();
}

/* Rounded to tf32: 10 bits behind the point, ties away from zero. */
inline float round_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Stores w[k][c][r][s], floats or, where bytes are multiplied, those, as what is multiplied, at
 * element at(k, c, r, s) of `to`. */
template <typename At>
void pack_weights(const tn_cuda_conv *d, const void *w, void *to, const At &at) {
    const int8_t *bytes = (const int8_t *)w;
    const float *floats = (const float *)w;
    int64_t i = 0;
    for (int64_t k = 0; k < d->filters; k++)
        for (int64_t c = 0; c < d->channels; c++)
            for (int64_t r = 0; r < d->kernel_height; r++)
                for (int64_t s = 0; s < d->kernel_width; s++, i++) {
                    const int64_t element = at(k, c, r, s);
                    if (d->type == TN_I8)
                        ((int8_t *)to)[element] = bytes[i];
                    else if (d->type == TN_F32)
                        ((float *)to)[element] = d->is_rounded ? round_tf32(floats[i]) : floats[i];
                    else
                        tn_element_store_f64(to, d->type, element, (double)floats[i]);
                }
}

} // namespace

#endif
