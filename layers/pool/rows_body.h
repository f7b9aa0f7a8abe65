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

TN_INLINE float join(const bool is_mean, float a, float b) {
    return is_mean ? a + b : larger(a, b);
}
TN_INLINE tn_vector join_vectors(const bool is_mean, tn_vector a, tn_vector b) {
    if (is_mean) return a + b;
    return tn_vector_larger(a, b);
}
TN_INLINE tn_vector padding(const bool is_mean) {
    return tn_vector_all(is_mean ? 0 : -INFINITY);
}

/* Rows of one output plane that are joined before their columns are. */
typedef struct row_block {
    const tn_pool_volume *volume;
    const float *in_end, *out_end; /* nothing is read or written from there on */
    float *rows;                   /* joined, with room for padding before and behind each */
    int64_t count, row_floats;     /* of them; from one to the next */
    const float *column_factors, *row_factors; /* of means, and that of the plane */
    float plane_factor;
} row_block;

/* ----------------------------------------------------------------------------------------------
 * the rows of a window */

/* Of a window's elements along an axis those that are inside: the first one and how many. */
typedef struct part_inside {
    int64_t first, count;
} part_inside;

static inline part_inside find_inside(int64_t begin, int64_t kernel, int64_t dilation,
                                      int64_t extent) {
    part_inside part = {begin, kernel};
    for (; part.first < 0 && part.count > 0; part.count--)
        part.first += dilation;
    while (part.count > 0 && part.first + (part.count - 1) * dilation >= extent)
        part.count--;
    return part;
}

/* The rows that a window sees: `planes` times `rows`, from the first element of the first one. */
typedef struct window_rows {
    const float *from;
    int64_t planes, rows, plane_step, row_step;
} window_rows;

/* Joins `count` rows, `step` elements apart, into `row`, the first ones of a window or behind
 * others: whole vectors of `width` elements. */
TN_INLINE void join_some(const bool is_mean, const int count, const bool is_first,
                         const float *from, int64_t step, int64_t width, float *row) {
    for (int64_t x = 0; x < width; x += TN_LANES) {
        tn_vector value = tn_vector_load(from + x);
        for (int i = 1; i < count; i++)
            value = join_vectors(is_mean, value, tn_vector_load(from + x + i * step));
        if (!is_first) value = join_vectors(is_mean, tn_vector_load(row + x), value);
        tn_vector_store(row + x, value);
    }
}

TN_INLINE void join_rows_of_plane(const bool is_mean, const bool is_first, const float *from,
                                  int64_t rows, int64_t step, int64_t width, float *row) {
    if (rows == 1)
        join_some(is_mean, 1, is_first, from, step, width, row);
    else if (rows == 2)
        join_some(is_mean, 2, is_first, from, step, width, row);
    else
        join_some(is_mean, 3, is_first, from, step, width, row);
    for (int64_t i = 3; i < rows; i++)
        join_some(is_mean, 1, false, from + i * step, step, width, row);
}

/* The elements first..width-1 one by one. */
static void join_rest(const bool is_mean, const window_rows *window, int64_t first, int64_t width,
                      float *row) {
    for (int64_t x = first; x < width; x++) {
        float value = is_mean ? 0 : -INFINITY;
        for (int64_t d = 0; d < window->planes; d++)
            for (int64_t h = 0; h < window->rows; h++)
                value = join(is_mean, value,
                             window->from[d * window->plane_step + h * window->row_step + x]);
        row[x] = value;
    }
}

/* Joins a window's rows of `width` elements into `row`, with padding behind them. Vectors read
 * behind a row, but not behind `end`. */
TN_INLINE void join_rows(const bool is_mean, const window_rows *window, int64_t width,
                         const float *end, float *row) {
    const int64_t whole = width / TN_LANES * TN_LANES, behind = whole + TN_LANES;
    const float *last = window->from + (window->planes - 1) * window->plane_step +
                        (window->rows - 1) * window->row_step;
    const int64_t seen = whole < width && end - last >= behind ? behind : whole;
    if (window->planes > 0)
        join_rows_of_plane(is_mean, true, window->from, window->rows, window->row_step, seen, row);
    for (int64_t d = 1; d < window->planes; d++)
        join_rows_of_plane(is_mean, false, window->from + d * window->plane_step, window->rows,
                           window->row_step, seen, row);
    if (window->planes < 1 || seen < width)
        join_rest(is_mean, window, window->planes < 1 ? 0 : seen, width, row);
    tn_vector_store(row + width, padding(is_mean));
}

/* ----------------------------------------------------------------------------------------------
 * the columns of a window */

/* Every element from `from` on, or every other one. */
TN_INLINE tn_vector load_steps(const int64_t stride, const float *from) {
    const tn_vector low = tn_vector_load(from);
    if (stride == 1) return low;
    return __builtin_shufflevector(low, tn_vector_load(from + TN_LANES), EVEN);
}

/* One vector of columns. Two that are side by side, with a stride of 2, are of the same vectors. */
TN_INLINE tn_vector join_columns_at(const bool is_mean, const int64_t stride, int64_t kernel,
                                    int64_t dilation, const float *from) {
    tn_vector value = padding(is_mean);
    int64_t k = 0;
    for (; stride == 2 && dilation == 1 && k + 2 <= kernel; k += 2) {
        const tn_vector low = tn_vector_load(from + k), high = tn_vector_load(from + k + TN_LANES);
        value = join_vectors(is_mean, value, __builtin_shufflevector(low, high, EVEN));
        value = join_vectors(is_mean, value, __builtin_shufflevector(low, high, ODD));
    }
    for (; k < kernel; k++)
        value = join_vectors(is_mean, value, load_steps(stride, from + k * dilation));
    return value;
}

/* The columns of a block's rows. Vectors read up to two vectors behind a row, and write behind the
 * output's, but not behind `end`: what they write there the next row writes again. */
TN_INLINE void join_columns_by(const bool is_mean, const int64_t stride, const int64_t kernel,
                               const row_block *block, const float *row, float *output) {
    const tn_byte_pool *pool = &block->volume->plane;
    const int64_t width = pool->out_width, dilation = pool->dilation_width;
    for (int64_t i = 0; i < block->count; i++, row += block->row_floats, output += width) {
        const float factor = is_mean ? block->plane_factor * block->row_factors[i] : 1;
        for (int64_t x = 0; x < width; x += TN_LANES) {
            tn_vector value = join_columns_at(is_mean, stride, kernel, dilation, row + x * stride);
            if (is_mean) value *= factor * tn_vector_load(block->column_factors + x);
            if (block->out_end - output >= x + TN_LANES)
                tn_vector_store(output + x, value);
            else
                tn_vector_store_part(output + x, value, width - x);
        }
    }
}

/* Columns further apart, one by one. */
TN_INLINE void join_columns_apart(const bool is_mean, const row_block *block, const float *row,
                                  float *output) {
    const tn_byte_pool *pool = &block->volume->plane;
    for (int64_t i = 0; i < block->count; i++, row += block->row_floats) {
        const float factor = is_mean ? block->plane_factor * block->row_factors[i] : 1;
        for (int64_t x = 0; x < pool->out_width; x++) {
            const float *from = row + x * pool->stride_width;
            float value = *from;
            for (int64_t k = 1; k < pool->kernel_width; k++)
                value = join(is_mean, value, from[k * pool->dilation_width]);
            *output++ = is_mean ? value * (factor * block->column_factors[x]) : value;
        }
    }
}

TN_INLINE void join_columns(const bool is_mean, const row_block *block, float *output) {
    const tn_byte_pool *pool = &block->volume->plane;
    const int64_t stride = pool->stride_width, kernel = pool->kernel_width;
    const float *row = block->rows - pool->pad_left;
    if (stride == 1 && kernel == 3)
        join_columns_by(is_mean, 1, 3, block, row, output);
    else if (stride == 1)
        join_columns_by(is_mean, 1, kernel, block, row, output);
    else if (stride == 2 && kernel == 2)
        join_columns_by(is_mean, 2, 2, block, row, output);
    else if (stride == 2 && kernel == 3)
        join_columns_by(is_mean, 2, 3, block, row, output);
    else if (stride == 2)
        join_columns_by(is_mean, 2, kernel, block, row, output);
    else
        join_columns_apart(is_mean, block, row, output);
}

/* ----------------------------------------------------------------------------------------------
 * the output's rows */

/* Factors of a mean, and where they are in the scratch. */
typedef struct mean_factors {
    float *columns, *rows, *planes;
} mean_factors;

static mean_factors find_factors(const tn_pool_volume *volume, float *scratch) {
    const tn_byte_pool *pool = &volume->plane;
    const mean_factors factors = {scratch, scratch + pool->out_width,
                                  scratch + pool->out_width + pool->out_height};
    const tn_byte_pool of_planes = {.in_height = volume->in_depth,
                                    .out_height = volume->out_depth,
                                    .kernel_height = volume->kernel_depth,
                                    .stride_height = volume->stride_depth,
                                    .dilation_height = volume->dilation_depth,
                                    .pad_top = volume->pad_front,
                                    .pad_bottom = volume->pad_back,
                                    .counts_padding = pool->counts_padding};
    tn_byte_pool_column_factors(pool, factors.columns);
    tn_byte_pool_row_factors(pool, factors.rows);
    tn_byte_pool_row_factors(&of_planes, factors.planes);
    return factors;
}

/* The block's rows from number y on of the output plane z. */
TN_INLINE void pool_block(const bool is_mean, row_block *block, const float *channel, int64_t z,
                          int64_t y, float *output) {
    const tn_pool_volume *volume = block->volume;
    const tn_byte_pool *pool = &volume->plane;
    const part_inside planes =
        find_inside(z * volume->stride_depth - volume->pad_front, volume->kernel_depth,
                    volume->dilation_depth, volume->in_depth);
    const float *from = channel + planes.first * pool->in_height * pool->in_width;
    for (int64_t i = 0; i < block->count; i++) {
        const part_inside rows =
            find_inside((y + i) * pool->stride_height - pool->pad_top, pool->kernel_height,
                        pool->dilation_height, pool->in_height);
        const window_rows window = {
            .from = from + rows.first * pool->in_width,
            .planes = rows.count > 0 ? planes.count : 0,
            .rows = rows.count,
            .plane_step = volume->dilation_depth * pool->in_height * pool->in_width,
            .row_step = pool->dilation_height * pool->in_width,
        };
        join_rows(is_mean, &window, pool->in_width, block->in_end,
                  block->rows + i * block->row_floats);
    }
    join_columns(is_mean, block, output);
}

TN_INLINE void pool_rows(const bool is_mean, const tn_pool_volume *volume, const float *input,
                         float *output, int64_t begin, int64_t end, float *scratch) {
    const tn_byte_pool *pool = &volume->plane;
    const int64_t channel = volume->in_depth * pool->in_height * pool->in_width;
    const int64_t floats = tn_pool_row_floats(pool), most = tn_pool_rows_at_once(pool);
    mean_factors factors = {0};
    for (int64_t x = 0; x < floats * most; x++)
        scratch[x] = is_mean ? 0 : -INFINITY;
    if (is_mean) factors = find_factors(volume, scratch + floats * most);
    row_block block = {.volume = volume,
                       .in_end = input + pool->channels * channel,
                       .out_end = output + end * pool->out_width,
                       .rows = scratch + tn_pool_row_lead(pool),
                       .row_floats = floats,
                       .column_factors = factors.columns};
    for (int64_t row = begin; row < end; row += block.count) {
        const int64_t plane = row / pool->out_height, y = row % pool->out_height;
        const int64_t left = pool->out_height - y, z = plane % volume->out_depth;
        block.count = left < end - row ? left : end - row;
        if (block.count > most) block.count = most;
        if (is_mean) {
            block.plane_factor = factors.planes[z];
            block.row_factors = factors.rows + y;
        }
        pool_block(is_mean, &block, input + plane / volume->out_depth * channel, z, y,
                   output + row * pool->out_width);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the commonest window */

/* 2 x 2 with stride 2 and no padding, along the last two axes. */
static bool is_pairs(const tn_pool_volume *volume) {
    const tn_byte_pool *pool = &volume->plane;
    return pool->kernel_height == 2 && pool->kernel_width == 2 && pool->stride_height == 2 &&
           pool->stride_width == 2 && pool->dilation_height == 1 && pool->dilation_width == 1 &&
           pool->pad_top == 0 && pool->pad_left == 0 && pool->out_height * 2 <= pool->in_height &&
           pool->out_width * 2 <= pool->in_width && volume->kernel_depth == 1 &&
           volume->stride_depth == 1 && volume->in_depth == volume->out_depth &&
           volume->pad_front == 0;
}

TN_INLINE tn_vector join_pairs(const bool is_mean, const float *from, int64_t width) {
    const tn_vector low = join_vectors(is_mean, tn_vector_load(from), tn_vector_load(from + width));
    const tn_vector high = join_vectors(is_mean, tn_vector_load(from + TN_LANES),
                                        tn_vector_load(from + width + TN_LANES));
    return join_vectors(is_mean, __builtin_shufflevector(low, high, EVEN),
                        __builtin_shufflevector(low, high, ODD));
}

/* Vectors may overrun a row's end: what they write there is written again by the next row; the last
 * rows, where nothing follows, take the plain path. */
TN_INLINE void pool_pairs(const bool is_mean, const tn_byte_pool *pool, const float *input,
                          float *output, int64_t begin, int64_t end) {
    const int64_t width = pool->in_width, count = pool->out_width;
    const int64_t safe = end - (2 * TN_LANES + width - 1) / width - (TN_LANES + count - 1) / count;
    const float factor = is_mean ? 0.25f : 1;
    int64_t y = begin % pool->out_height;
    const float *from = input + (begin / pool->out_height * pool->in_height + 2 * y) * width;
    for (int64_t row = begin; row < end; row++, from += 2 * width) {
        if (y++ == pool->out_height) {
            from += (pool->in_height - 2 * pool->out_height) * width;
            y = 1;
        }
        float *to = output + row * count;
        for (int64_t x = 0; row < safe && x < count; x += TN_LANES) {
            tn_vector value = join_pairs(is_mean, from + 2 * x, width);
            if (is_mean) value *= factor;
            tn_vector_store(to + x, value);
        }
        for (int64_t x = 0; row >= safe && x < count; x++)
            to[x] = factor * join(is_mean, join(is_mean, from[2 * x], from[2 * x + 1]),
                                  join(is_mean, from[width + 2 * x], from[width + 2 * x + 1]));
    }
}

TN_INLINE void pool_any(const bool is_mean, const tn_pool_volume *volume, const float *input,
                        float *output, int64_t begin, int64_t end, float *scratch) {
    if (is_pairs(volume))
        pool_pairs(is_mean, &volume->plane, input, output, begin, end);
    else
        pool_rows(is_mean, volume, input, output, begin, end, scratch);
}

static void largest(const tn_pool_volume *volume, const float *input, float *output, int64_t begin,
                    int64_t end, float *scratch) {
    pool_any(false, volume, input, output, begin, end, scratch);
}

static void mean(const tn_pool_volume *volume, const float *input, float *output, int64_t begin,
                 int64_t end, float *scratch) {
    pool_any(true, volume, input, output, begin, end, scratch);
}

const tn_pool_rows_level TN_POOL_ROWS_LEVEL = {largest, mean};
