/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization and RMSNormalization of one contiguous lane of floats, compiled once a
 * processor level from lanes_body.h. */
#ifndef TN_LAYERS_LAYER_NORMALIZATION_LANES_H
#define TN_LAYERS_LAYER_NORMALIZATION_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* `count` elements, at least one; has_mean: the mean is taken off, else it counts as zero; `bias`
 * null: none; y may be x. */
typedef void (*tn_layer_normalization_lane)(int64_t count, bool has_mean, float epsilon,
                                            const float *x, const float *scale, const float *bias,
                                            float *y);

void tn_layer_normalization_baseline(int64_t count, bool has_mean, float epsilon, const float *x,
                                     const float *scale, const float *bias, float *y);
void tn_layer_normalization_avx2(int64_t count, bool has_mean, float epsilon, const float *x,
                                 const float *scale, const float *bias, float *y);
void tn_layer_normalization_avx512(int64_t count, bool has_mean, float epsilon, const float *x,
                                   const float *scale, const float *bias, float *y);

#endif
