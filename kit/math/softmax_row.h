/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a softmax of one contiguous row of floats or doubles, by vectors: for headers that
 * are compiled once a processor level. */
#ifndef TN_KIT_MATH_SOFTMAX_ROW_H
#define TN_KIT_MATH_SOFTMAX_ROW_H

#include "kit/math/wide_math.h"
#include <tenon/kit/vector_math.h>

#include <math.h>

/* Defines for rows of NUMBER, of vectors VECTOR with LANES lanes,
 *
 *     PREFIX_largest: the largest element that is a number; minus infinity where there is none
 *     PREFIX_exponentials: y = exp(x - offset); returns the sum. y may be x
 *     PREFIX_scale: y = y * factor
 */
#define TN_SOFTMAX_ROW(prefix, NUMBER, vector, LANES)                                              \
    TN_INLINE NUMBER prefix##_largest(int64_t count, const NUMBER *x) {                            \
        vector most = vector##_all((NUMBER)-INFINITY);                                             \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= count; i += LANES)                                                     \
            most = vector##_max(most, vector##_load(x + i));                                       \
        NUMBER lanes[LANES];                                                                       \
        vector##_store(lanes, most);                                                               \
        TN_UNROLL for (int half = LANES / 2; half > 0; half /= 2)                                  \
            TN_UNROLL for (int k = 0; k < half; k++) lanes[k] =                                    \
                lanes[k] < lanes[k + half] ? lanes[k + half] : lanes[k];                           \
        NUMBER value = lanes[0];                                                                   \
        for (; i < count; i++)                                                                     \
            value = value < x[i] ? x[i] : value;                                                   \
        return value;                                                                              \
    }                                                                                              \
    TN_INLINE NUMBER prefix##_exponentials(int64_t count, const NUMBER *x, NUMBER offset,          \
                                           NUMBER *y) {                                            \
        vector sums = {0};                                                                         \
        NUMBER lanes[LANES];                                                                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= count; i += LANES) {                                                   \
            const vector value = vector##_exp(vector##_load(x + i) - offset);                      \
            vector##_store(y + i, value);                                                          \
            sums += value;                                                                         \
        }                                                                                          \
        if (i < count) {                                                                           \
            const vector rest = vector##_exp(vector##_load_part(x + i, count - i) - offset);       \
            vector##_store_part(y + i, rest, count - i);                                           \
        }                                                                                          \
        vector##_store(lanes, sums);                                                               \
        TN_UNROLL for (int half = LANES / 2; half > 0; half /= 2)                                  \
            TN_UNROLL for (int k = 0; k < half; k++) lanes[k] += lanes[k + half];                  \
        NUMBER sum = lanes[0];                                                                     \
        for (; i < count; i++)                                                                     \
            sum += y[i];                                                                           \
        return sum;                                                                                \
    }                                                                                              \
    TN_INLINE void prefix##_scale(int64_t count, NUMBER factor, NUMBER *y) {                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= count; i += LANES)                                                     \
            vector##_store(y + i, vector##_load(y + i) * factor);                                  \
        for (; i < count; i++)                                                                     \
            y[i] *= factor;                                                                        \
    }
TN_SOFTMAX_ROW(tn_softmax, float, tn_vector, TN_LANES)
TN_SOFTMAX_ROW(tn_softmax_wide, double, tn_wide, TN_WIDE_LANES)

#endif
