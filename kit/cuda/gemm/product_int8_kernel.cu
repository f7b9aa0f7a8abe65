/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of products in 8 bits; see product_int8_job.h. Tiles of b and a lie in shared
 * memory, some steps ahead; warps multiply 16 x 8 x 32 at a time (the instruction mma.m16n8k32 of
 * PTX). A few rows are multiplied four bytes at a time by a warp for each column.
 */
#include "kit/cuda/gemm/product_int8_finish.cuh"
#include "kit/cuda/gemm/product_int8_job.h"
#include "kit/cuda/gemm/product_int8_tile.cuh"
#include <tenon/kit/cuda/launch.cuh>

namespace {

/* How rows of a lie: at whole 16 bytes, anywhere, or as an image says. */
enum { ACCESS_PACKS, ACCESS_BYTES, ACCESS_IMAGE };

/* A tile of ROWS x COLUMNS sums a block, a quarter of it a warp; blocks of a cluster share the
 * steps. the loads of b, which is constant, begin before a is there. */
template <typename T, int ROWS, int COLUMNS, int STAGES, int ACCESS>
__global__ void __launch_bounds__(THREADS) int8_kernel(const __grid_constant__ tn_cuda_int8_job l) {
    constexpr int M = ROWS / 32, N = COLUMNS / 16; /* pieces of 16 rows, of 8 columns, a warp */
    constexpr int STAGE = (ROWS + COLUMNS) * LINE; /* a's lines, then b's */
    /* The residual is asked for with a, where there are registers for it. */
    constexpr bool IS_EARLY = finisher<T, ROWS, COLUMNS>::COUNT * sizeof(T) <= 8;
    extern __shared__ __align__(16) int8_t shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * ROWS, first_column = blockIdx.y * COLUMNS;
    const int warp_row = warp % 2 * (ROWS / 2), warp_column = warp / 2 * (COLUMNS / 2);
    const int all_steps = (l.depth + DEPTH - 1) / DEPTH;
    const int share = (all_steps + (int)gridDim.z - 1) / (int)gridDim.z;
    const int begin = (int)blockIdx.z * share;
    const int steps = min(share, all_steps - begin); /* none for less than one */
    int sums[M][N][4] = {};
    pixels<ROWS> seen;
    auto load_a = [&](int step) {
        int8_t *tile = shared + step % STAGES * STAGE;
        const int at = (begin + step) * DEPTH;
        if (step < steps) {
            if constexpr (ACCESS == ACCESS_IMAGE)
                load_pixels<ROWS>(tile, l, seen, at);
            else
                load_tile<ROWS, ACCESS == ACCESS_PACKS>(tile, l.a, first_row, l.rows, l.depth, at,
                                                        l.depth);
        }
        asm volatile("cp.async.commit_group;");
    };
    auto load_b = [&](int step) {
        if (step < steps)
            load_tile<COLUMNS, true>(shared + step % STAGES * STAGE + ROWS * LINE, l.b,
                                     first_column, l.columns, l.padded_depth,
                                     (begin + step) * DEPTH, l.padded_depth);
    };
    finisher<T, ROWS, COLUMNS> end;
    operands<M, N> work;
#pragma unroll 1
    for (int step = 0; step < STAGES - 1 && step < steps; step++)
        load_b(step);
    end.begin(l);
    if constexpr (ACCESS == ACCESS_IMAGE) find_pixels<ROWS>(l, first_row, seen);
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; step++)
        load_a(step);
    if constexpr (IS_EARLY) end.load_residual(l);
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        const int8_t *stage = shared + step % STAGES * STAGE;
        work.load(stage + (warp_row + lane % 16) * LINE + lane / 16 * 16,
                  stage + ROWS * LINE + (warp_column + lane / 16 * 8 + lane % 8) * LINE +
                      lane / 8 % 2 * 16);
        load_b(step + STAGES - 1);
        load_a(step + STAGES - 1);
        work.multiply_all(sums);
    }
    if constexpr (!IS_EARLY) end.load_residual(l);
    __syncthreads(); /* the tiles are read: the sums overwrite them */
    int *const all = (int *)shared;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                *(int2 *)(all + (warp_row + m * 16 + lane / 4 + i * 8) * (COLUMNS + 8) +
                          warp_column + n * 8 + lane % 4 * 2) =
                    make_int2(sums[m][n][2 * i], sums[m][n][2 * i + 1]);
    if (gridDim.z > 1)
        tn_cuda_cluster_sync();
    else
        __syncthreads();
    if (end.is_plain)
        end.store_plain(l, all);
    else
        end.store_any(l, all);
    if (gridDim.z > 1) tn_cuda_cluster_sync(); /* they read this block's memory */
}

enum { BATCH = 4 };

__device__ __forceinline__ void load_batch(const uint4 *b, int packs, int first,
                                           uint4 (&w)[BATCH]) {
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        if (first + i * 32 < packs) w[i] = __ldg(b + first + i * 32);
}

/* A warp a column: 16 bytes a lane of it and of each row. Depths of whole 16 bytes. */
template <typename T>
__global__ void __launch_bounds__(THREADS) gemv_kernel(const __grid_constant__ tn_cuda_int8_job l) {
    const int lane = threadIdx.x % 32;
    const int column = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    const uint4 *b = (const uint4 *)(l.b + (int64_t)column * l.padded_depth);
    const int packs = column < l.columns ? l.depth / 16 : 0;
    uint4 w[BATCH];
    int sums[GEMV_ROWS] = {};
    load_batch(b, packs, lane, w);
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    if (column >= l.columns) return;
#pragma unroll 1
    for (int first = lane; first < packs; first += BATCH * 32) {
        if (first != lane) load_batch(b, packs, first, w);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const int k = first + i * 32;
            if (k >= packs) break;
#pragma unroll
            for (int m = 0; m < GEMV_ROWS; m++) {
                if (m >= l.rows) break;
                const uint4 x = ((const uint4 *)(l.a + (int64_t)m * l.depth))[k];
                sums[m] = __dp4a((int)x.x, (int)w[i].x, sums[m]);
                sums[m] = __dp4a((int)x.y, (int)w[i].y, sums[m]);
                sums[m] = __dp4a((int)x.z, (int)w[i].z, sums[m]);
                sums[m] = __dp4a((int)x.w, (int)w[i].w, sums[m]);
            }
        }
    }
    int sum = 0; /* of row `lane` */
#pragma unroll
    for (int m = 0; m < GEMV_ROWS; m++) {
        if (m >= l.rows) break;
        const int all = __reduce_add_sync(0xffffffffu, sums[m]);
        if (lane == m) sum = all;
    }
    if (lane >= l.rows) return;
    const int64_t at = (int64_t)lane * l.columns + column;
    float x = (float)sum * __ldg(l.scale + column) + __ldg(l.bias + column);
    if (l.residual) x += (float)((const T *)l.residual)[at] * l.residual_scale;
    store((T *)l.y + at,
          tn_cuda_activate_apart(l.activation.kind, l.activation.alpha, l.activation.beta, x),
          l.y_factor);
}

cudaError_t get_major(int *out_major) {
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    return error == cudaSuccess
               ? cudaDeviceGetAttribute(out_major, cudaDevAttrComputeCapabilityMajor, device)
               : error;
}

/* As tn_cuda_launch_early, and in clusters. Other GPUs do without. */
cudaError_t launch_blocks(void (*kernel)(tn_cuda_int8_job), dim3 blocks, size_t bytes,
                          cudaStream_t stream, const tn_cuda_int8_job &l) {
    int major = 0;
    const cudaError_t error = get_major(&major);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute attributes[2] = {};
    if (major != 9) blocks.z = 1;
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = attributes[1].val.clusterDim.y = 1;
    attributes[1].val.clusterDim.z = blocks.z;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = THREADS;
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = major != 9 ? 0 : blocks.z > 1 ? 2 : 1;
    return cudaLaunchKernelEx(&config, kernel, l);
}

/* No more stages in shared memory than there are steps: more blocks fit then. All kernels here have
 * one share of it, for it does not change while a multiprocessor is at work: else each would wait
 * for the one before. */
template <typename T, int ROWS, int COLUMNS, int STAGES, int ACCESS>
cudaError_t launch_kernel(const tn_cuda_int8_job *l, uint32_t splits, cudaStream_t stream) {
    constexpr int stage = (ROWS + COLUMNS) * LINE, sums = ROWS * (COLUMNS + 8) * (int)sizeof(int);
    const auto kernel = int8_kernel<T, ROWS, COLUMNS, STAGES, ACCESS>;
    const int steps = (l->depth + DEPTH - 1) / DEPTH;
    const int tiles = (steps < STAGES ? steps : STAGES) * stage,
              bytes = tiles < sums ? sums : tiles;
    const dim3 blocks((unsigned int)((l->rows + ROWS - 1) / ROWS),
                      (unsigned int)((l->columns + COLUMNS - 1) / COLUMNS), splits);
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                             cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess && bytes > 48 * 1024)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    return launch_blocks(kernel, blocks, (size_t)bytes, stream, *l);
}

template <typename T, int ROWS, int COLUMNS, int STAGES>
cudaError_t launch_tile(const tn_cuda_int8_job *l, uint32_t splits, cudaStream_t stream) {
    const bool is_aligned = (uintptr_t)l->a % 16 == 0;
    if (l->image.taps > 0)
        return is_aligned && l->image.channels % 16 == 0
                   ? launch_kernel<T, ROWS, COLUMNS, STAGES, ACCESS_IMAGE>(l, splits, stream)
                   : cudaErrorMisalignedAddress;
    return l->depth % 16 == 0 && is_aligned
               ? launch_kernel<T, ROWS, COLUMNS, STAGES, ACCESS_PACKS>(l, splits, stream)
               : launch_kernel<T, ROWS, COLUMNS, STAGES, ACCESS_BYTES>(l, splits, stream);
}

template <typename T>
cudaError_t launch(const tn_cuda_int8_job *l, tn_cuda_int8_tactic tactic, cudaStream_t stream) {
    const unsigned int each = THREADS / 32, columns = (unsigned int)l->columns;
    if (tactic.tile == TN_CUDA_INT8_GEMV && (uintptr_t)l->a % 16 == 0)
        return tn_cuda_launch_early(gemv_kernel<T>, (columns + each - 1) / each, THREADS, 0, stream,
                                    *l);
    if (tactic.tile == TN_CUDA_INT8_TILE_64X64)
        return launch_tile<T, 64, 64, 4>(l, tactic.splits, stream);
    if (tactic.tile == TN_CUDA_INT8_TILE_64X32)
        return launch_tile<T, 64, 32, 5>(l, tactic.splits, stream);
    return launch_tile<T, 32, 32, 6>(l, tactic.splits, stream);
}

} // namespace

cudaError_t tn_cuda_int8_launch(const tn_cuda_int8_job *job, tn_cuda_int8_tactic tactic,
                                cudaStream_t stream) {
    return job->y_type == TN_I8 ? launch<int8_t>(job, tactic, stream)
                                : launch<float>(job, tactic, stream);
}
