/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of lanes by their mean and variance: what callbacks hand to norm.cu. */
#ifndef TN_KIT_CUDA_ANY_NORM_JOB_H
#define TN_KIT_CUDA_ANY_NORM_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lanes of `count` elements beside each other, `lanes` of them; y = (x - mean) * inverse * scale +
 * bias, `inverse` being one over the root of variance + epsilon. Element i of lane l has the scale
 * and the bias at l % lane_period * lane_step + i / plane * plane_step, or, where the box has axes,
 * where its steps 0 and 1 say. With `indices` lane l is row indices[l] of x, which has `rows` of
 * them, plus row l % more_rows of `more`, where that is there: tn_cuda_norm_is_rows has to answer
 * true. */
typedef struct tn_cuda_norm_job {
    const void *x, *scale, *bias; /* bias: null where there is none */
    void *y, *mean, *inverse;     /* mean, inverse: null, or an element a lane */
    tn_type type, y_type, scale_type, bias_type, stash_type;
    bool has_mean; /* else the mean counts as zero */
    int64_t lanes, count;
    int64_t lane_period, lane_step, plane, plane_step;
    tn_cuda_box box;
    double epsilon;
    const void *indices, *more;
    tn_type index_type, more_type; /* more_type: f32, or y_type */
    int64_t rows, more_rows;
    tn_cuda_fault *fault;
} tn_cuda_norm_job;

/* Whether the lanes are rows that a warp holds in its registers. */
bool tn_cuda_norm_is_rows(const tn_cuda_norm_job *job);

cudaError_t tn_cuda_norm_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
