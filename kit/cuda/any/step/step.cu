/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of step_job.h but the recurrent layers'. The formulas are those of the operators'
 * references. */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/step/step_job.h"

namespace {

/* A thread turns a pair, or copies one of the elements that stay. */
struct rotary {
    tn_cuda_rotary_job job;
    __device__ void operator()(int64_t item) const {
        const int64_t units = job.depth - job.half; /* pairs, then what is not turned */
        const int64_t row = item / units, i = item % units, first = row * job.depth;
        if (i >= job.half) {
            const int64_t at = first + job.half + i;
            tn_any_set_f64(job.y, job.type, at, tn_any_f64(job.x, job.type, at));
            return;
        }
        const int64_t sample = row / (job.heads * job.positions);
        int64_t table =
            job.has_heads_first ? sample * job.positions + row % job.positions : row / job.heads;
        const int64_t at = first + (job.is_interleaved ? 2 * i : i);
        const int64_t other = job.is_interleaved ? at + 1 : at + job.half;
        if (job.position_ids) table = job.position_ids[table];
        if (!tn_fault_within(job.fault, table, 0, job.table_rows - 1)) return;
        const double a = tn_any_f64(job.x, job.type, at), b = tn_any_f64(job.x, job.type, other);
        const double cosine = tn_any_f64(job.cosines, job.type, table * job.half + i);
        const double sine = tn_any_f64(job.sines, job.type, table * job.half + i);
        tn_any_set_f64(job.y, job.type, at, cosine * a - sine * b);
        tn_any_set_f64(job.y, job.type, other, sine * a + cosine * b);
    }
};

struct causal {
    tn_cuda_causal_job job;

    /* Position `at` of a row, from the first one of the past on. */
    __device__ double position_of(int64_t row, int64_t at) const {
        const int64_t before = job.taps - 1;
        if (at >= before) return tn_any_f64(job.x, job.type, row * job.length + at - before);
        return job.past ? tn_any_f64(job.past, job.type, row * before + at) : 0;
    }

    __device__ void operator()(int64_t item) const {
        const int64_t units = job.length + job.taps - 1; /* results, then the last positions */
        const int64_t row = item / units, t = item % units, channel = row % job.channels;
        if (t >= job.length) {
            if (job.present)
                tn_any_set_f64(job.present, job.type, row * (job.taps - 1) + t - job.length,
                               position_of(row, t));
            return;
        }
        if (!job.y) return;
        double sum = job.bias ? tn_any_f64(job.bias, job.type, channel) : 0;
        for (int64_t j = 0; j < job.taps; j++)
            sum +=
                tn_any_f64(job.weight, job.type, channel * job.taps + j) * position_of(row, t + j);
        if (job.has_sigmoid) sum /= 1 + exp(-sum);
        tn_any_set_f64(job.y, job.type, row * job.length + t, sum);
    }
};

struct cache {
    tn_cuda_cache_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t inner = i % job.inner, rest = i / job.inner;
        const int64_t k = rest % job.updates, prefix = rest / job.updates;
        int64_t first = job.indices ? job.indices[prefix / job.a_sample] : 0;
        if (job.is_circular) {
            first %= job.positions;
            if (first < 0) first += job.positions;
        } else if (!tn_fault_within(job.fault, first, 0, job.positions - job.updates)) {
            return;
        }
        const int64_t to = first + k < job.positions ? first + k : first + k - job.positions;
        tn_any_copy(job.present, (prefix * job.positions + to) * job.inner + inner, job.update, i,
                    job.bytes);
    }
};

struct linear_attention {
    tn_cuda_linear_attention_job job;

    __device__ void operator()(int64_t column) const {
        const int64_t k_depth = job.k_depth, v_depth = job.v_depth;
        const int64_t columns = job.batch * job.kv_heads * v_depth;
        const int64_t index = column % v_depth, head = column / v_depth % job.kv_heads;
        const int64_t batch = column / v_depth / job.kv_heads, group = job.q_heads / job.kv_heads;
        const int64_t first = (batch * job.kv_heads + head) * k_depth;
        double *state = job.state + column; /* element i at i * columns */
        for (int64_t i = 0; i < k_depth; i++)
            state[i * columns] =
                job.past ? tn_any_f64(job.past, job.past_type, (first + i) * v_depth + index) : 0;
        for (int64_t step = 0; step < job.steps; step++) {
            const int64_t row = batch * job.steps + step,
                          keys = (row * job.kv_heads + head) * k_depth;
            double value =
                tn_any_f64(job.value, job.type, (row * job.kv_heads + head) * v_depth + index);
            for (int64_t i = 0; job.decay && i < k_depth; i++) {
                const int64_t at = job.decays == job.kv_heads ? head : head * k_depth + i;
                state[i * columns] *= exp(tn_any_f64(job.decay, job.type, row * job.decays + at));
            }
            if (job.beta) {
                for (int64_t i = 0; i < k_depth; i++)
                    value -= state[i * columns] * tn_any_f64(job.key, job.type, keys + i);
                value *=
                    tn_any_f64(job.beta, job.type, row * job.betas + (job.betas == 1 ? 0 : head));
            }
            for (int64_t i = 0; i < k_depth; i++)
                state[i * columns] += tn_any_f64(job.key, job.type, keys + i) * value;
            for (int64_t g = 0; job.y && g < group; g++) {
                const int64_t query = row * job.q_heads + head * group + g;
                double sum = 0;
                for (int64_t i = 0; i < k_depth; i++)
                    sum +=
                        state[i * columns] * tn_any_f64(job.query, job.type, query * k_depth + i);
                tn_any_set_f64(job.y, job.type, query * v_depth + index, job.scale * sum);
            }
        }
        for (int64_t i = 0; job.present && i < k_depth; i++)
            tn_any_set_f64(job.present, job.present_type, (first + i) * v_depth + index,
                           state[i * columns]);
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_rotary_launch(const void *user, cudaStream_t stream) {
    const rotary function = {*(const tn_cuda_rotary_job *)user};
    const tn_cuda_rotary_job &job = function.job;
    return tn_each_launch(function, job.count / job.depth * (job.depth - job.half), stream);
}

extern "C" cudaError_t tn_cuda_causal_launch(const void *user, cudaStream_t stream) {
    const causal function = {*(const tn_cuda_causal_job *)user};
    const tn_cuda_causal_job &job = function.job;
    return tn_each_launch(function, job.rows * (job.length + job.taps - 1), stream);
}

extern "C" cudaError_t tn_cuda_cache_launch(const void *user, cudaStream_t stream) {
    const cache function = {*(const tn_cuda_cache_job *)user};
    const tn_cuda_cache_job &job = function.job;
    if (job.past != job.present && job.past_bytes > 0) {
        const cudaError_t error = cudaMemcpyAsync(job.present, job.past, (size_t)job.past_bytes,
                                                  cudaMemcpyDeviceToDevice, stream);
        if (error != cudaSuccess) return error;
    }
    return tn_each_launch(function, job.prefixes * job.updates * job.inner, stream);
}

extern "C" cudaError_t tn_cuda_linear_attention_launch(const void *user, cudaStream_t stream) {
    const linear_attention function = {*(const tn_cuda_linear_attention_job *)user};
    const tn_cuda_linear_attention_job &job = function.job;
    return tn_each_launch(function, job.batch * job.kv_heads * job.v_depth, stream);
}
