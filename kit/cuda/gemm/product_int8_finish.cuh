/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products in 8 bits (product_int8_kernel.cu): from the sums of a tile to what is stored. Four
 * neighbours a thread at once, summed over the blocks that share the tile's depth.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_INT8_FINISH_CUH
#define TN_KIT_CUDA_GEMM_PRODUCT_INT8_FINISH_CUH

#include "kit/cuda/bounds.cuh"
#include "kit/cuda/gemm/product_int8_tile.cuh"

namespace {

template <typename T, int EACH> struct alignas(EACH * sizeof(T)) pack { T items[EACH]; };

__device__ __forceinline__ void store(float *to, float x, float) {
    *to = x;
}
__device__ __forceinline__ void store(int8_t *to, float x, float factor) {
    *to = (int8_t)__float2int_rn(fminf(fmaxf(x * factor, -128.0f), 127.0f)); /* NaN: -128 */
}

/* ----------------------------------------------------------------------------------------------
 * blocks that share a tile's depth */

/* Four sums of a peer, which lie there as `mine` does here. */
__device__ __forceinline__ int4 load_peer(const int *mine, uint32_t peer) {
    int4 sums = {};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t address = tn_cuda_cluster_address(tn_cuda_shared_address(mine), peer);
    asm volatile("ld.shared::cluster.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sums.x), "=r"(sums.y), "=r"(sums.z), "=r"(sums.w)
                 : "r"(address)
                 : "memory");
#else
    (void)mine;
    (void)peer;
#endif
    return sums;
}

/* Four neighbours of all blocks that share the tile; all are loaded at once. */
__device__ __forceinline__ int4 gather_sums(const int *mine, uint32_t splits) {
    int4 each[TN_CUDA_INT8_MOST_SPLITS];
#pragma unroll
    for (uint32_t peer = 0; peer < TN_CUDA_INT8_MOST_SPLITS; peer++)
        each[peer] = peer < splits ? load_peer(mine, peer) : int4{};
#pragma unroll
    for (uint32_t peer = 1; peer < TN_CUDA_INT8_MOST_SPLITS; peer++) {
        each[0].x += each[peer].x;
        each[0].y += each[peer].y;
        each[0].z += each[peer].z;
        each[0].w += each[peer].w;
    }
    return each[0];
}

/* ----------------------------------------------------------------------------------------------
 * from sums to y */

/* What a thread stores of a tile, whose sums lie in shared memory in lines of COLUMNS + 8: four
 * neighbours of each of COUNT lines, fewer where other blocks have a part of the depth and store
 * theirs. */
template <typename T, int ROWS, int COLUMNS> struct finisher {
    enum { ACROSS = COLUMNS / 4, AT_ONCE = THREADS / ACROSS, COUNT = ROWS / AT_ONCE };
    typedef pack<T, 4> four;
    float scale[4], bias[4];
    four residual[COUNT];
    tn_cuda_bounds end;
    int column, splits;
    bool is_plain; /* the common case, for which all of a thread's lines are done at once */

    /* Constants; before what others write is there. */
    __device__ __forceinline__ void begin(const tn_cuda_int8_job &l) {
        column = (int)blockIdx.y * COLUMNS + (int)threadIdx.x % ACROSS * 4;
        splits = (int)gridDim.z;
        end = tn_cuda_bounds_of(l.activation);
        is_plain = splits == 1 && !end.is_slow && l.columns % 4 == 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const bool is_inside = column + i < l.columns;
            scale[i] = is_inside ? __ldg(l.scale + column + i) : 0;
            bias[i] = is_inside ? __ldg(l.bias + column + i) : 0;
        }
    }

    __device__ __forceinline__ int line(int j) const {
        return (j * splits + (int)blockIdx.z) * AT_ONCE + (int)threadIdx.x / ACROSS;
    }
    __device__ __forceinline__ bool is_inside(const tn_cuda_int8_job &l, int line) const {
        return line < ROWS && (int)blockIdx.x * ROWS + line < l.rows && column < l.columns;
    }
    __device__ __forceinline__ int64_t place(const tn_cuda_int8_job &l, int line) const {
        return ((int64_t)blockIdx.x * ROWS + line) * l.columns + column;
    }

    __device__ __forceinline__ void load_residual(const tn_cuda_int8_job &l) {
        if (!l.residual || !is_plain) return;
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            if (is_inside(l, line(j)))
                residual[j] = *(const four *)((const T *)l.residual + place(l, line(j)));
    }

    /* A real number before its activation. */
    __device__ __forceinline__ float value(const tn_cuda_int8_job &l, int i, int sum,
                                           T more) const {
        const float x = (float)sum * scale[i] + bias[i];
        return l.residual ? x + (float)more * l.residual_scale : x;
    }

    __device__ __forceinline__ void store_plain(const tn_cuda_int8_job &l, const int *sums) const {
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            if (!is_inside(l, line(j))) break;
            const int4 from =
                *(const int4 *)(sums + line(j) * (COLUMNS + 8) + (int)threadIdx.x % ACROSS * 4);
            const int own[4] = {from.x, from.y, from.z, from.w};
            four y;
#pragma unroll
            for (int i = 0; i < 4; i++)
                store(&y.items[i], tn_cuda_bound(end, value(l, i, own[i], residual[j].items[i])),
                      l.y_factor);
            *(four *)((T *)l.y + place(l, line(j))) = y;
        }
    }

    __device__ __forceinline__ four load_some(const tn_cuda_int8_job &l, const T *from) const {
        four more = {};
        if (l.columns % 4 == 0) return *(const four *)from;
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (column + i < l.columns) more.items[i] = from[i];
        return more;
    }
    __device__ __forceinline__ void store_some(const tn_cuda_int8_job &l, const four &y,
                                               T *to) const {
        if (l.columns % 4 == 0) {
            *(four *)to = y;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (column + i < l.columns) to[i] = y.items[i];
    }

    /* Everything, line by line. */
    __device__ __forceinline__ void store_any(const tn_cuda_int8_job &l, const int *sums) const {
#pragma unroll 1
        for (int j = 0; j < COUNT && is_inside(l, line(j)); j++) {
            const int *mine = sums + line(j) * (COLUMNS + 8) + (int)threadIdx.x % ACROSS * 4;
            four more = {}, y;
            if (l.residual) more = load_some(l, (const T *)l.residual + place(l, line(j)));
            const int4 all = splits > 1 ? gather_sums(mine, (uint32_t)splits) : *(const int4 *)mine;
            const int own[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float x = value(l, i, own[i], more.items[i]);
                x = end.is_slow ? tn_cuda_activate_apart(l.activation.kind, l.activation.alpha,
                                                         l.activation.beta, x)
                                : tn_cuda_bound(end, x);
                store(&y.items[i], x, l.y_factor);
            }
            store_some(l, y, (T *)l.y + place(l, line(j)));
        }
    }
};

} // namespace

#endif
