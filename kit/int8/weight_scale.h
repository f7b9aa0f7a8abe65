/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric quantisation of weights to 8 bits: -127 to 127 steps of a channel's scale. */
#ifndef TN_KIT_INT8_WEIGHT_SCALE_H
#define TN_KIT_INT8_WEIGHT_SCALE_H

#include <math.h>
#include <stdint.h>

/* The larger of two magnitudes, `largest` being one; NaN, once found, stays. */
static inline float tn_weight_larger(float largest, float weight) {
    return fabsf(weight) <= largest || isnan(largest) ? largest : fabsf(weight);
}

/* The scale of weights of which this is the largest magnitude; NaN where one is not finite. */
static inline float tn_weight_scale(float largest) {
    if (largest == 0) return 1.0f;
    /* The smallest scales would be subnormal, and the weights over them more than 127. */
    if (largest < 0x1p-100f) return 0x1p-100f / 127.0f;
    return isfinite(largest) ? largest / 127.0f : NAN;
}

/* weight / scale to nearest even; 0 where the scale is NaN. */
static inline int8_t tn_weight_quantise(float weight, float scale) {
    if (isnan(scale)) return 0;
    const float steps = rintf(weight / scale);
    return (int8_t)(steps > 127.0f ? 127.0f : steps < -127.0f ? -127.0f : steps);
}

#endif
