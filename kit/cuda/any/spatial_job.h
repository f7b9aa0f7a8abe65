/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of images, and sums over neighbouring channels: what callbacks hand to spatial.cu. */
#ifndef TN_KIT_CUDA_ANY_SPATIAL_JOB_H
#define TN_KIT_CUDA_ANY_SPATIAL_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = x * (bias + scale * sum of squares)^-beta, over channels from `before` before one's own to
 * `after` behind it. */
typedef struct tn_cuda_lrn_job {
    const void *x;
    void *y;
    tn_type type;
    uint32_t count;
    tn_divider channels, inner;
    int64_t before, after;
    double bias, scale, beta;
} tn_cuda_lrn_job;
cudaError_t tn_cuda_lrn_launch(const void *job, cudaStream_t stream);

enum { TN_CUDA_GRID_LINEAR = 0, TN_CUDA_GRID_NEAREST = 1, TN_CUDA_GRID_CUBIC = 2 };
enum { TN_CUDA_GRID_ZEROS = 0, TN_CUDA_GRID_BORDER = 1, TN_CUDA_GRID_REFLECTION = 2 };
/* GridSample: an element of the output is image, channel, position. */
typedef struct tn_cuda_grid_job {
    const void *x, *grid;
    void *y;
    tn_type type, grid_type;
    uint32_t count, axes, mode, padding;
    bool align_corners;
    tn_divider channels, positions;
    int64_t plane, extents[TN_MAX_RANK]; /* of X */
} tn_cuda_grid_job;
cudaError_t tn_cuda_grid_launch(const void *job, cudaStream_t stream);

/* RoiAlign: an element of the output is region, channel, row, column of cells. An image that X does
 * not have is a fault. */
enum { TN_CUDA_ROI_MOST_SAMPLES = 4096 };
typedef struct tn_cuda_roi_job {
    const void *x, *rois, *images;
    void *y;
    tn_type type, roi_type, image_type;
    uint32_t count;
    tn_divider channels, rows, columns; /* of the output */
    int64_t image_count, height, width; /* of X */
    int64_t sampling_ratio;
    double scale;
    bool is_half, is_max;
    tn_cuda_fault *fault;
} tn_cuda_roi_job;
cudaError_t tn_cuda_roi_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
