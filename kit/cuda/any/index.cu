/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of index_job.h: a piece of a row a thread. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/index_job.h"

namespace {

/* Where row `row` is in the data, in pieces; -1: an index is outside. */
__device__ __forceinline__ int64_t position_of(const tn_cuda_index_job &job, uint32_t row) {
    int64_t at[2];
    tn_box_find(job.rows, row, at);
    int64_t position = at[0];
    for (uint32_t k = 0; k < job.width; k++) {
        const int64_t index = tn_fault_index(
            job.fault, tn_any_i64(job.indices, job.index_type, at[1] + k), job.extents[k]);
        if (index < 0) return -1;
        position += index * job.steps[k];
    }
    return position;
}

struct gather {
    tn_cuda_index_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t piece;
        const uint32_t row = tn_divide_rest((uint32_t)i, job.units, &piece);
        const int64_t position = position_of(job, row);
        if (position < 0)
            tn_any_clear(job.to, i, job.bytes);
        else
            tn_any_copy(job.to, i, job.from, position + piece, job.bytes);
    }
};

__device__ __forceinline__ int64_t meet_whole(uint32_t reduction, tn_type type, int64_t a,
                                              int64_t b) {
    const bool is_less = type == TN_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (reduction) {
    case 1:
        return type == TN_BOOL ? (a | b) : (int64_t)((uint64_t)a + (uint64_t)b);
    case 2:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case 3:
        return is_less ? b : a;
    default:
        return is_less ? a : b;
    }
}
__device__ __forceinline__ double meet_real(uint32_t reduction, double a, double b) {
    if (reduction == 1) return a + b;
    if (reduction == 2) return a * b;
    if (isnan(a) || isnan(b)) return a + b;
    return reduction == 3 ? (a < b ? b : a) : (a < b ? a : b);
}

/* The element `at` becomes what it and `update` are together, whatever other threads do. Those of
 * less than 32 bits are part of a word. */
template <typename WORD>
__device__ void meet(const tn_cuda_index_job &job, int64_t at, const void *update) {
    const int64_t each = sizeof(WORD) / job.bytes;
    WORD *word = (WORD *)job.to + at / each, old = *word, seen;
    do {
        union {
            WORD bits;
            uint8_t bytes[sizeof(WORD)];
        } now;
        now.bits = seen = old;
        if (tn_any_is_real(job.type))
            tn_any_set_f64(now.bytes, job.type, at % each,
                           meet_real(job.reduction, tn_any_f64(now.bytes, job.type, at % each),
                                     tn_any_f64(update, job.type, 0)));
        else
            tn_any_set_i64(now.bytes, job.type, at % each,
                           meet_whole(job.reduction, job.type,
                                      tn_any_i64(now.bytes, job.type, at % each),
                                      tn_any_i64(update, job.type, 0)));
        old = atomicCAS(word, seen, now.bits);
    } while (old != seen);
}

struct scatter {
    tn_cuda_index_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t piece;
        const uint32_t row = tn_divide_rest((uint32_t)i, job.units, &piece);
        const int64_t position = position_of(job, row);
        if (position < 0) return;
        if (job.reduction == 0)
            tn_any_copy(job.to, position + piece, job.from, i, job.bytes);
        else if (job.bytes == 8)
            meet<unsigned long long>(job, position + piece, (const uint8_t *)job.from + i * 8);
        else
            meet<unsigned int>(job, position + piece, (const uint8_t *)job.from + i * job.bytes);
    }
};

struct one_hot {
    tn_cuda_one_hot_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t inner, at;
        const uint32_t rest = tn_divide_rest((uint32_t)i, job.inner, &inner);
        const uint32_t outer = tn_divide_rest(rest, job.depths, &at);
        const int64_t lane = (int64_t)outer * job.inner.divisor + inner;
        const double value = tn_any_f64(job.indices, job.index_type, lane);
        int64_t index = tn_any_i64(job.indices, job.index_type, lane);
        if (index < 0) index += job.depth;
        const bool is_on =
            value >= -(double)job.depth && value < (double)job.depth && index == (int64_t)at;
        tn_any_copy(job.to, i, job.values, is_on, job.bytes);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_gather_launch(const void *user, cudaStream_t stream) {
    const gather function = {*(const tn_cuda_index_job *)user};
    return tn_each_launch(function, (int64_t)function.job.rows.count * function.job.units.divisor,
                          stream);
}

extern "C" cudaError_t tn_cuda_scatter_launch(const void *user, cudaStream_t stream) {
    const scatter function = {*(const tn_cuda_index_job *)user};
    const tn_cuda_index_job &job = function.job;
    if (job.data != job.to && job.data_bytes > 0) {
        const cudaError_t error = cudaMemcpyAsync(job.to, job.data, (size_t)job.data_bytes,
                                                  cudaMemcpyDeviceToDevice, stream);
        if (error != cudaSuccess) return error;
    }
    if (job.rows.count == 0) return cudaSuccess;
    return tn_each_launch(function, (int64_t)function.job.rows.count * function.job.units.divisor,
                          stream);
}

extern "C" cudaError_t tn_cuda_one_hot_launch(const void *user, cudaStream_t stream) {
    const one_hot function = {*(const tn_cuda_one_hot_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
