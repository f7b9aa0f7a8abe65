/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of region.h: an element a thread in the order of the output, and, where the input's
 * neighbours are neighbours along another axis, tiles through shared memory.
 */
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include "kit/cuda/region/region_job.h"

namespace {

enum { THREADS = 256, TILE = 32, TILE_ROWS = 8, MOST_AXES = TN_MAX_RANK + 1, LEAST_TILED = 8 };
const int64_t MOST_BLOCKS = 1 << 20;

/* Axes, slowest first; the tiled kernel leaves two of them to its tiles. */
struct box {
    uint32_t rank, count;
    tn_divider extents[MOST_AXES];
    int64_t to[MOST_AXES], from[MOST_AXES];
};

__device__ __forceinline__ void find(const box &b, uint32_t at, int64_t *out_to,
                                     int64_t *out_from) {
    int64_t to = 0, from = 0;
#pragma unroll
    for (int i = MOST_AXES - 1; i >= 0; i--) {
        if (i >= (int)b.rank) continue;
        uint32_t index = at;
        if (i > 0) at = tn_divide_rest(at, b.extents[i], &index);
        to += index * b.to[i];
        from += index * b.from[i];
    }
    *out_to = to;
    *out_from = from;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    move(const __grid_constant__ box b, T *to, const T *from) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < b.count; at += step) {
        int64_t there, here;
        find(b, (uint32_t)at, &there, &here);
        to[there] = from[here];
    }
}

/* Several boxes of rows, one for each index of the grid's second axis. */
struct strip {
    const void *from;
    void *to;
    uint32_t count;
    tn_divider columns;
    int64_t from_pitch, to_pitch;
};
struct strips {
    strip items[TN_CUDA_STRIPS];
};

template <typename T>
__global__ void __launch_bounds__(THREADS) move_strips(const __grid_constant__ strips all) {
    const strip &s = all.items[blockIdx.y];
    const uint32_t step = gridDim.x * THREADS;
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    for (uint32_t at = blockIdx.x * THREADS + threadIdx.x; at < s.count; at += step) {
        uint32_t column;
        const uint32_t row = tn_divide_rest(at, s.columns, &column);
        ((T *)s.to)[row * s.to_pitch + column] = ((const T *)s.from)[row * s.from_pitch + column];
    }
}

/* For each index of the box a matrix: `across` is the axis along which the output's elements are
 * neighbours, `down` that of the input's. */
struct matrix {
    int64_t across, down;         /* extents */
    int64_t across_from, down_to; /* steps; the other two are 1 */
};

template <typename T>
__global__ void turn(const __grid_constant__ box b, matrix m, T *to, const T *from) {
    __shared__ T tile[TILE][TILE + 1];
    tn_cuda_start_next();
    tn_cuda_wait_for_last();
    const int64_t tiles_across = (m.across + TILE - 1) / TILE;
    const int64_t tiles = tiles_across * ((m.down + TILE - 1) / TILE);
    for (int64_t t = blockIdx.x; t < tiles * b.count; t += gridDim.x) {
        const int64_t across = t % tiles % tiles_across * TILE,
                      down = t % tiles / tiles_across * TILE;
        int64_t there, here;
        find(b, (uint32_t)(t / tiles), &there, &here);
        for (int y = threadIdx.y; y < TILE; y += TILE_ROWS) {
            const int64_t i = across + y, k = down + threadIdx.x;
            if (i < m.across && k < m.down)
                tile[y][threadIdx.x] = from[here + i * m.across_from + k];
        }
        __syncthreads();
        for (int y = threadIdx.y; y < TILE; y += TILE_ROWS) {
            const int64_t i = across + threadIdx.x, k = down + y;
            if (i < m.across && k < m.down) to[there + k * m.down_to + i] = tile[threadIdx.x][y];
        }
        __syncthreads();
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

void add_axis(box *b, int64_t extent, int64_t to, int64_t from) {
    b->extents[b->rank] = tn_divider_make((uint32_t)extent);
    b->to[b->rank] = to;
    b->from[b->rank++] = from;
    b->count *= (uint32_t)extent;
}

/* The axis of the input's neighbours, where it is another than the output's and both are long. */
bool find_turn(const tn_region *region, uint32_t *out_axis) {
    const uint32_t last = region->rank - 1;
    if (region->to_strides[last] != 1 || region->from_strides[last] == 1 ||
        region->extents[last] < LEAST_TILED || region->element_bytes > 8)
        return false;
    for (uint32_t i = 0; i < last; i++) {
        if (region->from_strides[i] == 1 && region->extents[i] >= LEAST_TILED) {
            *out_axis = i;
            return true;
        }
    }
    return false;
}

template <typename T>
cudaError_t launch_as(const tn_region *region, void *to, const void *from, cudaStream_t stream) {
    const uint32_t last = region->rank - 1;
    uint32_t axis = 0;
    box b = {};
    b.count = 1;
    const bool is_turned = find_turn(region, &axis);
    for (uint32_t i = 0; i < region->rank; i++)
        if (!is_turned || (i != axis && i != last))
            add_axis(&b, region->extents[i], region->to_strides[i], region->from_strides[i]);
    if (!is_turned)
        return tn_cuda_launch_early(move<T>, tn_cuda_blocks(b.count, THREADS, MOST_BLOCKS), THREADS,
                                    0, stream, b, (T *)to, (const T *)from);
    const matrix m = {region->extents[last], region->extents[axis], region->from_strides[last],
                      region->to_strides[axis]};
    const int64_t tiles =
        (m.across + TILE - 1) / TILE * ((m.down + TILE - 1) / TILE) * (int64_t)b.count;
    return tn_cuda_launch_early(turn<T>, tn_cuda_blocks(tiles, 1, MOST_BLOCKS),
                                dim3(TILE, TILE_ROWS), 0, stream, b, m, (T *)to, (const T *)from);
}

template <typename T>
cudaError_t launch_strips(uint32_t count, const tn_cuda_strip *items, cudaStream_t stream) {
    strips all = {};
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t elements = items[i].rows * items[i].columns;
        all.items[i] = {items[i].from,       items[i].to,
                        (uint32_t)elements,  tn_divider_make((uint32_t)items[i].columns),
                        items[i].from_pitch, items[i].to_pitch};
        if (elements > most) most = elements;
    }
    return tn_cuda_launch_early(move_strips<T>,
                                dim3(tn_cuda_blocks(most, THREADS, MOST_BLOCKS), count), THREADS, 0,
                                stream, all);
}

} // namespace

extern "C" cudaError_t tn_cuda_region_launch(const tn_region *region, void *to, const void *from,
                                             cudaStream_t stream) {
    switch (region->element_bytes) {
    case 1:
        return launch_as<uint8_t>(region, to, from, stream);
    case 2:
        return launch_as<uint16_t>(region, to, from, stream);
    case 4:
        return launch_as<uint32_t>(region, to, from, stream);
    case 8:
        return launch_as<uint64_t>(region, to, from, stream);
    default:
        return launch_as<uint4>(region, to, from, stream);
    }
}

extern "C" cudaError_t tn_cuda_strips_launch(uint32_t count, const tn_cuda_strip *strips,
                                             size_t element_bytes, cudaStream_t stream) {
    switch (element_bytes) {
    case 1:
        return launch_strips<uint8_t>(count, strips, stream);
    case 2:
        return launch_strips<uint16_t>(count, strips, stream);
    case 4:
        return launch_strips<uint32_t>(count, strips, stream);
    case 8:
        return launch_strips<uint64_t>(count, strips, stream);
    default:
        return launch_strips<uint4>(count, strips, stream);
    }
}
