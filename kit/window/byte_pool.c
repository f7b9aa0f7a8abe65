/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of byte_pool.h. */
#include "kit/math/byte_table.h"
#include "kit/window/byte_pool.h"

#include <string.h>

const char *const tn_byte_pool_mean_combinations[3] = {"qi8:nhwc -> qi8:nhwc", "qi8:nhwc -> qi8",
                                                       "qi8 -> qi8"};
const char *const tn_byte_pool_max_combinations[7] = {
    "qi8:nhwc -> qi8:nhwc", "qi8:nhwc -> qi8", "qi8 -> qi8", "i8:nhwc -> i8:nhwc", "i8 -> i8",
    "u8:nhwc -> u8:nhwc",   "u8 -> u8"};

/* What vectors may read and write past a row's end, in elements. */
#define SLACK 64

bool tn_byte_pool_of_window(const tn_call *call, const tn_window *window, tn_byte_pool *out_pool) {
    const tn_tensor *x = call->inputs[0];
    if (window->rank != 1 && window->rank != 2) return false;
    const uint32_t last = window->rank - 1;
    const bool is_flat = window->rank == 1;
    *out_pool = (tn_byte_pool){
        .batch = x->shape[0],
        .channels = x->shape[1],
        .in_height = is_flat ? 1 : window->input[0],
        .in_width = window->input[last],
        .out_height = is_flat ? 1 : window->output[0],
        .out_width = window->output[last],
        .kernel_height = is_flat ? 1 : window->kernel[0],
        .kernel_width = window->kernel[last],
        .stride_height = is_flat ? 1 : window->stride[0],
        .stride_width = window->stride[last],
        .dilation_height = is_flat ? 1 : window->dilation[0],
        .dilation_width = window->dilation[last],
        .pad_top = is_flat ? 0 : window->pad_begin[0],
        .pad_left = window->pad_begin[last],
        .pad_bottom = is_flat ? 0 : window->pad_end[0],
        .pad_right = window->pad_end[last],
    };
    return true;
}

/* Columns that an output row sees, padding included. */
static int64_t columns_seen(const tn_byte_pool *pool) {
    return (pool->out_width - 1) * pool->stride_width +
           (pool->kernel_width - 1) * pool->dilation_width + 1;
}

/* A linear tensor is one of a single channel and as many more images. */
static bool read_pool(const tn_call *call, tn_byte_pool *out_pool) {
    const tn_byte_pool_user *user = call->user;
    if (call->output_count > 1 && call->outputs[1]) return false; /* indices */
    if (!user->read(call, out_pool)) return false;
    if (call->inputs[0]->format == TN_LINEAR) {
        out_pool->batch *= out_pool->channels;
        out_pool->channels = 1;
    }
    int64_t elements, window;
    return !__builtin_mul_overflow(out_pool->kernel_height, out_pool->kernel_width, &window) &&
           window < 1 << 23 && columns_seen(out_pool) < INT64_MAX / 1024 &&
           !__builtin_mul_overflow(columns_seen(out_pool), out_pool->channels, &elements) &&
           elements < INT64_MAX / 1024;
}

/* Integers that stand for themselves: the largest is one of them. */
static bool is_of_integers(const tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    return !x->quantization && !y->quantization && x->type == y->type;
}

tn_status tn_byte_pool_accepts(tn_call *call) {
    tn_byte_pool pool;
    if (is_of_integers(call))
        return read_pool(call, &pool) && !pool.is_mean ? TN_OK : TN_ERROR_UNSUPPORTED;
    return tn_byte_scale(call->inputs[0]) != 0 && tn_byte_scale(call->outputs[0]) != 0 &&
                   read_pool(call, &pool)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* A thread's scratch: the joined rows, the scales of means, the output row. */
static int64_t row_bytes(const tn_byte_pool *pool) {
    const int64_t elements = columns_seen(pool) * pool->channels + SLACK;
    return (elements * (pool->is_mean ? 4 : 1) + 63) / 64 * 64;
}

static int64_t scale_bytes(const tn_byte_pool *pool) {
    return pool->is_mean ? (pool->out_width * 4 + 63) / 64 * 64 : 0;
}

static int64_t scratch_bytes(const tn_byte_pool *pool) {
    return row_bytes(pool) + scale_bytes(pool) +
           (pool->out_width * pool->channels + SLACK + 63) / 64 * 64;
}

tn_status tn_byte_pool_reshape(tn_call *call) {
    tn_byte_pool pool;
    if (!read_pool(call, &pool))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "pooling by rows does not do this window");
    call->workspace_bytes = (uint64_t)scratch_bytes(&pool) * call->threads;
    return TN_OK;
}

typedef struct pool_job {
    tn_byte_pool pool;
    const tn_byte_pool_level *level;
    const int8_t *input;
    int8_t *output;
    char *scratch;
    float ratio; /* of the input's scale to the output's */
    int8_t flip; /* of unsigned integers, which are compared as signed ones: -128 */
    bool is_output_linear;
    tn_byte_table table; /* where the scales differ: for the largest */
} pool_job;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many of a window's elements along one axis count for the mean. */
static int64_t counted(const tn_byte_pool *pool, int64_t begin, int64_t kernel, int64_t dilation,
                       int64_t input, int64_t pad_end) {
    if (pool->counts_padding) return least(kernel, (input + pad_end - begin - 1) / dilation + 1);
    const int64_t before = begin < 0 ? (dilation - 1 - begin) / dilation : 0;
    const int64_t end = begin < input ? (input - begin + dilation - 1) / dilation : 0;
    return least(kernel, end) - before;
}

static float factor_of(int64_t count) {
    return count > 0 ? 1.0f / (float)count : 0;
}

void tn_byte_pool_row_factors(const tn_byte_pool *pool, float *out_factors) {
    for (int64_t y = 0; y < pool->out_height; y++)
        out_factors[y] =
            factor_of(counted(pool, y * pool->stride_height - pool->pad_top, pool->kernel_height,
                              pool->dilation_height, pool->in_height, pool->pad_bottom));
}

void tn_byte_pool_column_factors(const tn_byte_pool *pool, float *out_factors) {
    for (int64_t x = 0; x < pool->out_width; x++)
        out_factors[x] =
            factor_of(counted(pool, x * pool->stride_width - pool->pad_left, pool->kernel_width,
                              pool->dilation_width, pool->in_width, pool->pad_right));
}

/* Joins the rows that output row y of an image sees; unsigned integers less 128. */
static void join_rows(const pool_job *job, const int8_t *image, int64_t y, void *row) {
    const tn_byte_pool *pool = &job->pool;
    const int64_t channels = pool->channels, seen = columns_seen(pool);
    const int64_t left = least(pool->pad_left, seen) * channels;
    const int64_t valid = least(pool->in_width * channels, seen * channels - left);
    int8_t *bytes = (int8_t *)row + left;
    int32_t *sums = (int32_t *)row + left;
    bool is_any = false;
    memset(row, pool->is_mean ? 0 : -128, (size_t)row_bytes(pool));
    for (int64_t k = 0; k < pool->kernel_height; k++) {
        const int64_t at = y * pool->stride_height - pool->pad_top + k * pool->dilation_height;
        if (at < 0 || at >= pool->in_height) continue;
        const int8_t *from = image + at * pool->in_width * channels;
        if (pool->is_mean)
            job->level->add(sums, from, valid);
        else if (is_any || job->flip)
            job->level->larger(bytes, from, job->flip, valid);
        else
            memcpy(bytes, from, (size_t)valid);
        is_any = true;
    }
}

static void mean_scales(const pool_job *job, int64_t y, float *scales) {
    const tn_byte_pool *pool = &job->pool;
    const int64_t rows = counted(pool, y * pool->stride_height - pool->pad_top, pool->kernel_height,
                                 pool->dilation_height, pool->in_height, pool->pad_bottom);
    for (int64_t x = 0; x < pool->out_width; x++) {
        const int64_t columns =
            counted(pool, x * pool->stride_width - pool->pad_left, pool->kernel_width,
                    pool->dilation_width, pool->in_width, pool->pad_right);
        scales[x] = rows > 0 && columns > 0 ? job->ratio / (float)(rows * columns) : 0;
    }
}

static void store_row(const pool_job *job, int64_t image, int64_t y, const int8_t *row) {
    const tn_byte_pool *pool = &job->pool;
    const int64_t channels = pool->channels, width = pool->out_width;
    if (!job->is_output_linear || channels == 1) {
        memcpy(job->output + (image * pool->out_height + y) * width * channels, row,
               (size_t)(width * channels));
        return;
    }
    const int64_t plane = pool->out_height * width;
    int8_t *to = job->output + image * channels * plane + y * width;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t x = 0; x < width; x++)
            to[c * plane + x] = row[x * channels + c];
    }
}

/* A unit is an output row of an image. */
static tn_status pool_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pool_job *job = user;
    const tn_byte_pool *pool = &job->pool;
    char *row = job->scratch + thread * scratch_bytes(pool);
    float *scales = (float *)(void *)(row + row_bytes(pool));
    int8_t *out = (int8_t *)row + row_bytes(pool) + scale_bytes(pool);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / pool->out_height, y = unit % pool->out_height;
        const int8_t *from = job->input + image * pool->in_height * pool->in_width * pool->channels;
        join_rows(job, from, y, row);
        if (pool->is_mean) {
            mean_scales(job, y, scales);
            job->level->mean_columns(pool, (const int32_t *)(const void *)row, scales, out);
        } else {
            job->level->larger_columns(pool, (const int8_t *)row, out);
            for (int64_t i = 0; job->flip && i < pool->out_width * pool->channels; i++)
                out[i] = (int8_t)(out[i] ^ job->flip);
            if (job->ratio != 1.0f)
                tn_byte_table_apply(&job->table, pool->out_width * pool->channels, out, out);
        }
        store_row(job, image, y, out);
    }
    return TN_OK;
}

tn_status tn_byte_pool_run(tn_call *call) {
    const tn_byte_pool_user *user = call->user;
    const float from = tn_byte_scale(call->inputs[0]), to = tn_byte_scale(call->outputs[0]);
    pool_job job = {.level = user->level,
                    .input = call->inputs[0]->data,
                    .output = call->outputs[0]->data,
                    .scratch = call->workspace,
                    .ratio = is_of_integers(call) ? 1.0f : from / to,
                    .flip = call->inputs[0]->type == TN_U8 ? -128 : 0,
                    .is_output_linear = call->outputs[0]->format == TN_LINEAR};
    if (!read_pool(call, &job.pool)) return TN_ERROR_INTERNAL;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!job.pool.is_mean && job.ratio != 1.0f) tn_byte_table_rescale(&job.table, from, to);
    const tn_byte_pool *pool = &job.pool;
    const int64_t reads =
        columns_seen(pool) * pool->channels * (pool->kernel_height + pool->kernel_width);
    return call->host->parallel_for(call, pool->batch * pool->out_height, 400000 / (reads + 1) + 1,
                                    pool_rows, &job);
}
