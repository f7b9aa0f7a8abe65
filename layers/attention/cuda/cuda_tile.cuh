/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warp's products in Attention: 16 rows of queries with keys, and their weights with values. Sums
 * of scores lie as those of tenon/kit/cuda/matrix.cuh: of each eight keys, lane 4g + t has keys 2t
 * and 2t + 1 of row g and then of row g + 8. Private to cuda_online.cuh.
 */
#ifndef TN_LAYERS_ATTENTION_CUDA_CUDA_TILE_CUH
#define TN_LAYERS_ATTENTION_CUDA_CUDA_TILE_CUH

#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

namespace {

/* As tn_matrix_load, each matrix of 8x8 16-bit elements transposed. */
__device__ __forceinline__ void load_matrices_turned(const void *row, uint32_t (&to)[4]) {
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ uint32_t join_two(__half, float low, float high) {
    const __half2 both = __floats2half2_rn(low, high);
    return *(const uint32_t *)&both;
}
__device__ __forceinline__ uint32_t join_two(__nv_bfloat16, float low, float high) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&both;
}

/* Two weights as the sums of two numbers of 16 bits: rounded to one of them, weights whose values
 * cancel would move the result by more than its own last digit. */
template <typename T>
__device__ __forceinline__ void split_two(float low, float high, uint32_t &both, uint32_t &rest) {
    both = join_two(T(), low, high);
    rest = join_two(T(), low - float(T(low)), high - float(T(high)));
}

/* The elements of a head are padded to D, and rows in shared memory by 16 bytes, so that eight of
 * them lie in different banks. `keys` counts NT * 8 of them from the warp's first. */
template <typename M, int D> struct tile;

template <typename T, int D> struct tile_16 {
    typedef T type;
    enum { PITCH = D + 8 };
    static __device__ __forceinline__ int column(int n, int e, int t) { return n * 8 + 2 * t + e; }
    template <int NT>
    static __device__ __forceinline__ void score(const T *q, const T *keys, float (&s)[NT][4]) {
        const int lane = threadIdx.x & 31, row = lane & 7, matrix = lane >> 3;
        const T *from_q = q + ((matrix & 1) * 8 + row) * PITCH + (matrix >> 1) * 8;
        const T *from_k = keys + ((matrix >> 1) * 8 + row) * PITCH + (matrix & 1) * 8;
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            uint32_t a[4];
            tn_matrix_load(a, from_q + d);
#pragma unroll
            for (int n = 0; n < NT; n += 2) {
                uint32_t b[4];
                tn_matrix_load(b, from_k + n * 8 * PITCH + d);
                tn_matrix<T>::deep(s[n], a[0], a[1], a[2], a[3], b[0], b[1]);
                tn_matrix<T>::deep(s[n + 1], a[0], a[1], a[2], a[3], b[2], b[3]);
            }
        }
    }
    template <int NT>
    static __device__ __forceinline__ void add(const float (&p)[NT][4], const T *values,
                                               float (&o)[D / 8][4]) {
        const int lane = threadIdx.x & 31, row = lane & 7, matrix = lane >> 3;
        const T *from = values + ((matrix & 1) * 8 + row) * PITCH + (matrix >> 1) * 8;
#pragma unroll
        for (int n = 0; n < NT; n += 2) {
            uint32_t a[4], rest[4];
            split_two<T>(p[n][0], p[n][1], a[0], rest[0]);
            split_two<T>(p[n][2], p[n][3], a[1], rest[1]);
            split_two<T>(p[n + 1][0], p[n + 1][1], a[2], rest[2]);
            split_two<T>(p[n + 1][2], p[n + 1][3], a[3], rest[3]);
#pragma unroll
            for (int d = 0; d < D / 8; d += 2) {
                uint32_t b[4];
                load_matrices_turned(from + n * 8 * PITCH + d * 8, b);
                tn_matrix<T>::deep(o[d], a[0], a[1], a[2], a[3], b[0], b[1]);
                tn_matrix<T>::deep(o[d + 1], a[0], a[1], a[2], a[3], b[2], b[3]);
                tn_matrix<T>::deep(o[d], rest[0], rest[1], rest[2], rest[3], b[0], b[1]);
                tn_matrix<T>::deep(o[d + 1], rest[0], rest[1], rest[2], rest[3], b[2], b[3]);
            }
        }
    }
};
template <int D> struct tile<__half, D> : tile_16<__half, D> {};
template <int D> struct tile<__nv_bfloat16, D> : tile_16<__nv_bfloat16, D> {};

/* Neighbours in depth are words t and t + 4 of a lane, so that a lane reads two at once; keys in
 * the second product likewise, as the scores lie. */
template <int D> struct tile<tn_tf32_number, D> {
    typedef float type;
    enum { PITCH = D + 4 };
    static __device__ __forceinline__ int column(int n, int e, int t) { return n * 8 + 2 * t + e; }
    static __device__ __forceinline__ uint2 load_two(const float *from) {
        const float2 both = *(const float2 *)from;
        return make_uint2(tn_tf32_round(both.x), tn_tf32_round(both.y));
    }
    template <int NT>
    static __device__ __forceinline__ void score(const float *q, const float *keys,
                                                 float (&s)[NT][4]) {
        const int lane = threadIdx.x & 31, at = (lane >> 2) * PITCH + 2 * (lane & 3);
#pragma unroll
        for (int d = 0; d < D; d += 8) {
            const uint2 low = load_two(q + at + d), high = load_two(q + at + 8 * PITCH + d);
#pragma unroll
            for (int n = 0; n < NT; n++) {
                const uint2 b = load_two(keys + n * 8 * PITCH + at + d);
                tn_matrix<tn_tf32_number>::deep(s[n], low.x, high.x, low.y, high.y, b.x, b.y);
            }
        }
    }
    template <int NT>
    static __device__ __forceinline__ void add(const float (&p)[NT][4], const float *values,
                                               float (&o)[D / 8][4]) {
        const int lane = threadIdx.x & 31, at = 2 * (lane & 3) * PITCH + (lane >> 2);
#pragma unroll
        for (int n = 0; n < NT; n++) {
            const uint32_t a0 = tn_tf32_round(p[n][0]), a1 = tn_tf32_round(p[n][2]);
            const uint32_t a2 = tn_tf32_round(p[n][1]), a3 = tn_tf32_round(p[n][3]);
#pragma unroll
            for (int d = 0; d < D / 8; d++) {
                const float *from = values + n * 8 * PITCH + at + d * 8;
                tn_matrix<tn_tf32_number>::deep(o[d], a0, a1, a2, a3, tn_tf32_round(from[0]),
                                                tn_tf32_round(from[PITCH]));
            }
        }
    }
};

/* Without tensor cores: a lane has the scores that it would have with them, and of each sixteen
 * elements of a value four beside each other. */
template <int D> struct tile<float, D> {
    typedef float type;
    enum { PITCH = D + 4 };
    static __device__ __forceinline__ int column(int n, int e, int t) {
        return n / 2 * 16 + 4 * t + n % 2 * 2 + e;
    }
    static __device__ __forceinline__ float dot(const float4 &a, const float4 &b, float sum) {
        return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
    }
    template <int NT>
    static __device__ __forceinline__ void score(const float *q, const float *keys,
                                                 float (&s)[NT][4]) {
        const int lane = threadIdx.x & 31;
        q += (lane >> 2) * PITCH;
        keys += 2 * (lane & 3) * PITCH;
#pragma unroll 4
        for (int d = 0; d < D; d += 4) {
            const float4 low = *(const float4 *)(q + d),
                         high = *(const float4 *)(q + 8 * PITCH + d);
#pragma unroll
            for (int n = 0; n < NT; n++) {
                const float *key = keys + n * 8 * PITCH + d;
                const float4 first = *(const float4 *)key, second = *(const float4 *)(key + PITCH);
                s[n][0] = dot(low, first, s[n][0]);
                s[n][1] = dot(low, second, s[n][1]);
                s[n][2] = dot(high, first, s[n][2]);
                s[n][3] = dot(high, second, s[n][3]);
            }
        }
    }
    template <int NT>
    static __device__ __forceinline__ void add(const float (&p)[NT][4], const float *values,
                                               float (&o)[D / 8][4]) {
        const int lane = threadIdx.x & 31, quad = lane & ~3, t = lane & 3;
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int key = 0; key < 8; key++) {
                const float low = __shfl_sync(0xffffffffu, p[n][key % 2], quad + key / 2);
                const float high = __shfl_sync(0xffffffffu, p[n][2 + key % 2], quad + key / 2);
                const float *from = values + (n * 8 + key) * PITCH + 4 * t;
#pragma unroll
                for (int d = 0; d < D / 16; d++) {
                    const float4 v = *(const float4 *)(from + d * 16);
                    o[2 * d][0] = fmaf(low, v.x, o[2 * d][0]);
                    o[2 * d][1] = fmaf(low, v.y, o[2 * d][1]);
                    o[2 * d + 1][0] = fmaf(low, v.z, o[2 * d + 1][0]);
                    o[2 * d + 1][1] = fmaf(low, v.w, o[2 * d + 1][1]);
                    o[2 * d][2] = fmaf(high, v.x, o[2 * d][2]);
                    o[2 * d][3] = fmaf(high, v.y, o[2 * d][3]);
                    o[2 * d + 1][2] = fmaf(high, v.z, o[2 * d + 1][2]);
                    o[2 * d + 1][3] = fmaf(high, v.w, o[2 * d + 1][3]);
                }
            }
    }
};

} // namespace

#endif
