/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over the spatial axes of tensors of any type (kit/window/window.h): pools, their inverse,
 * columns of windows, and windows that are moved by offsets. What callbacks hand to window.cu and
 * deform.cu. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_WINDOW_WINDOW_JOB_H
#define TN_KIT_CUDA_ANY_WINDOW_WINDOW_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"
#include "kit/window/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_POOL_MAX = 0, TN_CUDA_POOL_MEAN = 1, TN_CUDA_POOL_LENGTH = 2 };
/* An element of the output is plane, position. */
typedef struct tn_cuda_window_pool_job {
    const void *x;
    void *y;
    int64_t *indices; /* MAX: of the largest elements, counted over all axes; null: not wanted */
    tn_type type;
    uint32_t kind, count;
    tn_window window;
    int64_t plane, positions; /* elements of a plane of x, and of y */
    double p;                 /* LENGTH: (sum of |x|^p)^(1/p) */
    bool counts_pads;         /* MEAN */
    bool is_whole;            /* MEAN: of whole planes, NaN where these have no elements */
    bool is_column_major;     /* MAX: the spatial axes in indices */
} tn_cuda_window_pool_job;
cudaError_t tn_cuda_window_pool_launch(const void *job, cudaStream_t stream);

/* Elements back where they were found, zeros elsewhere: of several at one position the last one. */
typedef struct tn_cuda_unpool_job {
    const void *x;
    const int64_t *indices; /* within the box `pooled`; a fault outside */
    void *y;
    int32_t *last; /* scratch: the element of x that y's elements are; -1: none */
    uint32_t bytes;
    int64_t x_count, y_count;
    tn_cuda_box pooled; /* steps 0: of y */
    tn_cuda_fault *fault;
} tn_cuda_unpool_job;
cudaError_t tn_cuda_unpool_launch(const void *job, cudaStream_t stream);

/* Columns of windows added up as images: an element of the output is plane, pixel. */
typedef struct tn_cuda_col2im_job {
    const void *x;
    void *y;
    tn_type type;
    uint32_t count;
    tn_window window;
    int64_t taps, columns, pixels;
} tn_cuda_col2im_job;
cudaError_t tn_cuda_col2im_launch(const void *job, cudaStream_t stream);

/* DeformConv, an image at a time: `values` are what the windows read, [channels, taps, positions].
 */
typedef struct tn_cuda_deform_job {
    const void *x, *w, *offset, *bias, *mask; /* bias, mask: or null */
    void *y;
    double *values; /* scratch: channels * taps * positions */
    tn_type type;
    tn_window window;
    int64_t images, channels, filters, group, offset_group, taps, plane, positions;
} tn_cuda_deform_job;
cudaError_t tn_cuda_deform_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
