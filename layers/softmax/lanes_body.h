/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of lanes.h for one processor level. Included by a file a level, which names the
 * table as TN_SOFTMAX_LEVEL. Each lane is read three times: for its largest element, for the
 * exponentials and their sum, and for the division.
 */
#include <tenon/kit/vector_math.h>
#include "softmax/lanes.h"

#include <math.h>

static float largest(int64_t count, const float *x) {
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

/* y = exp(x - offset); returns the sum. */
static float exponentials(int64_t count, const float *x, float offset, float *y) {
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

static void softmax_lane(int64_t count, const float *x, float *y) {
    const float sum = exponentials(count, x, largest(count, x), y);
    const float scale = 1.0f / sum;
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(y + i, tn_vector_load(y + i) * scale);
    for (; i < count; i++)
        y[i] *= scale;
}

TN_INLINE tn_vector load(const float *from, int64_t columns) {
    return columns == TN_LANES ? tn_vector_load(from) : tn_vector_load_part(from, columns);
}
TN_INLINE void store(float *to, tn_vector value, int64_t columns) {
    if (columns == TN_LANES)
        tn_vector_store(to, value);
    else
        tn_vector_store_part(to, value, columns);
}

static void softmax_columns(int64_t count, int64_t stride, int64_t columns, const float *x,
                            float *y) {
    tn_vector most = tn_vector_all(-INFINITY), sum = {0};
    for (int64_t i = 0; i < count; i++)
        most = tn_vector_max(most, load(x + i * stride, columns));
    for (int64_t i = 0; i < count; i++) {
        const tn_vector value = tn_vector_exp(load(x + i * stride, columns) - most);
        store(y + i * stride, value, columns);
        sum += value;
    }
    const tn_vector scale = 1.0f / sum;
    for (int64_t i = 0; i < count; i++)
        store(y + i * stride, load(y + i * stride, columns) * scale, columns);
}

const tn_softmax_level TN_SOFTMAX_LEVEL = {TN_LANES, softmax_lane, softmax_columns};
