/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of lanes.h for one processor level. Included by a file a level, which names the
 * table as TN_SOFTMAX_LEVEL. Each lane is read three times: for its largest element, for the
 * exponentials and their sum, and for the division.
 */
#include "kit/math/softmax_row.h"
#include "softmax/lanes.h"

static void softmax_lane(int64_t count, const float *x, float *y) {
    const float sum = tn_softmax_exponentials(count, x, tn_softmax_largest(count, x), y);
    tn_softmax_scale(count, 1.0f / sum, y);
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

/* Exponentials are kept for as long as they are summed alone. */
static void log_softmax_lane(int64_t count, const float *x, float *y) {
    enum { PART = 256 };
    float part[PART];
    const float most = tn_softmax_largest(count, x);
    double sum = 0;
    for (int64_t at = 0; at < count; at += PART)
        sum += (double)tn_softmax_exponentials(count - at < PART ? count - at : PART, x + at, most,
                                               part);
    const float log_sum = (float)log(sum);
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] - most - log_sum;
}

static void log_softmax_columns(int64_t count, int64_t stride, int64_t columns, const float *x,
                                float *y) {
    tn_vector most = tn_vector_all(-INFINITY), sum = {0};
    for (int64_t i = 0; i < count; i++)
        most = tn_vector_max(most, load(x + i * stride, columns));
    for (int64_t i = 0; i < count; i++)
        sum += tn_vector_exp(load(x + i * stride, columns) - most);
    const tn_vector log_sum = tn_vector_log(sum);
    for (int64_t i = 0; i < count; i++)
        store(y + i * stride, load(x + i * stride, columns) - most - log_sum, columns);
}

const tn_softmax_level TN_SOFTMAX_LEVEL = {TN_LANES, softmax_lane, softmax_columns,
                                           log_softmax_lane, log_softmax_columns};
