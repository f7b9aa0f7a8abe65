/* SPDX-License-Identifier: Apache-2.0 */
/* What Softmax's CUDA callbacks (cuda.c) hand to its launches (cuda_lanes.cu). */
#ifndef TN_LAYERS_SOFTMAX_CUDA_JOB_H
#define TN_LAYERS_SOFTMAX_CUDA_JOB_H

#include "softmax/softmax.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of TN_F32, F16 or BF16; y may be x. */
cudaError_t tn_softmax_cuda_launch(tn_type type, const void *x, void *y,
                                   const tn_softmax_lanes *lanes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
