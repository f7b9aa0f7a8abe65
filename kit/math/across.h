/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the elements of a vector into one, or those of as many vectors as each has lanes into a
 * vector of their results. Neighbours are joined first in both, so that a row's result has the same
 * bits whether it is computed alone or among others. For headers that are compiled once a processor
 * level; of floats (tn_vector), doubles (tn_wide) and unsigned integers (tn_vector_words).
 */
#ifndef TN_KIT_MATH_ACROSS_H
#define TN_KIT_MATH_ACROSS_H

#include "kit/math/wide_math.h"

/* The elements from the one `by` on, then those before it. */
#define TN_TURNED_2(v, by) __builtin_shufflevector(v, v, by, by + 1)
#define TN_TURNED_4(v, by) __builtin_shufflevector(v, v, by, by + 1, by + 2, by + 3)
#define TN_TURNED_8(v, by)                                                                         \
    __builtin_shufflevector(v, v, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7)
#define TN_TURNED_16(v, by)                                                                        \
    __builtin_shufflevector(v, v, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7,      \
                            by + 8, by + 9, by + 10, by + 11, by + 12, by + 13, by + 14, by + 15)

/* The elements of two vectors whose number is even, or odd. */
#define TN_EVERY_2(a, b, at) __builtin_shufflevector(a, b, at, at + 2)
#define TN_EVERY_4(a, b, at) __builtin_shufflevector(a, b, at, at + 2, at + 4, at + 6)
#define TN_EVERY_8(a, b, at)                                                                       \
    __builtin_shufflevector(a, b, at, at + 2, at + 4, at + 6, at + 8, at + 10, at + 12, at + 14)
#define TN_EVERY_16(a, b, at)                                                                      \
    __builtin_shufflevector(a, b, at, at + 2, at + 4, at + 6, at + 8, at + 10, at + 12, at + 14,   \
                            at + 16, at + 18, at + 20, at + 22, at + 24, at + 26, at + 28,         \
                            at + 30)

/* Defines, of vectors of type VECTOR with LANES elements of type NUMBER,
 *
 *     NAME_across: the result of a vector
 *     NAME_gather: the results of LANES vectors, which are overwritten
 */
#define TN_ACROSS_OF(name, vector, NUMBER, LANES, join)                                            \
    TN_INLINE NUMBER name##_across(vector all) {                                                   \
        all = join(all, TN_TURNED_##LANES(all, 1));                                                \
        if (LANES > 2) all = join(all, TN_TURNED_##LANES(all, 2 % LANES));                         \
        if (LANES > 4) all = join(all, TN_TURNED_##LANES(all, 4 % LANES));                         \
        if (LANES > 8) all = join(all, TN_TURNED_##LANES(all, 8 % LANES));                         \
        return all[0];                                                                             \
    }                                                                                              \
    TN_INLINE vector name##_gather(vector *rows) {                                                 \
        TN_UNROLL for (int count = LANES / 2; count > 0; count /= 2)                               \
            TN_UNROLL for (int i = 0; i < count; i++) {                                            \
            const vector a = rows[2 * i], b = rows[2 * i + 1];                                     \
            rows[i] = join(TN_EVERY_##LANES(a, b, 0), TN_EVERY_##LANES(a, b, 1));                  \
        }                                                                                          \
        return rows[0];                                                                            \
    }

#if TN_VECTOR_BYTES == 64
#define TN_LANE_NUMBERS                                                                            \
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#define TN_WIDE_LANE_NUMBERS                                                                       \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#define TN_ACROSS(name, join)       TN_ACROSS_OF(name, tn_vector, float, 16, join)
#define TN_WORDS_ACROSS(name, join) TN_ACROSS_OF(name, tn_vector_words, uint32_t, 16, join)
#define TN_WIDE_ACROSS(name, join)  TN_ACROSS_OF(name, tn_wide, double, 8, join)
#elif TN_VECTOR_BYTES == 32
#define TN_LANE_NUMBERS                                                                            \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#define TN_WIDE_LANE_NUMBERS                                                                       \
    { 0, 1, 2, 3 }
#define TN_ACROSS(name, join)       TN_ACROSS_OF(name, tn_vector, float, 8, join)
#define TN_WORDS_ACROSS(name, join) TN_ACROSS_OF(name, tn_vector_words, uint32_t, 8, join)
#define TN_WIDE_ACROSS(name, join)  TN_ACROSS_OF(name, tn_wide, double, 4, join)
#else
#define TN_LANE_NUMBERS                                                                            \
    { 0, 1, 2, 3 }
#define TN_WIDE_LANE_NUMBERS                                                                       \
    { 0, 1 }
#define TN_ACROSS(name, join)       TN_ACROSS_OF(name, tn_vector, float, 4, join)
#define TN_WORDS_ACROSS(name, join) TN_ACROSS_OF(name, tn_vector_words, uint32_t, 4, join)
#define TN_WIDE_ACROSS(name, join)  TN_ACROSS_OF(name, tn_wide, double, 2, join)
#endif

TN_INLINE tn_vector tn_vector_plus(tn_vector a, tn_vector b) {
    return a + b;
}
TN_INLINE tn_wide tn_wide_plus(tn_wide a, tn_wide b) {
    return a + b;
}
TN_ACROSS(tn_vector_sum, tn_vector_plus)
TN_WIDE_ACROSS(tn_wide_sum, tn_wide_plus)

#endif
