/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that follow from their position: grids of affine maps, and random numbers. What
 * callbacks hand to position.cu. For C and CUDA C++. */
#ifndef TN_KIT_CUDA_ANY_POSITION_POSITION_JOB_H
#define TN_KIT_CUDA_ANY_POSITION_POSITION_JOB_H

#include "kit/cuda/any/each.h"

#ifdef __cplusplus
extern "C" {
#endif

/* AffineGrid: an element of the output is image, position, axis with the last one first. */
typedef struct tn_cuda_affine_job {
    const void *theta;
    void *y;
    tn_type type;
    uint32_t count, axes;
    int64_t extents[TN_MAX_RANK], positions;
    bool align_corners;
} tn_cuda_affine_job;
cudaError_t tn_cuda_affine_launch(const void *job, cudaStream_t stream);

/* Random numbers: number i of a node is SplitMix64's i-th from `key`. */
enum {
    TN_CUDA_RANDOM_UNIFORM,    /* first: the lowest, second: the end */
    TN_CUDA_RANDOM_NORMAL,     /* first: the mean, second: the deviation */
    TN_CUDA_RANDOM_BERNOULLI,  /* x: probabilities */
    TN_CUDA_RANDOM_MULTINOMIAL /* x: rows of logarithms of weights of `classes` */
};
typedef struct tn_cuda_random_job {
    const void *x;
    void *y;
    tn_type x_type, y_type;
    uint32_t kind, count;
    uint64_t key;
    double first, second;
    int64_t classes, samples; /* MULTINOMIAL: of a row */
} tn_cuda_random_job;
cudaError_t tn_cuda_random_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
