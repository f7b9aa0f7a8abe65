/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of Winograd's algorithm: transforms the weights (prepare), cuts the tiles into blocks
 * (reshape), gathers the bias (run). What is computed is tiles.h, in which order run.c.
 */
#include "conv/kernels.h"
#include "conv/winograd/run.h"
#include "kit/math/round_up.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/layer.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/levels.h>
#include <tenon/plugin/cost.h>

#include <stdio.h>

#if defined(__x86_64__) /* whose levels are compiled */

enum {
    OUTPUTS = TN_WINOGRAD_OUTPUTS,
    POINTS = TN_WINOGRAD_POINTS,
    ELEMENTS = TN_WINOGRAD_ELEMENTS,
    TAPS = TN_WINOGRAD_KERNEL * TN_WINOGRAD_KERNEL,
    MOST_PANEL = 32,          /* filters of a panel, of any level */
    BLOCK_TILES = 24,         /* that reuse a panel: beyond, weights are no longer what limits */
    BLOCK_FLOATS = 256 << 10, /* of a block's transformed input: 1 MiB, of a core's share of the
                                 caches */
    /* Transformed weights are four times as large. Beyond so many floats no core has them in its
       caches from run to run, and reading them takes longer than this many tiles save. */
    RESIDENT_FLOATS = 2 << 20,
    LEAST_TILES = 9
};

/* ----------------------------------------------------------------------------------------------
 * accepts, tactics */

static bool read_node(const tn_call *call, tn_conv_geometry *out_geometry,
                      tn_float_epilogue *out_epilogue) {
    const tn_conv_geometry *g = out_geometry;
    return call->inputs[1] && call->inputs[1]->data && call->inputs[1]->rank == 4 &&
           tn_conv_geometry_read(call, out_geometry) &&
           tn_float_epilogue_read(call, 1, out_epilogue) && g->groups == 1 &&
           g->kernel_height == TN_WINOGRAD_KERNEL && g->kernel_width == TN_WINOGRAD_KERNEL &&
           g->stride_height == 1 && g->stride_width == 1 && g->dilation_height == 1 &&
           g->dilation_width == 1;
}

static int64_t tiles_of(const tn_conv_geometry *g) {
    return g->batch * tn_divide_up(g->out_height, OUTPUTS) * tn_divide_up(g->out_width, OUTPUTS);
}

static tn_status winograd_accepts(tn_call *call) {
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    if (!read_node(call, &geometry, &epilogue)) return TN_ERROR_UNSUPPORTED;
    const bool is_resident = geometry.channels <= RESIDENT_FLOATS / ELEMENTS / geometry.filters;
    return is_resident || tiles_of(&geometry) >= LEAST_TILES ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status winograd_tactics(tn_call *call) {
    const tn_cost_service *costs = call->host->extension(call->host, TN_COSTS);
    tn_conv_geometry g;
    call->tactic_count = 1;
    if (!costs || !tn_conv_geometry_read(call, &g)) return TN_OK;
    const double elements = (double)ELEMENTS * (double)tiles_of(&g),
                 outputs = (double)(g.batch * g.out_height * g.out_width);
    if (!(outputs > 0)) return TN_OK;
    const tn_cost cost = {.size = sizeof(cost),
                          .work = elements / (TAPS * outputs),
                          .passed =
                              2.0 * sizeof(float) * elements * (double)(g.channels + g.filters),
                          .grown = ((double)ELEMENTS / TAPS - 1) * (double)call->inputs[1]->bytes};
    costs->set(call, 0, &cost);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * prepare */

typedef struct pack_job {
    tn_call *call;
    const float *weights; /* [filter][channel][3][3] */
    float *to;
    int64_t filters, channels;
    int64_t panel, panels; /* filters of one, and how many */
} pack_job;

/* G: 1, p, p^2 over the products of p's differences from all other points. */
static const float points[POINTS][TN_WINOGRAD_KERNEL] = {
    {1.1377777778f, 0, 0},
    {-0.6884033613f, -0.4302521008f, -0.2689075630f},
    {-0.6884033613f, 0.4302521008f, -0.2689075630f},
    {0.1195144725f, 0.1792717087f, 0.2689075630f},
    {0.1195144725f, -0.1792717087f, 0.2689075630f},
    {0, 0, 1}};

/* to[i][f] = the sum over k of points[i][k] * taps[k * step][f]. */
static void transform_taps(const float (*taps)[MOST_PANEL], int step, int64_t filters,
                           float (*to)[MOST_PANEL]) {
    for (int i = 0; i < POINTS; i++)
        for (int64_t f = 0; f < filters; f++)
            to[i][f] = points[i][0] * taps[0][f] + points[i][1] * taps[step][f] +
                       points[i][2] * taps[2 * step][f];
}

/* G g G^T of a channel, of the filters of a panel. */
static void pack_channel(const pack_job *job, int64_t panel, int64_t channel) {
    float taps[TAPS][MOST_PANEL] = {{0}}, columns[POINTS * TN_WINOGRAD_KERNEL][MOST_PANEL],
          whole[POINTS][MOST_PANEL];
    const int64_t first = panel * job->panel, step = job->channels * job->panel;
    float *to = job->to + panel * ELEMENTS * step + channel * job->panel;
    for (int64_t f = 0; f < job->panel && first + f < job->filters; f++)
        for (int tap = 0; tap < TAPS; tap++)
            taps[tap][f] = job->weights[((first + f) * job->channels + channel) * TAPS + tap];
    for (int column = 0; column < TN_WINOGRAD_KERNEL; column++)
        transform_taps(taps + column, TN_WINOGRAD_KERNEL, job->panel, columns + column * POINTS);
    for (int row = 0; row < POINTS; row++) {
        transform_taps(columns + row, POINTS, job->panel, whole);
        for (int column = 0; column < POINTS; column++)
            memcpy(to + (row * POINTS + column) * step, whole[column],
                   (size_t)job->panel * sizeof(float));
    }
}

/* A unit is a channel of a panel. */
static tn_status pack_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pack_job *job = user;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++)
        pack_channel(job, unit / job->channels, unit % job->channels);
    return TN_OK;
}

static tn_status pack_weights(void *user, void *data, uint64_t bytes) {
    pack_job *job = user;
    (void)bytes;
    job->to = data;
    return job->call->host->parallel_for(job->call, job->panels * job->channels, 256, pack_units,
                                         job);
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "Winograd's algorithm does not do this geometry");
}

static tn_status winograd_prepare(tn_call *call) {
    const tn_winograd_level *level = call->user;
    tn_conv_geometry geometry;
    tn_float_epilogue epilogue;
    const void *packed = NULL;
    char key[64];
    if (!read_node(call, &geometry, &epilogue)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_winograd_state)));
    tn_winograd_state *state = call->state;
    const int64_t panel = TN_WINOGRAD_VECTORS * level->lanes;
    pack_job job = {.call = call,
                    .weights = call->inputs[1]->data,
                    .filters = geometry.filters,
                    .channels = geometry.channels,
                    .panel = panel,
                    .panels = tn_divide_up(geometry.filters, panel)};
    *state = (tn_winograd_state){.level = level, .panels = job.panels, .epilogue = epilogue};
    snprintf(key, sizeof(key), "4 x 4 by 3 x 3, panels of %lld", (long long)panel);
    const uint64_t bytes =
        (uint64_t)(job.panels * panel * ELEMENTS) * (uint64_t)geometry.channels * sizeof(float);
    const tn_status status = call->host->packed(call, 1, key, bytes, pack_weights, &job, &packed);
    state->weights = packed;
    return tn_kernel_state_finish(call, status);
}

/* ----------------------------------------------------------------------------------------------
 * open, reshape */

static tn_status winograd_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(tn_winograd_context));
}

static int64_t bias_floats(const tn_winograd_state *state) {
    return state->panels * TN_WINOGRAD_VECTORS * state->level->lanes;
}

/* A thread has, for the tiles of a block, elements of rows of channels, and of rows of filters of a
 * chunk of panels; from element to element there is a line more than the rows take, or all
 * elements of a tile would be in the same few sets of a cache. */
static void describe_buffers(const tn_winograd_state *state, tn_winograd_context *context,
                             int64_t tiles) {
    const int64_t lanes = state->level->lanes;
    context->channels = tn_divide_up(context->geometry.channels, lanes) * lanes;
    context->tile_floats = TN_WINOGRAD_CHUNK * TN_WINOGRAD_VECTORS * lanes;
    context->element_floats = tn_whole_vectors(tiles * context->channels) + 16;
    context->sums_floats = tn_whole_vectors(tiles * context->tile_floats) + 16;
    context->thread_floats = ELEMENTS * (context->element_floats + context->sums_floats) +
                             POINTS * POINTS * lanes; /* what a tile at an edge sees */
}

static tn_status winograd_reshape(tn_call *call) {
    const tn_winograd_state *state = call->state;
    tn_winograd_context *context = call->context;
    tn_conv_geometry *g = &context->geometry;
    const int64_t rows = state->level->rows, threads = call->threads ? call->threads : 1;
    if (!tn_conv_geometry_read(call, g)) return refuse(call);
    context->down = tn_divide_up(g->out_height, OUTPUTS);
    context->across = tn_divide_up(g->out_width, OUTPUTS);
    const int64_t found = tiles_of(g), tiles = found > 0 ? found : 1; /* of none nothing runs */
    int64_t most = BLOCK_FLOATS / (ELEMENTS * g->channels) / rows;
    most = most < 1 ? 1 : most > BLOCK_TILES / rows ? BLOCK_TILES / rows : most;
    context->groups = tn_divide_up(tiles, rows);
    context->blocks = tn_divide_up(context->groups, most);
    context->parts = 1;
    if (context->blocks < threads) { /* each transforms the block's input, which is little */
        context->parts = tn_divide_up(threads, context->blocks);
        if (context->parts > state->panels) context->parts = state->panels;
    } else {
        const int64_t even = tn_divide_up(context->blocks, threads) * threads;
        context->blocks = even < context->groups ? even : context->groups;
    }
    describe_buffers(state, context, tn_divide_up(context->groups, context->blocks) * rows);
    call->workspace_bytes =
        (uint64_t)(tn_whole_vectors(bias_floats(state)) + threads * context->thread_floats) *
        sizeof(float);
    return TN_OK;
}

static tn_status winograd_run_node(tn_call *call) {
    const tn_winograd_state *state = call->state;
    const tn_winograd_context *context = call->context;
    const tn_tensor *own = call->input_count > 2 ? call->inputs[2] : NULL;
    const int64_t filters = context->geometry.filters;
    tn_winograd_run run = {.state = state,
                           .context = context,
                           .x = call->inputs[0]->data,
                           .y = call->outputs[0]->data,
                           .bias = call->workspace};
    if (call->outputs[0]->bytes == 0) return TN_OK;
    run.buffers = run.bias + tn_whole_vectors(bias_floats(state));
    memset(run.bias + filters, 0, (size_t)(bias_floats(state) - filters) * sizeof(float));
    tn_epilogue_gather_bias(call, &state->epilogue, own ? own->data : NULL, 1, 1.0f, 0, filters,
                            run.bias);
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    return tn_winograd_run_all(call, &run);
}

#define WINOGRAD_KERNEL(level, format)                                                             \
    static const char *const combinations_##level[] = {"f32:" format                               \
                                                       ", f32, f32? -> f32:" format};              \
    const tn_kernel tn_conv_winograd_##level = {                                                   \
        TN_KERNEL_BEGIN("cpu", "", "Conv", "winograd_" #level, 1,                                  \
                        "Tiles of 4 x 4 outputs by Winograd's algorithm."),                        \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .user = (void *)(uintptr_t)&tn_winograd_##level,                                           \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS "|swish"),                               \
        TN_COMBINATIONS(combinations_##level),                                                     \
        .accepts = winograd_accepts,                                                               \
        .tactics = winograd_tactics,                                                               \
        .prepare = winograd_prepare,                                                               \
        .release = tn_kernel_state_destroy,                                                        \
        .open = winograd_open,                                                                     \
        .close = tn_kernel_context_destroy,                                                        \
        .reshape = winograd_reshape,                                                               \
        .run = winograd_run_node,                                                                  \
    }
/* Beside the level they differ in the format that its vectors fill. */
WINOGRAD_KERNEL(avx2, "c8");
WINOGRAD_KERNEL(avx512, "c16");

#endif
