/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of products in 8 bits; see product_bytes_job.h. Tiles of b and a lie in shared
 * memory, some steps ahead; warps multiply 16 x 8 x 32 at a time (the instruction mma.m16n8k32 of
 * PTX). A few rows are multiplied four bytes at a time by a warp for each column.
 */
#include "common/cuda/launch.cuh"
#include "common/cuda/product_bytes_job.h"

namespace {

enum { THREADS = 128, DEPTH = TN_CUDA_BYTES_DEPTH, LINE = TN_CUDA_BYTES_LINE };
enum { FEW_ROWS = TN_CUDA_BYTES_FEW_ROWS };
enum { PARTS = DEPTH / 16, LINES_AT_ONCE = THREADS / PARTS };

/* How rows of a lie: at whole 16 bytes, anywhere, or as an image says. */
enum { ACCESS_PACKS, ACCESS_BYTES, ACCESS_IMAGE };

__device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* 16 bytes, or zeros. */
__device__ __forceinline__ void copy_line(int8_t *to, const int8_t *from, bool is_inside) {
    const int bytes = is_inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes));
}

__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const int8_t *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from))
                 : "memory");
}

__device__ __forceinline__ void multiply(int (&sums)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* DEPTH bytes of LINES lines from `first` on; lines beyond `count`, and bytes beyond `bytes`, are
 * zeros. IS_ALIGNED: lines begin at whole 16 bytes. */
template <int LINES, bool IS_ALIGNED>
__device__ __forceinline__ void load_tile(int8_t *tile, const int8_t *from, int first, int count,
                                          int stride, int at, int bytes) {
    for (int i = threadIdx.x; i < LINES * (DEPTH / 16); i += THREADS) {
        const int line = i / (DEPTH / 16), part = i % (DEPTH / 16) * 16;
        const bool is_line = first + line < count;
        const int8_t *source = from + (int64_t)(is_line ? first + line : 0) * stride;
        int8_t *to = tile + line * LINE + part;
        if constexpr (IS_ALIGNED) {
            const bool is_inside = is_line && at + part < bytes;
            copy_line(to, is_inside ? source + at + part : from, is_inside);
        } else {
            for (int k = 0; k < 16; k++)
                to[k] = is_line && at + part + k < bytes ? source[at + part + k] : (int8_t)0;
        }
    }
}

template <typename T, int EACH> struct alignas(EACH * sizeof(T)) pack { T items[EACH]; };

__device__ __forceinline__ void store(float *to, float x, float) {
    *to = x;
}
__device__ __forceinline__ void store(int8_t *to, float x, float factor) {
    *to = (int8_t)__float2int_rn(fminf(fmaxf(x * factor, -128.0f), 127.0f)); /* NaN: -128 */
}

template <typename T>
__device__ __forceinline__ T finish(const tn_cuda_bytes_job &l, float scale, float bias, int sum,
                                    T residual) {
    T y;
    float x = (float)sum * scale + bias;
    if (l.residual) x += (float)residual * l.residual_scale;
    store(&y, tn_cuda_activate(l.activation, x), l.y_factor);
    return y;
}

/* ----------------------------------------------------------------------------------------------
 * blocks that share a tile's depth */

__device__ __forceinline__ void wait_for_peers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* Four sums of a peer, which lie there as `mine` does here. */
__device__ __forceinline__ int4 load_peer(const int *mine, uint32_t peer) {
    int4 sums = {};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(shared_address(mine)), "r"(peer));
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

/* Four neighbours of all blocks that share the tile. */
__device__ __forceinline__ int4 gather_sums(const int *mine, uint32_t splits) {
    int4 all = splits > 1 ? load_peer(mine, 0) : *(const int4 *)mine;
    for (uint32_t peer = 1; peer < splits; peer++) {
        const int4 more = load_peer(mine, peer);
        all.x += more.x;
        all.y += more.y;
        all.z += more.z;
        all.w += more.w;
    }
    return all;
}

/* ----------------------------------------------------------------------------------------------
 * from sums to y */

/* What a thread stores of a tile, whose sums lie in shared memory in lines of COLUMNS + 8: four
 * neighbours of each of COUNT lines, fewer where other blocks have a part of the depth and store
 * theirs. */
template <typename T, int ROWS, int COLUMNS> struct finisher {
    enum { ACROSS = COLUMNS / 4, AT_ONCE = THREADS / ACROSS, COUNT = ROWS / AT_ONCE };
    float scale[4], bias[4];
    pack<T, 4> residual[COUNT];
    int column, splits;

    /* Constants; before what others write is there. */
    __device__ __forceinline__ void begin(const tn_cuda_bytes_job &l) {
        column = (int)blockIdx.y * COLUMNS + (int)threadIdx.x % ACROSS * 4;
        splits = (int)gridDim.z;
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
    __device__ __forceinline__ bool is_inside(const tn_cuda_bytes_job &l, int line) const {
        return line < ROWS && (int)blockIdx.x * ROWS + line < l.rows && column < l.columns;
    }
    __device__ __forceinline__ int64_t place(const tn_cuda_bytes_job &l, int line) const {
        return ((int64_t)blockIdx.x * ROWS + line) * l.columns + column;
    }

    __device__ __forceinline__ void load_residual(const tn_cuda_bytes_job &l) {
        if (!l.residual) return;
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            if (!is_inside(l, line(j))) break;
            const T *from = (const T *)l.residual + place(l, line(j));
            if (l.columns % 4 == 0) {
                residual[j] = *(const pack<T, 4> *)from;
                continue;
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (column + i < l.columns) residual[j].items[i] = from[i];
        }
    }

    __device__ __forceinline__ void store_line(const tn_cuda_bytes_job &l, int line, int4 sums,
                                               const pack<T, 4> &more) const {
        const int own[4] = {sums.x, sums.y, sums.z, sums.w};
        T *to = (T *)l.y + place(l, line);
        pack<T, 4> y;
#pragma unroll
        for (int i = 0; i < 4; i++)
            y.items[i] = finish<T>(l, scale[i], bias[i], own[i], more.items[i]);
        if (l.columns % 4 == 0) {
            *(pack<T, 4> *)to = y;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (column + i < l.columns) to[i] = y.items[i];
    }

    __device__ __forceinline__ void store_tile(const tn_cuda_bytes_job &l, const int *sums) const {
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            if (!is_inside(l, line(j))) break;
            const int *from = sums + line(j) * (COLUMNS + 8) + (int)threadIdx.x % ACROSS * 4;
            store_line(l, line(j), gather_sums(from, (uint32_t)splits), residual[j]);
        }
    }
};

/* ----------------------------------------------------------------------------------------------
 * tiles */

/* Where the rows that a thread loads begin in an image: LINES of a tile, one in LINES_AT_ONCE. */
template <int LINES> struct places {
    int image[LINES / LINES_AT_ONCE], y[LINES / LINES_AT_ONCE], x[LINES / LINES_AT_ONCE];
};

template <int LINES>
__device__ __forceinline__ void find_places(const tn_cuda_bytes_job &l, int first,
                                            places<LINES> &at) {
    const tn_cuda_product_image &image = l.image;
#pragma unroll
    for (int i = 0; i < LINES / LINES_AT_ONCE; i++) {
        const int row = first + (int)threadIdx.x / PARTS + i * LINES_AT_ONCE;
        const int across = row / image.output[1];
        at.image[i] = row < l.rows ? across / image.output[0] : -1;
        at.y[i] = across % image.output[0] * image.stride[0] - image.pad[0];
        at.x[i] = row % image.output[1] * image.stride[1] - image.pad[1];
    }
}

/* What the places of a tile see of taps and channels from `at` on. */
template <int LINES>
__device__ __forceinline__ void load_places(int8_t *tile, const tn_cuda_bytes_job &l,
                                            const places<LINES> &places, int at) {
    const tn_cuda_product_image &image = l.image;
    const int part = (int)threadIdx.x % PARTS * 16, k = at + part;
    const int tap = k / image.channels, channel = k - tap * image.channels;
    const int tap_y = tap / image.kernel[1], tap_x = tap - tap_y * image.kernel[1];
    int8_t *to = tile + (int)threadIdx.x / PARTS * LINE + part;
#pragma unroll
    for (int i = 0; i < LINES / LINES_AT_ONCE; i++) {
        const int y = places.y[i] + tap_y * image.dilation[0];
        const int x = places.x[i] + tap_x * image.dilation[1];
        const bool is_inside = places.image[i] >= 0 && k < l.depth && y >= 0 &&
                               y < image.input[0] && x >= 0 && x < image.input[1];
        const int64_t place = ((int64_t)places.image[i] * image.input[0] + y) * image.input[1] + x;
        copy_line(to + i * LINES_AT_ONCE * LINE,
                  is_inside ? l.a + place * image.channels + channel : l.a, is_inside);
    }
}

/* What a warp multiplies in a step: M pieces of 16 rows by N of 8 columns, in PIECES of depth. All
 * is loaded before the first product, so that only one load is waited for. */
template <int M, int N> struct operands {
    enum { PIECES = DEPTH / 32 };
    uint32_t rows[PIECES][M][4], columns[PIECES][N / 2][4];

    __device__ __forceinline__ void load(const int8_t *left, const int8_t *right) {
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
#pragma unroll
            for (int m = 0; m < M; m++)
                load_matrices(rows[k][m], left + m * 16 * LINE + k * 32);
#pragma unroll
            for (int n = 0; n < N / 2; n++)
                load_matrices(columns[k][n], right + n * 16 * LINE + k * 32);
        }
    }

    __device__ __forceinline__ void multiply_all(int (&sums)[M][N][4]) const {
#pragma unroll
        for (int k = 0; k < PIECES; k++)
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int n = 0; n < N; n++)
                    multiply(sums[m][n], rows[k][m], columns[k][n / 2][n % 2 * 2],
                             columns[k][n / 2][n % 2 * 2 + 1]);
    }
};

/* A tile of ROWS x COLUMNS sums a block, a quarter of it a warp; blocks of a cluster share the
 * steps. b, which is constant, is on its way before a is there. */
template <typename T, int ROWS, int COLUMNS, int STAGES, int ACCESS>
__global__ void __launch_bounds__(THREADS)
    bytes_kernel(const __grid_constant__ tn_cuda_bytes_job l) {
    constexpr int M = ROWS / 32, N = COLUMNS / 16; /* pieces of 16 rows, of 8 columns, a warp */
    constexpr int STAGE = (ROWS + COLUMNS) * LINE; /* a's lines, then b's */
    extern __shared__ __align__(16) int8_t shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * ROWS, first_column = blockIdx.y * COLUMNS;
    const int warp_row = warp % 2 * (ROWS / 2), warp_column = warp / 2 * (COLUMNS / 2);
    const int all_steps = (l.depth + DEPTH - 1) / DEPTH;
    const int share = (all_steps + (int)gridDim.z - 1) / (int)gridDim.z;
    const int begin = (int)blockIdx.z * share;
    const int steps = min(share, all_steps - begin); /* none for less than one */
    int sums[M][N][4] = {};
    places<ROWS> seen;
    auto load_a = [&](int step) {
        int8_t *tile = shared + step % STAGES * STAGE;
        const int at = (begin + step) * DEPTH;
        if (step < steps) {
            if constexpr (ACCESS == ACCESS_IMAGE)
                load_places<ROWS>(tile, l, seen, at);
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
    tn_cuda_start_next();
    for (int step = 0; step < STAGES - 1; step++)
        load_b(step);
    end.begin(l);
    if constexpr (ACCESS == ACCESS_IMAGE) find_places<ROWS>(l, first_row, seen);
    tn_cuda_wait_for_last();
    for (int step = 0; step < STAGES - 1; step++)
        load_a(step);
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
    end.load_residual(l);
    __syncthreads(); /* the tiles are read: the sums come in their place */
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
        wait_for_peers();
    else
        __syncthreads();
    end.store_tile(l, all);
    if (gridDim.z > 1) wait_for_peers(); /* they read this block's memory */
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
__global__ void __launch_bounds__(THREADS)
    few_rows_kernel(const __grid_constant__ tn_cuda_bytes_job l) {
    const int lane = threadIdx.x % 32;
    const int column = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    const uint4 *b = (const uint4 *)(l.b + (int64_t)column * l.padded_depth);
    const int packs = column < l.columns ? l.depth / 16 : 0;
    uint4 w[BATCH];
    int sums[FEW_ROWS] = {};
    tn_cuda_start_next();
    load_batch(b, packs, lane, w);
    tn_cuda_wait_for_last();
    if (column >= l.columns) return;
    for (int first = lane; first < packs; first += BATCH * 32) {
        if (first != lane) load_batch(b, packs, first, w);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const int k = first + i * 32;
            if (k >= packs) break;
#pragma unroll
            for (int m = 0; m < FEW_ROWS; m++) {
                if (m >= l.rows) break;
                const uint4 x = ((const uint4 *)(l.a + (int64_t)m * l.depth))[k];
                sums[m] = __dp4a((int)x.x, (int)w[i].x, sums[m]);
                sums[m] = __dp4a((int)x.y, (int)w[i].y, sums[m]);
                sums[m] = __dp4a((int)x.z, (int)w[i].z, sums[m]);
                sums[m] = __dp4a((int)x.w, (int)w[i].w, sums[m]);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < FEW_ROWS; m++) {
        if (m >= l.rows) break;
        const int sum = __reduce_add_sync(0xffffffffu, sums[m]);
        const int64_t at = (int64_t)m * l.columns + column;
        if (lane == m)
            ((T *)l.y)[at] = finish<T>(l, __ldg(l.scale + column), __ldg(l.bias + column), sum,
                                       l.residual ? ((const T *)l.residual)[at] : (T)0);
    }
}

cudaError_t get_major(int *out_major) {
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    return error == cudaSuccess
               ? cudaDeviceGetAttribute(out_major, cudaDevAttrComputeCapabilityMajor, device)
               : error;
}

/* As tn_cuda_launch_early, and in clusters. Other GPUs do without. */
cudaError_t launch_blocks(void (*kernel)(tn_cuda_bytes_job), dim3 blocks, size_t bytes,
                          cudaStream_t stream, const tn_cuda_bytes_job &l) {
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

/* No more stages in shared memory than there are steps: more blocks fit then. */
template <typename T, int ROWS, int COLUMNS, int STAGES, int ACCESS>
cudaError_t launch_kernel(const tn_cuda_bytes_job *l, uint32_t splits, cudaStream_t stream) {
    constexpr int stage = (ROWS + COLUMNS) * LINE, sums = ROWS * (COLUMNS + 8) * (int)sizeof(int);
    const auto kernel = bytes_kernel<T, ROWS, COLUMNS, STAGES, ACCESS>;
    const int steps = (l->depth + DEPTH - 1) / DEPTH;
    const int tiles = (steps < STAGES ? steps : STAGES) * stage,
              bytes = tiles < sums ? sums : tiles;
    const dim3 blocks((unsigned int)((l->rows + ROWS - 1) / ROWS),
                      (unsigned int)((l->columns + COLUMNS - 1) / COLUMNS), splits);
    if (bytes > 48 * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (error != cudaSuccess) return error;
    }
    return launch_blocks(kernel, blocks, (size_t)bytes, stream, *l);
}

template <typename T, int ROWS, int COLUMNS, int STAGES>
cudaError_t launch_tile(const tn_cuda_bytes_job *l, uint32_t splits, cudaStream_t stream) {
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
cudaError_t launch(const tn_cuda_bytes_job *l, tn_cuda_bytes_way way, cudaStream_t stream) {
    const unsigned int each = THREADS / 32, columns = (unsigned int)l->columns;
    if (way.tile == TN_CUDA_BYTES_FEW && (uintptr_t)l->a % 16 == 0)
        return tn_cuda_launch_early(few_rows_kernel<T>, (columns + each - 1) / each, THREADS, 0,
                                    stream, *l);
    if (way.tile == TN_CUDA_BYTES_TILE_64X64)
        return launch_tile<T, 64, 64, 4>(l, way.splits, stream);
    if (way.tile == TN_CUDA_BYTES_TILE_64X32)
        return launch_tile<T, 64, 32, 5>(l, way.splits, stream);
    return launch_tile<T, 32, 32, 6>(l, way.splits, stream);
}

} // namespace

cudaError_t tn_cuda_bytes_launch(const tn_cuda_bytes_job *job, tn_cuda_bytes_way way,
                                 cudaStream_t stream) {
    return job->y_type == TN_I8 ? launch<int8_t>(job, way, stream)
                                : launch<float>(job, way, stream);
}
