/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of a recurrent layer with packed weights: the input's product for a block of steps at once,
 * then step by step the hidden state's product and the cells (cells.c). Which rows a product is
 * done with never depends on the threads, and so the bits do not. The formulas are in recurrent.h.
 */
#include "kit/math/recurrent_function.h"
#include "recurrent/kernels.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/matrix_product.h>
#include <tenon/kit/parallel.h>

#include <string.h>

typedef struct recurrent_run {
    tn_call *call;
    const tn_recurrent *node;
    const tn_recurrent_state *state;
    tn_recurrent_direction directions[2];
    tn_recurrent_packed packed[2]; /* the state's, or of this run */
    int64_t groups, chunks;        /* of streams that are done together; of the hidden state */
    float *hidden_states;          /* steps x streams x hidden: what the output layer reads */
    int64_t iteration, end;        /* end: of the block of iterations */
    uint32_t phase;
} recurrent_run;

/* ----------------------------------------------------------------------------------------------
 * workspace */

/* Adds room for `count` floats, aligned to 64 bytes; *out_first: where they begin. */
static bool add_buffer(int64_t count, int64_t *floats, int64_t *out_first) {
    int64_t padded;
    *out_first = *floats;
    return tn_infer_add(count, 15, &padded) && tn_infer_add(*floats, padded / 16 * 16, floats);
}

/* Steps whose gates are kept at once. They stay in a core's own cache, where the layout of x lets
 * them; more rows than that cache holds are done together where the weights of the input would be
 * read too often. A static input's product is computed once, for all steps. */
static int64_t block_of(const tn_recurrent *node) {
    enum { CACHE_FLOATS = 1 << 15, LEAST_ROWS = 48 };
    int64_t each;
    if (node->x_static || node->kind->is_dynamic ||
        !tn_infer_multiply(node->streams, node->columns, &each) || each == 0)
        return node->steps;
    const int64_t least =
        node->streams < LEAST_ROWS ? (LEAST_ROWS + node->streams - 1) / node->streams : 1;
    const int64_t block = CACHE_FLOATS / each > least ? CACHE_FLOATS / each : least;
    return block < node->steps ? block : node->steps;
}

tn_status tn_recurrent_measure(tn_call *call, const tn_recurrent *node,
                               tn_recurrent_layout *out_layout) {
    const tn_recurrent_state *state_of = call->state;
    tn_recurrent_layout layout = {.block = block_of(node)};
    int64_t rows = 0, gates = 0, state = 0, states = 0, both = 0, floats = 0, widened = 0;
    const bool fits =
        tn_infer_multiply(node->steps, node->streams, &rows) &&
        tn_infer_multiply(layout.block * node->streams, node->columns, &gates) &&
        tn_infer_multiply(node->streams, node->hidden, &state) &&
        tn_infer_multiply(state, 2, &both) &&
        (!node->output_weights || tn_infer_multiply(rows, node->hidden, &states)) &&
        add_buffer(gates, &floats, &layout.gates) && add_buffer(both, &floats, &layout.h) &&
        add_buffer(state, &floats, &layout.c) && add_buffer(state, &floats, &layout.reset) &&
        add_buffer(node->columns, &floats, &layout.bias) &&
        add_buffer(node->hidden, &floats, &layout.hidden_bias);
    layout.direction_floats = floats;
    if (!fits || !tn_infer_multiply(floats, node->directions, &layout.floats) ||
        !add_buffer(TN_RECURRENT_MOST_GATES * TN_RECURRENT_CHUNK, &layout.floats, &layout.zeros) ||
        !add_buffer(states, &layout.floats, &layout.hidden_states) ||
        !add_buffer(state_of->packs_at_run ? tn_recurrent_packed_floats(state_of->level, node) : 0,
                    &layout.floats, &layout.packed) ||
        !tn_recurrent_widened_floats(node, &widened) ||
        !add_buffer(widened, &layout.floats, &layout.widened) ||
        layout.floats > INT64_MAX / (int64_t)sizeof(float))
        return call->host->fail(call, TN_ERROR_MEMORY,
                                "%lld steps of %lld streams need more memory than there can be",
                                (long long)node->steps, (long long)node->streams);
    *out_layout = layout;
    return TN_OK;
}

/* Whether a direction's cells are those of step.h. */
static bool is_usual(const tn_recurrent *node, int64_t direction) {
    for (uint32_t i = 0; i < node->kind->functions; i++)
        if (node->functions[direction][i].kind !=
            (i == 0 ? TN_RECURRENT_SIGMOID : TN_RECURRENT_TANH))
            return false;
    return node->kind->cell != TN_CELL_RNN && !node->peepholes && !node->input_forget &&
           !node->cont && node->clip >= FLT_MAX;
}

static void set_workspace(recurrent_run *run, float *workspace, const tn_recurrent_layout *layout) {
    const tn_recurrent *node = run->node;
    float *zeros = workspace + layout->zeros;
    memset(zeros, 0, TN_RECURRENT_MOST_GATES * TN_RECURRENT_CHUNK * sizeof(float));
    run->hidden_states = workspace + layout->hidden_states;
    for (int64_t d = 0; d < node->directions; d++, workspace += layout->direction_floats)
        run->directions[d] = (tn_recurrent_direction){
            .node = node,
            .level = run->state->level,
            .packed = &run->packed[d],
            .index = d,
            .is_reverse = tn_recurrent_is_reverse(node, d),
            .is_usual = is_usual(node, d),
            .block = layout->block,
            .gates = workspace + layout->gates,
            .h = {workspace + layout->h, workspace + layout->h + node->streams * node->hidden},
            .c = workspace + layout->c,
            .reset = workspace + layout->reset,
            .bias = workspace + layout->bias,
            .hidden_bias = workspace + layout->hidden_bias,
            .zeros = zeros,
            .y = node->output_weights ? run->hidden_states
                 : node->y            ? node->y->data
                                      : NULL,
        };
}

/* ----------------------------------------------------------------------------------------------
 * before the first step */

/* The bias in the gates' order. That of the hidden state is added, or, of a GRU's candidate with
 * linear_before_reset, kept apart. */
static void begin_bias(const tn_recurrent_direction *direction) {
    const tn_recurrent *node = direction->node;
    const int64_t candidate =
        node->linear_before_reset ? tn_recurrent_first_gates(node) * node->hidden : node->columns;
    const int64_t parts = node->has_two_biases ? 2 : 1;
    memset(direction->bias, 0, (size_t)node->columns * sizeof(float));
    memset(direction->hidden_bias, 0, (size_t)node->hidden * sizeof(float));
    if (!node->bias) return;
    const float *bias = (const float *)node->bias->data + direction->index * parts * node->columns;
    for (int64_t column = 0; column < node->columns; column++) {
        const int64_t row = tn_recurrent_weights_row(node, column);
        const float hidden = node->has_two_biases ? bias[node->columns + row] : 0;
        if (column >= candidate) direction->hidden_bias[column - candidate] = hidden;
        direction->bias[column] = bias[row] + (column < candidate ? hidden : 0);
    }
}

static void begin_state(const tn_recurrent_direction *direction) {
    const tn_recurrent *node = direction->node;
    const size_t bytes = (size_t)node->hidden * sizeof(float);
    for (int64_t n = 0; n < node->streams; n++) {
        const int64_t at = tn_recurrent_state_at(node, direction->index, n);
        float *h = direction->h[0] + n * node->hidden, *c = direction->c + n * node->hidden;
        memset(h, 0, bytes);
        memset(c, 0, bytes);
        if (node->h_0) memcpy(h, (const float *)node->h_0->data + at, bytes);
        if (node->c_0) memcpy(c, (const float *)node->c_0->data + at, bytes);
        if (!node->cont || node->steps == 0) continue;
        const float cont = tn_recurrent_cont(node, 0, n);
        for (int64_t k = 0; k < node->hidden; k++)
            h[k] *= cont;
    }
}

/* The product of the input for `steps` steps from `first_step` on. */
static tn_status multiply_steps(tn_call *call, const tn_recurrent_direction *direction,
                                int64_t steps, tn_matrix_product *product) {
    const tn_recurrent *node = direction->node;
    const float *x = node->x->data;
    const int64_t parts = node->streams_first ? node->streams : 1;
    product->rows = node->streams_first ? steps : steps * node->streams;
    for (int64_t i = 0; i < parts; i++) {
        product->a = x + tn_recurrent_x_row(node, direction->first_step, i) * node->depth;
        product->output =
            direction->gates + tn_recurrent_gates_row(direction, 0, i) * node->columns;
        if (product->residual) product->residual = product->output;
        TN_TRY(tn_matrix_product_run(call, product));
    }
    return TN_OK;
}

/* Products of the input for `steps` steps, with the bias and what a static input adds. */
static tn_status multiply_inputs(tn_call *call, const recurrent_run *run,
                                 const tn_recurrent_direction *direction, int64_t steps) {
    const tn_recurrent *node = run->node;
    const int64_t stream_gates = node->streams * node->columns;
    tn_matrix_product product = {.level = run->state->level->matrix,
                                 .bias = direction->bias,
                                 .output = direction->gates,
                                 .columns = node->columns};
    if (node->x_static && node->steps > 0) {
        product.a = node->x_static->data;
        product.packed = run->state->static_weights;
        product.rows = node->streams;
        product.depth = node->static_depth;
        TN_TRY(tn_matrix_product_run(call, &product));
        for (int64_t step = 1; step < node->steps; step++)
            memcpy(direction->gates + step * stream_gates, direction->gates,
                   (size_t)stream_gates * sizeof(float));
        memset(direction->bias, 0, (size_t)node->columns * sizeof(float));
        product.residual = direction->gates;
    }
    if (run->state->multiply_inputs) return run->state->multiply_inputs(call, direction);
    product.packed = direction->packed->input_weights;
    product.depth = node->depth;
    return multiply_steps(call, direction, steps, &product);
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static void do_part(const recurrent_run *run, int64_t direction, int64_t group, int64_t chunk,
                    int64_t iteration, uint32_t phase) {
    const tn_recurrent *node = run->node;
    const int64_t first = chunk * TN_RECURRENT_CHUNK, left = node->hidden - first;
    const tn_recurrent_part part = {
        .direction = &run->directions[direction],
        .iteration = iteration,
        .step = run->directions[direction].is_reverse ? node->steps - 1 - iteration : iteration,
        .first_stream = tn_parallel_first(node->streams, run->groups, group),
        .end_stream = tn_parallel_first(node->streams, run->groups, group + 1),
        .first = first,
        .count = left < TN_RECURRENT_CHUNK ? left : TN_RECURRENT_CHUNK};
    tn_recurrent_do_part(&part, phase);
}

/* An item is a direction of a group of streams, which no other item depends on: all steps of the
 * block. */
static tn_status do_groups(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    const uint32_t phases = tn_recurrent_phases(run->node);
    (void)thread;
    for (int64_t item = begin; item < end; item++)
        for (int64_t i = run->iteration * phases; i < run->end * phases; i++)
            for (int64_t chunk = 0; chunk < run->chunks; chunk++)
                do_part(run, item / run->groups, item % run->groups, chunk, i / phases,
                        (uint32_t)(i % phases));
    return TN_OK;
}

/* An item is a direction's chunk in one phase of one step, for all streams. Every other iteration
 * begins at the end: what was read last is still in the cache. */
static tn_status do_chunks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t item = run->iteration % 2 ? begin + end - 1 - i : i;
        for (int64_t group = 0; group < run->groups; group++)
            do_part(run, item / run->chunks, group, item % run->chunks, run->iteration, run->phase);
    }
    return TN_OK;
}

/* An item is a direction, whose products the kernel's own function does. */
static tn_status do_directions(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    for (int64_t d = begin; d < end; d++) {
        const tn_recurrent_direction *direction = &run->directions[d];
        for (int64_t i = run->iteration; i < run->end; i++) {
            const int64_t step = direction->is_reverse ? run->node->steps - 1 - i : i;
            TN_TRY(run->state->multiply_step(run->call, direction, i, step, thread));
            for (int64_t group = 0; group < run->groups; group++)
                for (int64_t chunk = 0; chunk < run->chunks; chunk++)
                    do_part(run, d, group, chunk, i, 0);
        }
    }
    return TN_OK;
}

/* Whether threads take whole groups: that needs no meeting after each step, but each thread reads
 * all weights of its directions. */
static bool takes_groups(const tn_call *call, const recurrent_run *run) {
    enum { CACHE_FLOATS = 1 << 18 }; /* what a processor's own cache holds beside the rest */
    const tn_recurrent *node = run->node;
    if (call->threads < 2) return false;
    if (node->directions >= call->threads) return true;
    return node->directions * run->groups >= call->threads &&
           node->hidden * node->columns <= CACHE_FLOATS;
}

/* Iterations run->iteration to run->end - 1. */
static tn_status do_steps(tn_call *call, recurrent_run *run) {
    enum { GRAIN = 200000 }; /* multiplications: about 2 microseconds */
    const tn_recurrent *node = run->node;
    const int64_t rows = node->streams < 3 ? 3 : node->streams; /* few are bound by the weights */
    const int64_t each = node->hidden * TN_RECURRENT_CHUNK * (int64_t)node->kind->gates * rows;
    if (run->state->multiply_step)
        return call->host->parallel_for(call, node->directions, 1, do_directions, run);
    if (takes_groups(call, run))
        return call->host->parallel_for(call, node->directions * run->groups, 1, do_groups, run);
    for (; run->iteration < run->end; run->iteration++)
        for (run->phase = 0; run->phase < tn_recurrent_phases(node); run->phase++)
            TN_TRY(call->host->parallel_for(call, node->directions * run->chunks,
                                            tn_parallel_grain(GRAIN, each), do_chunks, run));
    return TN_OK;
}

static tn_status do_block(tn_call *call, recurrent_run *run, int64_t first, int64_t steps) {
    const tn_recurrent *node = run->node;
    for (int64_t d = 0; d < node->directions; d++) {
        tn_recurrent_direction *direction = &run->directions[d];
        direction->first_step = direction->is_reverse ? node->steps - first - steps : first;
        TN_TRY(multiply_inputs(call, run, direction, steps));
    }
    run->iteration = first;
    run->end = first + steps;
    return do_steps(call, run);
}

/* ----------------------------------------------------------------------------------------------
 * after the last step */

/* An item is a row of y. */
static tn_status do_tanh(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    const int64_t hidden = run->node->hidden;
    float *rows = (float *)run->node->y->data + begin * hidden;
    (void)thread;
    run->state->level->rows->maps[TN_ACTIVATION_TANH](0, 0, (end - begin) * hidden, rows, rows);
    return TN_OK;
}

/* The output layer, for all steps at once. */
static tn_status multiply_outputs(tn_call *call, recurrent_run *run) {
    enum { GRAIN = 2048 };
    const tn_recurrent *node = run->node;
    const int64_t rows = node->steps * node->streams;
    if (!node->output_weights || !node->y) return TN_OK;
    const tn_matrix_product product = {.level = run->state->level->matrix,
                                       .a = run->hidden_states,
                                       .packed = run->state->output_weights,
                                       .bias = node->output_bias->data,
                                       .output = node->y->data,
                                       .rows = rows,
                                       .depth = node->hidden,
                                       .columns = node->hidden};
    TN_TRY(tn_matrix_product_run(call, &product));
    return call->host->parallel_for(call, rows, tn_parallel_grain(GRAIN, node->hidden), do_tanh,
                                    run);
}

static void write_state(const tn_recurrent_direction *direction) {
    const tn_recurrent *node = direction->node;
    const size_t bytes = (size_t)node->hidden * sizeof(float);
    for (int64_t n = 0; n < node->streams; n++) {
        const int64_t at = tn_recurrent_state_at(node, direction->index, n);
        if (node->h_last)
            memcpy((float *)node->h_last->data + at,
                   direction->h[node->steps % 2] + n * node->hidden, bytes);
        if (node->c_last)
            memcpy((float *)node->c_last->data + at, direction->c + n * node->hidden, bytes);
    }
}

tn_status tn_recurrent_run(tn_call *call) {
    tn_recurrent node = {0};
    tn_recurrent_layout layout = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_check_lengths(call, &node));
    TN_TRY(tn_recurrent_measure(call, &node, &layout));
    if (node.streams == 0) return TN_OK;
    tn_recurrent_widened widened = {0};
    const bool is_wide = node.x->type == TN_F32;
    const tn_recurrent_state *state = call->state;
    float *workspace = call->workspace;
    if (!is_wide) tn_recurrent_widen(state->level, workspace + layout.widened, &node, &widened);
    recurrent_run run = {.call = call,
                         .node = &node,
                         .state = state,
                         .groups = (node.streams + TN_RECURRENT_ROWS - 1) / TN_RECURRENT_ROWS,
                         .chunks = tn_recurrent_chunks(&node)};
    memcpy(run.packed, run.state->directions, sizeof(run.packed));
    if (run.state->packs_at_run)
        TN_TRY(tn_recurrent_pack_at_run(call, &node, workspace + layout.packed, run.packed));
    set_workspace(&run, workspace, &layout);
    for (int64_t d = 0; d < node.directions; d++) {
        begin_bias(&run.directions[d]);
        begin_state(&run.directions[d]);
    }
    for (int64_t first = 0; first < node.steps; first += layout.block)
        TN_TRY(do_block(call, &run, first,
                        node.steps - first < layout.block ? node.steps - first : layout.block));
    TN_TRY(multiply_outputs(call, &run));
    for (int64_t d = 0; d < node.directions; d++)
        write_state(&run.directions[d]);
    if (!is_wide) tn_recurrent_narrow(state->level, &node, &widened);
    return TN_OK;
}
