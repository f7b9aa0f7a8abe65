/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of nodes of 64-bit floats: streams are independent, so that some of them, and a
 * direction, are a unit of work. The formulas are in recurrent.h; gates and weights are in the
 * order of the node's weights, which are read where they are. */
#include "kit/math/recurrent_function.h"
#include "recurrent/kernels.h"
#include <tenon/kit/infer.h>

#include <string.h>

enum { STREAMS = 4 /* of a unit */ };

/* Where a thread's parts begin, and how many doubles there are. */
typedef struct doubles_layout {
    int64_t gates, h, c, state, reset, count;
} doubles_layout;

typedef struct doubles_job {
    const tn_recurrent *node;
    const tn_recurrent_level *level;
    doubles_layout layout;
    double *memory;
} doubles_job;

/* Streams `first` to first + count - 1 of a direction; `gates` has node->columns a stream, the
 * other parts node->hidden. */
typedef struct doubles_unit {
    const tn_recurrent *node;
    const tn_recurrent_level *level;
    int64_t direction, first, count;
    double *gates, *h, *c;
    double *state; /* what a product is taken of: r * h */
    double *reset; /* the hidden state's part of a GRU's candidate */
} doubles_unit;

static bool read_layout(const tn_recurrent *node, doubles_layout *out) {
    int64_t gates = 0, hidden = 0, all = 0;
    if (!tn_infer_multiply(STREAMS, node->columns, &gates) ||
        !tn_infer_multiply(STREAMS, node->hidden, &hidden) || !tn_infer_multiply(4, hidden, &all) ||
        !tn_infer_add(all, gates, &all) || all > INT64_C(1) << 40)
        return false;
    *out = (doubles_layout){.gates = 0,
                            .h = gates,
                            .c = gates + hidden,
                            .state = gates + 2 * hidden,
                            .reset = gates + 3 * hidden,
                            .count = (all + 7) / 8 * 8};
    return true;
}

tn_status tn_recurrent_doubles_reshape(tn_call *call) {
    tn_recurrent node = {0};
    doubles_layout layout;
    TN_TRY(tn_recurrent_read(call, &node));
    if (!read_layout(&node, &layout))
        return call->host->fail(call, TN_ERROR_MEMORY, "the gates cannot be addressed");
    call->workspace_bytes = (uint64_t)layout.count * sizeof(double) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * gates */

static const double *data_of(const tn_tensor *tensor) {
    return tensor ? tensor->data : NULL;
}

/* Gate `gate` of the cell's order, of a stream. */
static double *gate_of(const doubles_unit *unit, int64_t stream, int64_t gate) {
    const tn_recurrent *node = unit->node;
    return unit->gates + stream * node->columns + (int64_t)node->kind->rows[gate] * node->hidden;
}

/* The bias of the input or (`which` 1) of the hidden state; null: none. */
static const double *bias_of(const doubles_unit *unit, int64_t which) {
    const tn_recurrent *node = unit->node;
    const double *bias = data_of(node->bias);
    return bias ? bias + (unit->direction * 2 + which) * node->columns : NULL;
}

static void activate(const doubles_unit *unit, uint32_t function, double *x) {
    const tn_recurrent *node = unit->node;
    const tn_activation_function of = node->functions[unit->direction][function];
    const tn_cell_functions *cells = &unit->level->cells->wide[TN_CELL_F64];
    const double clip = (double)node->clip;
    for (int64_t k = 0; node->clip < FLT_MAX && k < node->hidden; k++)
        x[k] = x[k] > clip ? clip : x[k] < -clip ? -clip : x[k];
    if (of.kind == TN_RECURRENT_SIGMOID)
        cells->maps[TN_ACTIVATION_SIGMOID](node->hidden, x, x);
    else if (of.kind == TN_RECURRENT_TANH)
        cells->maps[TN_ACTIVATION_TANH](node->hidden, x, x);
    else
        for (int64_t k = 0; k < node->hidden; k++)
            x[k] = tn_activation_apply(of, x[k]);
}

/* Adds the product of `state`, a row a stream, by the hidden weights of a gate to y. */
static void multiply_state(const doubles_unit *unit, const double *state, int64_t gate, double *y,
                           int64_t y_stride) {
    const tn_recurrent *node = unit->node;
    const int64_t row =
        unit->direction * node->columns + (int64_t)node->kind->rows[gate] * node->hidden;
    unit->level->step->dots(unit->count, node->hidden, node->hidden, state, node->hidden,
                            data_of(node->hidden_weights) + row * node->hidden, y, y_stride);
}

/* All gates' sums; of a GRU's candidate the input's part alone. */
static void compute_gates(const doubles_unit *unit, int64_t step) {
    const tn_recurrent *node = unit->node;
    const bool is_gru = node->kind->cell == TN_CELL_GRU;
    const int64_t gates = (int64_t)node->kind->gates;
    const int64_t candidate = is_gru ? (int64_t)node->kind->rows[2] * node->hidden : node->columns;
    const double *of_input = bias_of(unit, 0), *of_state = bias_of(unit, 1);
    for (int64_t n = 0; n < unit->count; n++)
        for (int64_t i = 0; i < node->columns; i++) {
            const bool is_apart = node->linear_before_reset && i >= candidate;
            unit->gates[n * node->columns + i] =
                of_input ? of_input[i] + (is_apart ? 0 : of_state[i]) : 0;
        }
    unit->level->step->dots(
        unit->count, node->columns, node->depth,
        data_of(node->x) + tn_recurrent_x_row(node, step, unit->first) * node->depth,
        (node->streams_first ? node->steps : 1) * node->depth,
        data_of(node->input_weights) + unit->direction * node->columns * node->depth, unit->gates,
        node->columns);
    for (int64_t gate = 0; gate < gates - is_gru; gate++)
        multiply_state(unit, unit->h, gate, gate_of(unit, 0, gate), node->columns);
}

/* ----------------------------------------------------------------------------------------------
 * cells of one stream */

static void do_lstm(const doubles_unit *unit, int64_t stream) {
    const tn_recurrent *node = unit->node;
    const int64_t hidden = node->hidden;
    double *input = gate_of(unit, stream, 0), *forget = gate_of(unit, stream, 1);
    double *output = gate_of(unit, stream, 2), *cell = gate_of(unit, stream, 3);
    double *c = unit->c + stream * hidden, *h = unit->h + stream * hidden;
    const double *peepholes = data_of(node->peepholes);
    if (peepholes) peepholes += unit->direction * 3 * hidden;
    for (int64_t k = 0; peepholes && k < hidden; k++) {
        input[k] += peepholes[k] * c[k];
        forget[k] += peepholes[2 * hidden + k] * c[k];
    }
    activate(unit, 0, input);
    activate(unit, 0, forget);
    activate(unit, 1, cell);
    for (int64_t k = 0; k < hidden; k++) {
        c[k] = (node->input_forget ? 1 - input[k] : forget[k]) * c[k] + input[k] * cell[k];
        cell[k] = c[k];
        if (peepholes) output[k] += peepholes[hidden + k] * c[k];
    }
    activate(unit, 0, output);
    activate(unit, 2, cell);
    for (int64_t k = 0; k < hidden; k++)
        h[k] = output[k] * cell[k];
}

static void do_gru(const doubles_unit *unit, int64_t stream) {
    const int64_t hidden = unit->node->hidden;
    double *update = gate_of(unit, stream, 0), *candidate = gate_of(unit, stream, 2);
    const double *reset = unit->reset + stream * hidden;
    double *h = unit->h + stream * hidden;
    for (int64_t k = 0; k < hidden; k++)
        candidate[k] += reset[k];
    activate(unit, 0, update);
    activate(unit, 1, candidate);
    for (int64_t k = 0; k < hidden; k++)
        h[k] = (1 - update[k]) * candidate[k] + update[k] * h[k];
}

static void do_rnn(const doubles_unit *unit, int64_t stream) {
    double *gate = gate_of(unit, stream, 0);
    activate(unit, 0, gate);
    memcpy(unit->h + stream * unit->node->hidden, gate,
           (size_t)unit->node->hidden * sizeof(double));
}

/* The hidden state's part of a GRU's candidates: R (r * h), or r * (R h + Rb). */
static void compute_resets(const doubles_unit *unit) {
    const tn_recurrent *node = unit->node;
    const int64_t hidden = node->hidden, count = unit->count * hidden;
    const double *bias = node->linear_before_reset ? bias_of(unit, 1) : NULL;
    if (bias) bias += (int64_t)node->kind->rows[2] * hidden;
    for (int64_t n = 0; n < unit->count; n++)
        activate(unit, 0, gate_of(unit, n, 1));
    for (int64_t i = 0; i < count; i++) {
        const double r = gate_of(unit, i / hidden, 1)[i % hidden];
        unit->state[i] = (node->linear_before_reset ? 1 : r) * unit->h[i];
        unit->reset[i] = bias ? bias[i % hidden] : 0;
    }
    multiply_state(unit, unit->state, 2, unit->reset, hidden);
    for (int64_t i = 0; node->linear_before_reset && i < count; i++)
        unit->reset[i] *= gate_of(unit, i / hidden, 1)[i % hidden];
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static void write_y(const doubles_unit *unit, int64_t step, int64_t stream, bool is_over) {
    const tn_recurrent *node = unit->node;
    const size_t bytes = (size_t)node->hidden * sizeof(double);
    if (!node->y) return;
    double *y = (double *)node->y->data +
                tn_recurrent_y_at(node, step, unit->direction, unit->first + stream);
    if (is_over)
        memset(y, 0, bytes);
    else
        memcpy(y, unit->h + stream * node->hidden, bytes);
}

static void do_step(const doubles_unit *unit, int64_t step) {
    const tn_recurrent *node = unit->node;
    compute_gates(unit, step);
    if (node->kind->cell == TN_CELL_GRU) compute_resets(unit);
    for (int64_t n = 0; n < unit->count; n++) {
        const bool is_over = step >= tn_recurrent_length(node, unit->first + n);
        if (!is_over && node->kind->cell == TN_CELL_LSTM) do_lstm(unit, n);
        if (!is_over && node->kind->cell == TN_CELL_GRU) do_gru(unit, n);
        if (!is_over && node->kind->cell == TN_CELL_RNN) do_rnn(unit, n);
        write_y(unit, step, n, is_over);
    }
}

/* The states of the unit's streams, from and to tensors that may be absent. */
static void begin_state(const doubles_unit *unit, const tn_tensor *from, double *state) {
    const int64_t hidden = unit->node->hidden;
    memset(state, 0, (size_t)(unit->count * hidden) * sizeof(double));
    for (int64_t n = 0; from && n < unit->count; n++)
        memcpy(state + n * hidden,
               data_of(from) + tn_recurrent_state_at(unit->node, unit->direction, unit->first + n),
               (size_t)hidden * sizeof(double));
}
static void end_state(const doubles_unit *unit, const tn_tensor *to, const double *state) {
    const int64_t hidden = unit->node->hidden;
    for (int64_t n = 0; to && n < unit->count; n++)
        memcpy((double *)to->data +
                   tn_recurrent_state_at(unit->node, unit->direction, unit->first + n),
               state + n * hidden, (size_t)hidden * sizeof(double));
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const doubles_job *job = user;
    const tn_recurrent *node = job->node;
    const int64_t groups = (node->streams + STREAMS - 1) / STREAMS;
    double *memory = job->memory + job->layout.count * thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % groups * STREAMS, left = node->streams - first;
        const doubles_unit unit = {.node = node,
                                   .level = job->level,
                                   .direction = item / groups,
                                   .first = first,
                                   .count = left < STREAMS ? left : STREAMS,
                                   .gates = memory + job->layout.gates,
                                   .h = memory + job->layout.h,
                                   .c = memory + job->layout.c,
                                   .state = memory + job->layout.state,
                                   .reset = memory + job->layout.reset};
        const bool is_reverse = tn_recurrent_is_reverse(node, unit.direction);
        begin_state(&unit, node->h_0, unit.h);
        begin_state(&unit, node->c_0, unit.c);
        for (int64_t i = 0; i < node->steps; i++)
            do_step(&unit, is_reverse ? node->steps - 1 - i : i);
        end_state(&unit, node->h_last, unit.h);
        end_state(&unit, node->c_last, unit.c);
    }
    return TN_OK;
}

tn_status tn_recurrent_doubles_run(tn_call *call) {
    tn_recurrent node = {0};
    doubles_job job = {.node = &node, .level = call->user, .memory = call->workspace};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_check_lengths(call, &node));
    if (node.streams == 0) return TN_OK;
    if (!read_layout(&node, &job.layout)) return TN_ERROR_INTERNAL;
    return call->host->parallel_for(
        call, node.directions * ((node.streams + STREAMS - 1) / STREAMS), 1, do_units, &job);
}
