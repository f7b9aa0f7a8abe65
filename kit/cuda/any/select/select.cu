/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items that are kept, of select_job.h: each part counts its own, a block adds the counts up, and
 * each part writes its items behind those of the parts before it. Then outputs are written, an
 * element a thread; how many of them have a meaning is read from memory.
 */
#include "kit/cuda/any/select/select.cuh"

namespace {

/* The sum of what the threads before this one hold; *out_total: of what all hold. */
__device__ __forceinline__ int64_t block_before(int64_t value, int64_t *out_total) {
#ifdef TN_CUDA_ON_HOST
    *out_total = value;
    return 0;
#else
    __shared__ int64_t sums[TN_CUDA_ANY_WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    int64_t before = 0, total = 0, sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const int64_t other = __shfl_up_sync(0xffffffffu, (long long)sum, step);
        if (lane >= step) sum += other;
    }
    __syncthreads(); /* what was there before has been read */
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    for (int i = 0; i < warps; i++) {
        if (i < warp) before += sums[i];
        total += sums[i];
    }
    *out_total = total;
    return before + sum - value;
#endif
}

/* firsts[i] = the sum of those before it; *found = the sum of all. One block. */
struct number_parts {
    int64_t *firsts, *found;
    int64_t count;
    __device__ void operator()(int64_t) const {
        const int64_t each = (count + blockDim.x - 1) / blockDim.x;
        const int64_t begin = each * threadIdx.x;
        const int64_t end = begin + each < count ? begin + each : count;
        int64_t own = 0, total = 0;
        for (int64_t i = begin; i < end; i++)
            own += firsts[i];
        int64_t before = block_before(own, &total);
        for (int64_t i = begin; i < end; i++) {
            const int64_t here = firsts[i];
            firsts[i] = before;
            before += here;
        }
        if (threadIdx.x == 0) *found = total;
    }
};

__device__ __forceinline__ bool is_kept(const tn_cuda_select_job &job, int64_t i) {
    return tn_any_is_real(job.type) ? tn_any_f64(job.flags, job.type, i) != 0
                                    : tn_any_i64(job.flags, job.type, i) != 0;
}

struct range {
    int64_t begin, end;
};
/* A thread's items of a part. */
__device__ __forceinline__ range own_items(int64_t part, int64_t count) {
    const int64_t each = (TN_CUDA_SELECT_PART + blockDim.x - 1) / blockDim.x;
    const int64_t first = part * TN_CUDA_SELECT_PART;
    const int64_t stop = first + TN_CUDA_SELECT_PART < count ? first + TN_CUDA_SELECT_PART : count;
    const int64_t begin = first + each * threadIdx.x;
    return {begin < stop ? begin : stop, begin + each < stop ? begin + each : stop};
}

struct count_part {
    tn_cuda_select_job job;
    __device__ void operator()(int64_t part) const {
        const range own = own_items(part, job.count);
        long long kept = 0;
        for (int64_t i = own.begin; i < own.end; i++)
            kept += is_kept(job, i);
        kept = tn_block_sum(kept);
        if (threadIdx.x == 0) job.firsts[part] = kept;
    }
};

struct list_part {
    tn_cuda_select_job job;
    __device__ void operator()(int64_t part) const {
        const range own = own_items(part, job.count);
        int64_t kept = 0, total = 0;
        for (int64_t i = own.begin; i < own.end; i++)
            kept += is_kept(job, i);
        int64_t number = job.firsts[part] + block_before(kept, &total);
        for (int64_t i = own.begin; i < own.end; i++) {
            if (job.numbers) job.numbers[i] = number;
            if (is_kept(job, i)) job.sources[number++] = i;
        }
    }
};

struct pick {
    tn_cuda_pick_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t inner = i % job.lanes.inner, rest = i / job.lanes.inner;
        const int64_t number = rest % job.rows.capacity, outer = rest / job.rows.capacity;
        if (number >= *job.rows.found) return;
        const int64_t to = (outer * tn_select_pitch(job.rows) + number) * job.lanes.inner + inner;
        const int64_t from = outer * job.lanes.count + job.select.sources[number];
        tn_any_copy(job.y, to, job.x, from * job.lanes.inner + inner, job.bytes);
    }
};

struct indices {
    tn_cuda_non_zero_job job;
    __device__ void operator()(int64_t number) const {
        int64_t index[TN_MAX_RANK];
        if (number >= *job.rows.found) return;
        const int64_t pitch = tn_select_pitch(job.rows);
        tn_box_index(job.box, (uint32_t)job.select.sources[number], index);
        for (uint32_t k = 0; k < job.box.rank; k++)
            job.y[k * pitch + number] = index[k];
    }
};

struct hand_out {
    tn_cuda_count_job job;
    __device__ void operator()(int64_t i) const {
        if (job.to[i]) *job.to[i] = *job.found;
    }
};

} // namespace

cudaError_t tn_number_parts(int64_t *firsts, int64_t count, int64_t *found, cudaStream_t stream) {
    const number_parts function = {firsts, found, count};
    return tn_each_block_launch(function, 1, 512, stream);
}

cudaError_t tn_select(const tn_cuda_select_job &job, cudaStream_t stream) {
    const int64_t parts = tn_cuda_select_parts(job.count);
    const count_part count = {job};
    const list_part list = {job};
    cudaError_t error = tn_each_block_launch(count, parts, TN_CUDA_SELECT_PART / 4, stream);
    if (error == cudaSuccess) error = tn_number_parts(job.firsts, parts, job.found, stream);
    if (error == cudaSuccess)
        error = tn_each_block_launch(list, parts, TN_CUDA_SELECT_PART / 4, stream);
    return error;
}

cudaError_t tn_pick(const tn_cuda_pick_job &job, cudaStream_t stream) {
    const pick function = {job};
    return tn_each_launch(function, job.lanes.outer * job.rows.capacity * job.lanes.inner, stream);
}

extern "C" cudaError_t tn_cuda_pick_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_pick_job &job = *(const tn_cuda_pick_job *)user;
    const cudaError_t error = tn_select(job.select, stream);
    return error == cudaSuccess ? tn_pick(job, stream) : error;
}

extern "C" cudaError_t tn_cuda_non_zero_launch(const void *user, cudaStream_t stream) {
    const indices function = {*(const tn_cuda_non_zero_job *)user};
    const cudaError_t error = tn_select(function.job.select, stream);
    return error == cudaSuccess ? tn_each_launch(function, function.job.select.count, stream)
                                : error;
}

extern "C" cudaError_t tn_cuda_count_launch(const void *user, cudaStream_t stream) {
    const hand_out function = {*(const tn_cuda_count_job *)user};
    cudaError_t error = tn_each_launch(function, TN_CUDA_SELECT_OUTPUTS, stream);
    if (error != cudaSuccess || !function.job.host) return error;
    error = cudaMemcpyAsync(function.job.host, function.job.found, sizeof(int64_t),
                            cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
