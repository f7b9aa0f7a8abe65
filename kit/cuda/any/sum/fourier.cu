/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discrete Fourier transforms of sum_job.h in double precision, an element of a spectrum a thread.
 * Rows of length n = p q are transformed in two steps, which are n (p + q) products in place of
 * n^2: with j = p a + b and k = q c + d, w = exp(-+2 pi i / n),
 *
 *     middle[b, d] = sum over a of x[p a + b] w^(p a d)
 *     X[q c + d] = sum over b of middle[b, d] w^(b (q c + d))
 *
 * An element that is not finite makes its row's spectrum NaN.
 */
#include "kit/cuda/any/each.cuh"
#include "kit/cuda/any/sum/sum_job.h"

namespace {

struct pair {
    double re, im;
};
__device__ __forceinline__ void add_product(pair &sum, const pair &a, const pair &b) {
    sum.re += a.re * b.re - a.im * b.im;
    sum.im += a.re * b.im + a.im * b.re;
}
__device__ __forceinline__ pair root_of(const tn_cuda_fourier_job &job, int64_t k) {
    return {job.roots[2 * k], job.roots[2 * k + 1]};
}
__device__ __forceinline__ int64_t row_at(const tn_cuda_fourier_job &job,
                                          const tn_cuda_fourier_steps &steps, int64_t row) {
    return row / job.inner * steps.outer + row % job.inner * steps.inner;
}

struct make_roots {
    tn_cuda_fourier_job job;
    __device__ void operator()(int64_t k) const {
        const double angle = 6.283185307179586 * (double)k / (double)job.length;
        job.roots[2 * k] = cos(angle);
        job.roots[2 * k + 1] = job.is_inverse ? sin(angle) : -sin(angle);
    }
};

/* Element j of a row of the input, with the window; the mirror image behind half a spectrum. */
__device__ pair read_element(const tn_cuda_fourier_job &job, int64_t row, int64_t j) {
    const bool is_mirrored = job.to_real && j > job.length / 2;
    const int64_t source = is_mirrored ? job.length - j : j;
    if (source >= job.given) return {0, 0};
    const int64_t at = row_at(job, job.in, row) + source * job.in.element;
    pair value = {tn_any_f64(job.x, job.type, at),
                  job.in_parts == 2 ? tn_any_f64(job.x, job.type, at + 1) : 0};
    if (job.to_real && (j == 0 || 2 * j == job.length)) value.im = 0;
    if (is_mirrored) value.im = -value.im;
    if (!job.window) return value;
    const double factor = tn_any_f64(job.window, job.window_type, j);
    return {factor * value.re, factor * value.im};
}

__device__ void store(const tn_cuda_fourier_job &job, int64_t row, int64_t k, const pair &sum) {
    const double scale = job.is_inverse ? 1 / (double)job.length : 1;
    const int64_t at = row_at(job, job.out, row) + k * job.out.element;
    tn_any_set_f64(job.y, job.type, at, scale * sum.re);
    if (!job.to_real) tn_any_set_f64(job.y, job.type, at + 1, scale * sum.im);
}

struct first_step {
    tn_cuda_fourier_job job;
    __device__ void operator()(int64_t item) const {
        const int64_t p = job.factor, q = job.length / p;
        const int64_t d = item % q, b = item / q % p, row = item / job.length;
        const int64_t step = p * d; /* below length */
        pair sum = {0, 0};
        double poison = 0;
        for (int64_t a = 0, k = 0; a < q; a++) {
            const pair x = read_element(job, row, p * a + b);
            poison += 0 * x.re + 0 * x.im;
            add_product(sum, x, root_of(job, k));
            k = k + step < job.length ? k + step : k + step - job.length;
        }
        job.middle[2 * item] = sum.re + poison;
        job.middle[2 * item + 1] = sum.im + poison;
    }
};

struct second_step {
    tn_cuda_fourier_job job;
    __device__ void operator()(int64_t item) const {
        const int64_t p = job.factor, q = job.length / p;
        const int64_t k = item % job.bins, row = item / job.bins, d = k % q;
        pair sum = {0, 0};
        for (int64_t b = 0, at = 0; b < p; b++) {
            const double *middle = job.middle + 2 * ((row * p + b) * q + d);
            add_product(sum, {middle[0], middle[1]}, root_of(job, at));
            at = at + k < job.length ? at + k : at + k - job.length;
        }
        store(job, row, k, sum);
    }
};

struct one_step {
    tn_cuda_fourier_job job;
    __device__ void operator()(int64_t item) const {
        const int64_t k = item % job.bins, row = item / job.bins;
        pair sum = {0, 0};
        double poison = 0;
        for (int64_t j = 0, at = 0; j < job.length; j++) {
            const pair x = read_element(job, row, j);
            poison += 0 * x.re + 0 * x.im;
            add_product(sum, x, root_of(job, at));
            at = at + k < job.length ? at + k : at + k - job.length;
        }
        store(job, row, k, {sum.re + poison, sum.im + poison});
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_fourier_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_fourier_job &job = *(const tn_cuda_fourier_job *)user;
    const make_roots roots = {job};
    const one_step one = {job};
    const first_step first = {job};
    const second_step second = {job};
    cudaError_t error = tn_each_launch(roots, job.length, stream);
    if (error != cudaSuccess) return error;
    if (job.factor == 1) return tn_each_launch(one, job.rows * job.bins, stream);
    error = tn_each_launch(first, job.rows * job.length, stream);
    return error == cudaSuccess ? tn_each_launch(second, job.rows * job.bins, stream) : error;
}
