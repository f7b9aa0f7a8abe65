/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers, of step_job.h, in double precision. The input's part of all gates of all steps
 * is computed first, a warp a sum; then a block goes through the steps of a stream in a direction,
 * of which no other knows anything.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/step/step_job.h"
#include "kit/math/recurrent_function.h"

namespace {

/* The sum of a[i] * weights[first + i], in all lanes of the warp. */
__device__ double multiply(const tn_cuda_recurrent_job &job, const void *weights, int64_t first,
                           const double *a, int64_t count) {
    double sum = 0;
    for (int64_t i = threadIdx.x % TN_CUDA_ANY_LANES; i < count; i += TN_CUDA_ANY_LANES)
        sum += a[i] * tn_any_f64(weights, job.type, first + i);
    return tn_warp_sum(sum);
}
__device__ double multiply_any(const tn_cuda_recurrent_job &job, const void *weights, int64_t first,
                               const void *a, int64_t from, int64_t count) {
    double sum = 0;
    for (int64_t i = threadIdx.x % TN_CUDA_ANY_LANES; i < count; i += TN_CUDA_ANY_LANES)
        sum += tn_any_f64(a, job.type, from + i) * tn_any_f64(weights, job.type, first + i);
    return tn_warp_sum(sum);
}

/* Element `index` of the bias of a direction: 0 of the input, 1 of the hidden state. */
__device__ double bias_of(const tn_cuda_recurrent_job &job, int64_t direction, int64_t which,
                          int64_t index) {
    if (!job.bias || (which == 1 && !job.has_two_biases)) return 0;
    const int64_t parts = job.has_two_biases ? 2 : 1, columns = job.gates * job.hidden;
    return tn_any_f64(job.bias, job.type, (direction * parts + which) * columns + index);
}

__device__ int64_t columns_of(const tn_cuda_recurrent_job &job) {
    return job.gates * job.hidden;
}

/* A row of the input and all that no state is in, a block each. */
struct sum_inputs {
    tn_cuda_recurrent_job job;
    __device__ void operator()(int64_t item) const {
        const int64_t stream = item % job.streams, step = item / job.streams % job.steps;
        const int64_t direction = item / job.streams / job.steps, columns = columns_of(job);
        const int64_t row =
            job.streams_first ? stream * job.steps + step : step * job.streams + stream;
        for (int64_t k = threadIdx.x / TN_CUDA_ANY_LANES; k < columns;
             k += blockDim.x / TN_CUDA_ANY_LANES) {
            const bool is_apart = job.linear_before_reset && job.cell == TN_CUDA_CELL_GRU &&
                                  k / job.hidden == job.rows[2];
            double sum = multiply_any(job, job.input_weights, (direction * columns + k) * job.depth,
                                      job.x, row * job.depth, job.depth);
            if (job.x_static)
                sum += multiply_any(job, job.static_weights, k * job.static_depth, job.x_static,
                                    stream * job.static_depth, job.static_depth);
            sum += bias_of(job, direction, 0, k) + (is_apart ? 0 : bias_of(job, direction, 1, k));
            if (threadIdx.x % TN_CUDA_ANY_LANES == 0) job.gate_sums[item * columns + k] = sum;
        }
    }
};

struct run_stream {
    tn_cuda_recurrent_job job;

    __device__ double activate(int64_t direction, int function, double x) const {
        const tn_cuda_recurrent_function &own = job.functions[direction][function];
        x = x > job.clip ? job.clip : x < -job.clip ? -job.clip : x;
        return tn_recurrent_function(own.kind, own.alpha, own.beta, x);
    }

    __device__ double peephole_of(int64_t direction, int64_t which, int64_t k) const {
        if (!job.peepholes) return 0;
        return tn_any_f64(job.peepholes, job.type, (direction * 3 + which) * job.hidden + k);
    }

    __device__ int64_t state_at(int64_t direction, int64_t stream) const {
        const int64_t row = job.streams_first ? stream * job.directions + direction
                                              : direction * job.streams + stream;
        return row * job.hidden;
    }
    __device__ int64_t y_at(int64_t step, int64_t direction, int64_t stream) const {
        const int64_t row = job.streams_first
                                ? (stream * job.steps + step) * job.directions + direction
                                : (step * job.directions + direction) * job.streams + stream;
        return row * job.hidden;
    }

    /* Row k of the hidden weights times a state, in all lanes of the warp. */
    __device__ double multiply_hidden(int64_t direction, int64_t k, const double *state) const {
        return multiply(job, job.hidden_weights, (direction * columns_of(job) + k) * job.hidden,
                        state, job.hidden);
    }

    /* Sums of gates in `gates`, what a GRU's candidate takes of the hidden state in `reset`. */
    __device__ void sum_gates(int64_t direction, const double *inputs, const double *h,
                              double *kept, double *reset, double *gates, double cont) const {
        const int64_t columns = columns_of(job), hidden = job.hidden;
        const int64_t warp = threadIdx.x / TN_CUDA_ANY_LANES,
                      warps = blockDim.x / TN_CUDA_ANY_LANES;
        const bool is_first = threadIdx.x % TN_CUDA_ANY_LANES == 0,
                   is_gru = job.cell == TN_CUDA_CELL_GRU;
        const int64_t candidate = is_gru ? job.rows[2] * hidden : columns;
        for (int64_t k = threadIdx.x; k < hidden; k += blockDim.x)
            kept[k] = cont * h[k];
        __syncthreads();
        for (int64_t k = warp; k < columns; k += warps) {
            const bool is_candidate = k >= candidate && k < candidate + hidden;
            const double sum = inputs[k] + (is_candidate ? 0 : multiply_hidden(direction, k, kept));
            if (is_first) gates[k] = sum;
        }
        __syncthreads();
        if (!is_gru) return;
        for (int64_t k = threadIdx.x; k < hidden; k += blockDim.x)
            kept[k] = (job.linear_before_reset
                           ? 1
                           : activate(direction, 0, gates[job.rows[1] * hidden + k])) *
                      h[k];
        __syncthreads();
        for (int64_t k = warp; k < hidden; k += warps) {
            const double sum =
                multiply_hidden(direction, candidate + k, kept) +
                (job.linear_before_reset ? bias_of(job, direction, 1, candidate + k) : 0);
            if (is_first) reset[k] = sum;
        }
        __syncthreads();
    }

    /* Element k of the states, from the sums of its gates. */
    __device__ void do_cell(int64_t direction, int64_t k, const double *gates, const double *reset,
                            double cont, double *h, double *c) const {
        const int64_t hidden = job.hidden;
        if (job.cell == TN_CUDA_CELL_LSTM) {
            const double i = activate(
                direction, 0, gates[job.rows[0] * hidden + k] + peephole_of(direction, 0, k) * *c);
            double forget = activate(
                direction, 0, gates[job.rows[1] * hidden + k] + peephole_of(direction, 2, k) * *c);
            if (job.input_forget) forget = 1 - i;
            forget = cont == 0 ? 0 : cont * forget;
            *c = forget * *c + i * activate(direction, 1, gates[job.rows[3] * hidden + k]);
            *h = activate(direction, 0,
                          gates[job.rows[2] * hidden + k] + peephole_of(direction, 1, k) * *c) *
                 activate(direction, 2, *c);
        } else if (job.cell == TN_CUDA_CELL_GRU) {
            const double part =
                job.linear_before_reset
                    ? activate(direction, 0, gates[job.rows[1] * hidden + k]) * reset[k]
                    : reset[k];
            const double z = activate(direction, 0, gates[job.rows[0] * hidden + k]);
            *h = (1 - z) * activate(direction, 1, gates[job.rows[2] * hidden + k] + part) + z * *h;
        } else {
            *h = activate(direction, 0, gates[k]);
        }
    }

    /* y of a step: the hidden state, or Caffe's layer behind it. */
    __device__ void write_y(int64_t first, const double *h, bool is_over) const {
        if (!job.y) return;
        if (!job.output_weights) {
            for (int64_t k = threadIdx.x; k < job.hidden; k += blockDim.x)
                tn_any_set_f64(job.y, job.type, first + k, is_over ? 0 : h[k]);
            return;
        }
        for (int64_t k = threadIdx.x / TN_CUDA_ANY_LANES; k < job.hidden;
             k += blockDim.x / TN_CUDA_ANY_LANES) {
            const double sum = multiply(job, job.output_weights, k * job.hidden, h, job.hidden);
            if (threadIdx.x % TN_CUDA_ANY_LANES == 0)
                tn_any_set_f64(job.y, job.type, first + k,
                               tanh(sum + tn_any_f64(job.output_bias, job.type, k)));
        }
    }

    __device__ int64_t length_of(int64_t stream) const {
        if (!job.lengths) return job.steps;
        const int64_t length = job.lengths[stream];
        return tn_fault_within(job.fault, length, 0, job.steps) ? length : 0;
    }

    __device__ void operator()(int64_t item) const {
        const int64_t stream = item % job.streams, direction = item / job.streams;
        const int64_t hidden = job.hidden, columns = columns_of(job);
        double *h = job.state + item * (4 * hidden + columns), *c = h + hidden, *kept = c + hidden;
        double *reset = kept + hidden, *gates = reset + hidden;
        const int64_t length = length_of(stream), own = state_at(direction, stream);
        const bool is_reverse = direction == 1 || job.is_reverse;
        for (int64_t k = threadIdx.x; k < hidden; k += blockDim.x) {
            h[k] = job.h_0 ? tn_any_f64(job.h_0, job.type, own + k) : 0;
            c[k] = job.c_0 ? tn_any_f64(job.c_0, job.type, own + k) : 0;
        }
        for (int64_t i = 0; i < job.steps; i++) {
            const int64_t step = is_reverse ? job.steps - 1 - i : i;
            const int64_t row = (direction * job.steps + step) * job.streams + stream;
            const double cont =
                job.cont ? tn_any_f64(job.cont, job.cont_type, step * job.streams + stream) : 1;
            __syncthreads(); /* the state has been written, and read for y */
            if (step < length) {
                sum_gates(direction, job.gate_sums + row * columns, h, kept, reset, gates, cont);
                for (int64_t k = threadIdx.x; k < hidden; k += blockDim.x)
                    do_cell(direction, k, gates, reset, cont, h + k, c + k);
            }
            __syncthreads();
            write_y(y_at(step, direction, stream), h, step >= length);
        }
        __syncthreads();
        for (int64_t k = threadIdx.x; k < hidden; k += blockDim.x) {
            if (job.h_last) tn_any_set_f64(job.h_last, job.type, own + k, h[k]);
            if (job.c_last) tn_any_set_f64(job.c_last, job.type, own + k, c[k]);
        }
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_recurrent_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_recurrent_job &job = *(const tn_cuda_recurrent_job *)user;
    const sum_inputs sums = {job};
    const run_stream run = {job};
    const int64_t columns = job.gates * job.hidden;
    const cudaError_t error =
        tn_each_block_launch(sums, job.directions * job.steps * job.streams, columns * 32, stream);
    if (error != cudaSuccess) return error;
    return tn_each_block_launch(run, job.directions * job.streams, columns * 32, stream);
}
