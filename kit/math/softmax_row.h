/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a softmax of one contiguous row of floats or doubles, by vectors: for headers that
 * are compiled once a processor level. */
#ifndef TN_KIT_MATH_SOFTMAX_ROW_H
#define TN_KIT_MATH_SOFTMAX_ROW_H

#include "kit/math/across.h"
#include <tenon/kit/vector_math.h>

#include <math.h>

TN_ACROSS(tn_softmax_most, tn_vector_max)
TN_WIDE_ACROSS(tn_softmax_wide_most, tn_wide_max)

/* Defines for rows of NUMBER, of vectors VECTOR with LANES lanes,
 *
 *     PREFIX_largest_of: a vector whose largest element is the row's, of those that are numbers;
 *         minus infinity where there is none
 *     PREFIX_exponentials_of: y = exp(x - offset); a vector whose sum is theirs. y may be x, and
 *         null: the sum alone
 *     PREFIX_largest, PREFIX_exponentials: the largest, and the sum, themselves
 *     PREFIX_scale: y = y * factor
 */
#define TN_SOFTMAX_ROW(prefix, NUMBER, vector, LANES, NUMBERS, LEFT)                               \
    TN_INLINE vector prefix##_first(int64_t left, vector value, NUMBER none) {                     \
        const vector##_bits numbers = NUMBERS;                                                     \
        return vector##_select(numbers < (LEFT)left, value, vector##_all(none));                   \
    }                                                                                              \
    TN_INLINE vector prefix##_largest_of(int64_t count, const NUMBER *x) {                         \
        vector most = vector##_all((NUMBER)-INFINITY);                                             \
        int64_t i = 0;                                                                             \
        if (count >= 4 * LANES) { /* which do not wait for each other */                           \
            vector more[4] = {most, most, most, most};                                             \
            for (; i + 4 * LANES <= count; i += 4 * LANES)                                         \
                TN_UNROLL for (int k = 0; k < 4; k++) more[k] =                                    \
                    vector##_max(more[k], vector##_load(x + i + k * LANES));                       \
            most = vector##_max(vector##_max(more[0], more[1]), vector##_max(more[2], more[3]));   \
        }                                                                                          \
        for (; i + LANES <= count; i += LANES)                                                     \
            most = vector##_max(most, vector##_load(x + i));                                       \
        if (i == count) return most;                                                               \
        const vector rest = vector##_load_part(x + i, count - i);                                  \
        return vector##_max(most, prefix##_first(count - i, rest, (NUMBER)-INFINITY));             \
    }                                                                                              \
    TN_INLINE vector prefix##_exponentials_of(int64_t count, const NUMBER *x, NUMBER offset,       \
                                              NUMBER *y) {                                         \
        vector sums = {0};                                                                         \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= count; i += LANES) {                                                   \
            const vector value = vector##_exp(vector##_load(x + i) - offset);                      \
            if (y) vector##_store(y + i, value);                                                   \
            sums += value;                                                                         \
        }                                                                                          \
        if (i == count) return sums;                                                               \
        const vector rest = vector##_exp(vector##_load_part(x + i, count - i) - offset);           \
        if (y) vector##_store_part(y + i, rest, count - i);                                        \
        return sums + prefix##_first(count - i, rest, 0);                                          \
    }                                                                                              \
    TN_INLINE NUMBER prefix##_largest(int64_t count, const NUMBER *x) {                            \
        return prefix##_most_across(prefix##_largest_of(count, x));                                \
    }                                                                                              \
    TN_INLINE NUMBER prefix##_exponentials(int64_t count, const NUMBER *x, NUMBER offset,          \
                                           NUMBER *y) {                                            \
        return vector##_sum_across(prefix##_exponentials_of(count, x, offset, y));                 \
    }                                                                                              \
    TN_INLINE void prefix##_scale(int64_t count, NUMBER factor, NUMBER *y) {                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= count; i += LANES)                                                     \
            vector##_store(y + i, vector##_load(y + i) * factor);                                  \
        if (i < count)                                                                             \
            vector##_store_part(y + i, vector##_load_part(y + i, count - i) * factor, count - i);  \
    }
TN_SOFTMAX_ROW(tn_softmax, float, tn_vector, TN_LANES, TN_LANE_NUMBERS, int32_t)
TN_SOFTMAX_ROW(tn_softmax_wide, double, tn_wide, TN_WIDE_LANES, TN_WIDE_LANE_NUMBERS, int64_t)

#endif
