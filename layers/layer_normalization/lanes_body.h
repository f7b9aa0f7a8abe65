/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of lanes.h, included by a file a level that defines TN_LAYER_NORMALIZATION_LANE. The
 * mean first, then the squares of what is apart from it: one pass over squares would lose digits
 * where the mean is large.
 */
#include <tenon/kit/vector.h>
#include "layer_normalization/lanes.h"

#include <math.h>

/* Four sums beside each other, so that additions do not wait for one another. */
TN_INLINE float sum_of(int64_t count, const float *x, float mean, int squared) {
    const tn_vector m = tn_vector_all(mean);
    tn_vector sums[4] = {0};
    float sum = 0;
    int64_t i = 0;
    for (; i + 4 * TN_LANES <= count; i += 4 * TN_LANES)
        for (int k = 0; k < 4; k++) {
            tn_vector apart = tn_vector_load(x + i + k * TN_LANES) - m;
            if (squared) apart *= apart;
            sums[k] += apart;
        }
    for (; i + TN_LANES <= count; i += TN_LANES) {
        tn_vector apart = tn_vector_load(x + i) - m;
        if (squared) apart *= apart;
        sums[0] += apart;
    }
    for (; i < count; i++)
        sum += squared ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int k = 0; k < TN_LANES; k++)
        sum += sums[0][k];
    return sum;
}

void TN_LAYER_NORMALIZATION_LANE(int64_t count, bool has_mean, float epsilon, const float *x,
                                 const float *scale, const float *bias, float *y) {
    const float mean = has_mean ? sum_of(count, x, 0.0f, 0) / (float)count : 0.0f;
    const float factor = 1.0f / sqrtf(sum_of(count, x, mean, 1) / (float)count + epsilon);
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES) {
        tn_vector value = (tn_vector_load(x + i) - mean) * factor * tn_vector_load(scale + i);
        if (bias) value += tn_vector_load(bias + i);
        tn_vector_store(y + i, value);
    }
    for (; i < count; i++)
        y[i] = (x[i] - mean) * factor * scale[i] + (bias ? bias[i] : 0.0f);
}
