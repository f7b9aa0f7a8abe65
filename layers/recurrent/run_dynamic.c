/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of DynamicQuantizeLSTM (dynamic.h): run.c's steps and cells with products of integers
 * (kit/int8/integer_product.h), whose columns are in the gates' order of kernels.h. The workspace
 * is that of run.c, then for each direction scales and zero points of its columns and the quantised
 * state, then the quantised input, then each thread's band.
 */
#include "kit/int8/integer_product.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include "recurrent/dynamic.h"
#include "recurrent/kernels.h"
#include <tenon/kit/infer.h>

#include <stdio.h>
#include <string.h>

typedef struct dynamic_level {
    tn_recurrent_level floats;
    const tn_integer_level *integers;
} dynamic_level;

typedef struct dynamic_state {
    tn_recurrent_state floats;
    const void *blobs[2][2]; /* by direction and weights */
} dynamic_state;

/* ----------------------------------------------------------------------------------------------
 * weights */

static bool make_product(const tn_call *call, const tn_recurrent *node, int which,
                         tn_integer_product *out_product) {
    const dynamic_level *level = call->user;
    const tn_tensor *weights = which == TN_DYNAMIC_W ? node->input_weights : node->hidden_weights;
    if (!tn_integer_product_make(level->integers, 1, weights->shape[1], node->columns, true,
                                 out_product))
        return false;
    out_product->b_is_unsigned = weights->type == TN_U8;
    return true;
}

typedef struct pack_job {
    tn_call *call;
    const tn_recurrent *node;
    const tn_integer_product *product;
    const uint8_t *weights; /* of the direction: depth x columns */
} pack_job;

static tn_status fill_blob(void *user, void *data, uint64_t bytes) {
    const pack_job *job = user;
    const tn_host *host = job->call->host;
    const int64_t columns = job->node->columns, depth = job->product->depth;
    uint8_t *ordered = host->allocate(host, (uint64_t)(depth * columns), 64);
    (void)bytes;
    if (!ordered) return TN_ERROR_MEMORY;
    for (int64_t column = 0; column < columns; column++) {
        const int64_t from = tn_recurrent_weights_row(job->node, column);
        for (int64_t k = 0; k < depth; k++)
            ordered[k * columns + column] = job->weights[k * columns + from];
    }
    tn_integer_product_pack(job->product, ordered, 0, tn_integer_product_blocks(job->product),
                            data);
    host->deallocate(host, ordered);
    return TN_OK;
}

static tn_status pack_weights(tn_call *call, const tn_recurrent *node, int which,
                              dynamic_state *state) {
    const uint32_t input =
        which == TN_DYNAMIC_W ? node->kind->input_weights : node->kind->hidden_weights;
    tn_integer_product product;
    char key[64];
    if (!make_product(call, node, which, &product)) return TN_ERROR_UNSUPPORTED;
    for (int64_t d = 0; d < node->directions; d++) {
        pack_job job = {call, node, &product,
                        (const uint8_t *)call->inputs[input]->data +
                            d * product.depth * node->columns};
        snprintf(key, sizeof(key), "gates %lld, integers by %u", (long long)d,
                 product.level->dot->group);
        TN_TRY(call->host->packed(call, input, key, tn_dot_layout_bytes(&product.layout), fill_blob,
                                  &job, &state->blobs[d][which]));
    }
    return TN_OK;
}

static tn_status dynamic_accepts(tn_call *call) {
    tn_recurrent node = {0};
    tn_integer_product product;
    TN_TRY(tn_recurrent_read(call, &node));
    if (!node.input_weights->data || !node.hidden_weights->data || node.columns <= 0)
        return TN_ERROR_UNSUPPORTED;
    return make_product(call, &node, TN_DYNAMIC_W, &product) &&
                   make_product(call, &node, TN_DYNAMIC_R, &product)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * workspace, in bytes; each part begins at a multiple of 64 */

typedef struct dynamic_layout {
    uint64_t scales[2], zeros[2], h, direction_bytes; /* from the direction's beginning */
    uint64_t directions, x, bands, band_bytes, bytes;
} dynamic_layout;

static uint64_t take(uint64_t bytes, uint64_t *at) {
    const uint64_t first = *at;
    *at += (bytes + 63) / 64 * 64;
    return first;
}

static tn_status measure(tn_call *call, const tn_recurrent *node, dynamic_layout *out_layout) {
    const uint64_t columns = (uint64_t)node->columns;
    tn_recurrent_layout floats = {0};
    tn_integer_product product;
    dynamic_layout layout = {0};
    TN_TRY(tn_recurrent_measure(call, node, &floats));
    for (int which = 0; which < 2; which++) {
        if (!make_product(call, node, which, &product)) return TN_ERROR_UNSUPPORTED;
        const uint64_t bytes = tn_integer_band_bytes(&product);
        layout.band_bytes = bytes > layout.band_bytes ? bytes : layout.band_bytes;
        layout.scales[which] = take(columns * sizeof(float), &layout.direction_bytes);
        layout.zeros[which] = take(columns * sizeof(int32_t), &layout.direction_bytes);
    }
    layout.h = take((uint64_t)(node->streams * node->hidden), &layout.direction_bytes);
    (void)take((uint64_t)floats.floats * sizeof(float), &layout.bytes);
    layout.directions = take((uint64_t)node->directions * layout.direction_bytes, &layout.bytes);
    layout.x = take((uint64_t)(node->steps * node->streams * node->depth), &layout.bytes);
    layout.bands = take(call->threads * layout.band_bytes, &layout.bytes);
    *out_layout = layout;
    return TN_OK;
}

static tn_status dynamic_reshape(tn_call *call) {
    tn_recurrent node = {0};
    dynamic_layout layout;
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(measure(call, &node, &layout));
    call->workspace_bytes = layout.bytes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * products */

/* Rows of bytes by weights, added to rows of gates. */
typedef struct dynamic_product {
    const tn_recurrent_direction *direction;
    tn_integer_product product;
    tn_dynamic_range range;
    const uint8_t *x;
    const float *scales; /* of the columns */
    const int32_t *zeros;
    const float *bias; /* null: added to what the gates have */
    char *bands;
    uint64_t band_bytes;
    int64_t rows;
    float *gates;
    int64_t stride; /* of the gates, from row to row */
} dynamic_product;

static void do_band(const dynamic_product *job, int64_t first, uint32_t thread) {
    const int64_t left = job->rows - first, columns = job->product.layout.columns;
    tn_integer_band band = {.rows = left < TN_INTEGER_BAND ? left : TN_INTEGER_BAND,
                            .a = job->x + first * job->product.depth,
                            .a_stride = job->product.depth,
                            .b_zero = job->zeros};
    for (int64_t r = 0; r < band.rows; r++)
        band.a_zero[r] = job->range.zero;
    tn_integer_band_run(&job->product, &band, job->bands + thread * job->band_bytes);
    for (int64_t r = 0; r < band.rows; r++) {
        float *gates = job->gates + (first + r) * job->stride;
        const float *added = job->bias ? job->bias : gates;
        job->direction->level->step->scale_sums(columns, band.sums + r * band.stride,
                                                job->range.scale, job->scales, added, gates);
    }
}

static tn_status do_bands(void *user, int64_t begin, int64_t end, uint32_t thread) {
    for (int64_t i = begin; i < end; i++)
        do_band(user, i * TN_INTEGER_BAND, thread);
    return TN_OK;
}

static tn_dynamic_range quantise_state(const tn_recurrent_direction *direction, int64_t iteration,
                                       uint8_t *to) {
    const tn_recurrent *node = direction->node;
    const float *h = direction->h[iteration % 2];
    const tn_recurrent_step_level *step = direction->level->step;
    const int64_t hidden = node->hidden;
    float low = 0, high = 0;
    for (int64_t n = 0; n < node->streams; n++)
        if (tn_dynamic_counts(node, direction->is_reverse, iteration, n))
            step->range(hidden, h + n * hidden, &low, &high);
    const tn_dynamic_range range = tn_dynamic_range_of(low, high);
    for (int64_t n = 0; n < node->streams; n++) {
        if (tn_dynamic_counts(node, direction->is_reverse, iteration, n))
            step->to_bytes(hidden, h + n * hidden, range.scale, range.zero, to + n * hidden);
        else
            memset(to + n * hidden, range.zero, (size_t)hidden);
    }
    return range;
}

/* What both products of a direction have in common. */
static tn_status begin_product(tn_call *call, const tn_recurrent_direction *direction, int which,
                               dynamic_layout *layout, dynamic_product *job) {
    const dynamic_state *state = call->state;
    char *workspace = call->workspace;
    TN_TRY(measure(call, direction->node, layout));
    *job = (dynamic_product){.direction = direction};
    if (!make_product(call, direction->node, which, &job->product)) return TN_ERROR_UNSUPPORTED;
    char *own =
        workspace + layout->directions + (uint64_t)direction->index * layout->direction_bytes;
    job->product.blob = state->blobs[direction->index][which];
    job->scales = (float *)(void *)(own + layout->scales[which]);
    job->zeros = (int32_t *)(void *)(own + layout->zeros[which]);
    job->bands = workspace + layout->bands;
    job->band_bytes = layout->band_bytes;
    return TN_OK;
}

/* Scales and zero points of the columns, in the gates' order. */
static void read_columns(const tn_recurrent_direction *direction, int which,
                         const dynamic_product *job) {
    float *scales = (float *)(uintptr_t)job->scales;
    int32_t *zeros = (int32_t *)(uintptr_t)job->zeros;
    for (int64_t c = 0; c < direction->node->columns; c++) {
        const int64_t column = tn_recurrent_weights_row(direction->node, c);
        scales[c] = tn_dynamic_scale(direction->node, which, direction->index, column);
        zeros[c] = tn_dynamic_zero(direction->node, which, direction->index, column);
    }
}

/* run.c's multiply_inputs: the block is all steps, so that the gates' rows are those of x. */
static tn_status multiply_inputs(tn_call *call, const tn_recurrent_direction *direction) {
    const tn_recurrent *node = direction->node;
    dynamic_layout layout;
    dynamic_product job;
    TN_TRY(begin_product(call, direction, TN_DYNAMIC_R, &layout, &job));
    read_columns(direction, TN_DYNAMIC_R, &job);
    TN_TRY(begin_product(call, direction, TN_DYNAMIC_W, &layout, &job));
    read_columns(direction, TN_DYNAMIC_W, &job);
    uint8_t *x = (uint8_t *)call->workspace + layout.x;
    float low = 0, high = 0;
    job.rows = node->steps * node->streams;
    direction->level->step->range(job.rows * node->depth, node->x->data, &low, &high);
    job.range = tn_dynamic_range_of(low, high);
    direction->level->step->to_bytes(job.rows * node->depth, node->x->data, job.range.scale,
                                     job.range.zero, x);
    job.x = x;
    job.bias = direction->bias;
    job.gates = direction->gates;
    job.stride = node->columns;
    return call->host->parallel_for(call, (job.rows + TN_INTEGER_BAND - 1) / TN_INTEGER_BAND, 1,
                                    do_bands, &job);
}

/* Adds the hidden state's product to the gates of a step. */
static tn_status multiply_step(tn_call *call, const tn_recurrent_direction *direction,
                               int64_t iteration, int64_t step, uint32_t thread) {
    const tn_recurrent *node = direction->node;
    dynamic_layout layout;
    dynamic_product job;
    TN_TRY(begin_product(call, direction, TN_DYNAMIC_R, &layout, &job));
    uint8_t *h = (uint8_t *)call->workspace + layout.directions +
                 (uint64_t)direction->index * layout.direction_bytes + layout.h;
    job.range = quantise_state(direction, iteration, h);
    job.x = h;
    job.rows = node->streams;
    job.gates = direction->gates + tn_recurrent_gates_row(direction, step, 0) * node->columns;
    job.stride =
        (tn_recurrent_gates_row(direction, step, 1) - tn_recurrent_gates_row(direction, step, 0)) *
        node->columns;
    for (int64_t first = 0; first < job.rows; first += TN_INTEGER_BAND)
        do_band(&job, first, thread);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static tn_status dynamic_prepare(tn_call *call) {
    const dynamic_level *level = call->user;
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_kernel_state_create(call, sizeof(dynamic_state)));
    dynamic_state *state = call->state;
    state->floats.level = &level->floats;
    state->floats.multiply_inputs = multiply_inputs;
    state->floats.multiply_step = multiply_step;
    tn_status status = pack_weights(call, &node, TN_DYNAMIC_W, state);
    if (status == TN_OK) status = pack_weights(call, &node, TN_DYNAMIC_R, state);
    return tn_kernel_state_finish(call, status);
}

static const char *const dynamic_combinations[] = {
    "f32, i8, i8, f32?, i32?, f32?, f32?, f32?, f32, i8?, f32, i8? -> f32?, f32?, f32?",
    "f32, u8, u8, f32?, i32?, f32?, f32?, f32?, f32, u8?, f32, u8? -> f32?, f32?, f32?"};

#define DYNAMIC_LEVEL(level, floats)                                                               \
    static const dynamic_level levels_##level = {                                                  \
        {&tn_matrix_##floats, &tn_rows_##floats, &tn_recurrent_step_##floats, &tn_cells_##floats}, \
        &tn_integer_##level}
DYNAMIC_LEVEL(baseline, baseline);
DYNAMIC_LEVEL(avx2, avx2);
DYNAMIC_LEVEL(avx512vnni, avx512);
TN_LEVEL_KERNELS_OF(, tn_dynamic_lstm, TN_LEVELS_VNNI(levels), "com.microsoft", 2,
                    "DynamicQuantizeLSTM", "integer",
                    "Products of bytes with exact sums, weights packed.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(dynamic_combinations), .accepts = dynamic_accepts,
                    .prepare = dynamic_prepare, .release = tn_kernel_state_destroy,
                    .reshape = dynamic_reshape, .run = tn_recurrent_run);
