/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvTranspose of 32-bit floats as matrix products: with C channels, F filters and T taps of a
 * group, the product of W' [F * T, C], W transposed, with X [C, positions] has what each input
 * position adds to the output through each tap, which is then added where it belongs. A unit of
 * work is a few filters of a group of an image, so that no two threads add to one element.
 */
#include "conv_transpose/adding.h"
#include "conv_transpose/conv_transpose.h"
#include "kit/gemm/matrix_block.h"
#include "kit/math/element.h"
#include "kit/math/round_up.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include <tenon/kit/levels.h>

#include <stdio.h>

enum {
    CHUNK = 256,             /* input positions that are multiplied at once */
    PRODUCT_FLOATS = 1 << 16 /* of a unit's products, about: they stay in the cache */
};

typedef struct products_state {
    const void *weights; /* null: W varies */
} products_state;

typedef struct products_run {
    const tn_matrix_level *level;
    const tn_adding_level *adding;
    tn_window window;
    int64_t items, groups, channels, filters, taps; /* channels and filters of a group */
    int64_t plane, positions;                       /* elements of a channel of X, of Y */
    int64_t unit_filters, units;                    /* of an item */
    int64_t panel_floats, product_floats;
    const float *x, *weights, *bias, *zeros;
    float *y, *scratch;
} products_run;

/* What follows from W: before a run the extents of X may be open. */
static bool read_weights(const tn_call *call, products_run *run) {
    const tn_conv_transpose_params *params = call->params;
    const tn_tensor *w = call->inputs[TN_CONV_TRANSPOSE_W];
    *run = (products_run){.level = call->user, .groups = params->group};
    if (w->rank < 3) return false;
    run->taps = 1;
    for (uint32_t axis = 0; axis < w->rank; axis++) {
        if (w->shape[axis] <= 0 || w->shape[axis] > PRODUCT_FLOATS) return false;
        if (axis > 1) run->taps *= w->shape[axis];
        if (run->taps > PRODUCT_FLOATS) return false;
    }
    run->channels = w->shape[0] / run->groups;
    run->filters = w->shape[1];
    return run->channels > 0;
}

static bool read_run(tn_call *call, products_run *run) {
    const tn_tensor *x = call->inputs[TN_CONV_TRANSPOSE_X];
    if (!read_weights(call, run) || tn_conv_transpose_window(call, &run->window) != TN_OK)
        return false;
    run->items = x->shape[0] * run->groups;
    run->plane = tn_infer_product(x->shape, 2, x->rank);
    run->positions = tn_infer_product(run->window.output, 0, run->window.rank);
    run->unit_filters = PRODUCT_FLOATS / (run->taps * CHUNK);
    if (run->unit_filters > run->filters) run->unit_filters = run->filters;
    if (run->unit_filters < 1) run->unit_filters = 1;
    run->units = (run->filters + run->unit_filters - 1) / run->unit_filters;
    run->panel_floats = run->channels * run->level->lanes * run->level->vectors;
    run->product_floats = run->unit_filters * run->taps * CHUNK;
    return true;
}

static tn_status products_accepts(tn_call *call) {
    products_run run;
    return read_weights(call, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * weights and memory */

static void transpose_weights(const tn_call *call, const products_run *run, float *to) {
    const float *from = call->inputs[TN_CONV_TRANSPOSE_W]->data;
    const int64_t rows = run->filters * run->taps, channels = run->channels;
    for (int64_t group = 0; group < run->groups; group++, from += rows * channels)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < channels; c++)
                *to++ = from[c * rows + r];
}

static int64_t weight_floats(const products_run *run) {
    return tn_whole_vectors(run->groups * run->filters * run->taps * run->channels);
}

typedef struct pack_job {
    const tn_call *call;
    const products_run *run;
} pack_job;

static tn_status fill_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    (void)bytes;
    transpose_weights(job->call, job->run, data);
    return TN_OK;
}

static tn_status products_prepare(tn_call *call) {
    products_run run;
    char key[64];
    if (!read_weights(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a transposed convolution");
    TN_TRY(tn_kernel_state_create(call, sizeof(products_state)));
    products_state *state = call->state;
    if (!call->inputs[TN_CONV_TRANSPOSE_W]->data) return TN_OK;
    snprintf(key, sizeof(key), "transposed, %lld groups", (long long)run.groups);
    pack_job job = {call, &run};
    return tn_kernel_state_finish(call,
                                  call->host->packed(call, TN_CONV_TRANSPOSE_W, key,
                                                     (uint64_t)weight_floats(&run) * sizeof(float),
                                                     fill_weights, &job, &state->weights));
}

static tn_status products_reshape(tn_call *call) {
    const products_state *state = call->state;
    products_run run;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a transposed convolution");
    const int64_t weights = state->weights ? 0 : weight_floats(&run);
    const int64_t each = tn_whole_vectors(run.panel_floats) + run.product_floats;
    call->workspace_bytes =
        (uint64_t)(weights + 2 * CHUNK + each * (int64_t)call->threads) * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static const tn_adding_level *adding_of(const tn_matrix_level *level) {
    return level == &tn_matrix_avx512 ? &tn_adding_avx512
           : level == &tn_matrix_avx2 ? &tn_adding_avx2
                                      : &tn_adding_baseline;
}

/* Of a part of an input row, `count` elements from column x on, those that add inside the output's
 * row through a tap: from `first` to `end` - 1, the first of them at `at`. */
typedef struct row_part {
    int64_t first, end, at;
} row_part;

static row_part find_part(const products_run *run, int64_t tap, int64_t x, int64_t count) {
    const uint32_t last = run->window.rank - 1;
    const int64_t stride = run->window.stride[last], extent = run->window.output[last];
    row_part part = {.at = x * stride + tap * run->window.dilation[last] -
                           run->window.pad_begin[last]};
    for (; part.first < count && part.at < 0; part.first++)
        part.at += stride;
    part.end = count;
    if (part.at + (count - part.first - 1) * stride < extent) return part;
    part.end = part.first + (part.at < extent ? (extent - 1 - part.at) / stride + 1 : 0);
    return part;
}

/* What a part of an input row adds through one tap: `from` has `count` elements, the first of which
 * is input `x` of the row; `to` is the output's row. Where `second` is not null, it is the same of
 * the next tap, and the stride 2. */
static void add_row(const products_run *run, int64_t tap, int64_t x, int64_t count,
                    const float *from, const float *second, float *to) {
    const int64_t stride = run->window.stride[run->window.rank - 1];
    const row_part one = find_part(run, tap, x, count);
    if (!second) {
        run->adding->apart(one.end - one.first, stride, from + one.first, to + one.at);
        return;
    }
    const row_part other = find_part(run, tap + 1, x, count);
    if (one.first == other.first && one.end == other.end) {
        run->adding->pairs(one.end - one.first, from + one.first, second + one.first, to + one.at);
        return;
    }
    run->adding->apart(one.end - one.first, stride, from + one.first, to + one.at);
    run->adding->apart(other.end - other.first, stride, second + other.first, to + other.at);
}

/* The output row that input row `row` adds to through a tap; -1: none. */
static int64_t output_row(const products_run *run, int64_t row, int64_t tap) {
    const tn_window *window = &run->window;
    int64_t result = 0, scale = 1;
    for (uint32_t i = window->rank - 1; i-- > 0;) {
        const int64_t at = row % window->input[i] * window->stride[i] +
                           tap % window->kernel[i] * window->dilation[i] - window->pad_begin[i];
        if (at < 0 || at >= window->output[i]) return -1;
        row /= window->input[i];
        tap /= window->kernel[i];
        result += at * scale;
        scale *= window->output[i];
    }
    return result;
}

/* Input positions `first` to `first` + `count` - 1 through one tap of a filter, or two beside each
 * other, whose plane of the output is `y`. */
static void add_taps(const products_run *run, int64_t tap, bool is_pair, int64_t first,
                     int64_t count, const float *from, float *y) {
    const uint32_t last = run->window.rank - 1;
    const int64_t width = run->window.input[last], taps = run->window.kernel[last];
    int64_t x = first % width, in_row = first / width, part = 0;
    for (int64_t done = 0; done < count; done += part, in_row++, x = 0) {
        part = width - x < count - done ? width - x : count - done;
        const int64_t row = output_row(run, in_row, tap / taps);
        if (row >= 0)
            add_row(run, tap % taps, x, part, from + done, is_pair ? from + count + done : NULL,
                    y + row * run->window.output[last]);
    }
}

/* Whether a tap and the next one add to outputs beside each other. */
static bool begins_pair(const tn_window *window, int64_t tap) {
    const uint32_t last = window->rank - 1;
    const int64_t column = tap % window->kernel[last];
    return window->stride[last] == 2 && window->dilation[last] == 1 && column % 2 == 0 &&
           column + 1 < window->kernel[last];
}

static void do_chunk(const products_run *run, const float *x, const float *weights, int64_t filters,
                     int64_t first, int64_t count, float *scratch, float *y) {
    const int64_t width = (int64_t)run->level->lanes * run->level->vectors;
    float *products = scratch + tn_whole_vectors(run->panel_floats);
    const tn_matrix_product product = {.level = run->level,
                                       .a = weights,
                                       .bias = run->zeros,
                                       .output = products,
                                       .rows = filters * run->taps,
                                       .depth = run->channels,
                                       .columns = count};
    for (int64_t at = 0; at < count; at += width) {
        tn_matrix_pack(run->level, run->channels, count - at < width ? count - at : width,
                       x + first + at, run->plane, 1, 1.0f, scratch);
        tn_matrix_block_run(&product, scratch, NULL, at, 0, product.rows);
    }
    for (int64_t f = 0; f < filters; f++)
        for (int64_t tap = 0; tap < run->taps; tap++) {
            const float *from = products + (f * run->taps + tap) * count;
            const bool is_pair = begins_pair(&run->window, tap);
            add_taps(run, tap, is_pair, first, count, from, y + f * run->positions);
            tap += is_pair;
        }
}

static void do_unit(const products_run *run, int64_t item, int64_t first, int64_t filters,
                    float *scratch) {
    const int64_t group = item % run->groups, filter = group * run->filters + first;
    const float *x = run->x + item * run->channels * run->plane;
    const float *weights = run->weights + filter * run->taps * run->channels;
    float *y = run->y + (item * run->filters + first) * run->positions;
    for (int64_t f = 0; f < filters; f++)
        run->adding->fill(run->positions, run->bias ? run->bias[filter + f] : 0,
                          y + f * run->positions);
    for (int64_t at = 0; at < run->plane; at += CHUNK)
        do_chunk(run, x, weights, filters, at, run->plane - at < CHUNK ? run->plane - at : CHUNK,
                 scratch, y);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const products_run *run = user;
    float *scratch = run->scratch +
                     (tn_whole_vectors(run->panel_floats) + run->product_floats) * (int64_t)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit % run->units * run->unit_filters, left = run->filters - first;
        do_unit(run, unit / run->units, first, left < run->unit_filters ? left : run->unit_filters,
                scratch);
    }
    return TN_OK;
}

static tn_status products_run_units(tn_call *call) {
    enum { GRAIN = 400000 };
    const products_state *state = call->state;
    const tn_tensor *bias = tn_infer_input(call, TN_CONV_TRANSPOSE_B);
    float *workspace = call->workspace;
    products_run run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as a transposed convolution");
    run.adding = adding_of(run.level);
    run.x = call->inputs[TN_CONV_TRANSPOSE_X]->data;
    run.y = call->outputs[0]->data;
    run.bias = bias ? bias->data : NULL;
    run.zeros = workspace;
    memset(workspace, 0, 2 * CHUNK * sizeof(float));
    run.weights = state->weights;
    if (!state->weights) {
        transpose_weights(call, &run, workspace + 2 * CHUNK);
        run.weights = workspace + 2 * CHUNK;
    }
    run.scratch = workspace + 2 * CHUNK + (state->weights ? 0 : weight_floats(&run));
    const int64_t each = run.unit_filters * run.taps * run.channels * run.plane;
    return call->host->parallel_for(call, run.items * run.units, GRAIN / (each + 1) + 1, do_units,
                                    &run);
}

static const char *const combinations[] = {"f32, f32, f32? -> f32"};

TN_LEVEL_KERNELS_OF(, tn_conv_transpose_products, TN_LEVELS(tn_matrix), "", 2, "ConvTranspose",
                    "products", "Matrix products, added to the output tap by tap.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .accepts = products_accepts,
                    .prepare = products_prepare, .release = tn_kernel_state_destroy,
                    .reshape = products_reshape, .run = products_run_units);
