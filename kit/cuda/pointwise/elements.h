/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of elements.cuh: what they get, from a call's tensors and how an output is gone
 * through (iteration.h). */
#ifndef TN_KIT_CUDA_POINTWISE_ELEMENTS_H
#define TN_KIT_CUDA_POINTWISE_ELEMENTS_H

#include "kit/cuda/pointwise/elements_job.h"
#include "kit/cuda/iteration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The iteration is finished, and has as many inputs as `tensors`. */
void tn_cuda_elements_fill(const tn_cuda_iteration *iteration, const tn_tensor *const *tensors,
                           const tn_tensor *y, tn_cuda_elements_job *out_job);

/* Whether a thread can do `each` neighbours at once, at addresses that 16 divides. */
bool tn_cuda_elements_are_wide(const tn_cuda_iteration *iteration, int64_t each);

/* One over the scale of a tensor of 8-bit numbers; 1 of others. */
float tn_cuda_inverse_scale(const tn_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
