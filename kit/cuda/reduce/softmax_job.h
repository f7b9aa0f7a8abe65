/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA callbacks of Softmax and LogSoftmax hand to the launches in softmax.cu. */
#ifndef TN_KIT_CUDA_REDUCE_SOFTMAX_JOB_H
#define TN_KIT_CUDA_REDUCE_SOFTMAX_JOB_H

#include <tenon/kit/lanes.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of TN_F32, F16 or BF16; y may be x. Each lane's exponentials over their sum, or the
 * logarithms of those. */
cudaError_t tn_cuda_softmax_launch(tn_type type, bool is_logarithm, const void *x, void *y,
                                   const tn_lanes *lanes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
