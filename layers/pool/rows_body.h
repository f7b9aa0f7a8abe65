/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of rows.h for one processor level. Before it is included, TN_POOL_ROWS_LEVEL names the
 * table to define. */
#include <tenon/kit/vector.h>
#include "pool/rows.h"

#include <math.h>

/* NaN where one of them is. */
static inline float larger(float a, float b) {
    const float most = a < b ? b : a;
    return b != b ? b : most;
}

TN_INLINE float join(const bool is_mean, float a, float b) {
    return is_mean ? a + b : larger(a, b);
}

/* Joins the window's rows of output row y into scratch, which holds the padded row. */
TN_INLINE void join_rows(const bool is_mean, const tn_byte_pool *pool, const float *restrict input,
                         float *restrict scratch, int64_t y) {
    float *restrict row = scratch + pool->pad_left;
    int64_t joined = 0;
    for (int64_t k = 0; k < pool->kernel_height; k++) {
        const int64_t at = y * pool->stride_height - pool->pad_top + k * pool->dilation_height;
        if (at < 0 || at >= pool->in_height) continue;
        const float *restrict from = input + at * pool->in_width;
        if (joined++ == 0) {
            for (int64_t x = 0; x < pool->in_width; x++)
                row[x] = from[x];
        } else {
            for (int64_t x = 0; x < pool->in_width; x++)
                row[x] = join(is_mean, row[x], from[x]);
        }
    }
    for (int64_t x = 0; joined == 0 && x < pool->in_width; x++)
        row[x] = is_mean ? 0 : -INFINITY;
}

#if TN_LANES == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif TN_LANES == 8
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD  1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN 0, 2, 4, 6
#define ODD  1, 3, 5, 7
#endif

TN_INLINE tn_vector join_vectors(const bool is_mean, tn_vector a, tn_vector b) {
    if (is_mean) return a + b;
    return tn_vector_larger(a, b);
}

/* Every element from `from` on, or every other one. */
TN_INLINE tn_vector load_steps(const int64_t stride, const float *from) {
    const tn_vector low = tn_vector_load(from);
    if (stride == 1) return low;
    return __builtin_shufflevector(low, tn_vector_load(from + TN_LANES), EVEN);
}

/* Joins the columns of a row, whose sums are multiplied by `factor` and those of `columns`. Vectors
 * read up to two vectors behind the row. */
TN_INLINE void join_columns_by(const bool is_mean, const int64_t stride, const tn_byte_pool *pool,
                               const float *scratch, float factor, const float *columns,
                               float *output) {
    for (int64_t x = 0; x < pool->out_width; x += TN_LANES) {
        const float *from = scratch + x * stride;
        const int64_t left = pool->out_width - x;
        tn_vector value = load_steps(stride, from);
        for (int64_t k = 1; k < pool->kernel_width; k++)
            value =
                join_vectors(is_mean, value, load_steps(stride, from + k * pool->dilation_width));
        if (is_mean) value *= factor * tn_vector_load(columns + x);
        if (left >= TN_LANES)
            tn_vector_store(output + x, value);
        else
            tn_vector_store_part(output + x, value, left);
    }
}

TN_INLINE void join_columns(const bool is_mean, const tn_byte_pool *pool, const float *scratch,
                            float factor, const float *columns, float *output) {
    const int64_t stride = pool->stride_width;
    if (stride == 1) {
        join_columns_by(is_mean, 1, pool, scratch, factor, columns, output);
    } else if (stride == 2) {
        join_columns_by(is_mean, 2, pool, scratch, factor, columns, output);
    } else {
        for (int64_t x = 0; x < pool->out_width; x++) {
            float value = scratch[x * stride];
            for (int64_t k = 1; k < pool->kernel_width; k++)
                value = join(is_mean, value, scratch[x * stride + k * pool->dilation_width]);
            output[x] = is_mean ? value * (factor * columns[x]) : value;
        }
    }
}

/* The commonest window, 2 x 2 with stride 2 and no padding, for planes of rows rows in all. Vectors
 * may overrun a row's end: what they write there is written again by the next row; the last rows,
 * where nothing follows, take the plain path. */
static void pairs(const tn_byte_pool *pool, const float *input, float *output, int64_t rows) {
    const int64_t width = pool->in_width, count = pool->out_width;
    const int64_t safe = rows - (2 * TN_LANES + width - 1) / width - (TN_LANES + count - 1) / count;
    int64_t row = 0, y = 0;
    const float *from = input;
    for (; row < rows; row++, from += 2 * width) {
        if (y++ == pool->out_height) {
            from += (pool->in_height - 2 * pool->out_height) * width;
            y = 1;
        }
        float *to = output + row * count;
        for (int64_t x = 0; row < safe && x < count; x += TN_LANES) {
            const float *at = from + 2 * x;
            const tn_vector low = tn_vector_larger(tn_vector_load(at), tn_vector_load(at + width));
            const tn_vector high = tn_vector_larger(tn_vector_load(at + TN_LANES),
                                                    tn_vector_load(at + width + TN_LANES));
            tn_vector_store(to + x, tn_vector_larger(__builtin_shufflevector(low, high, EVEN),
                                                     __builtin_shufflevector(low, high, ODD)));
        }
        for (int64_t x = 0; row >= safe && x < count; x++)
            to[x] = larger(larger(from[2 * x], from[2 * x + 1]),
                           larger(from[width + 2 * x], from[width + 2 * x + 1]));
    }
}

static bool is_pairs(const tn_byte_pool *pool) {
    return pool->kernel_height == 2 && pool->kernel_width == 2 && pool->stride_height == 2 &&
           pool->stride_width == 2 && pool->dilation_height == 1 && pool->dilation_width == 1 &&
           pool->pad_top == 0 && pool->pad_left == 0 && pool->out_height * 2 <= pool->in_height &&
           pool->out_width * 2 <= pool->in_width;
}

TN_INLINE void pool_planes(const bool is_mean, const tn_byte_pool *pool, const float *input,
                           float *output, int64_t planes, float *scratch) {
    const int64_t floats = tn_pool_row_floats(pool);
    float *columns = scratch + floats, *rows = columns + pool->out_width;
    for (int64_t x = 0; x < pool->pad_left; x++)
        scratch[x] = is_mean ? 0 : -INFINITY;
    for (int64_t x = pool->pad_left + pool->in_width; x < floats; x++)
        scratch[x] = is_mean ? 0 : -INFINITY;
    if (is_mean) {
        tn_byte_pool_column_factors(pool, columns);
        tn_byte_pool_row_factors(pool, rows);
    }
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t y = 0; y < pool->out_height; y++) {
            join_rows(is_mean, pool, input, scratch, y);
            join_columns(is_mean, pool, scratch, is_mean ? rows[y] : 1, columns,
                         output + y * pool->out_width);
        }
        input += pool->in_height * pool->in_width;
        output += pool->out_height * pool->out_width;
    }
}

static void largest(const tn_byte_pool *pool, const float *input, float *output, int64_t planes,
                    float *scratch) {
    if (is_pairs(pool))
        pairs(pool, input, output, planes * pool->out_height);
    else
        pool_planes(false, pool, input, output, planes, scratch);
}

static void mean(const tn_byte_pool *pool, const float *input, float *output, int64_t planes,
                 float *scratch) {
    pool_planes(true, pool, input, output, planes, scratch);
}

const tn_pool_rows_level TN_POOL_ROWS_LEVEL = {largest, mean};
