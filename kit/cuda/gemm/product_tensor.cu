/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times a constant matrix on tensor cores, for products so short that starting them and
 * waiting for memory is much of their time. A block has a tile of the result. Its two operands come
 * to shared memory in a ring of stages, a part of the depth each: all copies that the ring has
 * space for are in flight at once, those of the matrix before the kernel in front is done. The
 * warps of a block share its rows, its columns and each stage's depth; sums over the depth meet in
 * shared memory and are added up in the same order always. See product.h and matrix.cuh.
 */
#include "kit/cuda/gemm/product_job.cuh"
#include <tenon/kit/cuda/copy.cuh>
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/matrix.cuh>
#include <tenon/kit/cuda/number.cuh>

extern "C" {
#include "kit/math/element.h"
#include <tenon/kit/strided.h>
}

namespace {

enum {
    B = 1,
    PACK = 16,      /* bytes of a copy */
    STEP = 32,      /* bytes of depth of a product of tensor cores */
    RING = 4,       /* stages */
    LEAST_BITS = 6, /* of a stage's bytes of depth */
    MOST_BITS = 11, /* of a stage: a line of it is no more packs than a block has threads */
    MOST_SHARED = 226 * 1024,
    MOST_COLUMNS = 65535 * 32, /* blocks of the grid's second axis, of the narrowest form */
    TACTICS = 6,
};

struct tensor_launch : product_job {
    int32_t depth_bytes, stage_bits, stages; /* bytes of a stage: 2^stage_bits; stages in all */
    int32_t a_pitch, y_pitch; /* from one row to the next: bytes of a, elements of y */
};

template <typename T> struct stored { typedef T type; };
template <> struct stored<tn_tf32_number> { typedef float type; };

template <typename T> struct alignas(4 * sizeof(T)) quad { T items[4]; };

/* A tile of ROWS x COLUMNS by ACROSS x ALONG warps, DEEP times: each of those has a part of every
 * stage's depth. */
template <int ROWS_, int COLUMNS_, int ACROSS_, int ALONG_, int DEEP_> struct form {
    enum {
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        ACROSS = ACROSS_,
        DEEP = DEEP_,
        WARPS = ACROSS_ * ALONG_ * DEEP_,
        THREADS = WARPS * 32,
        HIGH = ROWS_ / ACROSS_ / 16,   /* products of a warp */
        WIDE = COLUMNS_ / ALONG_ / 16, /* pairs of them */
        LINES = ROWS_ + COLUMNS_,
        PITCH = COLUMNS_ + 8, /* floats from a row's sums to the next one's */
        SUMS = DEEP_ * ROWS_ * PITCH * (int)sizeof(float),
        QUADS = ROWS_ * COLUMNS_ / 4 / THREADS, /* of the result, a thread */
        EARLY = QUADS < 4 ? QUADS : 4,          /* whose residual is loaded before the products */
    };
};

/* Bytes from a line of a stage to the next one: 8 of them use all banks. */
__host__ __device__ __forceinline__ int pitch_of(const tensor_launch &l) {
    return (1 << l.stage_bits) + PACK;
}

/* What a thread copies of an operand: one pack of each line that is `step` behind the last one. */
template <typename F> struct copier {
    const char *from; /* of the first stage */
    int line, step, deep, offset, pitch;

    __device__ __forceinline__ copier(const tensor_launch &l, const void *operand, int first,
                                      int operand_pitch) {
        const int pack_bits = l.stage_bits - 4;
        line = (int)threadIdx.x >> pack_bits;
        step = F::THREADS >> pack_bits;
        deep = ((int)threadIdx.x & ((1 << pack_bits) - 1)) * PACK;
        offset = line * pitch_of(l) + deep;
        pitch = operand_pitch;
        from = (const char *)operand + (int64_t)(first + line) * pitch + deep;
    }
    /* Begins to copy LINES lines of a stage, `count` of which are there: zeros behind those and
     * behind the depth. */
    template <int LINES>
    __device__ __forceinline__ void copy(const tensor_launch &l, int count, int stage,
                                         char *to) const {
        const bool is_deep = (stage << l.stage_bits) + deep < l.depth_bytes;
        const char *source = from + (stage << l.stage_bits);
        to += offset;
#pragma unroll 2
        for (int i = line; i < LINES; i += step) {
            const bool is_wanted = is_deep && i < count;
            tn_copy_sixteen(to, is_wanted ? source : from, is_wanted);
            to += step * pitch_of(l);
            source += (int64_t)step * pitch;
        }
    }
};

template <typename T> __device__ __forceinline__ uint32_t word_of(uint32_t bits) {
    return bits;
}
template <> __device__ __forceinline__ uint32_t word_of<tn_tf32_number>(uint32_t bits) {
    return tn_tf32_round(__uint_as_float(bits));
}

template <typename T> __device__ __forceinline__ void load(uint32_t (&to)[4], const char *row) {
    tn_matrix_load(to, row);
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = word_of<T>(to[i]);
}

/* A warp's products of one stage. Matrices of a: rows low and high, then deeper; of b: columns low,
 * deeper, then columns high. */
template <typename T, typename F>
__device__ __forceinline__ void multiply_stage(const tensor_launch &l, int stage, const char *lines,
                                               float (&sums)[F::HIGH][F::WIDE * 2][4]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, pitch = pitch_of(l);
    const int row = warp % F::ACROSS * (F::HIGH * 16) + (lane & 15);
    const int column = warp / F::ACROSS / F::DEEP * (F::WIDE * 16) + (lane & 7) + (lane >> 4) * 8;
    const char *a = lines + row * pitch + (lane >> 4) * PACK;
    const char *b = lines + (F::ROWS + column) * pitch + (lane >> 3 & 1) * PACK;
    int end = l.depth_bytes - (stage << l.stage_bits);
    if (end > 1 << l.stage_bits) end = 1 << l.stage_bits;
#pragma unroll 2
    for (int at = warp / F::ACROSS % F::DEEP * STEP; at < end; at += F::DEEP * STEP) {
        uint32_t of_a[F::HIGH][4], of_b[F::WIDE][4];
#pragma unroll
        for (int i = 0; i < F::HIGH; i++)
            load<T>(of_a[i], a + i * 16 * pitch + at);
#pragma unroll
        for (int j = 0; j < F::WIDE; j++)
            load<T>(of_b[j], b + j * 16 * pitch + at);
#pragma unroll
        for (int i = 0; i < F::HIGH; i++)
#pragma unroll
            for (int j = 0; j < F::WIDE * 2; j++)
                tn_matrix<T>::deep(sums[i][j], of_a[i][0], of_a[i][1], of_a[i][2], of_a[i][3],
                                   of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
    }
}

template <typename F>
__device__ __forceinline__ void store_sums(const float (&sums)[F::HIGH][F::WIDE * 2][4],
                                           float *to) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row = warp % F::ACROSS * (F::HIGH * 16) + (lane >> 2);
    const int column = warp / F::ACROSS / F::DEEP * (F::WIDE * 16) + (lane & 3) * 2;
    to += (warp / F::ACROSS % F::DEEP * F::ROWS + row) * F::PITCH + column;
#pragma unroll
    for (int i = 0; i < F::HIGH; i++)
#pragma unroll
        for (int j = 0; j < F::WIDE * 2; j++) {
            float *pair = to + i * 16 * F::PITCH + j * 8;
            *(float2 *)pair = make_float2(sums[i][j][0], sums[i][j][1]);
            *(float2 *)(pair + 8 * F::PITCH) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}

/* Where a thread's quads of the result lie: all in the same four columns. */
template <typename F> struct position {
    enum { LINE = F::COLUMNS / 4, STEP = F::THREADS / LINE };
    int row, column, in_row, in_column;

    __device__ __forceinline__ position(int first_row, int first_column) {
        in_row = (int)threadIdx.x / LINE;
        in_column = (int)threadIdx.x % LINE * 4;
        row = first_row + in_row;
        column = first_column + in_column;
    }
};

/* Up to four elements of a row. */
template <typename S>
__device__ __forceinline__ quad<S> load_quad(const S *row, int column, int columns) {
    quad<S> four = {};
    if (column >= columns) return four;
    if (columns % 4 == 0) return *(const quad<S> *)(row + column);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (column + k < columns) four.items[k] = row[column + k];
    return four;
}

template <typename type>
__device__ __forceinline__ quad<type> load_residual(const tensor_launch &l, int row, int column) {
    if (!l.residual || row >= l.rows) return {};
    return load_quad((const type *)l.residual + (int64_t)row * l.columns, column, l.columns);
}

/* A quad of the result, from the sums of all that share its depth. */
template <typename type, typename F>
__device__ __forceinline__ void finish_quad(const tensor_launch &l, const position<F> &at,
                                            int index, const float *sums, const quad<float> &bias,
                                            const quad<type> &rest) {
    const int row = at.row + index * position<F>::STEP;
    if (row >= l.rows || at.column >= l.columns) return;
    sums += (at.in_row + index * position<F>::STEP) * F::PITCH + at.in_column;
    float4 sum = *(const float4 *)sums;
#pragma unroll
    for (int k = 1; k < F::DEEP; k++) {
        const float4 more = *(const float4 *)(sums + k * F::ROWS * F::PITCH);
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    float four[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (int k = 0; k < 4; k++)
        four[k] = fmaf(tn_number_load(rest.items[k], 0), l.residual_factor,
                       four[k] * l.alpha + bias.items[k]);
    tn_cuda_activate_all<type>(l.activation, four);
    quad<type> result;
#pragma unroll
    for (int k = 0; k < 4; k++)
        tn_number_store(&result.items[k], four[k], 0);
    type *y = (type *)l.y + (int64_t)row * l.y_pitch + at.column;
    if (l.columns % 4 == 0)
        *(quad<type> *)y = result;
    else
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (at.column + k < l.columns) y[k] = result.items[k];
}

template <typename T, typename F>
__global__ void __launch_bounds__(F::THREADS)
    tensor_kernel(const __grid_constant__ tensor_launch l) {
    typedef typename stored<T>::type type;
    extern __shared__ uint4 shared_memory[];
    char *ring = (char *)shared_memory;
    const int bytes = F::LINES * pitch_of(l), of_b = F::ROWS * pitch_of(l);
    const int row = (int)blockIdx.x * F::ROWS, column = (int)blockIdx.y * F::COLUMNS;
    const copier<F> a(l, l.a, row, l.a_pitch), b(l, l.b, column, l.depth_bytes);
    const position<F> at(row, column);
    for (int s = 0; s < RING && s < l.stages; s++)
        b.template copy<F::COLUMNS>(l, l.columns - column, s, ring + s * bytes + of_b);
    quad<float> bias = {};
    if (l.bias) bias = load_quad(l.bias, at.column, l.columns);
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    for (int s = 0; s < RING; s++) {
        if (s < l.stages) a.template copy<F::ROWS>(l, l.rows - row, s, ring + s * bytes);
        tn_copy_group();
    }
    quad<type> rest[F::EARLY];
#pragma unroll
    for (int i = 0; i < F::EARLY; i++)
        rest[i] = load_residual<type>(l, at.row + i * position<F>::STEP, at.column);
    float sums[F::HIGH][F::WIDE * 2][4] = {};
#pragma unroll 1
    for (int s = 0; s < l.stages; s++) {
        char *lines = ring + s % RING * bytes;
        tn_copy_wait_for_group<RING - 1>();
        __syncthreads();
        multiply_stage<T, F>(l, s, lines, sums);
        if (s + RING < l.stages) {
            __syncthreads();
            a.template copy<F::ROWS>(l, l.rows - row, s + RING, lines);
            b.template copy<F::COLUMNS>(l, l.columns - column, s + RING, lines + of_b);
        }
        tn_copy_group();
    }
    __syncthreads();
    float *joined = (float *)shared_memory;
    store_sums<F>(sums, joined);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < F::EARLY; i++)
        finish_quad<type, F>(l, at, i, joined, bias, rest[i]);
#pragma unroll 4
    for (int i = F::EARLY; i < F::QUADS; i++)
        finish_quad<type, F>(l, at, i, joined, bias,
                             load_residual<type>(l, at.row + i * position<F>::STEP, at.column));
}

/* ----------------------------------------------------------------------------------------------
 * host */

/* One stage of the whole depth, or those that the shared memory has space for. */
template <typename F> int64_t cut(tensor_launch *l) {
    const int64_t least = F::SUMS;
    for (l->stage_bits = LEAST_BITS;
         1 << l->stage_bits < l->depth_bytes && l->stage_bits < MOST_BITS;)
        l->stage_bits++;
    for (;; l->stage_bits--) {
        l->stages = ((l->depth_bytes - 1) >> l->stage_bits) + 1;
        const int64_t in_ring = l->stages < RING ? l->stages : RING;
        const int64_t bytes = in_ring * F::LINES * pitch_of(*l);
        if (bytes <= MOST_SHARED) return bytes > least ? bytes : least;
    }
}

template <typename T, typename F> cudaError_t launch_as(tensor_launch l, cudaStream_t stream) {
    static_assert(((1 << LEAST_BITS) + (int)PACK) * (int)RING * (int)F::LINES <= (int)MOST_SHARED &&
                      (int)F::SUMS <= (int)MOST_SHARED,
                  "a ring of the least stages, and the sums, fit");
    const int64_t bytes = cut<F>(&l);
    const dim3 grid((unsigned)((l.rows + F::ROWS - 1) / F::ROWS),
                    (unsigned)((l.columns + F::COLUMNS - 1) / F::COLUMNS));
    const cudaError_t error = cudaFuncSetAttribute(
        tensor_kernel<T, F>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    return tn_cuda_launch_early(tensor_kernel<T, F>, grid, F::THREADS, (size_t)bytes, stream, l);
}

/* Those of few rows first: the fewer blocks, the fewer bytes are read twice. */
template <typename T>
cudaError_t launch(const tensor_launch &l, uint32_t tactic, cudaStream_t stream) {
    switch (tactic) {
    case 0:
        return launch_as<T, form<32, 32, 1, 1, 8>>(l, stream);
    case 1:
        return launch_as<T, form<16, 32, 1, 1, 4>>(l, stream);
    case 2:
        return launch_as<T, form<32, 64, 1, 2, 4>>(l, stream);
    case 3:
        return launch_as<T, form<64, 64, 2, 2, 2>>(l, stream);
    case 4:
        return launch_as<T, form<128, 64, 4, 2, 1>>(l, stream);
    default:
        return launch_as<T, form<128, 128, 2, 4, 1>>(l, stream);
    }
}

/* Rows of both operands begin at whole packs. */
bool read(const tn_call *call, tn_cuda_product_node *out_node) {
    return tn_cuda_product_read(call, out_node) && out_node->product.batch == 1 &&
           !out_node->product.a_is_transposed && !out_node->epilogue.has_softmax &&
           out_node->product.image.taps == 0 && out_node->product.columns <= MOST_COLUMNS &&
           out_node->product.depth <= INT32_MAX / 4 &&
           out_node->product.depth * (int64_t)tn_element_bytes(out_node->type) % PACK == 0;
}

/* Of images with their channels last rows may lie apart. */
bool find_pitches(const tn_call *call, const tn_cuda_product_node *node, tensor_launch *l) {
    const tn_cuda_product_user *user = (const tn_cuda_product_user *)call->user;
    tn_strided a, y;
    l->a_pitch = l->depth_bytes;
    l->y_pitch = l->columns;
    if (user->channel_axis != 1) return true;
    tn_strided_init(&a, call->inputs[0]);
    tn_strided_init(&y, call->outputs[0]);
    const int64_t a_pitch = a.pitch == a.row ? l->depth : a.pitch;
    const int64_t y_pitch = y.pitch == y.row ? l->columns : y.pitch;
    const int64_t bytes = a_pitch * (int64_t)tn_element_bytes(node->type);
    l->a_pitch = (int32_t)bytes;
    l->y_pitch = (int32_t)y_pitch;
    return bytes <= INT32_MAX && y_pitch <= INT32_MAX;
}

} // namespace

tn_status tn_cuda_product_tensor_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_product_node node;
    return read(call, &node) && call->inputs[B]->data && tn_cuda_product_is_constant(call, &node)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_product_tensor_tactics(tn_call *call) TN_NOEXCEPT {
    call->tactic_count = TACTICS;
    return TN_OK;
}

tn_status tn_cuda_product_tensor_reshape(tn_call *call) TN_NOEXCEPT {
    call->workspace_bytes = 0;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (read(call, (tn_cuda_product_node *)call->context)) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "these shapes read as no product");
}

tn_status tn_cuda_product_tensor_run(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_product_node *node = (const tn_cuda_product_node *)call->context;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    tensor_launch l = {};
    (product_job &)l = product_job_of(call);
    l.depth_bytes = l.depth * (int32_t)tn_element_bytes(node->type);
    if (!find_pitches(call, node, &l))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the tensor that this one is a part of is too large");
    const int before = tn_cuda_enter(call);
    const cudaStream_t stream = (cudaStream_t)call->stream;
    const cudaError_t error = node->type == TN_F32 ? launch<tn_tf32_number>(l, call->tactic, stream)
                              : node->type == TN_F16
                                  ? launch<__half>(l, call->tactic, stream)
                                  : launch<__nv_bfloat16>(l, call->tactic, stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a product");
}
