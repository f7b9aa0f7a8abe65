/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression, of select_job.h. */
#include "kit/cuda/any/select/select.cuh"

namespace {

struct ends {
    double low[2], high[2], area;
};

__device__ ends find_ends(const float *box, bool is_centre) {
    ends found;
    found.area = 1;
    for (int axis = 0; axis < 2; axis++) {
        const double a = box[axis], b = box[2 + axis];
        found.low[axis] = is_centre ? a - b / 2 : fmin(a, b);
        found.high[axis] = is_centre ? a + b / 2 : fmax(a, b);
        found.area *= found.high[axis] - found.low[axis];
    }
    return found;
}

__device__ bool overlap_more(const ends &a, const ends &b, double threshold) {
    const double height = fmin(a.high[0], b.high[0]) - fmax(a.low[0], b.low[0]);
    const double width = fmin(a.high[1], b.high[1]) - fmax(a.low[1], b.low[1]);
    if (!(height > 0) || !(width > 0)) return false;
    const double common = height * width;
    return common / (a.area + b.area - common) > threshold;
}

struct join_greater {
    __device__ __forceinline__ unsigned long long operator()(unsigned long long a,
                                                             unsigned long long b) const {
        return a > b ? a : b;
    }
};

/* The better the score the greater; of equal scores the first box is. Never 0. */
__device__ unsigned long long rank_of(float score, int64_t box) {
    union {
        float real;
        uint32_t bits;
    } as;
    as.real = score == 0 ? 0 : score; /* -0 is 0 */
    const uint32_t sign = 0x80000000u, key = as.bits & sign ? ~as.bits : as.bits | sign;
    return (unsigned long long)key << 32 | (0xffffffffu - (uint32_t)box);
}

struct suppress {
    tn_cuda_boxes_job job;

    __device__ void operator()(int64_t row) const {
        const float *boxes = job.boxes + row / job.classes * job.count * 4;
        const float *scores = job.scores + row * job.count;
        uint8_t *is_dropped = job.is_dropped + row * job.count;
        const double iou = job.iou ? (double)*job.iou : 0;
        int64_t kept = 0;
        for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x)
            is_dropped[i] = isnan(scores[i]) || (job.score && !(scores[i] > *job.score));
        while (kept < job.most) {
            unsigned long long best = 0; /* of the thread's own boxes, which no other drops */
            for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x)
                if (!is_dropped[i]) best = join_greater()(best, rank_of(scores[i], i));
            best = tn_block_join(best, join_greater());
            if (best == 0) break;
            const int64_t chosen = (int64_t)(0xffffffffu - (uint32_t)best);
            const ends own = find_ends(boxes + chosen * 4, job.is_centre);
            for (int64_t i = threadIdx.x; i < job.count; i += blockDim.x)
                if (i == chosen ||
                    (!is_dropped[i] &&
                     overlap_more(find_ends(boxes + i * 4, job.is_centre), own, iou)))
                    is_dropped[i] = 1;
            if (threadIdx.x == 0) job.kept[row * job.most + kept] = chosen;
            kept++;
        }
        if (threadIdx.x == 0) job.firsts[row] = kept;
    }
};

struct write {
    tn_cuda_boxes_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t row = i / job.most, number = i % job.most;
        const int64_t end = row + 1 < job.images * job.classes ? job.firsts[row + 1] : *job.found;
        const int64_t at = job.firsts[row] + number;
        if (at >= end) return;
        job.y[at * 3] = row / job.classes;
        job.y[at * 3 + 1] = row % job.classes;
        job.y[at * 3 + 2] = job.kept[i];
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_boxes_launch(const void *user, cudaStream_t stream) {
    const suppress function = {*(const tn_cuda_boxes_job *)user};
    const tn_cuda_boxes_job &job = function.job;
    const write rows = {job};
    const int64_t count = job.images * job.classes;
    cudaError_t error = tn_each_block_launch(function, count, job.count, stream);
    if (error == cudaSuccess) error = tn_number_parts(job.firsts, count, job.found, stream);
    return error == cudaSuccess ? tn_each_launch(rows, count * job.most, stream) : error;
}
