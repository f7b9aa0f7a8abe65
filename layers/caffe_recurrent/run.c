/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe's LSTM and RNN with packed weights, in 32-bit floats: the product with the input for all
 * time steps at once, then a step a time the product with the hidden state and the gates. The
 * products are tenon/kit/matrix_product.h's, the functions tenon/kit/rows.h's; the formulas
 * are in recurrent.h.
 */
#include "caffe_recurrent/kernels.h"
#include <tenon/kit/matrix_product.h>
#include <tenon/kit/infer.h>

#include <string.h>

/* A run. Pointers into the workspace; `hidden_states` is where step t writes its own, at
 * t * streams * hidden: an LSTM's output where somebody asks for it, an RNN's gates. */
typedef struct recurrent_run {
    const tn_recurrent_state *state;
    tn_recurrent node;
    float *gates; /* steps x streams x columns */
    float *kept;  /* streams x hidden: cont * the hidden state before */
    float *cell;  /* streams x hidden */
    float *zeros; /* a bias of none */
    float *hidden_states;
    int64_t step;
} recurrent_run;

/* Elements of a row that are done at once, and how many such a thread gets at least. */
enum { CHUNK = 256, GRAIN = 8 };

/* Products of the input for all steps, with the bias and what the static input adds. */
static tn_status multiply_inputs(tn_call *call, const recurrent_run *run) {
    const tn_recurrent *node = &run->node;
    const int64_t stream_gates = node->streams * node->columns;
    tn_matrix_product product = {.level = run->state->level->matrix,
                                 .bias = node->bias->data,
                                 .output = run->gates,
                                 .columns = node->columns};
    if (node->x_static && node->steps > 0) {
        product.a = node->x_static->data;
        product.packed = run->state->static_weights;
        product.rows = node->streams;
        product.depth = node->static_depth;
        TN_TRY(tn_matrix_product_run(call, &product));
        for (int64_t step = 1; step < node->steps; step++)
            memcpy(run->gates + step * stream_gates, run->gates,
                   (size_t)stream_gates * sizeof(float));
        product.residual = run->gates;
        product.bias = run->zeros;
    }
    product.a = node->x->data;
    product.packed = run->state->input_weights;
    product.rows = node->steps * node->streams;
    product.depth = node->depth;
    return tn_matrix_product_run(call, &product);
}

/* What the next step of a stream takes over of its hidden state. */
static void keep(const recurrent_run *run, int64_t next_step, int64_t stream, int64_t first,
                 int64_t count, const float *hidden) {
    const tn_recurrent *node = &run->node;
    if (next_step == node->steps) return;
    const float cont = ((const float *)node->cont->data)[next_step * node->streams + stream];
    float *kept = run->kept + stream * node->hidden + first;
    for (int64_t i = 0; i < count; i++)
        kept[i] = cont * hidden[i];
}

static void do_lstm(const recurrent_run *run, int64_t stream, int64_t first, int64_t count) {
    const tn_recurrent *node = &run->node;
    const tn_map_function sigmoid = run->state->level->rows->maps[TN_ACTIVATION_SIGMOID];
    const tn_map_function hyperbolic = run->state->level->rows->maps[TN_ACTIVATION_TANH];
    const int64_t row = run->step * node->streams + stream;
    const float cont = ((const float *)node->cont->data)[row];
    float *input = run->gates + row * node->columns + first, *forget = input + node->hidden,
          *output = forget + node->hidden, *candidate = output + node->hidden;
    float *cell = run->cell + stream * node->hidden + first;
    float *hidden = run->hidden_states + row * node->hidden + first;
    sigmoid(0, 0, count, input, input);
    sigmoid(0, 0, count, forget, forget);
    sigmoid(0, 0, count, output, output);
    hyperbolic(0, 0, count, candidate, candidate);
    for (int64_t i = 0; i < count; i++)
        cell[i] = (cont == 0 ? 0 : cont * forget[i]) * cell[i] + input[i] * candidate[i];
    hyperbolic(0, 0, count, cell, hidden);
    for (int64_t i = 0; i < count; i++)
        hidden[i] *= output[i];
    keep(run, run->step + 1, stream, first, count, hidden);
}

static void do_rnn(const recurrent_run *run, int64_t stream, int64_t first, int64_t count) {
    const tn_recurrent *node = &run->node;
    const int64_t row = run->step * node->streams + stream;
    float *hidden = run->gates + row * node->hidden + first;
    run->state->level->rows->maps[TN_ACTIVATION_TANH](0, 0, count, hidden, hidden);
    keep(run, run->step + 1, stream, first, count, hidden);
}

/* A unit is a chunk of a stream's hidden state. */
static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    const int64_t hidden = run->node.hidden, chunks = (hidden + CHUNK - 1) / CHUNK;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit % chunks * CHUNK;
        const int64_t count = hidden - first < CHUNK ? hidden - first : CHUNK;
        if (run->node.kind->has_cell)
            do_lstm(run, unit / chunks, first, count);
        else
            do_rnn(run, unit / chunks, first, count);
    }
    return TN_OK;
}

static tn_status do_steps(tn_call *call, recurrent_run *run) {
    const tn_recurrent *node = &run->node;
    const int64_t chunks = (node->hidden + CHUNK - 1) / CHUNK;
    tn_matrix_product product = {.level = run->state->level->matrix,
                                 .a = run->kept,
                                 .packed = run->state->hidden_weights,
                                 .bias = run->zeros,
                                 .rows = node->streams,
                                 .depth = node->hidden,
                                 .columns = node->columns};
    for (run->step = 0; run->step < node->steps; run->step++) {
        product.output = run->gates + run->step * node->streams * node->columns;
        product.residual = product.output;
        TN_TRY(tn_matrix_product_run(call, &product));
        product.reverse = !product.reverse; /* what was read last is still in the cache */
        TN_TRY(call->host->parallel_for(call, node->streams * chunks, GRAIN, do_units, run));
    }
    return TN_OK;
}

/* A unit is a step of a stream. */
static tn_status do_tanh(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const recurrent_run *run = user;
    const int64_t hidden = run->node.hidden;
    float *rows = (float *)run->node.y->data + begin * hidden;
    (void)thread;
    run->state->level->rows->maps[TN_ACTIVATION_TANH](0, 0, (end - begin) * hidden, rows, rows);
    return TN_OK;
}

/* An RNN's output, of all steps at once. */
static tn_status multiply_outputs(tn_call *call, recurrent_run *run) {
    const tn_recurrent *node = &run->node;
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
    return call->host->parallel_for(call, rows, CHUNK * GRAIN / node->hidden + 1, do_tanh, run);
}

static void begin_state(recurrent_run *run) {
    const tn_recurrent *node = &run->node;
    const size_t bytes = (size_t)(node->streams * node->hidden) * sizeof(float);
    float *hidden = run->kept;
    memset(run->zeros, 0, (size_t)node->columns * sizeof(float));
    memset(hidden, 0, bytes);
    memset(run->cell, 0, bytes);
    if (node->h_0) memcpy(hidden, node->h_0->data, bytes);
    if (node->c_0) memcpy(run->cell, node->c_0->data, bytes);
    for (int64_t n = 0; n < node->streams; n++)
        keep(run, 0, n, 0, node->hidden, hidden + n * node->hidden);
}

static void write_state(const recurrent_run *run) {
    const tn_recurrent *node = &run->node;
    const int64_t count = node->streams * node->hidden;
    const size_t bytes = (size_t)count * sizeof(float);
    const float *hidden =
        node->steps > 0 ? run->hidden_states + (node->steps - 1) * count : run->kept;
    if (node->h_last) memcpy(node->h_last->data, hidden, bytes);
    if (node->c_last) memcpy(node->c_last->data, run->cell, bytes);
}

tn_status tn_recurrent_run(tn_call *call) {
    recurrent_run run = {.state = call->state};
    tn_recurrent_room room = {0};
    TN_TRY(tn_recurrent_read(call, &run.node));
    TN_TRY(tn_recurrent_measure(call, &run.node, &room));
    if (run.node.streams == 0) return TN_OK;
    float *workspace = call->workspace;
    run.gates = workspace + room.gates;
    run.kept = workspace + room.kept;
    run.cell = workspace + room.cell;
    run.zeros = workspace + room.zeros;
    run.hidden_states = !run.node.kind->has_cell ? run.gates
                        : run.node.y             ? run.node.y->data
                                                 : workspace + room.hidden_states;
    begin_state(&run);
    TN_TRY(multiply_inputs(call, &run));
    TN_TRY(do_steps(call, &run));
    TN_TRY(multiply_outputs(call, &run));
    write_state(&run);
    return TN_OK;
}
