/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of lanes.h for one processor level. Included by a file a level, which names the
 * table as TN_SOFTMAX_LEVEL. Each lane is read three times: for its largest element, for the
 * exponentials and their sum, and for the division. Short lanes are done as many at once as a
 * vector has, which joins their largest elements and their sums; the results have the same bits.
 */
#include "kit/math/softmax_row.h"
#include "softmax/lanes.h"

#include <stdbool.h>

enum {
    PART = 1024, /* exponentials that are summed alone */
    SHORT = 256  /* elements of a lane, of which a vector of lanes stays in the first cache */
};

/* Defines the functions for lanes of NUMBER, by the functions ROW_... of softmax_row.h. */
#define LANES_OF(suffix, row, NUMBER, vector, WIDTH)                                               \
    TN_INLINE void subtract_##suffix(int64_t count, const NUMBER *x, NUMBER most, NUMBER log_sum,  \
                                     NUMBER *y) {                                                  \
        int64_t i = 0;                                                                             \
        for (; i + WIDTH <= count; i += WIDTH)                                                     \
            vector##_store(y + i, vector##_load(x + i) - most - log_sum);                          \
        vector##_store_part(y + i, vector##_load_part(x + i, count - i) - most - log_sum,          \
                            count - i);                                                            \
    }                                                                                              \
    static void softmax_lane_##suffix(int64_t count, const NUMBER *x, NUMBER *y) {                 \
        const NUMBER sum = row##_exponentials(count, x, row##_largest(count, x), y);               \
        row##_scale(count, 1 / sum, y);                                                            \
    }                                                                                              \
    static void log_softmax_lane_##suffix(int64_t count, const NUMBER *x, NUMBER *y) {             \
        const NUMBER most = row##_largest(count, x);                                               \
        double sum = 0;                                                                            \
        for (int64_t at = 0; at < count; at += PART)                                               \
            sum += (double)row##_exponentials(count - at < PART ? count - at : PART, x + at, most, \
                                              NULL);                                               \
        subtract_##suffix(                                                                         \
            count, x, most,                                                                        \
            count <= SHORT ? vector##_log(vector##_all((NUMBER)sum))[0] : (NUMBER)log(sum), y);    \
    }                                                                                              \
    /* As many short lanes as a vector has. */                                                     \
    TN_INLINE void block_##suffix(bool is_log, int64_t count, const NUMBER *x, NUMBER *y) {        \
        vector parts[WIDTH];                                                                       \
        NUMBER most[WIDTH], of_sum[WIDTH];                                                         \
        for (int64_t k = 0; k < WIDTH; k++)                                                        \
            parts[k] = row##_largest_of(count, x + k * count);                                     \
        vector##_store(most, row##_most_gather(parts));                                            \
        for (int64_t k = 0; k < WIDTH; k++)                                                        \
            parts[k] = row##_exponentials_of(count, x + k * count, most[k],                        \
                                             is_log ? NULL : y + k * count);                       \
        const vector sums = vector##_sum_gather(parts);                                            \
        if (is_log)                                                                                \
            vector##_store(of_sum, vector##_log(sums));                                            \
        else                                                                                       \
            vector##_store(of_sum, (NUMBER)1 / sums);                                              \
        for (int64_t k = 0; k < WIDTH; k++) {                                                      \
            if (is_log)                                                                            \
                subtract_##suffix(count, x + k * count, most[k], of_sum[k], y + k * count);        \
            else                                                                                   \
                row##_scale(count, of_sum[k], y + k * count);                                      \
        }                                                                                          \
    }                                                                                              \
    TN_INLINE void rows_##suffix(bool is_log, int64_t rows, int64_t count, const NUMBER *x,        \
                                 NUMBER *y) {                                                      \
        for (; count <= SHORT && rows >= WIDTH;                                                    \
             rows -= WIDTH, x += WIDTH * count, y += WIDTH * count)                                \
            block_##suffix(is_log, count, x, y);                                                   \
        for (; rows > 0; rows--, x += count, y += count)                                           \
            (is_log ? log_softmax_lane_##suffix : softmax_lane_##suffix)(count, x, y);             \
    }                                                                                              \
    static void softmax_rows_##suffix(int64_t rows, int64_t count, const void *x, void *y) {       \
        rows_##suffix(false, rows, count, x, y);                                                   \
    }                                                                                              \
    static void log_softmax_rows_##suffix(int64_t rows, int64_t count, const void *x, void *y) {   \
        rows_##suffix(true, rows, count, x, y);                                                    \
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
        const vector scale = (NUMBER)1 / sum;                                                      \
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
        WIDTH, {softmax_rows_##suffix, log_softmax_rows_##suffix}, {                               \
            softmax_columns_##suffix, log_softmax_columns_##suffix                                 \
        }                                                                                          \
    }
const tn_softmax_level TN_SOFTMAX_LEVEL = {FUNCTIONS(f32, TN_LANES), FUNCTIONS(f64, TN_WIDE_LANES)};
