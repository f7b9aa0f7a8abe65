/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of adding.h for one processor level. Before it is included, TN_ADDING_LEVEL names the
 * table to define. */
#include <tenon/kit/vector.h>
#include "conv_transpose/adding.h"

#if TN_LANES == 16
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif TN_LANES == 8
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#endif

/* Adds the first `count` floats, at most a vector. */
TN_INLINE void add_vector(float *to, tn_vector value, int64_t count) {
    if (count >= TN_LANES)
        tn_vector_store(to, tn_vector_load(to) + value);
    else
        tn_vector_store_part(to, tn_vector_load_part(to, count) + value, count);
}

static void pairs(int64_t count, const float *first, const float *second, float *to) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES) {
        const tn_vector a = tn_vector_load(first + i), b = tn_vector_load(second + i);
        add_vector(to + 2 * i, __builtin_shufflevector(a, b, LOW), TN_LANES);
        add_vector(to + 2 * i + TN_LANES, __builtin_shufflevector(a, b, HIGH), TN_LANES);
    }
    if (i == count) return;
    const tn_vector a = tn_vector_load_part(first + i, count - i),
                    b = tn_vector_load_part(second + i, count - i);
    add_vector(to + 2 * i, __builtin_shufflevector(a, b, LOW), 2 * (count - i));
    add_vector(to + 2 * i + TN_LANES, __builtin_shufflevector(a, b, HIGH),
               2 * (count - i) - TN_LANES);
}

/* The elements between are left as they are: nothing is added to them. */
static void apart(int64_t count, int64_t stride, const float *from, float *to) {
    const tn_vector zero = {0};
    int64_t i = 0;
    for (; stride == 1 && i + TN_LANES <= count; i += TN_LANES)
        add_vector(to + i, tn_vector_load(from + i), TN_LANES);
    for (; stride == 2 && i + TN_LANES < count; i += TN_LANES) {
        const tn_vector a = tn_vector_load(from + i);
        add_vector(to + 2 * i, __builtin_shufflevector(a, zero, LOW), TN_LANES);
        add_vector(to + 2 * i + TN_LANES, __builtin_shufflevector(a, zero, HIGH), TN_LANES);
    }
    if (stride == 1 && i < count)
        add_vector(to + i, tn_vector_load_part(from + i, count - i), count - i);
    for (; stride > 1 && i < count; i++)
        to[i * stride] += from[i];
}

static void fill(int64_t count, float value, float *to) {
    const tn_vector all = tn_vector_all(value);
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(to + i, all);
    if (i < count) tn_vector_store_part(to + i, all, count - i);
}

const tn_adding_level TN_ADDING_LEVEL = {.apart = apart, .pairs = pairs, .fill = fill};
