/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of lanes.h for one processor level. Included by a file a level, which names the
 * table as TN_SOFTMAX_LEVEL. Each lane is read three times: for its largest element, for the
 * exponentials and their sum, and for the division.
 */
#include "kit/math/softmax_row.h"
#include "softmax/lanes.h"

enum { PART = 1024 }; /* exponentials that are kept for as long as they are summed alone */

/* Defines the functions for lanes of NUMBER, by the functions ROW_... of softmax_row.h. */
#define LANES_OF(suffix, row, NUMBER, vector, WIDTH)                                               \
    static void softmax_lane_##suffix(int64_t count, const void *from, void *to) {                 \
        const NUMBER *x = from;                                                                    \
        const NUMBER sum = row##_exponentials(count, x, row##_largest(count, x), to);              \
        row##_scale(count, 1 / sum, to);                                                           \
    }                                                                                              \
    static void log_softmax_lane_##suffix(int64_t count, const void *from, void *to) {             \
        const NUMBER *x = from;                                                                    \
        NUMBER part[PART], *y = to;                                                                \
        const NUMBER most = row##_largest(count, x);                                               \
        double sum = 0;                                                                            \
        for (int64_t at = 0; at < count; at += PART)                                               \
            sum += (double)row##_exponentials(count - at < PART ? count - at : PART, x + at, most, \
                                              part);                                               \
        const NUMBER log_sum = (NUMBER)log(sum);                                                   \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = x[i] - most - log_sum;                                                          \
    }                                                                                              \
    TN_INLINE vector load_##suffix(const NUMBER *from, int64_t columns) {                          \
        return columns == WIDTH ? vector##_load(from) : vector##_load_part(from, columns);         \
    }                                                                                              \
    TN_INLINE void store_##suffix(NUMBER *to, vector value, int64_t columns) {                     \
        if (columns == WIDTH)                                                                      \
            vector##_store(to, value);                                                             \
        else                                                                                       \
            vector##_store_part(to, value, columns);                                               \
    }                                                                                              \
    TN_INLINE vector largest_##suffix(int64_t count, int64_t stride, int64_t columns,              \
                                      const NUMBER *x) {                                           \
        vector most = vector##_all((NUMBER)-INFINITY);                                             \
        for (int64_t i = 0; i < count; i++)                                                        \
            most = vector##_max(most, load_##suffix(x + i * stride, columns));                     \
        return most;                                                                               \
    }                                                                                              \
    static void softmax_columns_##suffix(int64_t count, int64_t stride, int64_t columns,           \
                                         const void *from, void *to) {                             \
        const NUMBER *x = from;                                                                    \
        NUMBER *y = to;                                                                            \
        const vector most = largest_##suffix(count, stride, columns, x);                           \
        vector sum = {0};                                                                          \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const vector value = vector##_exp(load_##suffix(x + i * stride, columns) - most);      \
            store_##suffix(y + i * stride, value, columns);                                        \
            sum += value;                                                                          \
        }                                                                                          \
        const vector scale = 1 / sum;                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            store_##suffix(y + i * stride, load_##suffix(y + i * stride, columns) * scale,         \
                           columns);                                                               \
    }                                                                                              \
    static void log_softmax_columns_##suffix(int64_t count, int64_t stride, int64_t columns,       \
                                             const void *from, void *to) {                         \
        const NUMBER *x = from;                                                                    \
        NUMBER *y = to;                                                                            \
        const vector most = largest_##suffix(count, stride, columns, x);                           \
        vector sum = {0};                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            sum += vector##_exp(load_##suffix(x + i * stride, columns) - most);                    \
        const vector log_sum = vector##_log(sum);                                                  \
        for (int64_t i = 0; i < count; i++)                                                        \
            store_##suffix(y + i * stride,                                                         \
                           load_##suffix(x + i * stride, columns) - most - log_sum, columns);      \
    }
LANES_OF(f32, tn_softmax, float, tn_vector, TN_LANES)
LANES_OF(f64, tn_softmax_wide, double, tn_wide, TN_WIDE_LANES)

#define FUNCTIONS(suffix, WIDTH)                                                                   \
    {                                                                                              \
        WIDTH, {softmax_lane_##suffix, log_softmax_lane_##suffix}, {                               \
            softmax_columns_##suffix, log_softmax_columns_##suffix                                 \
        }                                                                                          \
    }
const tn_softmax_level TN_SOFTMAX_LEVEL = {FUNCTIONS(f32, TN_LANES), FUNCTIONS(f64, TN_WIDE_LANES)};
