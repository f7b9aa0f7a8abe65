/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block does of the products in product_cluster.h. It has a slice of the middle. Before the
 * kernel in front is done it loads its weights: of the first product to registers, of the second
 * one to shared memory by one bulk copy. Then it computes its slice of the middle for the rows of
 * its cluster, and what that adds to the rows of y. These sums go to the blocks of the cluster, a
 * row each or a few, which add them up in the same order always and have whole rows to normalise.
 * Private to product_cluster.cu.
 */
#ifndef TN_KIT_CUDA_GEMM_PRODUCT_CLUSTER_CUH
#define TN_KIT_CUDA_GEMM_PRODUCT_CLUSTER_CUH

#include "kit/cuda/cluster.cuh"
#include "kit/cuda/gemm/product_cluster.h"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>
#include <tenon/kit/cuda/warp.cuh>

namespace {

enum {
    ROWS = 16, /* of a cluster */
    COLUMNS = TN_CLUSTER_COLUMNS,
    MIDDLE = TN_CLUSTER_MIDDLE,
    WARPS = TN_CLUSTER_WARPS,
    THREADS = WARPS * 32,
    PACK = 16, /* bytes of a copy; rows in shared memory have one more: 8 use all banks */
    OWN = 32,  /* columns of a warp */
    PARTS = MIDDLE / OWN,         /* warps beside each other in the first product */
    DEEP = WARPS / PARTS,         /* warps that share its depth */
    STEPS = COLUMNS / DEEP / 16,  /* of 16 in depth, a warp */
    X_PITCH = COLUMNS * 2 + PACK, /* bytes */
    M_PITCH = MIDDLE * 2 + PACK,
    PART_PITCH = MIDDLE + 8, /* floats: 8 bytes of each lane of half a warp use all banks */
    SUMS_PITCH = COLUMNS + 8,
    FOURS = COLUMNS / 4, /* of a row; as many threads finish one */
    ROW_WARPS = FOURS / 32,
    GROUPS = WARPS / ROW_WARPS, /* rows that a block finishes at most */
};
static_assert((int)PARTS * (int)OWN == (int)MIDDLE && (int)WARPS * (int)OWN == (int)COLUMNS &&
                  (int)DEEP * (int)PARTS == (int)WARPS &&
                  (int)DEEP * (int)STEPS * 16 == (int)COLUMNS &&
                  (int)ROWS * (int)MIDDLE % ((int)THREADS * 4) == 0,
              "warps and threads share the work out evenly");

/* How the work is cut, and parts of the shared memory, bytes from its beginning. */
struct cluster_job : tn_cuda_cluster_product {
    int32_t splits, slice;
    float inverse_columns; /* 1 / columns */
    tn_divider by_splits;
    int32_t at_x, at_middle, at_vectors, at_sums, at_joined; /* the second's weights are at 0 */
};

__host__ __device__ __forceinline__ int second_bytes(int slice) {
    return slice / 16 * WARPS * 2 * TN_CLUSTER_TILE;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

template <typename T> __device__ __forceinline__ T number_of(float x) {
    T number;
    tn_number_store(&number, x, 0);
    return number;
}

/* This lane's weights of the first product. */
__device__ __forceinline__ void load_first(const cluster_job &j, uint4 (&weights)[STEPS * 2]) {
    const int warp = (int)threadIdx.x >> 5, lane = (int)threadIdx.x & 31;
    const uint4 *from =
        (const uint4 *)j.first + ((int64_t)blockIdx.x * WARPS + warp) * (STEPS * 2 * 32) + lane;
#pragma unroll
    for (int i = 0; i < STEPS * 2; i++)
        weights[i] = from[i * 32];
}

/* Begins to copy what is added along the columns. */
__device__ __forceinline__ void copy_vectors(const cluster_job &j, char *to) {
    const int of_first = j.has_first ? (int)MIDDLE : 0;
    const float *own = j.vectors + (int)blockIdx.x * of_first;
    const float *all = j.vectors + j.splits * of_first;
    for (int i = threadIdx.x; i < (of_first + TN_CLUSTER_VECTORS * COLUMNS) / 4; i += THREADS)
        tn_copy_sixteen(to + i * PACK, i * 4 < of_first ? own + i * 4 : all + i * 4 - of_first);
}

/* Begins to copy the rows of x, of which a block without a first product needs its slice: zeros
 * where there is none. */
template <bool HAS_FIRST>
__device__ __forceinline__ void copy_x(const cluster_job &j, int first_row, char *to) {
    const int first = HAS_FIRST ? 0 : (int)blockIdx.x * j.slice;
    const int count = HAS_FIRST ? j.depth : min(j.slice, j.depth - first);
    const char *x = (const char *)j.x;
#pragma unroll
    for (int n = 0; n < ROWS * COLUMNS / 8 / THREADS; n++) {
        const int i = n * THREADS + (int)threadIdx.x, row = i / (COLUMNS / 8);
        const int at = i % (COLUMNS / 8) * 8;
        const bool is_there = first_row + row < j.rows && at < count;
        const int64_t from = (int64_t)(first_row + row) * j.depth + first + at;
        tn_copy_sixteen(to + row * X_PITCH + at * 2, is_there ? x + from * 2 : x, is_there);
    }
}

/* 16 rows of a, 16 elements of each, by 32 columns. */
template <typename T>
__device__ __forceinline__ void multiply(const char *a, const uint4 &low, const uint4 &high,
                                         float (&sums)[4][4]) {
    uint32_t of_a[4];
    tn_matrix_load(of_a, a);
    tn_matrix<T>::deep(sums[0], of_a[0], of_a[1], of_a[2], of_a[3], low.x, low.y);
    tn_matrix<T>::deep(sums[1], of_a[0], of_a[1], of_a[2], of_a[3], low.z, low.w);
    tn_matrix<T>::deep(sums[2], of_a[0], of_a[1], of_a[2], of_a[3], high.x, high.y);
    tn_matrix<T>::deep(sums[3], of_a[0], of_a[1], of_a[2], of_a[3], high.z, high.w);
}

/* Where a lane's matrices of 16 rows begin. */
__device__ __forceinline__ const char *rows_of(const char *rows, int pitch) {
    const int lane = (int)threadIdx.x & 31;
    return rows + (lane & 15) * pitch + (lane >> 4) * PACK;
}

/* A warp's sums of 32 columns. */
__device__ __forceinline__ void store_sums(const float (&sums)[4][4], float *to, int pitch) {
    const int lane = (int)threadIdx.x & 31;
    to += (lane >> 2) * pitch + (lane & 3) * 2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        *(float2 *)(to + i * 8) = make_float2(sums[i][0], sums[i][1]);
        *(float2 *)(to + 8 * pitch + i * 8) = make_float2(sums[i][2], sums[i][3]);
    }
}

__device__ __forceinline__ void add(float4 &sum, const float4 &more) {
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
}

template <typename T> __device__ __forceinline__ void store_four(void *to, const float (&four)[4]) {
    union {
        uint2 bits;
        T items[4];
    } all = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
        all.items[i] = number_of<T>(four[i]);
    *(uint2 *)to = all.bits;
}

/* The block's slice of the middle: the warps' parts of the depth meet in shared memory. */
template <typename T>
__device__ __forceinline__ void compute_middle(const cluster_job &j, char *memory,
                                               const uint4 (&weights)[STEPS * 2]) {
    const int warp = (int)threadIdx.x >> 5, part = warp % PARTS, deep = warp / PARTS;
    const char *a = rows_of(memory + j.at_x, X_PITCH) + deep * STEPS * 32;
    float *parts = (float *)(memory + j.at_sums), sums[4][4] = {};
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        multiply<T>(a + i * 32, weights[i * 2], weights[i * 2 + 1], sums);
    store_sums(sums, parts + deep * ROWS * PART_PITCH + part * OWN, PART_PITCH);
    __syncthreads();
    const int first = (int)threadIdx.x / (MIDDLE / 4), column = (int)threadIdx.x % (MIDDLE / 4) * 4;
    const float4 bias = *(const float4 *)(memory + j.at_vectors + column * 4);
#pragma unroll
    for (int row = first; row < ROWS; row += THREADS / (MIDDLE / 4)) {
        const float *from = parts + row * PART_PITCH + column;
        float4 sum = bias;
#pragma unroll
        for (int i = 0; i < DEEP; i++)
            add(sum, *(const float4 *)(from + i * ROWS * PART_PITCH));
        float four[4] = {sum.x, sum.y, sum.z, sum.w};
        tn_cuda_activate_all<T>(j.between, four);
        store_four<T>(memory + j.at_middle + row * M_PITCH + column * 2, four);
    }
    __syncthreads();
}

/* What a slice of the middle adds to a warp's columns of y. */
template <typename T>
__device__ __forceinline__ void add_second(const char *middle, int pitch, int steps,
                                           const char *weights, float (&sums)[4][4]) {
    const char *a = rows_of(middle, pitch);
    const uint4 *from = (const uint4 *)weights + (int)threadIdx.x / 32 * 64 + (threadIdx.x & 31);
#pragma unroll 4
    for (int i = 0; i < steps; i++)
        multiply<T>(a + i * 32, from[i * WARPS * 64], from[i * WARPS * 64 + 32], sums);
}

/* Sums of whole rows to the blocks that finish them: row i is block i % splits'. */
__device__ __forceinline__ void share_out(const cluster_job &j, char *memory, uint64_t *barrier) {
    const float *sums = (const float *)(memory + j.at_sums);
    const uint32_t joined = tn_cuda_shared_address(memory + j.at_joined);
    const uint32_t are_joined = tn_cuda_shared_address(barrier);
#pragma unroll
    for (int n = 0; n < ROWS * FOURS / THREADS; n++) {
        const int i = n * THREADS + (int)threadIdx.x, row = i / FOURS, four = i % FOURS;
        uint32_t block;
        const int slot = (int)tn_divide_rest((uint32_t)row, j.by_splits, &block);
        const int to = (slot * j.splits + (int)blockIdx.x) * FOURS + four;
        tn_cuda_cluster_push(tn_cuda_cluster_address(joined + (uint32_t)to * PACK, block),
                             *(const float4 *)(sums + row * SUMS_PITCH + four * 4),
                             tn_cuda_cluster_address(are_joined, block));
    }
}

/* The four columns of a row that a thread finishes. */
struct finished {
    int slot, column;    /* of the block's rows; the first of the columns */
    int64_t to;          /* in y; below 0: there is none */
    float inverse_count; /* 1 / the columns of the row that the warp has */
};
/* Elements that the `index`th warp of a row has. */
__device__ __forceinline__ float count_of(int columns, int index) {
    return (float)max(min(columns - index * 128, 128), 0);
}
__device__ __forceinline__ finished find_finished(const cluster_job &j, int first_row) {
    const int slot = (int)threadIdx.x / FOURS, column = (int)threadIdx.x % FOURS * 4;
    const int row = (int)blockIdx.x + slot * j.splits;
    const bool is_there = row < ROWS && first_row + row < j.rows && column < j.columns;
    return {slot, column, is_there ? (int64_t)(first_row + row) * j.columns + column : -1,
            1.0f / fmaxf(count_of(j.columns, column / 128), 1.0f)};
}

/* Mean and one over the deviation of this thread's row: each warp's own mean and squares around it
 * first, which the row's warps join ("Algorithms for computing the sample variance", T. F. Chan,
 * G. H. Golub and R. J. LeVeque, 1983). All threads of the block call it. */
__device__ __forceinline__ float2 find_moments(const cluster_job &j, const finished &at,
                                               const float (&four)[4]) {
    __shared__ float2 moments[WARPS];
    const int warp = (int)threadIdx.x >> 5;
    const bool is_there = at.column < j.columns;
    float sum = is_there ? (four[0] + four[1]) + (four[2] + four[3]) : 0.0f, squares = 0;
    const float own = tn_warp_sum(sum) * at.inverse_count;
#pragma unroll
    for (int i = 0; i < 4; i++)
        squares += is_there ? (four[i] - own) * (four[i] - own) : 0.0f;
    squares = tn_warp_sum(squares);
    if ((threadIdx.x & 31) == 0) moments[warp] = make_float2(own, squares);
    __syncthreads();
    const float2 *of_row = moments + warp / ROW_WARPS * ROW_WARPS;
    float mean = 0;
    sum = 0;
#pragma unroll
    for (int i = 0; i < ROW_WARPS; i++)
        mean = fmaf(of_row[i].x, count_of(j.columns, i), mean);
    mean *= j.inverse_columns;
#pragma unroll
    for (int i = 0; i < ROW_WARPS; i++) {
        const float apart = of_row[i].x - mean;
        sum += fmaf(apart * apart, count_of(j.columns, i), of_row[i].y);
    }
    return make_float2(mean, rsqrtf(fmaf(sum, j.inverse_columns, j.epsilon)));
}

/* Row `at` from the sums that came. */
template <typename T>
__device__ __forceinline__ void finish(const cluster_job &j, const finished &at, uint2 residual,
                                       const char *memory) {
    const float *vectors =
        (const float *)(memory + j.at_vectors) + (j.has_first ? (int)MIDDLE : 0) + at.column;
    union {
        uint2 bits;
        T items[4];
    } rest = {residual};
    float four[4] = {};
    if (at.to >= 0) {
        const float4 *from =
            (const float4 *)(memory + j.at_joined) + at.slot * j.splits * FOURS + at.column / 4;
        float4 sum = *(const float4 *)vectors;
#pragma unroll 4
        for (int i = 0; i < j.splits; i++)
            add(sum, from[i * FOURS]);
        four[0] = sum.x, four[1] = sum.y, four[2] = sum.z, four[3] = sum.w;
#pragma unroll
        for (int i = 0; i < 4; i++)
            four[i] += tn_number_load(rest.items[i], 0);
    }
    if (j.has_norm) {
        const float4 scale = *(const float4 *)(vectors + COLUMNS);
        const float4 shift = *(const float4 *)(vectors + 2 * COLUMNS);
        const float2 moments = find_moments(j, at, four);
        four[0] = fmaf((four[0] - moments.x) * moments.y, scale.x, shift.x);
        four[1] = fmaf((four[1] - moments.x) * moments.y, scale.y, shift.y);
        four[2] = fmaf((four[2] - moments.x) * moments.y, scale.z, shift.z);
        four[3] = fmaf((four[3] - moments.x) * moments.y, scale.w, shift.w);
    }
    if (at.to >= 0) store_four<T>((char *)j.y + at.to * 2, four);
}

#endif

} // namespace

#endif
