/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of 8-bit tensors that stand for real numbers: quantises and packs the weights
 * (prepare), plans for the shapes (reshape), copies the input band by band and multiplies (run).
 * Sums are exact; bias, residual, activation and the output's rounding come after them. The inner
 * loop is kit/int8/dot_body.h, the layout int8_plan.c; depthwise convolutions have kernels of their
 * own (depthwise.c).
 */
#include "conv/int8_plan.h"
#include "conv/kernels.h"
#include "kit/math/byte_table.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/dot_end.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>

#include <stdio.h>

typedef struct int8_state {
    const tn_dot_level *level;
    tn_dot_layout layout;
    const void *blob;
    int64_t join; /* see int8_plan.h */
    tn_float_epilogue epilogue;
} int8_state;

typedef struct int8_context {
    tn_kernel_context kept; /* tables: offsets of groups, then of positions */
    tn_int8_plan plan;
} int8_context;

/* One run, as the bodies of parallel_for see it. */
typedef struct int8_run {
    const int8_state *state;
    const tn_int8_plan *plan;
    const int32_t *offsets, *positions;
    tn_dot_end end;
    const float *scale, *bias;
    const int8_t *input;
    bool is_input_last, is_output_last; /* channels last; otherwise linear */
    char *output;
    const char *residual;
    char *copies;
} int8_run;

/* ----------------------------------------------------------------------------------------------
 * prepare */

static bool is_linear_or_last(const tn_tensor *tensor) {
    return tensor->format == TN_LINEAR || tensor->format == TN_NHWC;
}

/* Groups of a single channel and filter are depthwise.c's. */
static bool read_node(const tn_call *call, tn_conv_geometry *out_geometry,
                      tn_float_epilogue *out_epilogue) {
    return tn_dot_call_read(call, 1, out_epilogue) && is_linear_or_last(call->inputs[0]) &&
           is_linear_or_last(call->outputs[0]) && tn_conv_geometry_read(call, out_geometry) &&
           (out_geometry->groups == 1 || out_geometry->channels > 1 || out_geometry->filters > 1);
}

static bool make_plan(const tn_dot_level *level, const tn_conv_geometry *geometry, int64_t join,
                      uint32_t threads, tn_int8_plan *out_plan, tn_dot_layout *out_layout) {
    return tn_int8_plan_make(level, geometry, join, threads ? threads : 1, out_plan) &&
           tn_dot_layout_make(level, geometry->groups, out_plan->geometry.filters, out_plan->groups,
                              out_layout);
}

/* A node as it is prepared: joined outputs lie side by side with channels last alone. */
static bool read_plan(const tn_call *call, tn_int8_plan *out_plan, tn_dot_layout *out_layout,
                      tn_float_epilogue *out_epilogue) {
    const tn_dot_level *level = call->user;
    tn_conv_geometry geometry;
    if (!read_node(call, &geometry, out_epilogue)) return false;
    const int64_t join =
        call->outputs[0]->format == TN_NHWC ? tn_int8_plan_join(level, &geometry) : 1;
    return make_plan(level, &geometry, join, call->threads, out_plan, out_layout);
}

static tn_status int8_accepts(tn_call *call) {
    tn_float_epilogue epilogue;
    tn_int8_plan plan;
    tn_dot_layout layout;
    return read_plan(call, &plan, &layout, &epilogue) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct pack_job {
    tn_call *call;
    const tn_dot_layout *layout;
    const tn_int8_plan *plan;
} pack_job;

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const tn_host *host = job->call->host;
    const tn_conv_geometry *g = &job->plan->geometry;
    const int64_t filters = g->filters / job->plan->join,
                  taps =
                      tn_infer_product(job->call->inputs[1]->shape, 1, job->call->inputs[1]->rank);
    const uint64_t count =
        (uint64_t)(job->plan->join * job->plan->groups) * job->layout->level->group;
    int32_t *elements = host->allocate(host, count * sizeof(*elements), 64);
    (void)bytes;
    if (!elements)
        return host->fail(job->call, TN_ERROR_MEMORY, "no memory to pack %llu weights of a filter",
                          (unsigned long long)count);
    tn_int8_plan_elements(job->layout->level, job->plan, elements);
    const tn_dot_source source = {.from = job->call->inputs[1]->data,
                                  .matrix_stride = taps * filters,
                                  .column_stride = taps,
                                  .element_stride = 1,
                                  .period = filters,
                                  .elements = elements};
    tn_dot_pack(job->layout, &source, data);
    host->deallocate(host, elements);
    return TN_OK;
}

static tn_status int8_prepare(tn_call *call) {
    const tn_host *host = call->host;
    tn_float_epilogue epilogue;
    tn_int8_plan plan;
    tn_dot_layout layout;
    if (!read_plan(call, &plan, &layout, &epilogue))
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "the quantised convolution does not do this node");
    TN_TRY(tn_kernel_state_create(call, sizeof(int8_state)));
    int8_state *state = call->state;
    *state = (int8_state){
        .level = call->user, .layout = layout, .join = plan.join, .epilogue = epilogue};
    /* Nodes that share weights may differ in their groups and in what is joined. */
    char key[64];
    snprintf(key, sizeof(key), "%lld groups, %lld runs, %lld joined, stride %lld",
             (long long)plan.geometry.groups, (long long)plan.runs, (long long)plan.join,
             plan.join > 1 ? (long long)plan.geometry.stride_width : 1LL);
    pack_job job = {call, &layout, &plan};
    return tn_kernel_state_finish(call, host->packed(call, 1, key, tn_dot_layout_bytes(&layout),
                                                     pack_weights, &job, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

static tn_status int8_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(int8_context));
}

/* Of scales and as many of biases, which lie before the copies. */
static int64_t channel_bytes(const tn_dot_layout *layout) {
    return (layout->matrices * layout->padded * (int64_t)sizeof(float) + 63) / 64 * 64;
}

static tn_status int8_reshape(tn_call *call) {
    const int8_state *state = call->state;
    int8_context *context = call->context;
    tn_int8_plan *plan = &context->plan;
    tn_conv_geometry geometry;
    tn_dot_layout layout;
    if (!tn_conv_geometry_read(call, &geometry) ||
        !make_plan(state->level, &geometry, state->join, call->threads, plan, &layout))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the quantised convolution does not do these shapes");
    TN_TRY(tn_kernel_context_reserve(call,
                                     (uint64_t)(plan->groups + plan->positions) * sizeof(int32_t)));
    int32_t *offsets = context->kept.tables;
    tn_int8_plan_offsets(state->level, plan, offsets, offsets + plan->groups);
    call->workspace_bytes =
        (uint64_t)channel_bytes(&state->layout) * 2 + (uint64_t)plan->copy_bytes * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the copy */

/* `count` positions of one input row from column 0 on, all channels of the group. */
static void copy_columns(const int8_run *run, char *to, int64_t image, int64_t y, int64_t count) {
    const tn_dot_level *level = run->state->level;
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t batch = image / g->groups, group = image % g->groups;
    if (!run->is_input_last) {
        const int64_t plane = g->in_height * g->in_width;
        const int8_t *from = run->input + image * g->channels * plane + y * g->in_width;
        if (g->channels == 1)
            level->load(to, from, count);
        else
            level->interleave(to, from, plane, g->channels, count);
        return;
    }
    const int64_t all = g->groups * g->channels;
    const int8_t *from =
        run->input + (batch * g->in_height + y) * g->in_width * all + group * g->channels;
    if (g->groups == 1) {
        level->load(to, from, count * all);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        level->load(to + i * g->channels * level->element_bytes, from + i * all, g->channels);
}

static void copy_band(const int8_run *run, char *copy, int64_t image, int64_t top, int64_t rows) {
    const tn_dot_level *level = run->state->level;
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t row_bytes = run->plan->row_elements * level->element_bytes;
    const int64_t pixel = g->channels * level->element_bytes,
                  span = run->plan->row_elements / g->channels;
    const int64_t left = g->pad_left < span ? g->pad_left : span;
    int64_t valid = span - left < g->in_width ? span - left : g->in_width;
    for (int64_t y = top; y < top + rows; y++, copy += row_bytes) {
        if (y < 0 || y >= g->in_height) {
            level->clear(copy, run->plan->row_elements);
            continue;
        }
        level->clear(copy, left * g->channels);
        copy_columns(run, copy + left * pixel, image, y, valid);
        level->clear(copy + (left + valid) * pixel, (span - left - valid) * g->channels);
    }
    level->clear(copy, level->group); /* what the last groups reach into */
}

/* ----------------------------------------------------------------------------------------------
 * tiles */

/* One block of channels over `count` positions from `first` on; `output_at` is the output's offset
 * of the first of them. */
static void tiles_of_block(const int8_run *run, tn_dot_tile *tile, int64_t vectors, int64_t first,
                           int64_t count, int64_t output_at) {
    const tn_dot_level *level = run->state->level;
    const int64_t bytes = run->end.type == TN_I8 ? 1 : 4, most = level->rows[vectors - 1];
    const int64_t tiles = (count + most - 1) / most;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t from = tn_parallel_first(count, tiles, t),
                      to = tn_parallel_first(count, tiles, t + 1);
        const int64_t at = (output_at + from * tile->row_stride) * bytes;
        tile->rows = run->positions + first + from;
        tile->output = run->output + at;
        tile->residual = run->residual ? run->residual + at : NULL;
        level->functions[to - from - 1][vectors - 1](tile);
    }
}

/* All blocks over `rows` output rows from `y` on, whose input begins at `x`. */
static void do_positions(const int8_run *run, tn_dot_tile *tile, int64_t image, int64_t block,
                         int64_t y, int64_t rows) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const tn_dot_layout *layout = &run->state->layout;
    const int64_t group = image % g->groups, all = g->groups * g->filters;
    const int64_t first = tn_dot_block_first(layout, block),
                  width = tn_dot_block_first(layout, block + 1) - first;
    const int64_t plane = g->out_height * run->plan->out_width;
    const int64_t filter = group * g->filters + first;
    int64_t at = y * run->plan->out_width;
    tile->weights = tn_dot_weights_of(layout, run->state->blob, group, block);
    tile->initial = tn_dot_initial(layout, run->state->blob, group) + first;
    tile->scale = run->scale + group * layout->padded + first;
    tile->bias = run->bias + group * layout->padded + first;
    tile->columns = g->filters - first;
    if (tile->columns > width) tile->columns = width;
    if (run->is_output_last)
        at = (image / g->groups * plane + at) * (all / run->plan->join) + filter;
    else
        at += (image / g->groups * all + filter) * plane;
    const int64_t vectors = width / run->state->level->lanes;
    if (run->plan->last_outputs == run->plan->join) {
        tiles_of_block(run, tile, vectors, 0, rows * g->out_width, at);
        return;
    }
    /* Of the last of this row some filters lie beyond the row. */
    const int64_t left = run->plan->last_outputs * (g->filters / run->plan->join) - first;
    tiles_of_block(run, tile, vectors, 0, g->out_width - 1, at);
    if (tile->columns > left) tile->columns = left;
    if (left > 0)
        tiles_of_block(run, tile, vectors, g->out_width - 1, 1,
                       at + (g->out_width - 1) * tile->row_stride);
}

static tn_status run_bands(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const int8_run *run = user;
    const tn_int8_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t element_bytes = run->state->level->element_bytes;
    char *copy = run->copies + thread * plan->copy_bytes;
    tn_dot_tile tile = {.offsets = run->offsets, .groups = plan->groups, .end = &run->end};
    tile.row_stride = run->is_output_last ? g->groups * g->filters : 1;
    tile.column_stride = run->is_output_last ? 1 : g->out_height * plan->out_width;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / plan->bands;
        const int64_t y = unit % plan->bands * plan->band_rows;
        const int64_t rows =
            y + plan->band_rows < g->out_height ? plan->band_rows : g->out_height - y;
        const int64_t step = plan->is_by_row ? 1 : rows;
        copy_band(run, copy, image, y * g->stride_height - g->pad_top,
                  (rows - 1) * g->stride_height + (g->kernel_height - 1) * g->dilation_height + 1);
        for (int64_t block = 0; block < run->state->layout.blocks; block++) {
            for (int64_t row = 0; row < rows; row += step) {
                tile.x = copy + row * g->stride_height * plan->row_elements * element_bytes;
                do_positions(run, &tile, image, block, y + row, step);
            }
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status int8_run_node(tn_call *call) {
    const int8_state *state = call->state;
    const int8_context *context = call->context;
    const tn_int8_plan *plan = &context->plan;
    const int32_t *offsets = context->kept.tables;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    char *workspace = call->workspace;
    float *scale = call->workspace,
          *bias = (float *)(void *)(workspace + channel_bytes(&state->layout));
    int8_run run = {.state = state,
                    .plan = plan,
                    .offsets = offsets,
                    .positions = offsets + plan->groups,
                    .scale = scale,
                    .bias = bias,
                    .input = call->inputs[0]->data,
                    .is_input_last = call->inputs[0]->format == TN_NHWC,
                    .is_output_last = call->outputs[0]->format == TN_NHWC,
                    .output = call->outputs[0]->data,
                    .copies = workspace + 2 * channel_bytes(&state->layout)};
    const float fold = tn_dot_end_make(call, &state->epilogue, &run.end);
    tn_dot_end_gather(call, &state->epilogue, &state->layout, state->blob,
                      plan->geometry.filters / plan->join, 1.0f, fold,
                      fold * tn_byte_scale(call->inputs[0]), scale, bias);
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t work = plan->groups * g->filters * plan->band_rows * g->out_width;
    return call->host->parallel_for(call, g->batch * g->groups * plan->bands,
                                    150000 / (work + 1) + 1, run_bands, &run);
}

static const char *const combinations[] = {
    "qi8:nhwc, f32, f32? -> qi8:nhwc", "qi8:nhwc, f32, f32? -> qi8",
    "qi8:nhwc, f32, f32? -> f32:nhwc", "qi8:nhwc, f32, f32? -> f32",
    "qi8, f32, f32? -> qi8:nhwc",      "qi8, f32, f32? -> qi8",
    "qi8, f32, f32? -> f32:nhwc",      "qi8, f32, f32? -> f32",
};

#define INT8_KERNEL(level)                                                                         \
    const tn_kernel tn_conv_int8_##level = {                                                       \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Conv",                                                                              \
        .device = "cpu",                                                                           \
        .name = "int8_" #level,                                                                    \
        .doc = "8-bit products, exact sums; weights quantised a filter.",                          \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                                        \
        TN_COMBINATIONS(combinations),                                                             \
        .accepts = int8_accepts,                                                                   \
        .prepare = int8_prepare,                                                                   \
        .release = tn_kernel_state_destroy,                                                        \
        .open = int8_open,                                                                         \
        .close = tn_kernel_context_destroy,                                                        \
        .reshape = int8_reshape,                                                                   \
        .run = int8_run_node,                                                                      \
        .user = (void *)(uintptr_t)&tn_dot_##level,                                                \
    }
INT8_KERNEL(baseline);
INT8_KERNEL(avx2);
INT8_KERNEL(avx512vnni);
