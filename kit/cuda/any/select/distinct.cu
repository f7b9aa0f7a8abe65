/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct items, of select_job.h: an item a thread, which is compared with all others. NaN is
 * above all other numbers and equals itself; -0 equals 0.
 */
#include "kit/cuda/any/select/select.cuh"

namespace {

/* Below 0: item a comes before item b; 0: they are equal. */
__device__ int compare(const tn_cuda_distinct_job &job, int64_t a, int64_t b) {
    const tn_lanes &lanes = job.pick.lanes;
    for (int64_t outer = 0; outer < lanes.outer; outer++) {
        const int64_t row = outer * lanes.count;
        for (int64_t inner = 0; inner < lanes.inner; inner++) {
            const uint64_t left = tn_any_key(job.pick.x, job.type, (row + a) * lanes.inner + inner);
            const uint64_t right =
                tn_any_key(job.pick.x, job.type, (row + b) * lanes.inner + inner);
            if (left != right) return left < right ? -1 : 1;
        }
    }
    return 0;
}

struct find_first {
    tn_cuda_distinct_job job;
    __device__ void operator()(int64_t i) const {
        int64_t first = 0;
        while (first < i && compare(job, first, i) != 0)
            first++;
        job.firsts[i] = first;
        job.is_first[i] = first == i;
        if (job.counts) job.counts[i] = 0;
    }
};

/* In order: an item's number is how many distinct ones come before it. */
struct sort_first {
    tn_cuda_distinct_job job;
    __device__ void operator()(int64_t i) const {
        if (!job.is_first[i]) return;
        int64_t number = 0;
        for (int64_t k = 0; k < job.pick.lanes.count; k++)
            number += job.is_first[k] && compare(job, k, i) < 0;
        job.numbers[i] = number;
        job.pick.select.sources[number] = i;
    }
};

struct write {
    tn_cuda_distinct_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t number = job.numbers[job.firsts[i]];
        if (job.is_first[i] && job.indices) job.indices[number] = i;
        if (job.inverse) job.inverse[i] = number;
        if (job.counts) atomicAdd((unsigned long long *)job.counts + number, 1ull);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_distinct_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_distinct_job &job = *(const tn_cuda_distinct_job *)user;
    const find_first first = {job};
    const sort_first sort = {job};
    const write all = {job};
    const int64_t count = job.pick.lanes.count;
    cudaError_t error = tn_each_launch(first, count, stream);
    if (error == cudaSuccess) error = tn_select(job.pick.select, stream);
    if (error == cudaSuccess && job.is_sorted) error = tn_each_launch(sort, count, stream);
    if (error == cudaSuccess) error = tn_each_launch(all, count, stream);
    return error == cudaSuccess && job.pick.y ? tn_pick(job.pick, stream) : error;
}
