/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution's kernels: packs the weights (prepare), plans for the shapes (reshape),
 * lays out the input and walks the tiles (run). The inner loop is direct_body.h, the layout
 * direct_plan.c.
 */
#include "common/epilogue.h"
#include "conv/direct_kernel.h"
#include "conv/direct_plan.h"

#include <string.h>

typedef struct direct_state {
    const tn_direct_level *level;
    const float *weights;  /* group after group, block after block: taps x channels of the block */
    int64_t block, blocks; /* largest block; blocks of a group */
    int64_t taps;
    bool has_bias;
    tn_float_epilogue epilogue;
} direct_state;

typedef struct direct_context {
    tn_direct_plan plan;
    int32_t *offsets;
    int64_t offset_capacity;
} direct_context;

/* One run, as the bodies of parallel_for see it. */
typedef struct direct_run {
    const direct_state *state;
    const tn_direct_plan *plan;
    const int32_t *offsets;
    const float *input, *residual, *bias;
    float *output, *copies;
    int64_t image; /* FLAT: batch * groups + group of the laid-out input */
    int64_t chunk_tiles, chunks;
} direct_run;

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct pack_job {
    const direct_state *state;
    const tn_conv_geometry *geometry;
    const float *weights;
} pack_job;

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const direct_state *state = job->state;
    const int64_t filters = job->geometry->filters;
    float *out = data;
    (void)bytes;
    for (int64_t group = 0; group < job->geometry->groups; group++) {
        for (int64_t b = 0; b < state->blocks; b++) {
            int64_t first = tn_direct_plan_first(filters, state->blocks, b);
            int64_t next = tn_direct_plan_first(filters, state->blocks, b + 1);
            for (int64_t tap = 0; tap < state->taps; tap++) {
                for (int64_t f = first; f < next; f++)
                    *out++ = job->weights[(group * filters + f) * state->taps + tap];
            }
        }
    }
    return TN_OK;
}

tn_status tn_conv_direct_accepts(tn_call *call) {
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    tn_direct_plan plan;
    const tn_direct_level *level = call->user;
    if (!call->inputs[1] || !call->inputs[1]->data || !tn_conv_geometry_read(call, &geometry) ||
        !tn_float_epilogue_read(call, 1, &epilogue))
        return TN_ERROR_UNSUPPORTED;
    int64_t block = tn_direct_plan_block(level, &geometry);
    return tn_direct_plan_make(level, &geometry, block, call->threads ? call->threads : 1, &plan)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

tn_status tn_conv_direct_prepare(tn_call *call) {
    const tn_host *host = call->host;
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "the direct convolution does not do this geometry");
    direct_state *state = host->allocate(host, sizeof(*state), 64);
    if (!state) return host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's state");
    memset(state, 0, sizeof(*state));
    state->level = call->user;
    state->taps = geometry.channels * geometry.kernel_height * geometry.kernel_width;
    state->block = tn_direct_plan_block(state->level, &geometry);
    state->blocks = (geometry.filters + state->block - 1) / state->block;
    state->has_bias = call->input_count > 2 && call->inputs[2];
    (void)tn_float_epilogue_read(call, 1, &state->epilogue);

    pack_job job = {state, &geometry, call->inputs[1]->data};
    char key[] = "block0";
    key[5] = (char)('0' + state->block);
    const void *packed = NULL;
    tn_status status =
        host->packed(call, 1, key, call->inputs[1]->bytes, pack_weights, &job, &packed);
    if (status != TN_OK) {
        host->deallocate(host, state);
        return status;
    }
    state->weights = packed;
    call->state = state;
    return TN_OK;
}

void tn_conv_direct_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

tn_status tn_conv_direct_open(tn_call *call) {
    direct_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the convolution's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

void tn_conv_direct_close(tn_call *call) {
    direct_context *context = call->context;
    call->host->deallocate(call->host, context->offsets);
    call->host->deallocate(call->host, context);
}

/* The bias of all filters lies before the copies. */
static uint64_t bias_floats(const tn_conv_geometry *g) {
    return (uint64_t)((g->groups * g->filters + 31) / 16 * 16);
}

tn_status tn_conv_direct_reshape(tn_call *call) {
    const direct_state *state = call->state;
    direct_context *context = call->context;
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry) ||
        !tn_direct_plan_make(state->level, &geometry, state->block, call->threads, &context->plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the direct convolution does not do this geometry");
    const tn_direct_plan *plan = &context->plan;
    int64_t count = plan->table_count * plan->taps;
    if (count > context->offset_capacity) {
        int32_t *offsets = call->host->allocate(call->host, (uint64_t)count * sizeof(int32_t), 64);
        if (!offsets)
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld offsets",
                                    (long long)count);
        call->host->deallocate(call->host, context->offsets);
        context->offsets = offsets;
        context->offset_capacity = count;
    }
    tn_direct_plan_offsets(plan, context->offsets);
    call->workspace_bytes =
        (bias_floats(&geometry) + (uint64_t)plan->copies * (uint64_t)plan->copy_floats) *
        sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * layout */

/* Copies a row; `is_padded` says that both rows may be overrun by a vector. */
static inline void copy_row(float *to, const float *from, int64_t count, bool may_overrun) {
    if (!may_overrun) {
        memcpy(to, from, (size_t)count * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < count; i += 8)
        memcpy(to + i, from + i, 8 * sizeof(float));
}

/* One kernel column of FLAT: which outputs see the input, and where the first of them reads. */
typedef struct flat_column {
    int64_t first, last; /* outputs whose element is inside the row; before and behind lie zeros */
    int64_t source;      /* of output `first`, in the row */
} flat_column;

static flat_column flat_column_of(const tn_conv_geometry *g, int64_t column) {
    const int64_t start = column * g->dilation_width - g->pad_left, stride = g->stride_width;
    flat_column result = {.first = start < 0 ? (stride - 1 - start) / stride : 0, .last = 0};
    if (start < g->in_width) result.last = (g->in_width - start + stride - 1) / stride;
    if (result.last > g->out_width) result.last = g->out_width;
    if (result.first > result.last) result.first = result.last;
    result.source = start + result.first * stride;
    return result;
}

/* One row: `left` floats are readable from `row` on. */
static inline void flat_row(const tn_conv_geometry *g, const flat_column *column, float *to,
                            const float *row, int64_t left) {
    const int64_t count = column->last - column->first, stride = g->stride_width;
    for (int64_t i = 0; i < column->first; i++)
        to[i] = 0;
    if (stride == 1) {
        copy_row(to + column->first, row + column->source, count,
                 column->source + count + 8 <= left);
    } else {
        for (int64_t i = 0; i < count; i++)
            to[column->first + i] = row[column->source + i * stride];
    }
    for (int64_t i = column->last; i < g->out_width; i++)
        to[i] = 0;
}

/* Rows that see the input whole, with stride 1: copied in pieces of 8 floats as long as the reads
 * stay inside. Answers how many rows it did. */
static int64_t flat_whole_rows(const tn_conv_geometry *g, const flat_column *column, int64_t y,
                               int64_t rows, float *copy, const float *input, int64_t left) {
    const int64_t width = g->out_width, padded = (width + 7) / 8 * 8,
                  step = g->stride_height * g->in_width;
    if (g->stride_width != 1 || column->first != 0 || column->last != width || y < 0) return 0;
    const float *row = input + y * g->in_width + column->source;
    left -= y * g->in_width + column->source + padded;
    int64_t done = 0;
    for (; done < rows && y < g->in_height && left >= 0;
         done++, y += g->stride_height, left -= step) {
        for (int64_t i = 0; i < width; i += 8)
            memcpy(copy + i, row + i, 8 * sizeof(float));
        row += step;
        copy += width;
    }
    return done;
}

/* All rows of one vertical phase of one column and channel. */
static float *flat_plane(const tn_direct_plan *plan, const flat_column *column, int64_t phase,
                         float *copy, const float *input, int64_t left) {
    const tn_conv_geometry *g = &plan->geometry;
    int64_t y = phase - g->pad_top,
            r = flat_whole_rows(g, column, y, plan->phase_rows, copy, input, left);
    copy += r * g->out_width;
    y += r * g->stride_height;
    for (; r < plan->phase_rows; r++, copy += g->out_width, y += g->stride_height) {
        if (y < 0 || y >= g->in_height)
            memset(copy, 0, (size_t)g->out_width * sizeof(float));
        else
            flat_row(g, column, copy, input + y * g->in_width, left - y * g->in_width);
    }
    return copy;
}

/* Lays out one group of one image. Rows are written in ascending order, so that an overrun is
 * overwritten. */
static void layout_flat(const tn_direct_plan *plan, float *copy, const float *input) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t plane = g->in_height * g->in_width;
    for (int64_t c = 0; c < g->channels; c++) {
        for (int64_t k = 0; k < g->kernel_width; k++) {
            const flat_column column = flat_column_of(g, k);
            for (int64_t phase = 0; phase < g->stride_height; phase++)
                copy = flat_plane(plan, &column, phase, copy, input + c * plane,
                                  (g->channels - c) * plane);
        }
    }
}

/* One row of ROWS, split into phases: element x of the padded row lies in phase x % stride at x /
 * stride. */
static void ring_row(const tn_direct_plan *plan, float *to, const float *row) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride_width;
    for (int64_t phase = 0; phase < stride; phase++, to += plan->phase_floats) {
        int64_t i = 0;
        for (; i < plan->phase_floats && i * stride + phase < g->pad_left; i++)
            to[i] = 0;
        int64_t valid_end = (g->in_width + g->pad_left - phase + stride - 1) / stride;
        if (valid_end > plan->phase_floats) valid_end = plan->phase_floats;
        if (stride == 1 && valid_end > i) {
            memcpy(to + i, row + i - g->pad_left, (size_t)(valid_end - i) * sizeof(float));
            i = valid_end;
        } else {
            for (; i < valid_end; i++)
                to[i] = row[i * stride + phase - g->pad_left];
        }
        for (; i < plan->phase_floats; i++)
            to[i] = 0;
    }
}

static void ring_fill(const tn_direct_plan *plan, float *ring, const float *input,
                      int64_t padded_row) {
    const tn_conv_geometry *g = &plan->geometry;
    float *to = ring + padded_row % plan->slots * g->channels * plan->row_floats;
    int64_t y = padded_row - g->pad_top;
    if (y < 0 || y >= g->in_height) {
        memset(to, 0, (size_t)(g->channels * plan->row_floats) * sizeof(float));
        return;
    }
    for (int64_t c = 0; c < g->channels; c++)
        ring_row(plan, to + c * plan->row_floats, input + (c * g->in_height + y) * g->in_width);
}

/* ----------------------------------------------------------------------------------------------
 * tiles */

/* A tile's constant part: everything but x, weights, bias, output, positions. */
static tn_direct_tile tile_template(const direct_run *run) {
    const tn_float_epilogue *epilogue = &run->state->epilogue;
    return (tn_direct_tile){.taps = run->plan->taps,
                            .channel_stride =
                                run->plan->geometry.out_height * run->plan->geometry.out_width,
                            .activation = epilogue->activation,
                            .alpha = epilogue->alpha,
                            .beta = epilogue->beta};
}

/* Tiles of one block over positions [begin, begin + count) of x; `output_at` is the first
 * position's place in the output. */
static void tiles_of_block(const direct_run *run, tn_direct_tile *tile, int64_t image,
                           int64_t block, const float *x, int64_t count, int64_t output_at) {
    const direct_state *state = run->state;
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t lanes = state->level->lanes, group = image % g->groups;
    const int64_t first = tn_direct_plan_first(g->filters, state->blocks, block);
    const int64_t channels = tn_direct_plan_first(g->filters, state->blocks, block + 1) - first;
    const int64_t at = (image * g->filters + first) * tile->channel_stride + output_at;
    tile->weights = state->weights + (group * g->filters + first) * state->taps;
    tile->bias = run->bias + group * g->filters + first;
    const int64_t vectors = (count + lanes - 1) / lanes,
                  most = state->level->maximum_vectors[channels - 1];
    const int64_t tiles = (vectors + most - 1) / most;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t from = tn_direct_plan_first(vectors, tiles, t),
                to = tn_direct_plan_first(vectors, tiles, t + 1);
        tile->x = x + from * lanes;
        tile->output = run->output + at + from * lanes;
        tile->residual = run->residual ? run->residual + at + from * lanes : NULL;
        tile->positions = count - from * lanes;
        state->level->functions[channels - 1][to - from - 1](tile);
    }
}

/* POINT: the last positions, fewer than a vector, from a copy of their columns. */
static void point_tail(const direct_run *run, tn_direct_tile *tile, int64_t image, const float *x,
                       float *copy, int64_t at, int64_t count) {
    const tn_direct_plan *plan = run->plan;
    for (int64_t c = 0; c < plan->geometry.channels; c++)
        memcpy(copy + c * 16, x + c * plan->positions + at, (size_t)count * sizeof(float));
    tile->offsets = run->offsets + plan->taps;
    for (int64_t block = 0; block < run->state->blocks; block++)
        tiles_of_block(run, tile, image, block, copy, count, at);
}

static tn_status run_point(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t lanes = run->state->level->lanes, step = run->chunk_tiles * plan->vectors * lanes;
    const int64_t whole = plan->positions / lanes * lanes;
    tn_direct_tile tile = tile_template(run);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / run->chunks, chunk = unit % run->chunks;
        const float *x = run->input + image * g->channels * plan->positions;
        int64_t from = chunk * step, to = chunk == run->chunks - 1 ? whole : from + step;
        tile.offsets = run->offsets;
        for (int64_t block = 0; block < run->state->blocks && to > from; block++)
            tiles_of_block(run, &tile, image, block, x + from, to - from, from);
        if (to == whole && whole < plan->positions)
            point_tail(run, &tile, image, x, run->copies + thread * plan->copy_floats, whole,
                       plan->positions - whole);
    }
    return TN_OK;
}

/* Units: block after block, each in chunks of tiles. */
static tn_status run_flat(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const int64_t step = run->chunk_tiles * plan->vectors * run->state->level->lanes;
    tn_direct_tile tile = tile_template(run);
    tile.offsets = run->offsets;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t from = unit % run->chunks * step;
        int64_t count = from + step < plan->positions ? step : plan->positions - from;
        tiles_of_block(run, &tile, run->image, unit / run->chunks, run->copies + from, count, from);
    }
    return TN_OK;
}

static tn_status run_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    float *ring = run->copies + thread * plan->copy_floats;
    tn_direct_tile tile = tile_template(run);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / plan->parts, part = unit % plan->parts;
        const float *input = run->input + image * g->channels * g->in_height * g->in_width;
        int64_t y = tn_direct_plan_first(g->out_height, plan->parts, part);
        const int64_t last = tn_direct_plan_first(g->out_height, plan->parts, part + 1);
        int64_t filled =
            y * g->stride_height; /* padded rows below this one are in the ring, or not needed */
        for (; y < last; y++) {
            const int64_t top = y * g->stride_height;
            if (filled < top) filled = top;
            for (; filled < top + plan->slots; filled++)
                ring_fill(plan, ring, input, filled);
            tile.offsets = run->offsets + top % plan->slots * plan->taps;
            for (int64_t block = 0; block < run->state->blocks; block++)
                tiles_of_block(run, &tile, image, block, ring, g->out_width, y * g->out_width);
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static void gather_bias(const tn_call *call, const direct_state *state, int64_t filters,
                        float *bias) {
    if (state->has_bias)
        memcpy(bias, call->inputs[2]->data, (size_t)filters * sizeof(float));
    else
        memset(bias, 0, (size_t)filters * sizeof(float));
    for (uint32_t b = 0; b < state->epilogue.bias_count; b++) {
        const float *more = call->operands[state->epilogue.bias[b]]->data;
        for (int64_t i = 0; i < filters; i++)
            bias[i] += more[i];
    }
}

/* Units that one thread should take at least, so that each is worth waking a thread (about 4
 * microseconds). */
static int64_t grain_of(int64_t units, int64_t multiply_adds) {
    int64_t each = multiply_adds / (units > 0 ? units : 1) + 1;
    return 150000 / each + 1;
}

static tn_status run_images(tn_call *call, direct_run *run) {
    const tn_direct_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t images = g->batch * g->groups, blocks = run->state->blocks;
    const int64_t work = plan->taps * g->filters * g->out_height * g->out_width; /* of an image */
    const int64_t tile_positions = plan->vectors * run->state->level->lanes;
    if (plan->layout == TN_DIRECT_ROWS)
        return call->host->parallel_for(call, images * plan->parts, grain_of(plan->parts, work),
                                        run_rows, run);
    if (plan->layout == TN_DIRECT_POINT) {
        /* A chunk's input stays in the first-level cache while the blocks go over it. */
        run->chunk_tiles = 6144 / (g->channels * tile_positions) + 1;
        run->chunks = plan->positions / (run->chunk_tiles * tile_positions);
        if (run->chunks == 0) run->chunks = 1;
        return call->host->parallel_for(call, images * run->chunks, grain_of(run->chunks, work),
                                        run_point, run);
    }
    run->chunk_tiles = 8;
    run->chunks = (plan->positions + run->chunk_tiles * tile_positions - 1) /
                  (run->chunk_tiles * tile_positions);
    for (run->image = 0; run->image < images; run->image++) {
        layout_flat(plan, run->copies,
                    run->input + run->image * g->channels * g->in_height * g->in_width);
        tn_status status = call->host->parallel_for(
            call, blocks * run->chunks, grain_of(blocks * run->chunks, work), run_flat, run);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

tn_status tn_conv_direct_run(tn_call *call) {
    const direct_state *state = call->state;
    const direct_context *context = call->context;
    const tn_conv_geometry *g = &context->plan.geometry;
    float *bias = call->workspace;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    gather_bias(call, state, g->groups * g->filters, bias);
    direct_run run = {.state = state,
                      .plan = &context->plan,
                      .offsets = context->offsets,
                      .input = call->inputs[0]->data,
                      .bias = bias,
                      .output = call->outputs[0]->data,
                      .copies = bias + bias_floats(g)};
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    return run_images(call, &run);
}
