/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times a constant matrix on tensor cores, for products so short that starting them and
 * waiting for memory is much of their time. A block has a tile of the result. Its two operands come
 * to shared memory in a ring of stages, a part of the depth each: all copies that the ring has
 * space for are in flight at once, those of the matrix before the kernel in front is done. The
 * warps of a block share its rows, its columns and each stage's depth; sums over the depth meet in
 * shared memory and are added up in the same order always. Where the mean of each image's rows is
 * wanted a block has all rows of an image, or of several. See product.h and matrix.cuh; a block's
 * work is product_tensor_tile.cuh.
 */
#include "kit/cuda/gemm/product_tensor_tile.cuh"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>

extern "C" {
#include "kit/math/element.h"
#include <tenon/kit/strided.h>
}

namespace {

enum {
    B = 1,
    RING = 4,       /* stages */
    LEAST_BITS = 6, /* of a stage's bytes of depth */
    MOST_BITS = 11, /* of a stage: a line of it is no more packs than a block has threads */
    MOST_SHARED = 226 * 1024,
    MOST_COLUMNS = 65535 * 32, /* blocks of the grid's second axis, of the narrowest form */
    TACTICS = 6,
    /* Where means are stored: of images of up to LOW_PIXELS, of others the last two. */
    MEAN_TACTICS = 4,
    LOW_PIXELS = 64,
    MOST_PIXELS = 128,
};

template <typename T, typename F, bool IS_MEAN>
__global__ void __launch_bounds__(F::THREADS)
    tensor_kernel(const __grid_constant__ tensor_launch l) {
    typedef typename stored<T>::type type;
    extern __shared__ uint4 shared_memory[];
    char *ring = (char *)shared_memory;
    const int bytes = F::LINES * pitch_of(l), of_b = F::ROWS * pitch_of(l);
    const int rows = IS_MEAN ? l.images * l.pixels : (int)F::ROWS;
    const int row = (int)blockIdx.x * rows, column = (int)blockIdx.y * F::COLUMNS;
    const int own = IS_MEAN ? min(rows, l.rows - row) : l.rows - row;
    const copier<F> a(l, l.a, row, l.a_pitch), b(l, l.b, column, l.depth_bytes);
    const position<F> at(row, column);
    for (int s = 0; s < RING && s < l.stages; s++)
        b.template copy<F::COLUMNS>(l, l.columns - column, s, ring + s * bytes + of_b);
    quad<float> bias = {};
    if (l.bias) bias = load_quad(l.bias, at.column, l.columns);
    tn_cuda_wait_for_last();
    tn_cuda_start_next();
    for (int s = 0; s < RING; s++) {
        if (s < l.stages) a.template copy<F::ROWS>(l, own, s, ring + s * bytes);
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
            a.template copy<F::ROWS>(l, own, s + RING, lines);
            b.template copy<F::COLUMNS>(l, l.columns - column, s + RING, lines + of_b);
        }
        tn_copy_group();
    }
    __syncthreads();
    float *joined = (float *)shared_memory;
    store_sums<F>(sums, joined);
    __syncthreads();
    if constexpr (IS_MEAN) {
#pragma unroll
        for (int i = 0; i < F::EARLY; i++)
            keep_quad<type, F>(l, at, i, joined, bias, rest[i]);
#pragma unroll 4
        for (int i = F::EARLY; i < F::QUADS; i++)
            keep_quad<type, F>(l, at, i, joined, bias,
                               load_residual<type>(l, at.row + i * position<F>::STEP, at.column));
        __syncthreads();
        store_means<type, F>(l, column, joined);
    } else {
#pragma unroll
        for (int i = 0; i < F::EARLY; i++)
            finish_quad<type, F>(l, at, i, joined, bias, rest[i]);
#pragma unroll 4
        for (int i = F::EARLY; i < F::QUADS; i++)
            finish_quad<type, F>(l, at, i, joined, bias,
                                 load_residual<type>(l, at.row + i * position<F>::STEP, at.column));
    }
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

template <typename T, typename F, bool IS_MEAN = false>
cudaError_t launch_as(tensor_launch l, cudaStream_t stream) {
    static_assert(((1 << LEAST_BITS) + (int)PACK) * (int)RING * (int)F::LINES <= (int)MOST_SHARED &&
                      (int)F::SUMS <= (int)MOST_SHARED,
                  "a ring of the least stages, and the sums, fit");
    const int64_t bytes = cut<F>(&l);
    if (IS_MEAN) l.images = F::ROWS / l.pixels;
    const int rows = IS_MEAN ? l.images * l.pixels : (int)F::ROWS;
    if (rows == 0) return cudaErrorInvalidValue;
    const dim3 grid((unsigned)((l.rows + rows - 1) / rows),
                    (unsigned)((l.columns + F::COLUMNS - 1) / F::COLUMNS));
    const cudaError_t error = cudaFuncSetAttribute(
        tensor_kernel<T, F, IS_MEAN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    return tn_cuda_launch_early(tensor_kernel<T, F, IS_MEAN>, grid, F::THREADS, (size_t)bytes,
                                stream, l);
}

/* Blocks that have whole images. */
template <typename T>
cudaError_t launch_mean(const tensor_launch &l, uint32_t tactic, cudaStream_t stream) {
    switch (l.pixels > LOW_PIXELS && tactic < 2 ? tactic + 2 : tactic) {
    case 0:
        return launch_as<T, form<64, 16, 2, 1, 4>, true>(l, stream);
    case 1:
        return launch_as<T, form<64, 32, 2, 1, 4>, true>(l, stream);
    case 2:
        return launch_as<T, form<128, 32, 4, 1, 2>, true>(l, stream);
    default:
        return launch_as<T, form<128, 64, 4, 2, 1>, true>(l, stream);
    }
}

/* Those of few rows first: the fewer blocks, the fewer bytes are read twice. */
template <typename T>
cudaError_t launch(const tensor_launch &l, uint32_t tactic, cudaStream_t stream) {
    if (l.pixels > 0) return launch_mean<T>(l, tactic, stream);
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
           out_node->product.depth * (int64_t)tn_element_bytes(out_node->type) % PACK == 0 &&
           out_node->pixels <= MOST_PIXELS &&
           (out_node->pixels == 0 || out_node->product.columns <= MOST_COLUMNS / 2);
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
    tn_cuda_product_node node;
    call->tactic_count = !read(call, &node) || node.pixels == 0 ? TACTICS
                         : node.pixels > LOW_PIXELS             ? MEAN_TACTICS - 2
                                                                : MEAN_TACTICS;
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
    l.pixels = (int32_t)node->pixels;
    l.is_wide = call->outputs[0]->type != node->type;
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
