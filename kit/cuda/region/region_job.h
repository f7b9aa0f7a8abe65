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

#ifdef __cplusplus
}
#endif

#endif
