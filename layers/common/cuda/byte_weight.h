/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in 8 bits, symmetric, a scale a filter or column. For the host's side of CUDA kernels. */
#ifndef TN_LAYERS_CUDA_BYTE_WEIGHT_H
#define TN_LAYERS_CUDA_BYTE_WEIGHT_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "common/element.h"

/* One of them; most are 32-bit floats, and there are millions. */
static inline float tn_cuda_byte_weight_load(const tn_tensor *weights, int64_t at) {
    return weights->type == TN_F32 ? ((const float *)weights->data)[at]
                                   : (float)tn_element_load_f64(weights->data, weights->type, at);
}

/* The scale of `count` elements of a tensor, `first` and every `step`th after it: their largest
 * magnitude is 127 steps. NaN when one is not finite. */
float tn_cuda_byte_weight_scale(const tn_tensor *weights, int64_t first, int64_t step,
                                int64_t count);
/* To nearest even; 0 where the scale is NaN. */
int8_t tn_cuda_byte_weight(float weight, float scale);

#ifdef __cplusplus
}
#endif

#endif
