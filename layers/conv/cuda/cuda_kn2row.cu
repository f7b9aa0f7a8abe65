/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of many channels to few filters on tensor cores: the last layer of networks that make
 * images, where libraries fill up the filters to 8 or more. A form of kn2row (Anderson et al.,
 * "Low-memory GEMM-based convolution algorithms for deep neural networks", 2017): one product of
 * depth c whose columns are all (s, k), S * K of them, which are added up after a shift by s. A
 * warp goes down a strip of 16 or 32 input columns; each input row adds to as many rows of sums as
 * the window is high, and a row of sums that is done is shifted and added in shared memory.
 *
 * Limited by registers: R rows of sums of S * K columns. Square windows, strides and dilations of
 * one; input with channels last. See cuda_conv.h.
 */
#include "conv/cuda/cuda_number.cuh"

namespace {

enum { WARPS = 4, THREADS = WARPS * 32, MOST_SHARED = 96 * 1024 };

struct kn2row_shape {
    int rows;          /* of output a warp */
    int strips, parts; /* of an image: across and down; a warp has one of each */
    int outputs;       /* columns of a strip that it stores */
    int count;         /* warps with work */
    int chunks;        /* 16 bytes of each of a quad's lanes; the channels that these have */
    int weight_packs;
};

/* A warp's part of an image. */
struct strip {
    const uint4 *input;     /* this lane's first position, in the image's first row */
    uint32_t is_inside;     /* bit i: so is this lane's position i */
    int image, x0, y0, end; /* of output */
};

/* This lane's 16 bytes of the rows of M matrices: two positions each. Zero outside of the image. */
template <int M>
__device__ __forceinline__ void load_row(const tn_cuda_conv &d, const strip &p, int packs, int y,
                                         int chunk, uint4 (&to)[M][2]) {
    const bool is_row = y >= 0 && y < d.in_height;
    const uint4 *row = p.input + (int64_t)y * d.in_width * packs + chunk * 4;
#pragma unroll
    for (int i = 0; i < 2 * M; i++)
        to[i / 2][i % 2] =
            is_row && (p.is_inside >> i & 1) ? __ldg(row + i * 8 * packs) : make_uint4(0, 0, 0, 0);
}

/* The products of one input row, `SLOT` of KH in turn, with all rows r of the window. */
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

__device__ __forceinline__ float load_residual(const tn_cuda_conv &d, int64_t at) {
    const void *from = d.residual;
    if (d.y_type == TN_F16) return __half2float(((const __half *)from)[at]);
    if (d.y_type == TN_BF16) return __bfloat162float(((const __nv_bfloat16 *)from)[at]);
    return d.residual[at];
}

__device__ __forceinline__ void store_element(const tn_cuda_conv &d, int64_t at, float value) {
    void *to = d.y;
    if (d.y_type == TN_F16)
        tn_number_store((__half *)to + at, value, 0);
    else if (d.y_type == TN_BF16)
        tn_number_store((__nv_bfloat16 *)to + at, value, 0);
    else
        d.y[at] = value;
}

/* A row of sums is done: output x0 + j is the sum over s of what column (s, k) has at position j +
 * s.
 */
template <int KH, int NT, int M>
__device__ __forceinline__ void store_row(const tn_cuda_conv &d, const kn2row_shape &t,
                                          const strip &p, int y, const float (&sums)[M][NT][4],
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
    const int64_t pixel_at = (int64_t)y * d.out_width + x;
    const int64_t plane = (int64_t)d.out_height * d.out_width;
    const int64_t image_at = (int64_t)p.image * d.filters * plane;
    int64_t at = image_at + (d.is_y_linear ? pixel_at : pixel_at * d.filters);
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
__device__ __forceinline__ void do_row(const tn_cuda_conv &d, const kn2row_shape &t, const strip &p,
                                       int row, const uint4 *weights, uint4 (&next)[M][2],
                                       float (&sums)[KH][M][NT][4], float *shared) {
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
do_rows(const tn_cuda_conv &d, const kn2row_shape &t, const strip &p, int row, int rows,
        const uint4 *weights, uint4 (&next)[M][2], float (&sums)[KH][M][NT][4], float *shared) {
    if (row + SLOT >= rows) return;
    do_row<T, KH, NT, M, SLOT>(d, t, p, row + SLOT, weights, next, sums, shared);
    if constexpr (SLOT + 1 < KH)
        do_rows<T, KH, NT, M, SLOT + 1>(d, t, p, row, rows, weights, next, sums, shared);
}

template <typename T, int KH, int NT, int M>
__global__ void __launch_bounds__(THREADS, M == 2 ? 3 : 1)
    kn2row_kernel(const __grid_constant__ tn_cuda_conv d, const __grid_constant__ kn2row_shape t) {
    extern __shared__ uint4 shared_memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float *shared = (float *)(shared_memory + t.weight_packs) + warp * NT * 8 * (M * 16 + 4);
    for (int i = threadIdx.x; i < t.weight_packs; i += THREADS)
        shared_memory[i] = __ldg((const uint4 *)(const void *)d.weights + i);
    __syncthreads();
    const int index = blockIdx.x * WARPS + warp;
    if (index >= t.count) return;
    const int part = index / t.strips;
    strip p;
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

/* What the kernels are compiled for: the window's height, and matrices of 8 columns (s, k); as many
 * matrices of 16 pixels as there are registers for. */
struct compiled {
    int height, tiles, matrices;
};
const compiled all_compiled[] = {{3, 1, 2}, {3, 2, 2}, {5, 1, 2}, {5, 2, 2}, {7, 3, 1}, {9, 4, 1}};

const compiled *find_compiled(const tn_cuda_conv *d) {
    for (const compiled &one : all_compiled)
        if (one.height == d->kernel_height && one.height == d->kernel_width &&
            d->kernel_width * d->filters <= one.tiles * 8)
            return &one;
    return NULL;
}

/* Channels of 16 bytes of each of four lanes. */
int64_t channels_of(const tn_cuda_conv *d) {
    return d->type == TN_F32 ? 16 : 32;
}

uint64_t get_weight_bytes(const tn_cuda_conv *d) {
    const compiled *one = find_compiled(d);
    return (uint64_t)(one->height * (d->channels / channels_of(d)) * one->tiles * 512);
}

bool fits(const tn_cuda_conv *d, const tn_cuda_conv_config *) {
    return d->groups == 1 && d->channels % channels_of(d) == 0 && d->stride_height == 1 &&
           d->stride_width == 1 && d->dilation_height == 1 && d->dilation_width == 1 &&
           find_compiled(d) && get_weight_bytes(d) <= MOST_SHARED - 24 * 1024;
}

bool choose(const tn_cuda_conv *d, uint32_t index, tn_cuda_conv_config *out_config) {
    const int32_t rows[] = {7, 8, 4, 16};
    if (index >= sizeof(rows) / sizeof(*rows) || !fits(d, NULL)) return false;
    *out_config = {rows[index], 0, 0, 0, 0};
    return true;
}

template <typename T, int KH, int NT, int M>
cudaError_t launch_as(const tn_cuda_conv *d, const tn_cuda_conv_config *config,
                      cudaStream_t stream) {
    kn2row_shape t = {};
    t.rows = config->rows;
    t.outputs = M * 16 - (d->kernel_width - 1);
    t.strips = (d->out_width + t.outputs - 1) / t.outputs;
    t.parts = (d->out_height + t.rows - 1) / t.rows;
    t.count = t.strips * t.parts * d->batch;
    t.chunks = d->channels / (int)channels_of(d);
    t.weight_packs = (int)get_weight_bytes(d) / 16;
    const int bytes = t.weight_packs * 16 + WARPS * NT * 8 * (M * 16 + 4) * 4;
    return launch_shared(kn2row_kernel<T, KH, NT, M>, (unsigned int)(t.count + WARPS - 1) / WARPS,
                         THREADS, bytes, stream, *d, t);
}

cudaError_t launch(const tn_cuda_conv *d, const tn_cuda_conv_config *config, cudaStream_t stream) {
    const compiled *one = find_compiled(d);
    return launch_by_type(d, [&](auto number) {
        typedef decltype(number) T;
        switch (one ? one->height * 10 + one->tiles : 0) {
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
    });
}

/* In the order in which lanes read them, 16 bytes a lane:
 *
 *   r | chunk of channels | tile of 8 columns s * K + k | lane 4j + i | channel
 *
 * Lane 4j + i has column j of a tile, and of a chunk the channels that lane i of a quad reads. */
void pack(const tn_cuda_conv *d, const void *from, void *to) {
    const int64_t tiles = find_compiled(d)->tiles, of_chunk = channels_of(d), each = of_chunk / 4;
    const int64_t chunks = d->channels / of_chunk;
    pack_weights(d, from, to, [&](int64_t k, int64_t c, int64_t r, int64_t s) {
        const int64_t column = s * d->filters + k;
        const int64_t tile = (r * chunks + c / of_chunk) * tiles + column / 8;
        const int64_t lane = column % 8 * 4 + c % of_chunk / each;
        return (tile * 32 + lane) * each + c % each;
    });
}

} // namespace

extern "C" const tn_cuda_conv_kind tn_cuda_kn2row = {false,  choose,           fits,
                                                     launch, get_weight_bytes, pack};
extern "C" const tn_cuda_conv_kind tn_cuda_kn2row_tf32 = {true,   choose,           fits,
                                                          launch, get_weight_bytes, pack};
