/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of recurrent layers: a direction and a step at a time, in double; the formulas are
 * in recurrent.h. Gates are in the order of the weights. */
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include "recurrent/dynamic.h"
#include "recurrent/recurrent.h"
#include <tenon/kit/infer.h>

#include <math.h>

typedef struct recurrent_scratch {
    tn_product product;
    double *memory;
    double *bias;         /* columns: of input and hidden state together */
    double *addend;       /* streams x columns: the bias and the static input's product */
    double *gates;        /* streams x columns */
    double *reset;        /* streams x hidden: what a GRU's candidate takes of the hidden state */
    double *h, *c, *kept; /* streams x hidden; kept: what the step's product is taken of */
} recurrent_scratch;

typedef struct recurrent_step {
    const tn_recurrent *node;
    const recurrent_scratch *scratch;
    int64_t direction, step;
} recurrent_step;

/* ----------------------------------------------------------------------------------------------
 * products */

/* y = rows of a times the transpose of the weights from row `first` on, plus what y has or, where
 * it is not null, `addend`. */
typedef struct recurrent_product {
    int64_t rows, depth, first, columns;
    tn_product_matrix a;
    const tn_tensor *weights;
    const double *addend;
    int64_t addend_stride;
    double *y; /* `columns` a row */
} recurrent_product;

static void multiply(const recurrent_scratch *scratch, const recurrent_product *product) {
    tn_tensor result = {.size = sizeof(result), .type = TN_F64, .data = product->y};
    const tn_product_job job = {
        .rows = product->rows,
        .columns = product->columns,
        .depth = product->depth,
        .alpha = 1,
        .beta = 1,
        .a = product->a,
        .b = {product->weights->data, product->weights->type, product->first * product->depth, 1,
              product->depth},
        .c = {product->addend, TN_F64, 0, product->addend_stride, 1},
        .y = &result,
    };
    tn_product_compute(&scratch->product, &job);
}

/* The input's part of all gates. */
static void multiply_input(const recurrent_step *at) {
    const tn_recurrent *node = at->node;
    const int64_t stride = node->streams_first ? node->steps : 1;
    const recurrent_product product = {
        .rows = node->streams,
        .depth = node->depth,
        .first = at->direction * node->columns,
        .columns = node->columns,
        .a = {node->x->data, node->x->type, tn_recurrent_x_row(node, at->step, 0) * node->depth,
              stride * node->depth, 1},
        .weights = node->input_weights,
        .addend = at->scratch->addend,
        .addend_stride = node->columns,
        .y = at->scratch->gates,
    };
    multiply(at->scratch, &product);
}

/* Adds the product of `state`, streams x hidden, by the hidden weights to y, streams x columns: all
 * gates, or one of them, from row `first` of the weights on. */
static void multiply_hidden(const recurrent_step *at, const double *state, int64_t first,
                            int64_t columns, double *y) {
    const tn_recurrent *node = at->node;
    const recurrent_product product = {
        .rows = node->streams,
        .depth = node->hidden,
        .first = at->direction * node->columns + first,
        .columns = columns,
        .a = {state, TN_F64, 0, node->hidden, 1},
        .weights = node->hidden_weights,
        .addend = y,
        .addend_stride = columns,
        .y = y,
    };
    multiply(at->scratch, &product);
}

/* ----------------------------------------------------------------------------------------------
 * scratch memory */

static tn_status create_scratch(tn_call *call, const tn_recurrent *node,
                                recurrent_scratch *scratch) {
    int64_t depth = node->depth > node->hidden ? node->depth : node->hidden;
    int64_t gates = 0, state = 0, count = 0;
    if (depth < node->static_depth) depth = node->static_depth;
    bool fits = tn_infer_multiply(node->streams, node->columns, &gates) &&
                tn_infer_multiply(node->streams, node->hidden, &state) &&
                tn_infer_add(gates, node->columns, &count) && tn_infer_add(count, gates, &count);
    for (int i = 0; fits && i < 4; i++)
        fits = tn_infer_add(count, state, &count);
    void *memory = NULL;
    TN_TRY(tn_product_allocate(call, fits ? count : INT64_MAX, sizeof(double), &memory));
    const tn_status status = tn_product_create(call, depth, &scratch->product);
    if (status != TN_OK) {
        call->host->deallocate(call->host, memory);
        return status;
    }
    scratch->memory = memory;
    scratch->bias = scratch->memory;
    scratch->addend = scratch->bias + node->columns;
    scratch->gates = scratch->addend + gates;
    scratch->reset = scratch->gates + gates;
    scratch->h = scratch->reset + state;
    scratch->c = scratch->h + state;
    scratch->kept = scratch->c + state;
    return TN_OK;
}

/* Element `index` of the bias of a direction: 0 of the input, 1 of the hidden state. */
static double bias_of(const tn_recurrent *node, int64_t direction, int64_t which, int64_t index) {
    if (!node->bias || (which == 1 && !node->has_two_biases)) return 0;
    const int64_t parts = node->has_two_biases ? 2 : 1;
    return tn_element_f64(node->bias, (direction * parts + which) * node->columns + index);
}

/* The gate of a GRU whose hidden part is taken alone; -1: none. */
static int64_t reset_gate(const tn_recurrent *node) {
    return node->kind->cell == TN_CELL_GRU ? (int64_t)node->kind->rows[2] : -1;
}

/* The bias, and with it the static input's product. With linear_before_reset the candidate's bias
 * of the hidden state is not in it. */
static void begin_addend(const tn_recurrent *node, const recurrent_scratch *scratch,
                         int64_t direction) {
    for (int64_t i = 0; i < node->columns; i++) {
        const bool is_apart = node->linear_before_reset && i / node->hidden == reset_gate(node);
        scratch->bias[i] =
            bias_of(node, direction, 0, i) + (is_apart ? 0 : bias_of(node, direction, 1, i));
    }
    for (int64_t i = 0; i < node->streams * node->columns; i++)
        scratch->addend[i] = scratch->bias[i % node->columns];
    if (!node->x_static) return;
    const recurrent_product product = {
        .rows = node->streams,
        .depth = node->static_depth,
        .columns = node->columns,
        .a = {node->x_static->data, node->x_static->type, 0, node->static_depth, 1},
        .weights = node->static_weights,
        .addend = scratch->addend,
        .addend_stride = node->columns,
        .y = scratch->addend,
    };
    multiply(scratch, &product);
}

static void begin_state(const tn_recurrent *node, const tn_tensor *from, int64_t direction,
                        double *state) {
    for (int64_t i = 0; i < node->streams * node->hidden; i++)
        state[i] = 0;
    for (int64_t n = 0; from && n < node->streams; n++)
        tn_element_read_f64(from->data, from->type, tn_recurrent_state_at(node, direction, n), 1,
                            node->hidden, state + n * node->hidden);
}

static void end_state(const tn_recurrent *node, const tn_tensor *to, int64_t direction,
                      const double *state) {
    for (int64_t n = 0; to && n < node->streams; n++)
        tn_element_write_f64(to->data, to->type, tn_recurrent_state_at(node, direction, n),
                             node->hidden, state + n * node->hidden);
}

/* ----------------------------------------------------------------------------------------------
 * cells */

static double activate(const recurrent_step *at, uint32_t function, double x) {
    const double clip = (double)at->node->clip;
    if (at->node->clip < FLT_MAX) x = x > clip ? clip : x < -clip ? -clip : x;
    return tn_activation_apply(at->node->functions[at->direction][function], x);
}

static double cont_of(const recurrent_step *at, int64_t stream) {
    if (!at->node->cont) return 1;
    return tn_element_f64(at->node->cont, at->step * at->node->streams + stream);
}

/* Peephole 0 (i), 1 (o) or 2 (f) of a hidden element. */
static double peephole_of(const recurrent_step *at, int64_t which, int64_t element) {
    const tn_recurrent *node = at->node;
    if (!node->peepholes) return 0;
    return tn_element_f64(node->peepholes, (at->direction * 3 + which) * node->hidden + element);
}

static void do_lstm(const recurrent_step *at, int64_t stream, const double *const gates[4]) {
    const tn_recurrent *node = at->node;
    const double cont = cont_of(at, stream);
    for (int64_t k = 0; k < node->hidden; k++) {
        double *c = &at->scratch->c[stream * node->hidden + k];
        const double i = activate(at, 0, gates[0][k] + peephole_of(at, 0, k) * *c);
        double forget = activate(at, 0, gates[1][k] + peephole_of(at, 2, k) * *c);
        if (node->input_forget) forget = 1 - i;
        forget = cont == 0 ? 0 : cont * forget;
        *c = forget * *c + i * activate(at, 1, gates[3][k]);
        at->scratch->h[stream * node->hidden + k] =
            activate(at, 0, gates[2][k] + peephole_of(at, 1, k) * *c) * activate(at, 2, *c);
    }
}

static void do_gru(const recurrent_step *at, int64_t stream, const double *const gates[4]) {
    const tn_recurrent *node = at->node;
    for (int64_t k = 0; k < node->hidden; k++) {
        double *h = &at->scratch->h[stream * node->hidden + k];
        const double hidden = at->scratch->reset[stream * node->hidden + k];
        const double part =
            node->linear_before_reset ? activate(at, 0, gates[1][k]) * hidden : hidden;
        const double z = activate(at, 0, gates[0][k]);
        *h = (1 - z) * activate(at, 1, gates[2][k] + part) + z * *h;
    }
}

static void do_rnn(const recurrent_step *at, int64_t stream, const double *const gates[4]) {
    for (int64_t k = 0; k < at->node->hidden; k++)
        at->scratch->h[stream * at->node->hidden + k] = activate(at, 0, gates[0][k]);
}

/* The hidden state's part of a GRU's candidate. */
static void multiply_reset(const recurrent_step *at) {
    const tn_recurrent *node = at->node;
    const int64_t hidden = node->hidden, first = reset_gate(node) * hidden;
    const double *resets = at->scratch->gates + (int64_t)node->kind->rows[1] * hidden;
    double *kept = at->scratch->kept, *reset = at->scratch->reset;
    for (int64_t i = 0; i < node->streams * hidden; i++) {
        const double gate = resets[i / hidden * node->columns + i % hidden];
        kept[i] = (node->linear_before_reset ? 1 : activate(at, 0, gate)) * at->scratch->h[i];
        reset[i] =
            node->linear_before_reset ? bias_of(node, at->direction, 1, first + i % hidden) : 0;
    }
    multiply_hidden(at, kept, first, hidden, reset);
}

/* The hidden state as what its quantised one stands for. */
static void round_state(const recurrent_step *at, int64_t count) {
    const tn_recurrent *node = at->node;
    const bool is_reverse = tn_recurrent_is_reverse(node, at->direction);
    const int64_t iteration = is_reverse ? node->steps - 1 - at->step : at->step;
    for (int64_t i = 0; i < count; i++)
        if (!tn_dynamic_counts(node, is_reverse, iteration, i / node->hidden))
            at->scratch->kept[i] = 0;
    tn_dynamic_round(count, at->scratch->kept);
}

/* The sums of all gates; of a GRU's candidate the input's part alone. */
static void multiply_gates(const recurrent_step *at) {
    const tn_recurrent *node = at->node;
    const recurrent_scratch *scratch = at->scratch;
    const int64_t hidden = node->hidden, count = node->streams * hidden;
    const int64_t reset = reset_gate(node);
    multiply_input(at);
    for (int64_t i = 0; i < count; i++)
        scratch->kept[i] = cont_of(at, i / hidden) * scratch->h[i];
    if (node->kind->is_dynamic) round_state(at, count);
    /* The candidate is put aside while the product of all gates is added. */
    for (int64_t i = 0; reset >= 0 && i < count; i++)
        scratch->reset[i] =
            scratch->gates[i / hidden * node->columns + reset * hidden + i % hidden];
    multiply_hidden(at, scratch->kept, 0, node->columns, scratch->gates);
    for (int64_t i = 0; reset >= 0 && i < count; i++)
        scratch->gates[i / hidden * node->columns + reset * hidden + i % hidden] =
            scratch->reset[i];
}

/* ----------------------------------------------------------------------------------------------
 * steps */

/* y of a stream, from its hidden state or zeros behind its last step. */
static void write_y(const recurrent_step *at, int64_t stream, bool is_zero) {
    const tn_recurrent *node = at->node;
    const int64_t first = tn_recurrent_y_at(node, at->step, at->direction, stream);
    if (!node->y || node->output_weights) return;
    if (!is_zero) {
        tn_element_write_f64(node->y->data, node->y->type, first, node->hidden,
                             at->scratch->h + stream * node->hidden);
        return;
    }
    for (int64_t k = 0; k < node->hidden; k++)
        tn_element_set_f64(node->y, first + k, 0);
}

/* y of all streams by the output layer, from the hidden states. */
static void write_outputs(const recurrent_step *at) {
    const tn_recurrent *node = at->node;
    const int64_t hidden = node->hidden, count = node->streams * hidden;
    double *bias = at->scratch->kept, *gates = at->scratch->gates;
    if (!node->y || !node->output_weights) return;
    tn_element_read_f64(node->output_bias->data, node->output_bias->type, 0, 1, hidden, bias);
    const recurrent_product product = {
        .rows = node->streams,
        .depth = hidden,
        .columns = hidden,
        .a = {at->scratch->h, TN_F64, 0, hidden, 1},
        .weights = node->output_weights,
        .addend = bias,
        .y = gates,
    };
    multiply(at->scratch, &product);
    for (int64_t i = 0; i < count; i++)
        gates[i] = tanh(gates[i]);
    tn_element_write_f64(node->y->data, node->y->type, at->step * count, count, gates);
}

static void do_step(const recurrent_step *at) {
    const tn_recurrent *node = at->node;
    const double *gates[TN_RECURRENT_MOST_GATES] = {0};
    multiply_gates(at);
    if (node->kind->cell == TN_CELL_GRU) multiply_reset(at);
    for (int64_t n = 0; n < node->streams; n++) {
        const bool is_over = at->step >= tn_recurrent_length(node, n);
        for (uint32_t k = 0; k < node->kind->gates; k++)
            gates[k] = at->scratch->gates + n * node->columns +
                       (int64_t)node->kind->rows[k] * node->hidden;
        if (!is_over && node->kind->cell == TN_CELL_LSTM) do_lstm(at, n, gates);
        if (!is_over && node->kind->cell == TN_CELL_GRU) do_gru(at, n, gates);
        if (!is_over && node->kind->cell == TN_CELL_RNN) do_rnn(at, n, gates);
        write_y(at, n, is_over);
    }
    write_outputs(at);
}

static void do_direction(const tn_recurrent *node, const recurrent_scratch *scratch,
                         int64_t direction) {
    const bool is_reverse = tn_recurrent_is_reverse(node, direction);
    begin_addend(node, scratch, direction);
    begin_state(node, node->h_0, direction, scratch->h);
    begin_state(node, node->c_0, direction, scratch->c);
    for (int64_t i = 0; i < node->steps; i++) {
        const recurrent_step at = {node, scratch, direction, is_reverse ? node->steps - 1 - i : i};
        do_step(&at);
    }
    end_state(node, node->h_last, direction, scratch->h);
    end_state(node, node->c_last, direction, scratch->c);
}

tn_status tn_recurrent_reference_of(tn_call *call, const tn_recurrent *node) {
    recurrent_scratch scratch = {.memory = NULL};
    TN_TRY(create_scratch(call, node, &scratch));
    for (int64_t direction = 0; direction < node->directions; direction++)
        do_direction(node, &scratch, direction);
    tn_product_destroy(call, &scratch.product);
    call->host->deallocate(call->host, scratch.memory);
    return TN_OK;
}

tn_status tn_recurrent_reference(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_check_lengths(call, &node));
    if (node.streams == 0 || node.hidden == 0) return TN_OK;
    return tn_recurrent_reference_of(call, &node);
}
