/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of pointwise.h. A thread does 16 bytes of the output: memory is what they wait for,
 * so the operation is a number that is looked at once for four elements, and one kernel a type
 * serves all operators.
 */
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/pointwise/map.cuh"
#include "kit/cuda/pointwise/pointwise_job.h"

namespace {

enum { THREADS = 256 };
const int64_t MOST_BLOCKS = 1 << 20;

template <typename T>
__global__ void __launch_bounds__(THREADS)
    map(const __grid_constant__ tn_cuda_pointwise_job job, int64_t count) {
    constexpr int EACH = tn_pack<T>::count;
    const T *from = (const T *)job.a;
    T *to = (T *)job.y;
    const int64_t step = (int64_t)gridDim.x * THREADS * EACH;
    for (int64_t at = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH; at < count;
         at += step) {
        if (at + EACH <= count) {
            tn_pack<T> pack = tn_pack_load(from + at);
#pragma unroll
            for (int i = 0; i < EACH; i += 4) {
                float v[4];
                tn_pack_read(pack, i, job.a_scale, v);
                tn_chain_four(job.chain, v);
                tn_pack_write(pack, i, v, job.y_inverse);
            }
            tn_pack_store(to + at, pack);
            continue;
        }
        for (int64_t i = at; i < count; i++)
            tn_number_store(to + i, tn_chain_one(job.chain, tn_number_load(from[i], job.a_scale)),
                            job.y_inverse);
    }
}

/* The walk of walk.h with 32-bit numbers. */
struct path {
    uint32_t rank, count; /* elements of the output */
    tn_divider extents[TN_MAX_RANK];
    uint32_t strides[2][TN_MAX_RANK];
};

__device__ __noinline__ float4 raise(float4 a, float4 b) {
    return make_float4(powf(a.x, b.x), powf(a.y, b.y), powf(a.z, b.z), powf(a.w, b.w));
}

__device__ __forceinline__ float greater(float a, float b) {
    return isnan(a) || isnan(b) ? a + b : fmaxf(a, b);
}
__device__ __forceinline__ float smaller(float a, float b) {
    return isnan(a) || isnan(b) ? a + b : fminf(a, b);
}

#define EACH_OF_FOUR(expression)                                                                   \
    {                                                                                              \
        _Pragma("unroll") for (int i = 0; i < 4; i++) {                                            \
            const float x = a[i], z = b[i];                                                        \
            a[i] = (expression);                                                                   \
        }                                                                                          \
        break;                                                                                     \
    }

/* Into a. */
__device__ __forceinline__ void combine_four(uint32_t combine, float *a, const float *b) {
    switch (combine) {
    case TN_COMBINE_ADD:
        EACH_OF_FOUR(x + z)
    case TN_COMBINE_SUB:
        EACH_OF_FOUR(x - z)
    case TN_COMBINE_MUL:
        EACH_OF_FOUR(x * z)
    case TN_COMBINE_DIV:
        EACH_OF_FOUR(__fdiv_rn(x, z))
    case TN_COMBINE_MAX:
        EACH_OF_FOUR(greater(x, z))
    case TN_COMBINE_MIN:
        EACH_OF_FOUR(smaller(x, z))
    case TN_COMBINE_PRELU:
        EACH_OF_FOUR(x < 0 ? x * z : x)
    default: {
        const float4 y =
            raise(make_float4(a[0], a[1], a[2], a[3]), make_float4(b[0], b[1], b[2], b[3]));
        a[0] = y.x, a[1] = y.y, a[2] = y.z, a[3] = y.w;
    }
    }
}

/* Where both inputs are at element `at` of the output. */
__device__ __forceinline__ void find(const path &p, uint32_t at, uint32_t *out_a, uint32_t *out_b) {
    *out_a = *out_b = 0;
#pragma unroll
    for (int i = TN_MAX_RANK - 1; i >= 0; i--) {
        if (i >= (int)p.rank) continue;
        uint32_t place = at;
        if (i > 0) at = tn_divide_rest(at, p.extents[i], &place);
        *out_a += place * p.strides[0][i];
        *out_b += place * p.strides[1][i];
    }
}

/* One element a thread. */
template <typename T, typename B>
__global__ void __launch_bounds__(THREADS)
    combine_narrow(const __grid_constant__ tn_cuda_pointwise_job job,
                   const __grid_constant__ path p) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < p.count; at += step) {
        uint32_t a, b;
        find(p, (uint32_t)at, &a, &b);
        const float x = tn_number_load(((const T *)job.a)[a], job.a_scale);
        const float z = tn_number_load(((const B *)job.b)[b], job.b_scale);
        float v[4] = {x, x, x, x}, w[4] = {z, z, z, z};
        combine_four(job.combine, v, w);
        tn_chain_four(job.chain, v);
        tn_number_store((T *)job.y + at, v[0], job.y_inverse);
    }
}

/* EACH elements of an input whose step along the row is `stride`, 0 or 1. */
template <typename T, int EACH>
__device__ __forceinline__ void load_row(const T *from, uint32_t stride, float scale, float *v) {
    if (stride == 0) {
        const float x = tn_number_load(*from, scale);
#pragma unroll
        for (int i = 0; i < EACH; i++)
            v[i] = x;
        return;
    }
    constexpr int PACK = tn_pack<T>::count;
#pragma unroll
    for (int i = 0; i < EACH; i += PACK) {
        const tn_pack<T> pack = tn_pack_load(from + i);
#pragma unroll
        for (int k = 0; k < PACK; k += 4)
            tn_pack_read(pack, k, scale, v + i + k);
    }
}

/* A thread does 16 bytes of the output within one row: rows are whole multiples of them. */
template <typename T, typename B>
__global__ void __launch_bounds__(THREADS)
    combine_wide(const __grid_constant__ tn_cuda_pointwise_job job,
                 const __grid_constant__ path p) {
    constexpr int EACH = tn_pack<T>::count;
    const int64_t step = (int64_t)gridDim.x * THREADS * EACH;
    for (int64_t at = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH; at < p.count;
         at += step) {
        uint32_t a, b;
        float v[EACH], w[EACH];
        tn_pack<T> pack;
        find(p, (uint32_t)at, &a, &b);
        load_row<T, EACH>((const T *)job.a + a, p.strides[0][p.rank - 1], job.a_scale, v);
        load_row<B, EACH>((const B *)job.b + b, p.strides[1][p.rank - 1], job.b_scale, w);
#pragma unroll
        for (int i = 0; i < EACH; i += 4) {
            combine_four(job.combine, v + i, w + i);
            tn_chain_four(job.chain, v + i);
            tn_pack_write(pack, i, v + i, job.y_inverse);
        }
        tn_pack_store((T *)job.y + at, pack);
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* Whether rows of `each` elements can be read whole, at addresses that 16 divides. */
bool is_wide(const tn_cuda_walk *walk, int64_t each) {
    const uint32_t last = walk->rank - 1;
    if (walk->extents[last] % each != 0) return false;
    for (uint32_t k = 0; k < 2; k++) {
        if (walk->strides[k][last] != 0 && walk->strides[k][last] != 1) return false;
        for (uint32_t i = 0; i < last && walk->strides[k][last] == 1; i++)
            if (walk->strides[k][i] % each != 0) return false;
    }
    return true;
}

template <typename T, typename B>
cudaError_t combine_as(const tn_cuda_pointwise_job *job, const tn_cuda_walk *walk,
                       cudaStream_t stream) {
    constexpr int EACH = tn_pack<T>::count;
    path p = {};
    int64_t count = 1;
    p.rank = walk->rank;
    for (uint32_t i = 0; i < walk->rank; i++) {
        count *= walk->extents[i];
        p.extents[i] = tn_divider_make((uint32_t)walk->extents[i]);
        for (uint32_t k = 0; k < 2; k++)
            p.strides[k][i] = (uint32_t)walk->strides[k][i];
    }
    p.count = (uint32_t)count;
    if (is_wide(walk, EACH))
        combine_wide<T, B>
            <<<tn_cuda_blocks(count, THREADS * EACH, MOST_BLOCKS), THREADS, 0, stream>>>(*job, p);
    else
        combine_narrow<T, B>
            <<<tn_cuda_blocks(count, THREADS, MOST_BLOCKS), THREADS, 0, stream>>>(*job, p);
    return cudaGetLastError();
}

template <typename T>
cudaError_t map_as(const tn_cuda_pointwise_job *job, int64_t count, cudaStream_t stream) {
    map<T><<<tn_cuda_blocks(count, THREADS * tn_pack<T>::count, MOST_BLOCKS), THREADS, 0, stream>>>(
        *job, count);
    return cudaGetLastError();
}

template <typename T>
cudaError_t combine_with(const tn_cuda_pointwise_job *job, const tn_cuda_walk *walk,
                         cudaStream_t stream) {
    return job->b_type == TN_F32 ? combine_as<T, float>(job, walk, stream)
                                 : combine_as<T, T>(job, walk, stream);
}

} // namespace

extern "C" cudaError_t tn_cuda_map_launch(const tn_cuda_pointwise_job *job, int64_t count,
                                          cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return map_as<float>(job, count, stream);
    case TN_F16:
        return map_as<__half>(job, count, stream);
    case TN_BF16:
        return map_as<__nv_bfloat16>(job, count, stream);
    default:
        return map_as<int8_t>(job, count, stream);
    }
}

extern "C" cudaError_t tn_cuda_combine_launch(const tn_cuda_pointwise_job *job,
                                              const tn_cuda_walk *walk, cudaStream_t stream) {
    switch (job->type) {
    case TN_F32:
        return combine_with<float>(job, walk, stream);
    case TN_F16:
        return combine_with<__half>(job, walk, stream);
    case TN_BF16:
        return combine_with<__nv_bfloat16>(job, walk, stream);
    default:
        return combine_with<int8_t>(job, walk, stream);
    }
}
