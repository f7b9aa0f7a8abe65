/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a softmax of one contiguous row of floats, by vectors: for headers that are compiled
 * once a processor level. */
#ifndef TN_KIT_MATH_SOFTMAX_ROW_H
#define TN_KIT_MATH_SOFTMAX_ROW_H

#include <tenon/kit/vector_math.h>

#include <math.h>

/* The largest element that is a number; minus infinity where there is none. */
TN_INLINE float tn_softmax_largest(int64_t count, const float *x) {
    tn_vector most = tn_vector_all(-INFINITY);
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        most = tn_vector_max(most, tn_vector_load(x + i));
    float value = -INFINITY;
    for (int k = 0; k < TN_LANES; k++)
        value = value < most[k] ? most[k] : value;
    for (; i < count; i++)
        value = value < x[i] ? x[i] : value;
    return value;
}

/* y = exp(x - offset); returns the sum. y may be x. */
TN_INLINE float tn_softmax_exponentials(int64_t count, const float *x, float offset, float *y) {
    tn_vector sums = {0};
    float sum = 0;
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES) {
        const tn_vector value = tn_vector_exp(tn_vector_load(x + i) - offset);
        tn_vector_store(y + i, value);
        sums += value;
    }
    const tn_vector rest = tn_vector_exp(tn_vector_load_part(x + i, count - i) - offset);
    tn_vector_store_part(y + i, rest, count - i);
    for (int k = 0; k < TN_LANES; k++)
        sum += sums[k];
    for (; i < count; i++)
        sum += y[i];
    return sum;
}

TN_INLINE void tn_softmax_scale(int64_t count, float factor, float *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(y + i, tn_vector_load(y + i) * factor);
    for (; i < count; i++)
        y[i] *= factor;
}

#endif
