/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of reduce_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_REDUCE_LEVEL. Lanes are gathered in several vectors at once, whose additions do
 * not wait for each other; the order is the same whatever the threads.
 */
#include <tenon/kit/vector_math.h>
#include <tenon/kit/reduce_rows.h>

enum { VECTORS = 4 };

TN_INLINE tn_vector smaller(tn_vector a, tn_vector b) {
    return tn_vector_select((tn_vector_bits)(b != b), b, tn_vector_min(a, b));
}
TN_INLINE tn_vector add(tn_vector a, tn_vector b) {
    return a + b;
}

/* Defines the functions of a kind: `start` is of no elements, `value` what an element x gives,
 * `join` what becomes of two. */
#define REDUCE(name, start, join, value)                                                           \
    TN_INLINE tn_vector value_##name(tn_vector x) {                                                \
        return value;                                                                              \
    }                                                                                              \
    static float lane_##name(int64_t count, const float *x) {                                      \
        tn_vector sums[VECTORS];                                                                   \
        int64_t i = 0;                                                                             \
        TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] = tn_vector_all(start);                \
        for (; i + VECTORS * TN_LANES <= count; i += VECTORS * TN_LANES)                           \
            TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] =                                  \
                join(sums[k], value_##name(tn_vector_load(x + i + k * TN_LANES)));                 \
        for (; i + TN_LANES <= count; i += TN_LANES)                                               \
            sums[0] = join(sums[0], value_##name(tn_vector_load(x + i)));                          \
        tn_vector rest = tn_vector_all(start);                                                     \
        for (int k = 0; i < count; i++, k++)                                                       \
            rest[k] = value_##name(tn_vector_all(x[i]))[0];                                        \
        sums[1] = join(sums[1], rest);                                                             \
        sums[0] = join(join(sums[0], sums[1]), join(sums[2], sums[3]));                            \
        tn_vector result = tn_vector_all(sums[0][0]);                                              \
        for (int k = 1; k < TN_LANES; k++)                                                         \
            result = join(result, tn_vector_all(sums[0][k]));                                      \
        return result[0];                                                                          \
    }                                                                                              \
    static void columns_##name(int64_t count, int64_t stride, int64_t columns, const float *x,     \
                               float *y) {                                                         \
        if (columns == VECTORS * TN_LANES) {                                                       \
            tn_vector sums[VECTORS];                                                               \
            TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] = tn_vector_all(start);            \
            for (int64_t i = 0; i < count; i++)                                                    \
                TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] =                              \
                    join(sums[k], value_##name(tn_vector_load(x + i * stride + k * TN_LANES)));    \
            TN_UNROLL for (int k = 0; k < VECTORS; k++)                                            \
                tn_vector_store(y + k * TN_LANES, sums[k]);                                        \
            return;                                                                                \
        }                                                                                          \
        for (int64_t at = 0; at < columns; at += TN_LANES) {                                       \
            const int64_t left = columns - at;                                                     \
            tn_vector sum = tn_vector_all(start);                                                  \
            for (int64_t i = 0; i < count; i++) {                                                  \
                const float *from = x + i * stride + at;                                           \
                sum = join(sum, value_##name(left >= TN_LANES ? tn_vector_load(from)               \
                                                              : tn_vector_load_part(from, left))); \
            }                                                                                      \
            if (left >= TN_LANES)                                                                  \
                tn_vector_store(y + at, sum);                                                      \
            else                                                                                   \
                tn_vector_store_part(y + at, sum, left);                                           \
        }                                                                                          \
    }

REDUCE(sum, 0.0f, add, x)
REDUCE(square, 0.0f, add, x *x)
REDUCE(absolute, 0.0f, add, tn_vector_absolute(x))
REDUCE(max, -__builtin_inff(), tn_vector_larger, x)
REDUCE(min, __builtin_inff(), smaller, x)

const tn_reduce_level TN_REDUCE_LEVEL = {
    .width = VECTORS * TN_LANES,
    .lanes = {lane_sum, lane_square, lane_absolute, lane_max, lane_min},
    .columns = {columns_sum, columns_square, columns_absolute, columns_max, columns_min},
};
