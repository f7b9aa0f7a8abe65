/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which Winograd's algorithm goes over tiles and filters: a block's transformed input
 * and the sums of a chunk of panels of filters stay in the caches of the core that computes them,
 * the weights pass by once a block.
 */
#include "conv/winograd/run.h"
#include "kit/math/round_up.h"
#include <tenon/kit/parallel.h>

#if defined(__x86_64__) /* whose levels are compiled */

enum {
    OUTPUTS = TN_WINOGRAD_OUTPUTS,
    POINTS = TN_WINOGRAD_POINTS,
    ELEMENTS = TN_WINOGRAD_ELEMENTS
};

/* A tile by its image, and the row and column of its corner in the output. */
typedef struct tile_position {
    int64_t image, row, column;
} tile_position;

static tile_position position_of(const tn_winograd_context *context, int64_t tile) {
    const int64_t in_image = tile % (context->down * context->across);
    return (tile_position){tile / (context->down * context->across),
                           in_image / context->across * OUTPUTS,
                           in_image % context->across * OUTPUTS};
}

/* What a tile at an edge sees of a block of channels, zeros where there is nothing. */
static void copy_edge(const tn_conv_geometry *g, const float *plane, int64_t lanes, int64_t top,
                      int64_t left, float *to) {
    for (int64_t row = top; row < top + POINTS; row++)
        for (int64_t column = left; column < left + POINTS; column++, to += lanes) {
            const bool is_in =
                row >= 0 && row < g->in_height && column >= 0 && column < g->in_width;
            if (is_in)
                memcpy(to, plane + (row * g->in_width + column) * lanes,
                       (size_t)lanes * sizeof(float));
            else
                memset(to, 0, (size_t)lanes * sizeof(float));
        }
}

static void transform_tile(const tn_winograd_run *run, int64_t tile, float *v, float *edge) {
    const tn_winograd_context *context = run->context;
    const tn_conv_geometry *g = &context->geometry;
    const tn_winograd_level *level = run->state->level;
    const int64_t lanes = level->lanes, plane = g->in_height * g->in_width * lanes;
    const tile_position position = position_of(context, tile);
    const int64_t top = position.row - g->pad_top, left = position.column - g->pad_left;
    const bool is_inside =
        top >= 0 && left >= 0 && top + POINTS <= g->in_height && left + POINTS <= g->in_width;
    const float *x = run->x + position.image * (context->channels / lanes) * plane;
    for (int64_t c = 0; c < context->channels; c += lanes, x += plane) {
        if (!is_inside) copy_edge(g, x, lanes, top, left, edge);
        level->transform(is_inside ? x + (top * g->in_width + left) * lanes : edge,
                         (is_inside ? g->in_width : POINTS) * lanes, v + c,
                         context->element_floats);
    }
}

/* Panels [begin, end) of one tile; `sums` are of its first filter. */
static void store_tile(const tn_winograd_run *run, int64_t tile, int64_t begin, int64_t end,
                       const float *sums) {
    const tn_winograd_context *context = run->context;
    const tn_winograd_state *state = run->state;
    const tn_conv_geometry *g = &context->geometry;
    const int64_t lanes = state->level->lanes, panel = TN_WINOGRAD_VECTORS * lanes,
                  blocks = tn_divide_up(g->filters, lanes);
    const tile_position position = position_of(context, tile);
    tn_winograd_output output = {.element_floats = context->sums_floats,
                                 .row_floats = g->out_width * lanes,
                                 .height = g->out_height - position.row,
                                 .width = g->out_width - position.column,
                                 .activation = state->epilogue.activation,
                                 .alpha = state->epilogue.alpha,
                                 .beta = state->epilogue.beta};
    if (output.height > OUTPUTS) output.height = OUTPUTS;
    if (output.width > OUTPUTS) output.width = OUTPUTS;
    for (int64_t f = begin * panel; f < end * panel && f < g->filters; f += lanes) {
        const int64_t at =
            (((position.image * blocks + f / lanes) * g->out_height + position.row) * g->out_width +
             position.column) *
            lanes;
        output.sums = sums + f - begin * panel;
        output.bias = run->bias + f;
        output.y = run->y + at;
        output.residual = run->residual ? run->residual + at : NULL;
        output.filters = g->filters - f;
        state->level->store(&output);
    }
}

/* A chunk of panels: all elements of the tiles of a block, and then their outputs. */
static void multiply_chunk(const tn_winograd_run *run, int64_t first, int64_t count, int64_t begin,
                           int64_t end, const float *v, float *sums) {
    const tn_winograd_context *context = run->context;
    const tn_winograd_level *level = run->state->level;
    const int64_t channels = context->geometry.channels, rows = level->rows,
                  panel = TN_WINOGRAD_VECTORS * level->lanes;
    for (int64_t element = 0; element < ELEMENTS; element++) {
        for (int64_t p = begin; p < end; p++) {
            const float *u = run->state->weights + (p * ELEMENTS + element) * channels * panel;
            for (int64_t t = 0; t < count; t += rows) {
                const int64_t left = count - t < rows ? count - t : rows;
                level->multiply[left - 1](v + element * context->element_floats +
                                              t * context->channels,
                                          context->channels, u, channels,
                                          sums + element * context->sums_floats +
                                              t * context->tile_floats + (p - begin) * panel,
                                          context->tile_floats);
            }
        }
    }
    for (int64_t t = 0; t < count; t++)
        store_tile(run, first + t, begin, end, sums + t * context->tile_floats);
}

/* A unit is a part of the panels for a block of tiles. */
static tn_status run_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_winograd_run *run = user;
    const tn_winograd_context *context = run->context;
    const int64_t rows = run->state->level->rows, panels = run->state->panels,
                  tiles = context->geometry.batch * context->down * context->across;
    float *v = run->buffers + thread * context->thread_floats,
          *sums = v + ELEMENTS * context->element_floats,
          *edge = sums + ELEMENTS * context->sums_floats;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t block = unit / context->parts, part = unit % context->parts;
        const int64_t first = tn_parallel_first(context->groups, context->blocks, block) * rows;
        int64_t next = tn_parallel_first(context->groups, context->blocks, block + 1) * rows;
        if (next > tiles) next = tiles;
        if (unit == begin || part == 0)
            for (int64_t tile = first; tile < next; tile++)
                transform_tile(run, tile, v + (tile - first) * context->channels, edge);
        const int64_t last = tn_parallel_first(panels, context->parts, part + 1);
        for (int64_t p = tn_parallel_first(panels, context->parts, part); p < last;
             p += TN_WINOGRAD_CHUNK)
            multiply_chunk(run, first, next - first, p,
                           p + TN_WINOGRAD_CHUNK < last ? p + TN_WINOGRAD_CHUNK : last, v, sums);
    }
    return TN_OK;
}

/* Units that one thread should take at least, so that each is worth waking a thread. */
static int64_t grain_of(const tn_winograd_context *context, int64_t units) {
    const tn_conv_geometry *g = &context->geometry;
    const int64_t work =
        context->groups * g->channels * g->filters / units + 1; /* of one element, times rows */
    return 1000 / work + 1;
}

tn_status tn_winograd_run_all(tn_call *call, tn_winograd_run *run) {
    const int64_t units = run->context->blocks * run->context->parts;
    return call->host->parallel_for(call, units, grain_of(run->context, units), run_units, run);
}

#endif
