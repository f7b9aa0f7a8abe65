/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising weights; see byte_weight.h. */
#include "common/cuda/byte_weight.h"

#include <math.h>

float tn_cuda_byte_weight_scale(const tn_tensor *weights, int64_t first, int64_t step,
                                int64_t count) {
    float largest = 0;
    for (int64_t i = 0; i < count && !isnan(largest); i++) {
        const float magnitude = fabsf(tn_cuda_byte_weight_load(weights, first + i * step));
        if (!(magnitude <= largest)) largest = magnitude; /* NaN, once found, stays */
    }
    if (largest == 0) return 1.0f;
    if (largest < 0x1p-100f) return 0x1p-100f / 127.0f;
    return isfinite(largest) ? largest / 127.0f : NAN;
}

int8_t tn_cuda_byte_weight(float weight, float scale) {
    const float steps = rintf(weight / scale);
    if (isnan(steps)) return 0;
    return (int8_t)(steps > 127 ? 127 : steps < -127 ? -127 : steps);
}
