/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of rows.h for one processor level. Before it is included, TN_MAX_POOL_ROWS names the
 * function to define. */
#include <tenon/kit/vector.h>
#include "pool/rows.h"

#include <math.h>

/* NaN where one of them is. */
static inline float larger(float a, float b) {
    const float most = a < b ? b : a;
    return b != b ? b : most;
}

/* Joins the window's rows of output row y into scratch, which holds the padded row. */
static void join_rows(const tn_byte_pool *pool, const float *restrict input,
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
                row[x] = larger(row[x], from[x]);
        }
    }
    for (int64_t x = 0; joined == 0 && x < pool->in_width; x++)
        row[x] = -INFINITY;
}

static void join_columns(const tn_byte_pool *pool, const float *restrict scratch,
                         float *restrict output) {
    const int64_t count = pool->out_width, stride = pool->stride_width;
    if (stride == 2 && pool->kernel_width == 2 && pool->dilation_width == 1) {
        for (int64_t x = 0; x < count; x++)
            output[x] = larger(scratch[2 * x], scratch[2 * x + 1]);
    } else if (stride == 2 && pool->kernel_width == 3 && pool->dilation_width == 1) {
        for (int64_t x = 0; x < count; x++)
            output[x] = larger(larger(scratch[2 * x], scratch[2 * x + 1]), scratch[2 * x + 2]);
    } else {
        for (int64_t x = 0; x < count; x++)
            output[x] = scratch[x * stride];
        for (int64_t k = 1; k < pool->kernel_width; k++) {
            const float *restrict from = scratch + k * pool->dilation_width;
            for (int64_t x = 0; x < count; x++)
                output[x] = larger(output[x], from[x * stride]);
        }
    }
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

void TN_MAX_POOL_ROWS(const tn_byte_pool *pool, const float *input, float *output, int64_t planes,
                      float *scratch) {
    if (is_pairs(pool)) {
        pairs(pool, input, output, planes * pool->out_height);
        return;
    }
    const int64_t floats = tn_max_pool_scratch_floats(pool);
    for (int64_t x = 0; x < pool->pad_left; x++)
        scratch[x] = -INFINITY;
    for (int64_t x = pool->pad_left + pool->in_width; x < floats; x++)
        scratch[x] = -INFINITY;
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t y = 0; y < pool->out_height; y++) {
            join_rows(pool, input, scratch, y);
            join_columns(pool, scratch, output + y * pool->out_width);
        }
        input += pool->in_height * pool->in_width;
        output += pool->out_height * pool->out_width;
    }
}
