/* SPDX-License-Identifier: Apache-2.0 */
/* What Resize's CUDA callbacks (cuda.c) hand to its launches (cuda_resample.cu). */
#ifndef TN_LAYERS_RESIZE_CUDA_JOB_H
#define TN_LAYERS_RESIZE_CUDA_JOB_H

#include "resize/resize.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_RESIZE_CUDA_MOST_TAPS = 64 };

/* `planes` images of `channels` beside each other, whose height and width change; a linear tensor
 * is one of a single channel and as many more images. The tables, for each axis the first tap of
 * every output (int32_t) and then its weights (float), tap by tap, are made in `workspace`. */
typedef struct tn_resize_cuda_job {
    tn_type type; /* TN_F32, F16, BF16 */
    const void *x;
    void *y;
    void *workspace;
    int64_t planes, channels;
    int64_t x_pitch, y_pitch; /* elements from one pixel to the next: `channels`, or more; the
                                 nearest element's */
    tn_resize_plan plan;      /* the last two axes are the image's */
} tn_resize_cuda_job;

/* Bytes of both tables. */
uint64_t tn_resize_cuda_table_bytes(const tn_resize_plan *plan);
cudaError_t tn_resize_cuda_launch(const tn_resize_cuda_job *job, cudaStream_t stream);
/* By the nearest element, with neither tables nor workspace. */
cudaError_t tn_resize_cuda_nearest_launch(const tn_resize_cuda_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
