/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in 8 bits, symmetric, a scale a filter or column. For the host's side of CUDA kernels. */
#ifndef TN_KIT_CUDA_GEMM_BYTE_WEIGHT_H
#define TN_KIT_CUDA_GEMM_BYTE_WEIGHT_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "kit/math/element.h"

/* `count` elements of a tensor, `first` and every `step`th after it, to neighbours in `to`, to
 * nearest even: their largest magnitude is 127 steps. Returns what a step is; NaN, and zeros, when
 * one is not finite. */
float tn_cuda_byte_weights(const tn_tensor *weights, int64_t first, int64_t step, int64_t count,
                           int8_t *to);

#ifdef __cplusplus
}
#endif

#endif
