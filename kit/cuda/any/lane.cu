/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of lane_job.h: a block a lane, of as many warps as it is long. Floats are computed in
 * double precision, integers in 64 bits that wrap.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/lane_job.h"

namespace {

__device__ __forceinline__ int64_t find(const tn_cuda_box &box, int64_t at) {
    if (box.rank == 1) return at * box.steps[0][0];
    int64_t offsets[1];
    tn_box_find(box, (uint32_t)at, offsets);
    return offsets[0];
}
__device__ __forceinline__ int64_t length(const tn_cuda_lane_job &job) {
    return job.is_empty ? 0 : job.lane.count;
}

struct join_product {
    template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return a * b; }
};
struct join_least {
    __device__ __forceinline__ double operator()(double a, double b) const {
        return isnan(a) || isnan(b) ? a + b : a < b ? a : b;
    }
};
/* Of integers; u64 by its own order. */
struct join_whole {
    bool is_most, is_natural;
    __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const {
        const bool is_above = is_natural ? (uint64_t)a > (uint64_t)b : a > b;
        return is_above == is_most ? a : b;
    }
};

/* The sum of function(element) over a lane, in all threads. */
template <typename F>
__device__ __forceinline__ double sum_real(const tn_cuda_lane_job &job, int64_t first,
                                           const F &function) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        sum += function(tn_any_f64(job.x, job.type, first + find(job.lane, i)));
    return tn_block_sum(sum);
}
template <typename F>
__device__ __forceinline__ uint64_t sum_whole(const tn_cuda_lane_job &job, int64_t first,
                                              const F &function) {
    unsigned long long sum = 0;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        sum += function(tn_any_i64(job.x, job.type, first + find(job.lane, i)));
    return tn_block_sum(sum);
}
struct as_it_is {
    __device__ __forceinline__ double operator()(double x) const { return x; }
    __device__ __forceinline__ uint64_t operator()(int64_t x) const { return (uint64_t)x; }
};
struct squared {
    __device__ __forceinline__ double operator()(double x) const { return x * x; }
    __device__ __forceinline__ uint64_t operator()(int64_t x) const {
        return (uint64_t)x * (uint64_t)x;
    }
};
struct magnitude {
    bool is_natural;
    __device__ __forceinline__ double operator()(double x) const { return fabs(x); }
    __device__ __forceinline__ uint64_t operator()(int64_t x) const {
        return x < 0 && !is_natural ? 0 - (uint64_t)x : (uint64_t)x;
    }
};
struct exponential {
    double most;
    __device__ __forceinline__ double operator()(double x) const { return exp(x - most); }
};
struct square_apart {
    double mean;
    __device__ __forceinline__ double operator()(double x) const { return (x - mean) * (x - mean); }
};

/* NaN where there is one. */
__device__ __forceinline__ double extreme(const tn_cuda_lane_job &job, int64_t first,
                                          bool is_most) {
    double found = is_most ? -(double)INFINITY : (double)INFINITY;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x) {
        const double value = tn_any_f64(job.x, job.type, first + find(job.lane, i));
        found = is_most ? tn_join_most()(found, value) : join_least()(found, value);
    }
    return is_most ? tn_block_join(found, tn_join_most()) : tn_block_join(found, join_least());
}

/* The largest element that is a number. */
__device__ __forceinline__ double largest(const tn_cuda_lane_job &job, int64_t first) {
    double found = -(double)INFINITY;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        found = fmax(found, tn_any_f64(job.x, job.type, first + find(job.lane, i)));
    return tn_block_most(found);
}

/* ----------------------------------------------------------------------------------------------
 * to one element */

__device__ double product_real(const tn_cuda_lane_job &job, int64_t first) {
    double product = 1;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        product *= tn_any_f64(job.x, job.type, first + find(job.lane, i));
    return tn_block_join(product, join_product());
}

__device__ double log_sum_exp(const tn_cuda_lane_job &job, int64_t first) {
    const double most = extreme(job, first, true);
    if (isinf(most)) return most;
    const exponential function = {most};
    return most + log(sum_real(job, first, function));
}

__device__ double reduce_real(const tn_cuda_lane_job &job, int64_t first) {
    const magnitude magnitudes = {false};
    switch (job.kind) {
    case TN_CUDA_LANE_MEAN:
        return sum_real(job, first, as_it_is()) / (double)length(job);
    case TN_CUDA_LANE_L1:
        return sum_real(job, first, magnitudes);
    case TN_CUDA_LANE_L2:
        return sqrt(sum_real(job, first, squared()));
    case TN_CUDA_LANE_SUM_SQUARE:
        return sum_real(job, first, squared());
    case TN_CUDA_LANE_LOG_SUM:
        return log(sum_real(job, first, as_it_is()));
    case TN_CUDA_LANE_LOG_SUM_EXP:
        return log_sum_exp(job, first);
    case TN_CUDA_LANE_PROD:
        return product_real(job, first);
    case TN_CUDA_LANE_MAX:
    case TN_CUDA_LANE_MIN:
        return extreme(job, first, job.kind == TN_CUDA_LANE_MAX);
    default:
        return sum_real(job, first, as_it_is());
    }
}

__device__ int64_t extreme_whole(const tn_cuda_lane_job &job, int64_t first) {
    const bool is_signed = job.type >= TN_I64 && job.type <= TN_I8;
    const join_whole join = {job.kind == TN_CUDA_LANE_MAX, job.type == TN_U64};
    /* the number that every other replaces */
    const int bits = job.type == TN_BOOL                        ? 1
                     : job.type == TN_I64 || job.type == TN_U64 ? 64
                     : job.type == TN_I32 || job.type == TN_U32 ? 32
                     : job.type == TN_I16 || job.type == TN_U16 ? 16
                                                                : 8;
    const int64_t high = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    long long found = join.is_most ? (is_signed ? -high - 1 : 0) : high;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        found = join(found, tn_any_i64(job.x, job.type, first + find(job.lane, i)));
    return tn_block_join(found, join);
}

__device__ int64_t product_whole(const tn_cuda_lane_job &job, int64_t first) {
    unsigned long long product = 1;
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        product *= (uint64_t)tn_any_i64(job.x, job.type, first + find(job.lane, i));
    return (int64_t)tn_block_join(product, join_product());
}

/* Of a result that is no integer what is behind the point is dropped. */
__device__ int64_t reduce_whole(const tn_cuda_lane_job &job, int64_t first) {
    const magnitude magnitudes = {job.type == TN_U64};
    switch (job.kind) {
    case TN_CUDA_LANE_MEAN: {
        const uint64_t sum = sum_whole(job, first, as_it_is());
        if (length(job) == 0) return 0;
        return job.type == TN_U64 ? (int64_t)(sum / (uint64_t)length(job))
                                  : (int64_t)sum / length(job);
    }
    case TN_CUDA_LANE_SUM:
        return (int64_t)sum_whole(job, first, as_it_is());
    case TN_CUDA_LANE_L1:
        return (int64_t)sum_whole(job, first, magnitudes);
    case TN_CUDA_LANE_SUM_SQUARE:
        return (int64_t)sum_whole(job, first, squared());
    case TN_CUDA_LANE_PROD:
        return product_whole(job, first);
    case TN_CUDA_LANE_MAX:
    case TN_CUDA_LANE_MIN:
        return extreme_whole(job, first);
    default:
        return tn_any_round(trunc(reduce_real(job, first)), job.type);
    }
}

__device__ void reduce(const tn_cuda_lane_job &job, int64_t number, int64_t first) {
    if (tn_any_is_real(job.type)) {
        const double value = reduce_real(job, first);
        if (threadIdx.x == 0) tn_any_set_f64(job.y, job.y_type, number, value);
    } else {
        const int64_t value = reduce_whole(job, first);
        if (threadIdx.x == 0) tn_any_set_i64(job.y, job.y_type, number, value);
    }
}

/* ----------------------------------------------------------------------------------------------
 * to an index */

struct best {
    uint64_t key;
    int64_t index;
};
/* The better of two elements by their keys; of equal ones the first, or the last. */
__device__ __forceinline__ void take(best &of, uint64_t key, int64_t index, bool is_last) {
    const bool is_equal = key == of.key;
    if (of.index >= 0 && !(key > of.key || (is_equal && (index > of.index) == is_last))) return;
    of.key = key;
    of.index = index;
}

/* NaN comes before all other numbers. */
__device__ int64_t find_best(const tn_cuda_lane_job &job, int64_t first, bool is_most) {
    best found = {0, -1};
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x) {
        const uint64_t key = tn_any_key(job.x, job.type, first + find(job.lane, i));
        const bool is_nan = tn_any_is_real(job.type) && key == ~UINT64_C(0);
        take(found, is_most || is_nan ? key : ~key, i, job.is_last);
    }
#ifndef TN_CUDA_ON_HOST
    __shared__ best shared[TN_CUDA_ANY_WARPS];
    for (int step = 16; step > 0; step /= 2) {
        const uint64_t key = __shfl_xor_sync(0xffffffffu, (unsigned long long)found.key, step);
        const int64_t index = __shfl_xor_sync(0xffffffffu, (long long)found.index, step);
        if (index >= 0) take(found, key, index, job.is_last);
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = found;
    __syncthreads();
    for (unsigned int w = 0; w < (blockDim.x + 31) / 32; w++)
        if (shared[w].index >= 0) take(found, shared[w].key, shared[w].index, job.is_last);
#endif
    return found.index < 0 ? 0 : found.index;
}

/* ----------------------------------------------------------------------------------------------
 * to a lane as long */

/* y = (x - shift) * by, but for LOG_SOFTMAX and SOFTMAX, where that is an exponent. */
__device__ void change(const tn_cuda_lane_job &job, int64_t first, double shift, double divisor) {
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x) {
        const int64_t at = first + find(job.lane, i);
        double value = tn_any_f64(job.x, job.type, at) - shift;
        if (job.kind == TN_CUDA_LANE_SOFTMAX)
            value = exp(value) / divisor;
        else if (job.kind == TN_CUDA_LANE_LOG_SOFTMAX)
            value -= log(divisor);
        else
            value = divisor == 0 && job.kind != TN_CUDA_LANE_MEAN_VARIANCE ? 0 : value / divisor;
        tn_any_set_f64(job.y, job.y_type, at, value);
    }
}

__device__ void normalize(const tn_cuda_lane_job &job, int64_t first) {
    const magnitude magnitudes = {false};
    if (job.kind == TN_CUDA_LANE_MEAN_VARIANCE) {
        const double mean = sum_real(job, first, as_it_is()) / (double)length(job);
        const square_apart function = {mean};
        const double squares = sum_real(job, first, function);
        change(job, first, mean, sqrt(squares / (double)length(job)) + 1e-9);
    } else if (job.kind == TN_CUDA_LANE_BY_L1) {
        change(job, first, 0, sum_real(job, first, magnitudes));
    } else if (job.kind == TN_CUDA_LANE_BY_L2) {
        change(job, first, 0, sqrt(sum_real(job, first, squared())));
    } else {
        const exponential function = {largest(job, first)};
        change(job, first, function.most, sum_real(job, first, function));
    }
}

/* The first largest is one. */
__device__ void hardmax(const tn_cuda_lane_job &job, int64_t first) {
    const int64_t index = find_best(job, first, true);
    for (int64_t i = threadIdx.x; i < length(job); i += blockDim.x)
        tn_any_set_f64(job.y, job.y_type, first + find(job.lane, i), i == index ? 1 : 0);
}

/* In the order of a lane: the first thread of a block does it. */
__device__ void accumulate(const tn_cuda_lane_job &job, int64_t first) {
    const bool is_product = job.kind == TN_CUDA_LANE_CUM_PROD, is_real = tn_any_is_real(job.type);
    const int64_t count = length(job);
    double real = is_product;
    uint64_t whole = is_product;
    for (int64_t i = 0; i < count && threadIdx.x == 0; i++) {
        const int64_t at = first + find(job.lane, job.is_reverse ? count - 1 - i : i);
        if (is_real) {
            const double before = real, value = tn_any_f64(job.x, job.type, at);
            real = is_product ? real * value : real + value;
            tn_any_set_f64(job.y, job.y_type, at, job.exclusive ? before : real);
        } else {
            const uint64_t before = whole, value = (uint64_t)tn_any_i64(job.x, job.type, at);
            whole = is_product ? whole * value : whole + value;
            tn_any_set_i64(job.y, job.y_type, at, (int64_t)(job.exclusive ? before : whole));
        }
    }
}

struct lanes {
    tn_cuda_lane_job job;
    __device__ void operator()(int64_t number) const {
        const int64_t first = find(job.lanes, number);
        if (job.kind <= TN_CUDA_LANE_MIN) {
            reduce(job, number, first);
        } else if (job.kind == TN_CUDA_LANE_ARG_MAX || job.kind == TN_CUDA_LANE_ARG_MIN) {
            const int64_t index = find_best(job, first, job.kind == TN_CUDA_LANE_ARG_MAX);
            if (threadIdx.x == 0) ((int64_t *)job.y)[number] = index;
        } else if (job.kind == TN_CUDA_LANE_HARDMAX) {
            hardmax(job, first);
        } else if (job.kind >= TN_CUDA_LANE_CUM_SUM) {
            accumulate(job, first);
        } else {
            normalize(job, first);
        }
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_lane_launch(const void *user, cudaStream_t stream) {
    const lanes function = {*(const tn_cuda_lane_job *)user};
    const bool is_serial = function.job.kind >= TN_CUDA_LANE_CUM_SUM;
    return tn_each_block_launch(function, function.job.lanes.count,
                                is_serial ? 1 : function.job.lane.count, stream);
}
