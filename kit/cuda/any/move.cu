/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of move_job.h: an element of the output a thread. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/move_job.h"

namespace {

__device__ __forceinline__ int64_t modulo(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

struct pad {
    tn_cuda_pad_job job;

    /* The input's position along an axis; -1: the constant. */
    __device__ __forceinline__ int64_t source(int axis, int64_t position) const {
        const int64_t low = job.low[axis], count = job.high[axis] - low;
        int64_t at = position - job.begin[axis] - low;
        if (at >= 0 && at < count) return low + at;
        switch (job.mode) {
        case TN_CUDA_PAD_EDGE:
            return at < 0 ? low : low + count - 1;
        case TN_CUDA_PAD_WRAP:
            return low + modulo(at, count);
        case TN_CUDA_PAD_REFLECT:
            if (count == 1) return low;
            at = modulo(at, 2 * (count - 1));
            return low + (at < count ? at : 2 * (count - 1) - at);
        default:
            return -1;
        }
    }

    __device__ void operator()(int64_t i) const {
        int64_t index[TN_MAX_RANK], from = 0;
        tn_box_index(job.box, (uint32_t)i, index);
        bool is_constant = false;
        for (int axis = 0; axis < (int)job.box.rank; axis++) {
            const int64_t at = source(axis, index[axis]);
            is_constant = is_constant || at < 0;
            from += at * job.box.steps[0][axis];
        }
        if (!is_constant)
            tn_any_copy(job.y, i, job.x, from, job.bytes);
        else
            tn_any_copy(job.y, i, job.constant ? job.constant : (const void *)job.value, 0,
                        job.bytes);
    }
};

struct trilu {
    tn_cuda_trilu_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t column, row;
        (void)tn_divide_rest(tn_divide_rest((uint32_t)i, job.width, &column), job.height, &row);
        const int64_t k = job.k ? *(const int64_t *)job.k : 0, apart = (int64_t)column - row;
        if (job.is_upper ? apart >= k : apart <= k)
            tn_any_copy(job.y, i, job.x, i, job.bytes);
        else
            tn_any_clear(job.y, i, job.bytes);
    }
};

struct bits {
    tn_cuda_bits_job job;
    __device__ void operator()(int64_t i) const {
        if (job.is_bool)
            ((uint8_t *)job.y)[i] = ((const uint8_t *)job.x)[i] != 0;
        else
            tn_any_copy(job.y, i, job.x, i, job.bytes);
    }
};

struct fill {
    tn_cuda_fill_job job;
    __device__ void operator()(int64_t i) const { tn_any_copy(job.y, i, job.value, 0, job.bytes); }
};

struct reverse {
    tn_cuda_reverse_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t piece, second;
        const uint32_t item = tn_divide_rest((uint32_t)i, job.pieces, &piece);
        const uint32_t first = tn_divide_rest(item, job.rows, &second);
        const int64_t sequence = job.is_time_first ? second : first;
        const int64_t time = job.is_time_first ? first : second;
        const int64_t length = job.lengths[sequence];
        if (!tn_fault_within(job.fault, length, 0, job.extent)) {
            tn_any_clear(job.y, i, job.bytes);
            return;
        }
        const int64_t from = time < length ? length - 1 - time : time;
        const int64_t source = job.is_time_first ? from * job.rows.divisor + sequence
                                                 : sequence * job.rows.divisor + from;
        tn_any_copy(job.y, i, job.x, source * job.pieces.divisor + piece, job.bytes);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_pad_launch(const void *user, cudaStream_t stream) {
    const pad function = {*(const tn_cuda_pad_job *)user};
    return tn_each_launch(function, function.job.box.count, stream);
}
extern "C" cudaError_t tn_cuda_trilu_launch(const void *user, cudaStream_t stream) {
    const trilu function = {*(const tn_cuda_trilu_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_bits_launch(const void *user, cudaStream_t stream) {
    const bits function = {*(const tn_cuda_bits_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_fill_launch(const void *user, cudaStream_t stream) {
    const fill function = {*(const tn_cuda_fill_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
extern "C" cudaError_t tn_cuda_reverse_launch(const void *user, cudaStream_t stream) {
    const reverse function = {*(const tn_cuda_reverse_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
