/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the quantised depthwise convolution; see depthwise.h. */
#include "kit/operator/layer.h"
#include "conv/depthwise.h"
#include "conv/geometry.h"
#include "conv/kernels.h"
#include "kit/int8/weight_scale.h"
#include "kit/math/byte_table.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/dot_end.h>
#include <tenon/kit/levels.h>

/* With L lanes and T taps (r, s) of a channel c, a blob is
 *
 *     | scale[c], whole vectors | c0..cL-1 of tap 0 | c0..cL-1 of tap 1 | .. | cL..c2L-1 of tap 0 |
 * ..
 *
 * each weight 32 bits: see depthwise_body.h. */
typedef struct depthwise_state {
    const tn_depthwise_level *level;
    const void *blob;
    int64_t channels, padded, taps;
    tn_float_epilogue epilogue;
} depthwise_state;

static bool read_node(const tn_call *call, tn_conv_geometry *out_geometry,
                      tn_float_epilogue *out_epilogue) {
    return tn_dot_call_read(call, 1, out_epilogue) && tn_conv_geometry_read(call, out_geometry) &&
           out_geometry->groups > 1 && out_geometry->channels == 1 && out_geometry->filters == 1 &&
           out_geometry->groups < INT32_MAX / 64 &&
           out_geometry->kernel_height <= TN_DOT_DEPTH_LIMIT / out_geometry->kernel_width;
}

static tn_status depthwise_accepts(tn_call *call) {
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    return read_node(call, &geometry, &epilogue) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct pack_job {
    const depthwise_state *state;
    const float *weights; /* channels x taps */
} pack_job;

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const depthwise_state *state = job->state;
    const int64_t lanes = state->level->lanes;
    float *scales = data;
    int32_t *weights = (int32_t *)data + state->padded;
    memset(data, 0, (size_t)bytes);
    for (int64_t c = 0; c < state->channels; c++) {
        const float *from = job->weights + c * state->taps;
        int32_t *to = weights + c / lanes * lanes * state->taps + c % lanes;
        float largest = 0;
        for (int64_t tap = 0; tap < state->taps; tap++)
            largest = tn_weight_larger(largest, from[tap]);
        scales[c] = tn_weight_scale(largest);
        for (int64_t tap = 0; tap < state->taps; tap++) {
            to[tap * lanes] = tn_weight_quantise(from[tap], scales[c]) & 0xffff;
        }
    }
    return TN_OK;
}

static tn_status depthwise_prepare(tn_call *call) {
    const tn_host *host = call->host;
    const tn_depthwise_level *level = call->user;
    const int64_t lanes = level->lanes;
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    if (!read_node(call, &geometry, &epilogue))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "the quantised depthwise convolution does not do this node");
    TN_TRY(tn_kernel_state_create(call, sizeof(depthwise_state)));
    depthwise_state *state = call->state;
    *state = (depthwise_state){.level = level,
                               .channels = geometry.groups,
                               .padded = (geometry.groups + lanes - 1) / lanes * lanes,
                               .taps = geometry.kernel_height * geometry.kernel_width,
                               .epilogue = epilogue};
    pack_job job = {state, call->inputs[1]->data};
    const uint64_t bytes = (uint64_t)state->padded * (uint64_t)(state->taps + 1) * 4;
    return tn_kernel_state_finish(
        call, host->packed(call, 1, "depthwise", bytes, pack_weights, &job, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * run */

/* A thread's lists: offsets, then numbers of the elements that a window sees. */
static int64_t list_bytes(const depthwise_state *state) {
    return (state->taps * 12 + 63) / 64 * 64;
}

static int64_t channel_bytes(const depthwise_state *state) {
    return (state->padded * 4 + 63) / 64 * 64;
}

/* Whether rows of windows are done at once. */
static bool has_rows(const depthwise_state *state, const tn_conv_geometry *g,
                     const tn_dot_end *end) {
    return state->level->row && g->kernel_height == 3 && g->kernel_width == 3 &&
           g->dilation_height == 1 && g->dilation_width == 1 && end->type == TN_I8 && end->is_plain;
}

/* A thread's columns of such rows, whose output is bytes. */
static int64_t column_bytes(const tn_call *call, const depthwise_state *state,
                            const tn_conv_geometry *g) {
    const tn_dot_end bytes = {.type = call->outputs[0]->type, .is_plain = true};
    return has_rows(state, g, &bytes) && g->out_width > 0
               ? tn_depthwise_row_bytes(g->out_width, g->stride_width)
               : 0;
}

static tn_status depthwise_reshape(tn_call *call) {
    const depthwise_state *state = call->state;
    tn_conv_geometry geometry;
    if (!tn_conv_geometry_read(call, &geometry))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the quantised depthwise convolution does not do these shapes");
    const int64_t of_thread = list_bytes(state) + column_bytes(call, state, &geometry);
    call->workspace_bytes =
        (uint64_t)(2 * channel_bytes(state) + of_thread * (int64_t)call->threads);
    return TN_OK;
}

typedef struct depthwise_run {
    const depthwise_state *state;
    tn_conv_geometry geometry;
    tn_dot_end end;
    float *scale, *bias;
    const int8_t *input;
    char *output, *lists, *columns;
    const char *residual;
} depthwise_run;

/* The elements that the window at output (y, x) sees; offsets are from the window's own corner. */
static int64_t list_elements(const depthwise_run *run, int64_t y, int64_t x, int64_t *offsets,
                             int32_t *taps) {
    const tn_conv_geometry *g = &run->geometry;
    const int64_t top = y * g->stride_height - g->pad_top, left = x * g->stride_width - g->pad_left;
    int64_t count = 0;
    for (int64_t row = 0; row < g->kernel_height; row++) {
        const int64_t down = row * g->dilation_height;
        if (top + down < 0 || top + down >= g->in_height) continue;
        for (int64_t column = 0; column < g->kernel_width; column++) {
            const int64_t right = column * g->dilation_width;
            if (left + right < 0 || left + right >= g->in_width) continue;
            offsets[count] = (down * g->in_width + right) * run->state->channels;
            taps[count++] = (int32_t)(row * g->kernel_width + column);
        }
    }
    return count;
}

/* `count` positions from x on of row `row` (all images' rows counted), whose windows see the same
 * elements. */
static void do_positions(const depthwise_run *run, tn_depthwise_tile *tile, int64_t row, int64_t x,
                         int64_t count) {
    const depthwise_state *state = run->state;
    const tn_conv_geometry *g = &run->geometry;
    const int32_t *weights = (const int32_t *)state->blob + state->padded;
    const int64_t lanes = state->level->lanes, bytes = run->end.type == TN_I8 ? 1 : 4;
    const int64_t image = row / g->out_height, y = row % g->out_height;
    const int64_t top = y * g->stride_height - g->pad_top;
    const int64_t corner =
        ((image * g->in_height + top) * g->in_width + x * g->stride_width - g->pad_left) *
        state->channels;
    for (int64_t c = 0; c < state->channels; c += lanes) {
        tile->weights = weights + c * state->taps;
        tile->end.scale = run->scale + c;
        tile->end.bias = run->bias + c;
        tile->end.columns = state->channels - c;
        for (int64_t i = 0; i < count;) {
            const int64_t at = ((row * g->out_width + x + i) * state->channels + c) * bytes;
            tile->first = corner + c + i * tile->x_step;
            tile->end.output = run->output + at;
            tile->end.residual = run->residual ? run->residual + at : NULL;
            if (count - i >= 4)
                state->level->four(tile);
            else
                state->level->one(tile);
            i += count - i >= 4 ? 4 : 1;
        }
    }
}

/* A unit is an output row. */
static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const depthwise_run *run = user;
    const tn_conv_geometry *g = &run->geometry;
    char *list = run->lists + thread * list_bytes(run->state);
    int64_t *offsets = (int64_t *)(void *)list;
    int32_t *taps = (int32_t *)(void *)(list + run->state->taps * 8);
    const int64_t reach = (g->kernel_width - 1) * g->dilation_width;
    tn_depthwise_tile tile = {
        .x = run->input,
        .end = {.row_stride = run->state->channels, .column_stride = 1, .end = &run->end},
        .x_step = g->stride_width * run->state->channels,
        .offsets = offsets,
        .taps = taps};
    /* Outputs that see no padding at the sides. */
    int64_t first = (g->pad_left + g->stride_width - 1) / g->stride_width;
    int64_t last = g->in_width + g->pad_left - reach - 1;
    last = last < 0 ? 0 : last / g->stride_width + 1;
    if (last > g->out_width) last = g->out_width;
    if (first > last) first = last;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t x = 0; x < g->out_width;) {
            const int64_t count = x == first && last > first ? last - first : 1;
            tile.count = list_elements(run, row % g->out_height, x, offsets, taps);
            do_positions(run, &tile, row, x, count);
            x += count;
        }
    }
    return TN_OK;
}

/* One row of the output (all images' rows counted) of a block of channels from `c` on. */
static void do_row(const depthwise_run *run, tn_depthwise_row *of, int64_t row, int64_t c) {
    const tn_conv_geometry *g = &run->geometry;
    const int64_t channels = run->state->channels, image = row / g->out_height;
    const int64_t top = row % g->out_height * g->stride_height - g->pad_top;
    for (int64_t r = 0; r < 3; r++) {
        const int64_t y = top + r;
        of->is_inside[r] = y >= 0 && y < g->in_height;
        const int64_t line = image * g->in_height + (of->is_inside[r] ? y : 0);
        of->rows[r] = run->input + line * g->in_width * channels + c;
    }
    of->output = (int8_t *)run->output + row * g->out_width * channels + c;
    run->state->level->row(of);
}

static tn_status do_rows_at_once(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const depthwise_run *run = user;
    const depthwise_state *state = run->state;
    const tn_conv_geometry *g = &run->geometry;
    const int32_t *weights = (const int32_t *)state->blob + state->padded;
    const int64_t bytes = tn_depthwise_row_bytes(g->out_width, g->stride_width);
    tn_depthwise_block block;
    tn_depthwise_row row = {.block = &block,
                            .width = g->in_width,
                            .left = g->pad_left,
                            .step = state->channels,
                            .stride = g->stride_width,
                            .count = g->out_width,
                            .low = run->end.low,
                            .high = run->end.high,
                            .columns = (uint8_t *)run->columns + thread * bytes};
    for (int64_t c = 0; c < state->channels; c += TN_DEPTHWISE_CHANNELS) {
        state->level->read_block(weights + c * state->taps, NULL, run->scale + c, run->bias + c,
                                 state->padded - c, &block);
        row.channels = state->channels - c;
        for (int64_t i = begin; i < end; i++)
            do_row(run, &row, i, c);
    }
    return TN_OK;
}

static tn_status depthwise_run_node(tn_call *call) {
    const depthwise_state *state = call->state;
    char *workspace = call->workspace;
    depthwise_run run = {.state = state,
                         .scale = call->workspace,
                         .bias = (float *)(void *)(workspace + channel_bytes(state)),
                         .input = call->inputs[0]->data,
                         .output = call->outputs[0]->data,
                         .lists = workspace + 2 * channel_bytes(state)};
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!tn_conv_geometry_read(call, &run.geometry)) return TN_ERROR_INTERNAL;
    const float fold = tn_dot_end_make(call, &state->epilogue, &run.end);
    const tn_dot_layout channels = {
        .matrices = 1, .columns = state->channels, .padded = state->padded};
    tn_dot_end_gather(call, &state->epilogue, &channels, state->blob, state->channels, 1.0f, fold,
                      fold * tn_byte_scale(call->inputs[0]), run.scale, run.bias);
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    const tn_conv_geometry *g = &run.geometry;
    const int64_t work = g->out_width * state->padded * state->taps;
    run.columns = run.lists + list_bytes(state) * (int64_t)call->threads;
    return call->host->parallel_for(call, g->batch * g->out_height, 400000 / (work + 1) + 1,
                                    has_rows(state, g, &run.end) ? do_rows_at_once : do_rows, &run);
}

static const char *const combinations[] = {"qi8:nhwc, f32, f32? -> qi8:nhwc",
                                           "qi8:nhwc, f32, f32? -> f32:nhwc"};

TN_LEVEL_KERNELS_OF(, tn_conv_depthwise, TN_LEVELS_VNNI(tn_depthwise), "", 1, "Conv",
                    "int8_depthwise", "8-bit products of a channel with its own filter.",
                    .traits = TN_KERNEL_DETERMINISTIC,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = depthwise_accepts,
                    .prepare = depthwise_prepare, .release = tn_kernel_state_destroy,
                    .reshape = depthwise_reshape, .run = depthwise_run_node);
