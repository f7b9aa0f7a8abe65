/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of many channels to few filters on tensor cores, in 16 bits or in 32-bit floats
 * rounded to tf32: the last layer of networks that make images, where libraries fill up the filters
 * to 8 or more. The columns of the product are filters times the window's places along a row; its
 * depth is the channels. A warp goes down a strip of 16 or 32 input columns: channels lie beside
 * each other, so that a lane takes 16 bytes of a position as they are, and each row adds to as many
 * rows of sums as the window is high. When a row of sums is done, places are added up across the
 * columns. Square windows, strides and dilations of one; input with channels last. Sums are 32-bit
 * floats. See cuda_direct.h.
 */
#include "conv/cuda/cuda_direct.h"
#include "conv/cuda/cuda_stored.cuh"
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

extern "C" {
#include "kit/math/element.h"
}

namespace {

enum { WARPS = 4, THREADS = WARPS * 32, MOST_SHARED = 96 * 1024 };

struct narrow_shape {
    int rows;          /* of output a warp */
    int strips, parts; /* of an image: across and down; a warp has one of each */
    int outputs;       /* columns of a strip that it stores */
    int count;         /* warps with work */
    int chunks;        /* 16 bytes of each of a quad's lanes; the channels that these have */
    int weight_packs;
};

/* A warp's part of an image. */
struct place {
    const uint4 *input;     /* this lane's first position, in the image's first row */
    uint32_t is_inside;     /* bit i: so is this lane's position i */
    int image, x0, y0, end; /* of output */
};

/* This lane's 16 bytes of the rows of M matrices: two positions each. Zero outside of the image. */
template <int M>
__device__ __forceinline__ void load_row(const tn_cuda_direct &d, const place &p, int packs, int y,
                                         int chunk, uint4 (&to)[M][2]) {
    const bool is_row = y >= 0 && y < d.in_height;
    const uint4 *row = p.input + (int64_t)y * d.in_width * packs + chunk * 4;
#pragma unroll
    for (int i = 0; i < 2 * M; i++)
        to[i / 2][i % 2] =
            is_row && (p.is_inside >> i & 1) ? __ldg(row + i * 8 * packs) : make_uint4(0, 0, 0, 0);
}

/* The products of one input row, `SLOT` of KH in turn, with all rows of the window. */
template <typename T, int KH, int NT, int M, int SLOT>
__device__ __forceinline__ void multiply(const uint4 (&x)[M][2], const uint4 *weights, int chunks,
                                         float (&sums)[KH][M][NT][4]) {
    uint32_t a[M][2][4];
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            a[m][h][0] = stored<T>::word(x[m][h].x), a[m][h][1] = stored<T>::word(x[m][h].y);
            a[m][h][2] = stored<T>::word(x[m][h].z), a[m][h][3] = stored<T>::word(x[m][h].w);
        }
#pragma unroll
    for (int i = 0; i < KH; i++)
#pragma unroll
        for (int n = 0; n < NT; n++) {
            constexpr int FIRST = SLOT + KH;
            const int r = KH - 1 - i; /* those that are done then first */
            const uint4 b = weights[(r * chunks * NT + n) * 32];
#pragma unroll
            for (int m = 0; m < M; m++) {
                tn_matrix<T>::deep(sums[(FIRST - r) % KH][m][n], a[m][0][0], a[m][1][0], a[m][0][1],
                                   a[m][1][1], b.x, b.y);
                tn_matrix<T>::deep(sums[(FIRST - r) % KH][m][n], a[m][0][2], a[m][1][2], a[m][0][3],
                                   a[m][1][3], b.z, b.w);
            }
        }
}

__device__ __forceinline__ float load_residual(const tn_cuda_direct &d, int64_t at) {
    const void *from = d.residual;
    if (d.y_type == TN_F16) return __half2float(((const __half *)from)[at]);
    if (d.y_type == TN_BF16) return __bfloat162float(((const __nv_bfloat16 *)from)[at]);
    return d.residual[at];
}

__device__ __forceinline__ void store_element(const tn_cuda_direct &d, int64_t at, float value) {
    void *to = d.y;
    if (d.y_type == TN_F16)
        tn_number_store((__half *)to + at, value, 0);
    else if (d.y_type == TN_BF16)
        tn_number_store((__nv_bfloat16 *)to + at, value, 0);
    else
        d.y[at] = value;
}

/* A row of sums is done: position j has places s of position j + s, and is output x0 + j. */
template <int KH, int NT, int M>
__device__ __forceinline__ void store_row(const tn_cuda_direct &d, const narrow_shape &t,
                                          const place &p, int y, const float (&sums)[M][NT][4],
                                          float *shared) {
    constexpr int PITCH = M * 16 + 4;
    const int lane = threadIdx.x & 31, g = lane >> 2, k = lane & 3;
    float *to = shared + k * 2 * PITCH + g;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                to[(n * 8 + i % 2) * PITCH + m * 16 + i / 2 * 8] = sums[m][n][i];
    __syncwarp();
    const int x = p.x0 + lane, step = d.filters * PITCH + 1;
    if (lane >= t.outputs || x >= d.out_width) return;
    const int64_t place_at = (int64_t)y * d.out_width + x;
    const int64_t plane = (int64_t)d.out_height * d.out_width;
    const int64_t image_at = (int64_t)p.image * d.filters * plane;
    int64_t at = image_at + (d.is_y_linear ? place_at : place_at * d.filters);
    const int64_t next = d.is_y_linear ? plane : 1;
    for (int f = 0; f < d.filters; f++, at += next) {
        const float *from = shared + f * PITCH + lane;
        float sum = __ldg(d.bias + f);
#pragma unroll
        for (int s = 0; s < KH; s++)
            sum += from[s * step];
        if (d.residual) sum += load_residual(d, at);
        store_element(d, at, tn_cuda_activate(d.activation, sum));
    }
}

template <typename T, int KH, int NT, int M, int SLOT>
__device__ __forceinline__ void
do_row(const tn_cuda_direct &d, const narrow_shape &t, const place &p, int row,
       const uint4 *weights, uint4 (&next)[M][2], float (&sums)[KH][M][NT][4], float *shared) {
    const int y = p.y0 - d.pad_top + row;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < NT; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                sums[SLOT][m][n][i] = 0.0f;
    for (int chunk = 0; chunk < t.chunks; chunk++) {
        uint4 now[M][2];
#pragma unroll
        for (int i = 0; i < 2 * M; i++)
            now[i / 2][i % 2] = next[i / 2][i % 2];
        const bool is_last = chunk + 1 == t.chunks;
        load_row<M>(d, p, t.chunks * 4, y + is_last, is_last ? 0 : chunk + 1, next);
        multiply<T, KH, NT, M, SLOT>(now, weights + chunk * NT * 32, t.chunks, sums);
    }
    const int done = p.y0 + row - (KH - 1);
    if (done >= p.y0 && done < p.end)
        store_row<KH, NT, M>(d, t, p, done, sums[(SLOT + 1) % KH], shared);
}

/* KH rows in turn: which of the sums a row begins is known when this is compiled. */
template <typename T, int KH, int NT, int M, int SLOT>
__device__ __forceinline__ void
do_rows(const tn_cuda_direct &d, const narrow_shape &t, const place &p, int row, int rows,
        const uint4 *weights, uint4 (&next)[M][2], float (&sums)[KH][M][NT][4], float *shared) {
    if (row + SLOT >= rows) return;
    do_row<T, KH, NT, M, SLOT>(d, t, p, row + SLOT, weights, next, sums, shared);
    if constexpr (SLOT + 1 < KH)
        do_rows<T, KH, NT, M, SLOT + 1>(d, t, p, row, rows, weights, next, sums, shared);
}

template <typename T, int KH, int NT, int M>
__global__ void __launch_bounds__(THREADS, M == 2 ? 3 : 1)
    narrow_kernel(const __grid_constant__ tn_cuda_direct d,
                  const __grid_constant__ narrow_shape t) {
    extern __shared__ uint4 shared_memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float *shared = (float *)(shared_memory + t.weight_packs) + warp * NT * 8 * (M * 16 + 4);
    for (int i = threadIdx.x; i < t.weight_packs; i += THREADS)
        shared_memory[i] = __ldg((const uint4 *)(const void *)d.weights + i);
    __syncthreads();
    const int index = blockIdx.x * WARPS + warp;
    if (index >= t.count) return;
    const int part = index / t.strips;
    place p;
    p.image = part / t.parts;
    p.x0 = (index - part * t.strips) * t.outputs;
    p.y0 = (part - p.image * t.parts) * t.rows;
    p.end = min(p.y0 + t.rows, d.out_height);
    const int x = p.x0 - d.pad_left + (lane >> 2), packs = t.chunks * 4;
    p.input = (const uint4 *)(const void *)d.x +
              ((int64_t)p.image * d.in_height * d.in_width + x) * packs + (lane & 3);
    p.is_inside = 0;
    for (int i = 0; i < 2 * M; i++)
        if (x + i * 8 >= 0 && x + i * 8 < d.in_width) p.is_inside |= 1u << i;
    const int rows = p.end - p.y0 + KH - 1;
    float sums[KH][M][NT][4] = {};
    uint4 next[M][2];
    load_row<M>(d, p, packs, p.y0 - d.pad_top, 0, next);
    for (int row = 0; row < rows; row += KH)
        do_rows<T, KH, NT, M, 0>(d, t, p, row, rows, shared_memory + lane, next, sums, shared);
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* What the kernels are compiled for: the window's height, and tiles of 8 columns (filters times the
 * window's width); as many matrices of 16 positions as there are registers for. */
struct narrow_way {
    int height, tiles, matrices;
};
const narrow_way ways[] = {{3, 1, 2}, {3, 2, 2}, {5, 1, 2}, {5, 2, 2}, {7, 3, 1}, {9, 4, 1}};

const narrow_way *way_of(int64_t height, int64_t width, int64_t filters) {
    for (const narrow_way &way : ways)
        if (way.height == height && width == height && width * filters <= way.tiles * 8)
            return &way;
    return NULL;
}

/* Channels of 16 bytes of each of four lanes. */
int64_t channels_of(tn_type type) {
    return type == TN_F32 ? 16 : 32;
}

int64_t weight_bytes(const narrow_way *way, int64_t channels, tn_type type) {
    return way->height * (channels / channels_of(type)) * way->tiles * 512;
}

template <typename T, int KH, int NT, int M>
cudaError_t launch_as(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                      cudaStream_t stream) {
    const narrow_way way = {KH, NT, M};
    narrow_shape t = {};
    t.rows = config->rows;
    t.outputs = M * 16 - (d->kernel_width - 1);
    t.strips = (d->out_width + t.outputs - 1) / t.outputs;
    t.parts = (d->out_height + t.rows - 1) / t.rows;
    t.count = t.strips * t.parts * d->batch;
    t.chunks = d->channels / (int)channels_of(d->type);
    t.weight_packs = (int)weight_bytes(&way, d->channels, d->type) / 16;
    const int bytes = t.weight_packs * 16 + WARPS * NT * 8 * (M * 16 + 4) * 4;
    const cudaError_t error = cudaFuncSetAttribute(
        narrow_kernel<T, KH, NT, M>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    narrow_kernel<T, KH, NT, M>
        <<<(unsigned int)(t.count + WARPS - 1) / WARPS, THREADS, bytes, stream>>>(*d, t);
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch(const tn_cuda_direct *d, const tn_cuda_direct_config *config,
                   cudaStream_t stream) {
    const narrow_way *way = way_of(d->kernel_height, d->kernel_width, d->filters);
    switch (way ? way->height * 10 + way->tiles : 0) {
    case 31:
        return launch_as<T, 3, 1, 2>(d, config, stream);
    case 32:
        return launch_as<T, 3, 2, 2>(d, config, stream);
    case 51:
        return launch_as<T, 5, 1, 2>(d, config, stream);
    case 52:
        return launch_as<T, 5, 2, 2>(d, config, stream);
    case 73:
        return launch_as<T, 7, 3, 1>(d, config, stream);
    case 94:
        return launch_as<T, 9, 4, 1>(d, config, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

} // namespace

bool tn_cuda_narrow_choose(const tn_conv_geometry *g, tn_type type, uint32_t index,
                           tn_cuda_direct_config *out_config) {
    const int32_t rows[] = {8, 7, 4, 16, 24};
    const narrow_way *way = way_of(g->kernel_height, g->kernel_width, g->filters);
    if (!way || g->groups != 1 || g->channels % channels_of(type) != 0 || g->stride_height != 1 ||
        g->stride_width != 1 || g->dilation_height != 1 || g->dilation_width != 1 ||
        weight_bytes(way, g->channels, type) > MOST_SHARED - 24 * 1024)
        return false;
    if (index >= sizeof(rows) / sizeof(*rows)) return false;
    *out_config = {(int32_t)g->filters, 1, rows[index], 1, 0};
    return true;
}

uint64_t tn_cuda_narrow_bytes(const tn_conv_geometry *g, const tn_cuda_direct_config *,
                              tn_type type) {
    const narrow_way *way = way_of(g->kernel_height, g->kernel_width, g->filters);
    return (uint64_t)weight_bytes(way, g->channels, type);
}

/* By row of the window, chunk of channels, tile, lane: 16 bytes for the channels that this lane of
 * a quad reads of a position. */
void tn_cuda_narrow_pack(const tn_conv_geometry *g, const tn_cuda_direct_config *, tn_type type,
                         const float *from, void *to) {
    const narrow_way *way = way_of(g->kernel_height, g->kernel_width, g->filters);
    const int64_t of_chunk = channels_of(type), each = of_chunk / 4;
    const int64_t chunks = g->channels / of_chunk;
    for (int64_t f = 0; f < g->filters; f++)
        for (int64_t c = 0; c < g->channels; c++)
            for (int64_t r = 0; r < g->kernel_height; r++)
                for (int64_t s = 0; s < g->kernel_width; s++) {
                    const int64_t column = s * g->filters + f;
                    const int64_t pack = (r * chunks + c / of_chunk) * way->tiles + column / 8;
                    const int64_t lane = column % 8 * 4 + c % of_chunk / each;
                    const int64_t at = (pack * 32 + lane) * each + c % each;
                    if (type == TN_F32)
                        ((float *)to)[at] = tn_cuda_direct_tf32(*from++);
                    else
                        tn_element_store_f64(to, type, at, (double)*from++);
                }
}

cudaError_t tn_cuda_narrow_launch(const tn_cuda_direct *direct, const tn_cuda_direct_config *config,
                                  cudaStream_t stream) {
    switch (direct->type) {
    case TN_F16:
        return launch<__half>(direct, config, stream);
    case TN_BF16:
        return launch<__nv_bfloat16>(direct, config, stream);
    default:
        return launch<tn_tf32_number>(direct, config, stream);
    }
}
