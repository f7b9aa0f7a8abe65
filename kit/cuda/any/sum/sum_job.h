/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products and what is made of them, of tensors of any type: Einsum, discrete Fourier
 * transforms, determinants, losses, lengths of Caffe's Normalize. What callbacks hand to
 * sum.cu and fourier.cu. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_SUM_SUM_JOB_H
#define TN_KIT_CUDA_ANY_SUM_SUM_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"
#include <tenon/kit/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Einsum: axes of the output, then those that are summed, last one fastest, with the steps of each
 * operand along them. */
enum { TN_CUDA_EINSUM_INPUTS = 8, TN_CUDA_EINSUM_SUMS = 16 };
typedef struct tn_cuda_einsum_job {
    const void *inputs[TN_CUDA_EINSUM_INPUTS];
    void *y;
    tn_type type;
    uint32_t count, input_count, rank, sums;
    bool is_empty; /* what is summed has no elements */
    int64_t extents[TN_MAX_RANK], sum_extents[TN_CUDA_EINSUM_SUMS];
    int64_t steps[TN_CUDA_EINSUM_INPUTS][TN_MAX_RANK];
    int64_t sum_steps[TN_CUDA_EINSUM_INPUTS][TN_CUDA_EINSUM_SUMS];
} tn_cuda_einsum_job;
cudaError_t tn_cuda_einsum_launch(const void *job, cudaStream_t stream);

/* Det: a matrix of n x n a block. */
typedef struct tn_cuda_det_job {
    const void *x;
    void *y;
    tn_type type;
    double *matrices; /* scratch: all of them */
    int64_t count, n;
} tn_cuda_det_job;
cudaError_t tn_cuda_det_launch(const void *job, cudaStream_t stream);

/* Losses of lanes along the axis of classes; labels that are no class are faults. */
enum { TN_CUDA_LOSS_NONE = 0, TN_CUDA_LOSS_SUM = 1, TN_CUDA_LOSS_MEAN = 2 };
typedef struct tn_cuda_loss_job {
    const void *scores, *labels, *weights; /* weights: or null */
    void *loss, *log_prob;                 /* or null */
    tn_type type, label_type;
    tn_lanes lanes;
    uint32_t reduction;
    bool has_softmax, has_ignored;
    int64_t ignored;
    double *losses; /* scratch: of each lane its loss, then of each its weight */
    tn_cuda_fault *fault;
} tn_cuda_loss_job;
cudaError_t tn_cuda_loss_launch(const void *job, cudaStream_t stream);

/* Caffe's Normalize: items of channels x width elements, `inner` apart. */
typedef struct tn_cuda_length_job {
    const void *x, *scale;
    void *y;
    tn_type type;
    tn_lanes lanes; /* the channels at one position */
    int64_t width;  /* elements of each channel that are taken together: lanes.inner, or 1 */
    double eps;
    bool is_shared;
} tn_cuda_length_job;
cudaError_t tn_cuda_length_launch(const void *job, cudaStream_t stream);

/* Transforms of rows: row r = o * inner + i begins at o * outer + i * inner elements of input and
 * output. layers/fourier/fourier.h has the meaning of the rest. */
typedef struct tn_cuda_fourier_steps {
    int64_t outer, inner, element;
} tn_cuda_fourier_steps;
typedef struct tn_cuda_fourier_job {
    const void *x, *window; /* window: or null */
    void *y;
    tn_type type, window_type;
    int64_t length, given, bins, rows, inner;
    tn_cuda_fourier_steps in, out;
    uint32_t in_parts;
    bool is_inverse, to_real;
    int64_t factor; /* of length: factor * (length / factor); 1: one sum */
    double *roots;  /* scratch: exp(-+2 pi i k / length), pairs */
    double *middle; /* scratch: rows x length pairs; of no use where factor is 1 */
} tn_cuda_fourier_job;
cudaError_t tn_cuda_fourier_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
