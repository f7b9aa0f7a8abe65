/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization of one contiguous lane of floats, compiled once a processor level from
 * lanes_body.h. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_LANES_H
#define TN_LAYERS_LAYER_NORMALIZATION_LANES_H

#include <stdint.h>

/* `count` elements, at least one; `bias` null: none; y may be x. */
typedef void (*tn_layer_normalization_lane)(int64_t count, float epsilon, const float *x,
                                            const float *scale, const float *bias, float *y);

void tn_layer_normalization_baseline(int64_t count, float epsilon, const float *x,
                                     const float *scale, const float *bias, float *y);
void tn_layer_normalization_avx2(int64_t count, float epsilon, const float *x, const float *scale,
                                 const float *bias, float *y);
void tn_layer_normalization_avx512(int64_t count, float epsilon, const float *x, const float *scale,
                                   const float *bias, float *y);

#endif
