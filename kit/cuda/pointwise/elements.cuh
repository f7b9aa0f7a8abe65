/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise kernels over an output and inputs that are broadcast to it: where elements lie, 16
 * bytes a thread where rows allow it, and the element types. What is computed is a function object
 * that turns COUNT x N numbers into N. For nvcc (pointwise.cu), and for what is compiled at run
 * time (kit/cuda/fused).
 */
#ifndef TN_KIT_CUDA_POINTWISE_ELEMENTS_CUH
#define TN_KIT_CUDA_POINTWISE_ELEMENTS_CUH

#ifndef __CUDACC_RTC__
#include <tenon/kit/cuda/dependent.cuh>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/pointwise/elements_job.h"
#endif

/* Where the inputs' elements are that belong to element `at` of the output. */
template <int COUNT>
static __device__ __forceinline__ void tn_elements_find(const tn_cuda_elements_job &job,
                                                        uint32_t at, uint32_t (&offsets)[COUNT]) {
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        offsets[k] = 0;
#pragma unroll
    for (int i = TN_CUDA_ELEMENTS_RANK - 1; i >= 0; i--) {
        if (i >= (int)job.rank) continue;
        uint32_t index = at;
        if (i > 0) at = tn_divide_rest(at, job.extents[i], &index);
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            offsets[k] += index * job.strides[k][i];
    }
}

/* N elements of an input whose step along the row is `stride`, 0 or 1; N is a multiple of four. */
template <typename T, int N>
static __device__ __forceinline__ void tn_elements_row(const T *from, uint32_t stride, float scale,
                                                       float (&v)[N]) {
    if (stride == 0) {
        const float x = tn_number_load(*from, scale);
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = x;
        return;
    }
    constexpr int PACK = N < tn_pack<T>::count ? N : tn_pack<T>::count;
#pragma unroll
    for (int i = 0; i < N; i += PACK) {
        const tn_pack<T, PACK> pack = tn_pack_load<T, PACK>(from + i);
#pragma unroll
        for (int k = 0; k < PACK; k += 4)
            tn_pack_read(pack, k, scale, v + i + k);
    }
}

/* The inputs' types, from input K on. */
template <typename... T> struct tn_elements_inputs {
    static constexpr int count = 0;
    template <int K, int COUNT>
    static __device__ __forceinline__ void one(const tn_cuda_elements_job &,
                                               const uint32_t (&)[COUNT], float (&)[COUNT][1]) {}
    template <int K, int COUNT, int N>
    static __device__ __forceinline__ void rows(const tn_cuda_elements_job &,
                                                const uint32_t (&)[COUNT], float (&)[COUNT][N]) {}
};
template <typename T, typename... Rest> struct tn_elements_inputs<T, Rest...> {
    static constexpr int count = 1 + tn_elements_inputs<Rest...>::count;
    template <int K, int COUNT>
    static __device__ __forceinline__ void
    one(const tn_cuda_elements_job &job, const uint32_t (&offsets)[COUNT], float (&v)[COUNT][1]) {
        v[K][0] = tn_number_load(((const T *)job.from[K])[offsets[K]], job.scales[K]);
        tn_elements_inputs<Rest...>::template one<K + 1>(job, offsets, v);
    }
    template <int K, int COUNT, int N>
    static __device__ __forceinline__ void
    rows(const tn_cuda_elements_job &job, const uint32_t (&offsets)[COUNT], float (&v)[COUNT][N]) {
        tn_elements_row((const T *)job.from[K] + offsets[K], job.strides[K][job.rank - 1],
                        job.scales[K], v[K]);
        tn_elements_inputs<Rest...>::template rows<K + 1>(job, offsets, v);
    }
};

template <typename Y, typename INPUTS, typename FUNCTION>
static __device__ __forceinline__ void tn_elements_one(const tn_cuda_elements_job &job, uint32_t at,
                                                       const FUNCTION &function) {
    uint32_t offsets[INPUTS::count];
    float v[INPUTS::count][1], y[1];
    tn_elements_find(job, at, offsets);
    INPUTS::template one<0>(job, offsets, v);
    function(v, y);
    tn_number_store((Y *)job.to + at, y[0], job.inverse);
}

/* One element a thread. */
template <typename Y, typename INPUTS, typename FUNCTION>
static __device__ __forceinline__ void tn_elements_narrow(const tn_cuda_elements_job &job,
                                                          const FUNCTION &function) {
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (uint32_t at = blockIdx.x * TN_CUDA_ELEMENTS_THREADS + threadIdx.x; at < job.count;
         at += gridDim.x * TN_CUDA_ELEMENTS_THREADS)
        tn_elements_one<Y, INPUTS>(job, at, function);
}

/* N elements a thread, of one row: rows are whole multiples of them, but for the last of an output
 * of one axis. */
template <int N, typename Y, typename INPUTS, typename FUNCTION>
static __device__ __forceinline__ void tn_elements_wide(const tn_cuda_elements_job &job,
                                                        const FUNCTION &function) {
    constexpr int PACK = N < tn_pack<Y>::count ? N : tn_pack<Y>::count;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (uint32_t at = (blockIdx.x * TN_CUDA_ELEMENTS_THREADS + threadIdx.x) * N; at < job.count;
         at += gridDim.x * TN_CUDA_ELEMENTS_THREADS * N) {
        if (job.count - at < N) {
            for (; at < job.count; at++)
                tn_elements_one<Y, INPUTS>(job, at, function);
            return;
        }
        uint32_t offsets[INPUTS::count];
        float v[INPUTS::count][N], y[N];
        tn_elements_find(job, at, offsets);
        INPUTS::template rows<0>(job, offsets, v);
        function(v, y);
#pragma unroll
        for (int i = 0; i < N; i += PACK) {
            tn_pack<Y, PACK> pack;
#pragma unroll
            for (int k = 0; k < PACK; k += 4)
                tn_pack_write(pack, k, y + i + k, job.inverse);
            tn_pack_store((Y *)job.to + at + i, pack);
        }
    }
}

#endif
