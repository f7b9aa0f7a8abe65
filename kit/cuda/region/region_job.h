/* SPDX-License-Identifier: Apache-2.0 */
/* What region.c hands to the launches in region.cu. */
#ifndef TN_KIT_CUDA_REGION_REGION_JOB_H
#define TN_KIT_CUDA_REGION_REGION_JOB_H

#include <tenon/kit/region.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `region` is simplified, its elements 1, 2, 4, 8 or 16 bytes, and aligned to them. */
cudaError_t tn_cuda_region_launch(const tn_region *region, void *to, const void *from,
                                  cudaStream_t stream);

/* Rows of contiguous elements that lie at one distance on either side, counted in elements. */
typedef struct tn_cuda_strip {
    const void *from;
    void *to;
    int64_t rows, columns, from_pitch, to_pitch;
} tn_cuda_strip;
enum { TN_CUDA_STRIPS = 16 };
/* `count` of them, at most TN_CUDA_STRIPS, in one launch; elements as above, together at most
 * TN_CUDA_MOST_ELEMENTS. */
cudaError_t tn_cuda_strips_launch(uint32_t count, const tn_cuda_strip *strips, size_t element_bytes,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
