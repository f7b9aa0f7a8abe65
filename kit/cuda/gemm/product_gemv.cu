/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows times a constant matrix: what it takes is reading the matrix once, which may have fewer
 * bits than the rows. A row of it (a column
 * of the product's second factor) belongs to one to four warps, which read it 16 bytes a lane and
 * add up; its products with all rows of a are taken at once. Where softmax follows, a row of the
 * result is one block's. See product.h.
 */
#include "kit/cuda/gemm/product_job.cuh"
#include <tenon/kit/cuda/launch.cuh>
#include <tenon/kit/cuda/launch.h>
#include <tenon/kit/cuda/number.cuh>
#include <tenon/kit/cuda/warp.cuh>

namespace {

enum { B = 1, MOST_ROWS = 8, THREADS = 128, TACTICS = 3 };
enum { SOFTMAX_THREADS = 512, MOST_SOFTMAX = 1024 };

struct gemv_launch : product_job {
    bool has_softmax;
};

template <typename T, int N> struct alignas(sizeof(T) * N) pack { T items[N]; };

enum { BATCH = 4 };

/* What this lane of LANES has of a row of a or b from `first` on, zeros behind its end: all on
 * their tactic at once. */
template <typename T, int N, int LANES>
__device__ __forceinline__ void load_batch(const pack<T, N> *row, int packs, int first,
                                           pack<T, N> (&items)[BATCH]) {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        items[i] = {};
        if (first + i * LANES < packs) items[i] = row[first + i * LANES];
    }
}

/* The products of one row of b, of numbers W, with M rows of a, as far as this lane of LANES has
 * them. N elements a load. The first loads of b, which is a constant, begin before a is there. */
template <typename T, typename W, int N, int M, int LANES>
__device__ __forceinline__ void multiply(const gemv_launch &l, int column, int lane,
                                         float (&sums)[M]) {
    const pack<W, N> *b = (const pack<W, N> *)((const W *)l.b + (int64_t)column * l.depth);
    const int packs = column < l.columns ? l.depth / N : 0;
    pack<W, N> w[BATCH];
    load_batch<W, N, LANES>(b, packs, lane, w);
    tn_cuda_wait_for_last();
    for (int first = lane; first < packs; first += BATCH * LANES) {
        if (first != lane) load_batch<W, N, LANES>(b, packs, first, w);
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (m >= l.rows) break;
            pack<T, N> x[BATCH];
            load_batch<T, N, LANES>((const pack<T, N> *)((const T *)l.a + (int64_t)m * l.depth),
                                    packs, first, x);
#pragma unroll
            for (int j = 0; j < BATCH; j++)
#pragma unroll
                for (int i = 0; i < N; i++)
                    sums[m] = fmaf(tn_number_load(w[j].items[i], 0),
                                   tn_number_load(x[j].items[i], 0), sums[m]);
        }
    }
}

template <typename T, typename W, int N, int M, int WARPS>
__global__ void __launch_bounds__(THREADS) gemv_kernel(const __grid_constant__ gemv_launch l) {
    constexpr int LANES = WARPS * 32, COLUMNS = THREADS / LANES;
    __shared__ float shared[WARPS > 1 ? COLUMNS * WARPS * M : 1];
    const int lane_column = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int column = blockIdx.x * COLUMNS + lane_column;
    const float bias = l.bias && column < l.columns ? l.bias[column] : 0;
    float sums[M] = {};
    tn_cuda_start_next();
    multiply<T, W, N, M, LANES>(l, column, lane, sums);
#pragma unroll
    for (int m = 0; m < M; m++)
        sums[m] = tn_warp_sum(sums[m]);
    if (WARPS > 1) {
        if (lane % 32 == 0)
#pragma unroll
            for (int m = 0; m < M; m++)
                shared[(lane_column * WARPS + lane / 32) * M + m] = sums[m];
        __syncthreads();
        if (lane >= 32) return;
    }
    if (column >= l.columns) return;
#pragma unroll
    for (int m = 0; m < M; m++) {
        if (lane != m || m >= l.rows) continue;
        float sum = sums[m];
        if (WARPS > 1) {
            sum = 0;
            for (int i = 0; i < WARPS; i++)
                sum += shared[(lane_column * WARPS + i) * M + m];
        }
        sum = sum * l.alpha + bias;
        const int64_t at = (int64_t)m * l.columns + column;
        if (l.residual) sum += l.residual_factor * tn_number_load(((const T *)l.residual)[at], 0);
        tn_number_store((T *)l.y + at, tn_cuda_activate(l.activation, sum), 0);
    }
}

/* Softmax of a row in shared memory. Each warp finds the largest and the sum by itself; few columns
 * are the first warp's alone. */
template <typename T>
__device__ __forceinline__ void store_softmax(const float *values, int columns, T *y) {
    const int lane = threadIdx.x % 32;
    if (columns <= 32) {
        if (threadIdx.x >= 32) return;
        const float value = lane < columns ? values[lane] : -INFINITY;
        const float largest = tn_warp_largest(value);
        const float power = lane < columns ? expf(value - largest) : 0;
        const float sum = tn_warp_sum(power);
        if (lane < columns) tn_number_store(y + lane, power * (1 / sum), 0);
        return;
    }
    float largest = -INFINITY, sum = 0;
    for (int column = lane; column < columns; column += 32)
        largest = fmaxf(largest, values[column]);
    largest = tn_warp_largest(largest);
    for (int column = lane; column < columns; column += 32)
        sum += expf(values[column] - largest);
    const float inverse = 1 / tn_warp_sum(sum);
    for (int column = threadIdx.x; column < columns; column += SOFTMAX_THREADS)
        tn_number_store(y + column, expf(values[column] - largest) * inverse, 0);
}

/* A row of the result a block, and softmax along it: a warp takes one column after the other. */
template <typename T, typename W, int N>
__global__ void __launch_bounds__(SOFTMAX_THREADS)
    softmax_kernel(const __grid_constant__ gemv_launch l) {
    constexpr int WARPS = SOFTMAX_THREADS / 32;
    __shared__ float values[MOST_SOFTMAX];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x;
    gemv_launch one = l;
    one.a = (const T *)l.a + (int64_t)row * l.depth;
    one.rows = 1;
    tn_cuda_start_next();
    for (int column = warp; column < l.columns; column += WARPS) {
        const float bias = l.bias ? l.bias[column] : 0;
        float sums[1] = {};
        multiply<T, W, N, 1, 32>(one, column, lane, sums);
        float sum = tn_warp_sum(sums[0]) * l.alpha + bias;
        const int64_t at = (int64_t)row * l.columns + column;
        if (l.residual) sum += l.residual_factor * tn_number_load(((const T *)l.residual)[at], 0);
        if (lane == 0) values[column] = tn_cuda_activate(l.activation, sum);
    }
    tn_cuda_wait_for_last(); /* also where a warp had no column */
    __syncthreads();
    store_softmax<T>(values, l.columns, (T *)l.y + (int64_t)row * l.columns);
}

template <typename T, typename W, int N, int M>
cudaError_t launch_warps(const gemv_launch *l, uint32_t tactic, cudaStream_t stream) {
    const unsigned int columns = (unsigned int)l->columns;
    if (tactic == 0)
        return tn_cuda_launch_early(gemv_kernel<T, W, N, M, 1>, (columns + 3) / 4, THREADS, 0,
                                    stream, *l);
    if (tactic == 1)
        return tn_cuda_launch_early(gemv_kernel<T, W, N, M, 2>, (columns + 1) / 2, THREADS, 0,
                                    stream, *l);
    return tn_cuda_launch_early(gemv_kernel<T, W, N, M, 4>, columns, THREADS, 0, stream, *l);
}

template <typename T, typename W = T>
cudaError_t launch(const gemv_launch *l, uint32_t tactic, cudaStream_t stream) {
    constexpr int N = 16 / sizeof(W);
    if (l->has_softmax)
        return l->depth % N != 0 ? tn_cuda_launch_early(softmax_kernel<T, W, 1>, l->rows,
                                                        SOFTMAX_THREADS, 0, stream, *l)
                                 : tn_cuda_launch_early(softmax_kernel<T, W, N>, l->rows,
                                                        SOFTMAX_THREADS, 0, stream, *l);
    if (l->depth % N != 0) return launch_warps<T, W, 1, MOST_ROWS>(l, tactic, stream);
    if (l->rows == 1) return launch_warps<T, W, N, 1>(l, tactic, stream);
    if (l->rows <= 4) return launch_warps<T, W, N, 4>(l, tactic, stream);
    return launch_warps<T, W, N, MOST_ROWS>(l, tactic, stream);
}

cudaError_t launch_by_type(const tn_cuda_product_node *node, const gemv_launch *l, uint32_t tactic,
                           cudaStream_t stream) {
    if (node->type == TN_F16) return launch<__half>(l, tactic, stream);
    if (node->type == TN_BF16) return launch<__nv_bfloat16>(l, tactic, stream);
    return node->b_type == TN_F32   ? launch<float>(l, tactic, stream)
           : node->b_type == TN_F16 ? launch<float, __half>(l, tactic, stream)
                                    : launch<float, __nv_bfloat16>(l, tactic, stream);
}

bool read(const tn_call *call, tn_cuda_product_node *out_node) {
    return tn_cuda_product_read(call, out_node) && out_node->product.batch == 1 &&
           out_node->product.rows <= MOST_ROWS && !out_node->product.a_is_transposed &&
           (!out_node->epilogue.has_softmax || out_node->product.columns <= MOST_SOFTMAX);
}

} // namespace

tn_status tn_cuda_product_gemv_accepts(tn_call *call) TN_NOEXCEPT {
    tn_cuda_product_node node;
    return read(call, &node) && call->inputs[B]->data && tn_cuda_product_is_constant(call, &node)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_cuda_product_gemv_tactics(tn_call *call) TN_NOEXCEPT {
    tn_cuda_product_node node;
    call->tactic_count = read(call, &node) && node.epilogue.has_softmax ? 1 : TACTICS;
    return TN_OK;
}

tn_status tn_cuda_product_gemv_reshape(tn_call *call) TN_NOEXCEPT {
    call->workspace_bytes = 0;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (read(call, (tn_cuda_product_node *)call->context)) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "these shapes are more than %d rows",
                            (int)MOST_ROWS);
}

tn_status tn_cuda_product_gemv_run(tn_call *call) TN_NOEXCEPT {
    const tn_cuda_product_node *node = (const tn_cuda_product_node *)call->context;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    gemv_launch l = {};
    (product_job &)l = product_job_of(call);
    l.has_softmax = node->epilogue.has_softmax;
    const int before = tn_cuda_enter(call);
    const cudaStream_t stream = (cudaStream_t)call->stream;
    const cudaError_t error = launch_by_type(node, &l, call->tactic, stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a product");
}
