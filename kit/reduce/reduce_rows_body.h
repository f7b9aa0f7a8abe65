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

#if TN_LANES == 16
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define ROTATED(all, by)                                                                           \
    __builtin_shufflevector(all, all, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7,  \
                            by + 8, by + 9, by + 10, by + 11, by + 12, by + 13, by + 14, by + 15)
#define HALVES(all, join) all = join(all, ROTATED(all, 8)), all = join(all, ROTATED(all, 4));
#elif TN_LANES == 8
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7
#define ROTATED(all, by)                                                                           \
    __builtin_shufflevector(all, all, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7)
#define HALVES(all, join) all = join(all, ROTATED(all, 4));
#else
#define LANE_NUMBERS     0, 1, 2, 3
#define ROTATED(all, by) __builtin_shufflevector(all, all, by, by + 1, by + 2, by + 3)
#define HALVES(all, join)
#endif
static const tn_vector_bits lane_numbers = {LANE_NUMBERS};

/* Joins the halves of a vector until its first element is of all. */
#define ACROSS(all, join)                                                                          \
    HALVES(all, join)                                                                              \
    all = join(all, ROTATED(all, 2));                                                              \
    all = join(all, ROTATED(all, 1));

/* Defines the functions of a kind: `start` is of no elements, `value` what an element x gives,
 * `join` what becomes of two. What is left of a lane is read with the vector that ends with it. */
#define REDUCE(name, start, join, value)                                                           \
    TN_INLINE tn_vector value_##name(tn_vector x) {                                                \
        return value;                                                                              \
    }                                                                                              \
    TN_INLINE tn_vector rest_##name(int64_t left, int64_t count, const float *x, float none) {     \
        const tn_vector last = count >= TN_LANES ? tn_vector_load(x + count - TN_LANES)            \
                                                 : tn_vector_load_part(x, left);                   \
        const int32_t first = count >= TN_LANES ? (int32_t)(TN_LANES - left) : 0;                  \
        const tn_vector_bits behind = lane_numbers - first;                                        \
        return tn_vector_select((behind >= 0) & (behind < (int32_t)left), value_##name(last),      \
                                tn_vector_all(none));                                              \
    }                                                                                              \
    TN_INLINE float across_##name(tn_vector all) {                                                 \
        ACROSS(all, join)                                                                          \
        return all[0];                                                                             \
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
        if (i < count) sums[1] = join(sums[1], rest_##name(count - i, count, x, start));           \
        return across_##name(join(join(sums[0], sums[1]), join(sums[2], sums[3])));                \
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
