/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the direct convolution: its tiles, image after image, on the threads of parallel_for.
 */
#include "conv/direct_run.h"
#include "conv/direct_layout.h"
#include <tenon/kit/parallel.h>

#include <string.h>

static int64_t plane_floats(const tn_conv_geometry *g) {
    return g->out_height * g->out_width;
}

/* A tile's constant part: everything but x, offsets, taps, weights, bias, output, positions. */
static tn_direct_tile tile_template(const tn_direct_run *run) {
    const tn_float_epilogue *epilogue = &run->state->epilogue;
    return (tn_direct_tile){.channel_stride =
                                run->plan->geometry.out_depth * plane_floats(&run->plan->geometry),
                            .activation = epilogue->activation,
                            .alpha = epilogue->alpha,
                            .beta = epilogue->beta};
}

/* Images are counted by the batch, its groups, and the planes of a group's output. Where the
 * channels of image `image` begin in the output, or what has its shape. */
static int64_t image_at(const tn_direct_run *run, int64_t image, int64_t pitch) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t group = image / g->out_depth, plane = plane_floats(g);
    return group / g->groups * pitch + group % g->groups * g->filters * g->out_depth * plane +
           image % g->out_depth * plane;
}

static tn_direct_source source_of(const tn_direct_run *run, int64_t image) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t group = image / g->out_depth;
    const int64_t floats = g->channels * g->in_depth * g->in_height * g->in_width;
    return (tn_direct_source){.input = run->input + group / g->groups * run->input_pitch +
                                       group % g->groups * floats,
                              .plane = image % g->out_depth * g->stride_depth - g->pad_front};
}

/* What the packed weights say behind the last one. */
static bool is_padding_nothing(const tn_direct_run *run) {
    const tn_conv_geometry *g = &run->plan->geometry;
    return run->weights[g->groups * g->filters * run->plan->taps] == 1;
}

/* Rows of the kernel, of all its planes, through which `count` positions from `at` on of a plane of
 * the output see the input: planes, and of a single one rows. */
static void find_rows(const tn_conv_geometry *g, int64_t plane, int64_t at, int64_t count,
                      int64_t *out_begin, int64_t *out_end) {
    int64_t first, last, begin = 0, end = g->kernel_height;
    tn_direct_plan_planes(g, plane, &first, &last);
    if (last - first == 1)
        tn_direct_plan_rows(g, at / g->out_width, (at + count - 1) / g->out_width, &begin, &end);
    *out_begin = first * g->kernel_height + begin;
    *out_end = last > first ? (last - 1) * g->kernel_height + end : *out_begin;
}

/* The taps of these rows; `offsets` and `weights` are those of all taps, of a block of so many
 * channels. */
static void set_taps(const tn_direct_run *run, tn_direct_tile *tile, const int32_t *offsets,
                     const float *weights, int64_t channels, int64_t plane, int64_t at,
                     int64_t count) {
    const tn_conv_geometry *g = &run->plan->geometry;
    int64_t begin = 0, end = g->kernel_depth * g->kernel_height;
    if ((end > 1 || g->pad_front > 0) && is_padding_nothing(run))
        find_rows(g, plane, at, count, &begin, &end);
    const int64_t row = g->channels * g->kernel_width;
    tile->offsets = offsets + begin * row;
    tile->weights = weights + begin * row * channels;
    tile->taps = (end - begin) * row;
}

/* Tiles of one block over positions [begin, begin + count) of x; `output_at` is the first
 * position's offset in a plane of the output. */
static void tiles_of_block(const tn_direct_run *run, tn_direct_tile *tile, const int32_t *offsets,
                           int64_t image, int64_t block, const float *x, int64_t count,
                           int64_t output_at) {
    const tn_direct_state *state = run->state;
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t lanes = state->level->lanes, group = image / g->out_depth % g->groups;
    const int64_t first = tn_parallel_first(g->filters, run->plan->blocks, block);
    const int64_t channels = tn_parallel_first(g->filters, run->plan->blocks, block + 1) - first;
    const int64_t within = first * tile->channel_stride + output_at;
    const int64_t at = image_at(run, image, run->output_pitch) + within;
    const int64_t residual_at = image_at(run, image, run->residual_pitch) + within;
    const float *weights = run->weights + (group * g->filters + first) * run->plan->taps;
    tile->bias = run->bias + group * g->filters + first;
    const int64_t vectors = (count + lanes - 1) / lanes,
                  most = state->level->maximum_vectors[channels - 1];
    const int64_t tiles = (vectors + most - 1) / most;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t from = tn_parallel_first(vectors, tiles, t),
                to = tn_parallel_first(vectors, tiles, t + 1);
        tile->x = x + from * lanes;
        tile->output = run->output + at + from * lanes;
        tile->residual = run->residual ? run->residual + residual_at + from * lanes : NULL;
        tile->positions = count - from * lanes;
        const int64_t valid = to * lanes < count ? to * lanes : count;
        set_taps(run, tile, offsets, weights, channels, image % g->out_depth,
                 output_at + from * lanes, valid - from * lanes);
        state->level->functions[channels - 1][to - from - 1](tile);
    }
}

/* POINTWISE: the last positions, fewer than a vector, from a copy of their columns. What is behind
 * them is multiplied, too: zeros, since what the memory held before may be subnormal, which takes a
 * processor 20 times as long. */
static void pointwise_tail(const tn_direct_run *run, tn_direct_tile *tile, int64_t image,
                           const float *x, float *copy, int64_t at, int64_t count) {
    const tn_direct_plan *plan = run->plan;
    for (int64_t c = 0; c < plan->geometry.channels; c++) {
        memcpy(copy + c * 16, x + c * plan->positions + at, (size_t)count * sizeof(float));
        memset(copy + c * 16 + count, 0, (size_t)(16 - count) * sizeof(float));
    }
    for (int64_t block = 0; block < run->plan->blocks; block++)
        tiles_of_block(run, tile, run->offsets + plan->taps, image, block, copy, count, at);
}

static tn_status run_pointwise(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const int64_t lanes = run->state->level->lanes, step = run->chunk_tiles * plan->vectors * lanes;
    const int64_t whole = plan->positions / lanes * lanes;
    tn_direct_tile tile = tile_template(run);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / run->chunks, chunk = unit % run->chunks;
        const float *x = source_of(run, image).input;
        int64_t from = chunk * step, to = chunk == run->chunks - 1 ? whole : from + step;
        for (int64_t block = 0; block < run->plan->blocks && to > from; block++)
            tiles_of_block(run, &tile, run->offsets, image, block, x + from, to - from, from);
        if (to == whole && whole < plan->positions)
            pointwise_tail(run, &tile, image, x, run->copies + thread * plan->copy_floats, whole,
                           plan->positions - whole);
    }
    return TN_OK;
}

/* Units: block after block, each in chunks of tiles. */
static tn_status run_column_copies(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const int64_t step = run->chunk_tiles * plan->vectors * run->state->level->lanes;
    tn_direct_tile tile = tile_template(run);
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t from = unit % run->chunks * step;
        int64_t count = from + step < plan->positions ? step : plan->positions - from;
        tiles_of_block(run, &tile, run->offsets, run->image, unit / run->chunks, run->copies + from,
                       count, from);
    }
    return TN_OK;
}

/* A piece of rows first..last-1 of an image's output. */
static void run_piece(const tn_direct_run *run, tn_direct_tile *tile, float *ring, int64_t image,
                      int64_t piece, int64_t first, int64_t last) {
    const tn_direct_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t from = piece * plan->positions, left = g->out_width - from;
    const int64_t count = left < plan->positions ? left : plan->positions;
    tn_direct_source source = source_of(run, image);
    source.column = from * g->stride_width;
    int64_t filled =
        first * g->stride_height; /* padded rows below this one are in the ring, or not needed */
    for (int64_t y = first; y < last; y++) {
        const int64_t top = y * g->stride_height;
        if (filled < top) filled = top;
        for (; filled < top + plan->slots; filled++)
            tn_direct_layout_row(plan, ring, &source, filled);
        const int32_t *offsets = run->offsets + top % plan->slots * plan->taps;
        for (int64_t block = 0; block < run->plan->blocks; block++)
            tiles_of_block(run, tile, offsets, image, block, ring, count, y * g->out_width + from);
    }
}

static tn_status run_line_buffer(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_direct_run *run = user;
    const tn_direct_plan *plan = run->plan;
    const int64_t height = plan->geometry.out_height;
    tn_direct_tile tile = tile_template(run);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t piece = unit % plan->pieces, part = unit / plan->pieces % plan->parts;
        run_piece(run, &tile, run->copies + thread * plan->copy_floats,
                  unit / plan->pieces / plan->parts, piece,
                  tn_parallel_first(height, plan->parts, part),
                  tn_parallel_first(height, plan->parts, part + 1));
    }
    return TN_OK;
}

/* Units that one thread should take at least, so that each is worth waking a thread (about 4
 * microseconds). */
static int64_t grain_of(int64_t units, int64_t multiply_adds) {
    int64_t each = multiply_adds / (units > 0 ? units : 1) + 1;
    return 150000 / each + 1;
}

tn_status tn_direct_run_all(tn_call *call, tn_direct_run *run) {
    const tn_direct_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t images = g->batch * g->groups * g->out_depth, blocks = run->plan->blocks;
    const int64_t work = plan->taps * g->filters * g->out_height * g->out_width; /* of an image */
    const int64_t tile_positions = plan->vectors * run->state->level->lanes;
    if (plan->layout == TN_DIRECT_LINE_BUFFER)
        return call->host->parallel_for(call, images * plan->parts * plan->pieces,
                                        grain_of(plan->parts * plan->pieces, work), run_line_buffer,
                                        run);
    if (plan->layout == TN_DIRECT_POINTWISE) {
        /* A chunk's input stays in the first-level cache while the blocks go over it. */
        run->chunk_tiles = 6144 / (g->channels * tile_positions) + 1;
        run->chunks = plan->positions / (run->chunk_tiles * tile_positions);
        if (run->chunks == 0) run->chunks = 1;
        return call->host->parallel_for(call, images * run->chunks, grain_of(run->chunks, work),
                                        run_pointwise, run);
    }
    run->chunk_tiles = 8;
    run->chunks = (plan->positions + run->chunk_tiles * tile_positions - 1) /
                  (run->chunk_tiles * tile_positions);
    for (run->image = 0; run->image < images; run->image++) {
        const tn_direct_source source = source_of(run, run->image);
        tn_direct_layout_column_copies(plan, run->copies, &source);
        tn_status status =
            call->host->parallel_for(call, blocks * run->chunks,
                                     grain_of(blocks * run->chunks, work), run_column_copies, run);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}
