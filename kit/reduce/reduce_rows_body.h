/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of reduce_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_REDUCE_LEVEL. Long lanes are gathered in several vectors at once, whose additions
 * do not wait for each other; the order is the same whatever the threads, and whether a lane is
 * done alone or among others. Products are of doubles, so that those of some floats do not
 * overflow.
 */
#include "kit/math/softmax_row.h"
#include "kit/math/vector_some.h"
#include <tenon/kit/reduce_rows.h>

enum { VECTORS = 4 };

TN_INLINE tn_vector smaller(tn_vector a, tn_vector b) {
    return tn_vector_select((tn_vector_bits)(b != b), b, tn_vector_min(a, b));
}
TN_INLINE tn_wide multiply(tn_wide a, tn_wide b) {
    return a * b;
}

/* The last `left` floats of a lane of `count`, fewer than a vector, in any lanes; `none` in the
 * others. */
static const tn_vector_bits lane_numbers = TN_LANE_NUMBERS;
TN_INLINE tn_vector load_rest(int64_t left, int64_t count, const float *rest, float none) {
    if (TN_VECTOR_BYTES == 64 || count < TN_LANES)
        return tn_vector_select(lane_numbers < (int32_t)left, tn_vector_load_part(rest, left),
                                tn_vector_all(none));
    return tn_vector_select(lane_numbers >= (int32_t)(TN_LANES - left),
                            tn_vector_load(rest + left - TN_LANES), tn_vector_all(none));
}
TN_INLINE tn_wide load_wide_rest(int64_t left, int64_t count, const float *rest, float none) {
    const tn_wide_bits numbers = TN_WIDE_LANE_NUMBERS;
    if (count >= TN_WIDE_LANES)
        return tn_wide_select(numbers >= TN_WIDE_LANES - left,
                              tn_wide_load_floats(rest + left - TN_WIDE_LANES), tn_wide_all(none));
    float all[TN_WIDE_LANES];
    for (int64_t i = 0; i < TN_WIDE_LANES; i++)
        all[i] = i < left ? rest[i] : none;
    return tn_wide_load_floats(all);
}

TN_INLINE tn_wide load_wide_columns(const float *from, int64_t columns) {
    return columns >= TN_WIDE_LANES ? tn_wide_load_floats(from)
                                    : load_wide_rest(columns, columns, from, 0);
}
TN_INLINE void store_wide_columns(float *to, tn_wide value, int64_t columns) {
    float all[TN_WIDE_LANES];
    tn_wide_store_floats(all, value);
    memcpy(to, all, (size_t)(columns < TN_WIDE_LANES ? columns : TN_WIDE_LANES) * sizeof(float));
}

/* Defines the functions of a kind: `start` is of no elements, `value` what an element x gives,
 * `join` what becomes of two. */
#define REDUCE_OF(name, vector, LANES, load, rest, load_some, store_some, start, join, value)      \
    TN_INLINE vector value_##name(vector x) {                                                      \
        return value;                                                                              \
    }                                                                                              \
    TN_INLINE vector gather_##name(int64_t count, const float *x) {                                \
        const vector none = (vector){0} + start;                                                   \
        vector all = none;                                                                         \
        int64_t i = 0;                                                                             \
        if (count >= VECTORS * LANES) {                                                            \
            vector sums[VECTORS];                                                                  \
            TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] = none;                            \
            for (; i + VECTORS * LANES <= count; i += VECTORS * LANES)                             \
                TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] =                              \
                    join(sums[k], value_##name(load(x + i + k * LANES)));                          \
            all = join(join(sums[0], sums[1]), join(sums[2], sums[3]));                            \
        }                                                                                          \
        for (; i + LANES <= count; i += LANES)                                                     \
            all = join(all, value_##name(load(x + i)));                                            \
        return i < count ? join(all, value_##name(rest(count - i, count, x + i, start))) : all;    \
    }                                                                                              \
    static float lane_##name(int64_t count, const float *x) {                                      \
        return (float)name##_across(gather_##name(count, x));                                      \
    }                                                                                              \
    static void rows_##name(int64_t rows, int64_t count, const float *x, float *y) {               \
        for (; rows >= LANES; rows -= LANES, x += LANES * count, y += LANES) {                     \
            vector all[LANES];                                                                     \
            for (int64_t row = 0; row < LANES; row++)                                              \
                all[row] = gather_##name(count, x + row * count);                                  \
            store_some(y, name##_gather(all), LANES);                                              \
        }                                                                                          \
        for (int64_t row = 0; row < rows; row++)                                                   \
            y[row] = lane_##name(count, x + row * count);                                          \
    }                                                                                              \
    static void columns_##name(int64_t count, int64_t stride, int64_t columns, const float *x,     \
                               float *y) {                                                         \
        const vector none = (vector){0} + start;                                                   \
        int64_t at = 0;                                                                            \
        for (; at + VECTORS * LANES <= columns; at += VECTORS * LANES) {                           \
            vector sums[VECTORS];                                                                  \
            TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] = none;                            \
            for (int64_t i = 0; i < count; i++)                                                    \
                TN_UNROLL for (int k = 0; k < VECTORS; k++) sums[k] =                              \
                    join(sums[k], value_##name(load(x + i * stride + at + k * LANES)));            \
            TN_UNROLL for (int k = 0; k < VECTORS; k++)                                            \
                store_some(y + at + k * LANES, sums[k], LANES);                                    \
        }                                                                                          \
        for (; at < columns; at += LANES) {                                                        \
            vector sum = none;                                                                     \
            for (int64_t i = 0; i < count; i++)                                                    \
                sum = join(sum, value_##name(load_some(x + i * stride + at, columns - at)));       \
            store_some(y + at, sum, columns - at);                                                 \
        }                                                                                          \
    }

#define REDUCE(name, start, join, value)                                                           \
    TN_ACROSS(name, join)                                                                          \
    REDUCE_OF(name, tn_vector, TN_LANES, tn_vector_load, load_rest, tn_vector_load_some,           \
              tn_vector_store_some, start, join, value)

REDUCE(sum, 0.0f, tn_vector_plus, x)
REDUCE(square, 0.0f, tn_vector_plus, x *x)
REDUCE(absolute, 0.0f, tn_vector_plus, tn_vector_absolute(x))
REDUCE(max, -__builtin_inff(), tn_vector_larger, x)
REDUCE(min, __builtin_inff(), smaller, x)
TN_WIDE_ACROSS(product, multiply)
REDUCE_OF(product, tn_wide, TN_WIDE_LANES, tn_wide_load_floats, load_wide_rest, load_wide_columns,
          store_wide_columns, 1.0f, multiply, x)

/* --- the logarithm of a sum of exponentials, out of which the largest is taken first --- */

/* exp(x - offset) of infinities would be a number: their sum is of x itself. */
TN_INLINE float offset_of(float most) {
    return __builtin_isinf(most) ? 0 : most;
}

/* log(sum) + most in double precision, where they may cancel; of infinities `most`, or NaN where
 * the sum is. */
TN_INLINE tn_wide end_of(tn_wide sum, tn_wide most) {
    const tn_wide_bits is_end =
        (tn_wide_bits)(tn_wide_absolute(most) == __builtin_inf()) & (tn_wide_bits)(sum == sum);
    return tn_wide_select(is_end, most, tn_wide_log(sum) + most);
}

static void end_columns(int64_t columns, const float *sums, const float *mosts, float *y) {
    for (int64_t at = 0; at < columns; at += TN_WIDE_LANES)
        store_wide_columns(y + at,
                           end_of(load_wide_columns(sums + at, columns - at),
                                  load_wide_columns(mosts + at, columns - at)),
                           columns - at);
}

static void rows_exponentials(int64_t rows, int64_t count, const float *x, float *y) {
    for (int64_t left = rows; left > 0; left -= TN_LANES, x += TN_LANES * count, y += TN_LANES) {
        const int64_t some = left < TN_LANES ? left : TN_LANES;
        tn_vector parts[TN_LANES] = {{0}};
        float most[TN_LANES], sums[TN_LANES];
        for (int64_t row = 0; row < some; row++)
            parts[row] = tn_softmax_largest_of(count, x + row * count);
        tn_vector_store(most, tn_softmax_most_gather(parts));
        for (int64_t row = 0; row < some; row++)
            parts[row] =
                tn_softmax_exponentials_of(count, x + row * count, offset_of(most[row]), NULL);
        tn_vector_store(sums, tn_vector_sum_gather(parts));
        end_columns(some, sums, most, y);
    }
}

static float lane_exponentials(int64_t count, const float *x) {
    float y;
    rows_exponentials(1, count, x, &y);
    return y;
}

static void columns_exponentials(int64_t count, int64_t stride, int64_t columns, const float *x,
                                 float *y) {
    for (int64_t at = 0; at < columns; at += TN_LANES) {
        const int64_t some = columns - at < TN_LANES ? columns - at : TN_LANES;
        tn_vector most = tn_vector_all(-__builtin_inff()), sum = {0};
        float mosts[TN_LANES], sums[TN_LANES];
        for (int64_t i = 0; i < count; i++)
            most = tn_vector_max(most, tn_vector_load_some(x + i * stride + at, some));
        const tn_vector offset = tn_vector_select(
            (tn_vector_bits)(tn_vector_absolute(most) == __builtin_inff()), tn_vector_all(0), most);
        for (int64_t i = 0; i < count; i++)
            sum += tn_vector_exp(tn_vector_load_some(x + i * stride + at, some) - offset);
        tn_vector_store(mosts, most);
        tn_vector_store(sums, sum);
        end_columns(some, sums, mosts, y + at);
    }
}

#define ALL_KINDS(function)                                                                        \
    {                                                                                              \
        function##_sum, function##_square, function##_absolute, function##_max, function##_min,    \
            function##_product, function##_exponentials                                            \
    }
const tn_reduce_level TN_REDUCE_LEVEL = {
    .width = VECTORS * TN_LANES,
    .lanes = ALL_KINDS(lane),
    .columns = ALL_KINDS(columns),
    .rows = ALL_KINDS(rows),
};
