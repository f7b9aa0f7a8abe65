/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of Caffe's LSTM and RNN: a step a time, in double; the formulas are in recurrent.h.
 */
#include "caffe_recurrent/recurrent.h"
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

#include <math.h>

typedef struct recurrent_scratch {
    tn_product product;
    double *memory;
    double *addend;               /* streams x columns, or one row: what all steps have in common */
    double *gates;                /* streams x columns */
    double *hidden, *cell, *kept; /* streams x hidden; kept: the state that a step takes over */
} recurrent_scratch;

/* `rows` x `depth` times the transpose of `weights`, plus `addend` with its rows `addend_stride`
 * apart, to y. */
static void multiply(const recurrent_scratch *scratch, int64_t rows, int64_t depth, const void *a,
                     tn_type a_type, int64_t a_offset, const tn_tensor *weights,
                     const double *addend, int64_t addend_stride, double *y) {
    tn_tensor result = {.size = sizeof(result), .type = TN_F64, .data = y};
    const int64_t columns = weights->shape[0];
    const tn_product_job job = {
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .alpha = 1,
        .beta = 1,
        .a = {a, a_type, a_offset, depth, 1},
        .b = {weights->data, weights->type, 0, 1, depth},
        .c = {addend, TN_F64, 0, addend_stride, 1},
        .y = &result,
    };
    tn_product_compute(&scratch->product, &job);
}

static tn_status create_scratch(tn_call *call, const tn_recurrent *node,
                                recurrent_scratch *scratch) {
    int64_t depth = node->depth > node->hidden ? node->depth : node->hidden;
    int64_t gates = 0, state = 0, count = 0;
    if (depth < node->static_depth) depth = node->static_depth;
    bool fits = tn_infer_multiply(node->streams, node->columns, &gates) &&
                tn_infer_multiply(node->streams, node->hidden, &state) &&
                tn_infer_add(gates, node->columns, &count) && tn_infer_add(count, gates, &count);
    for (int i = 0; fits && i < 3; i++)
        fits = tn_infer_add(count, state, &count);
    void *memory = NULL;
    TN_TRY(tn_product_allocate(call, fits ? count : INT64_MAX, sizeof(double), &memory));
    const tn_status status = tn_product_create(call, depth, &scratch->product);
    if (status != TN_OK) {
        call->host->deallocate(call->host, memory);
        return status;
    }
    scratch->memory = memory;
    scratch->addend = scratch->memory;
    scratch->gates = scratch->addend + gates + node->columns;
    scratch->hidden = scratch->gates + gates;
    scratch->cell = scratch->hidden + state;
    scratch->kept = scratch->cell + state;
    return TN_OK;
}

/* The bias, in the addend's one row behind those of the streams, and with it the static input. */
static void begin_addend(const tn_recurrent *node, const recurrent_scratch *scratch) {
    double *bias = scratch->addend + node->streams * node->columns;
    tn_element_read_f64(node->bias->data, node->bias->type, 0, 1, node->columns, bias);
    if (node->x_static)
        multiply(scratch, node->streams, node->static_depth, node->x_static->data,
                 node->x_static->type, 0, node->static_weights, bias, 0, scratch->addend);
}

static void begin_state(const tn_tensor *from, int64_t count, double *state) {
    for (int64_t i = 0; i < count; i++)
        state[i] = 0;
    if (from) tn_element_read_f64(from->data, from->type, 0, 1, count, state);
}

static double cont_of(const tn_recurrent *node, int64_t step, int64_t stream) {
    return tn_element_f64(node->cont, step * node->streams + stream);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void step_lstm(const tn_recurrent *node, const recurrent_scratch *scratch, int64_t step) {
    const int64_t hidden = node->hidden;
    for (int64_t n = 0; n < node->streams; n++) {
        const double *gates = scratch->gates + n * node->columns, cont = cont_of(node, step, n);
        for (int64_t i = 0; i < hidden; i++) {
            double *cell = &scratch->cell[n * hidden + i];
            const double forget = cont == 0 ? 0 : cont * sigmoid(gates[hidden + i]);
            *cell = forget * *cell + sigmoid(gates[i]) * tanh(gates[3 * hidden + i]);
            scratch->hidden[n * hidden + i] = sigmoid(gates[2 * hidden + i]) * tanh(*cell);
        }
    }
}

static void take_tanh(int64_t count, const double *from, double *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = tanh(from[i]);
}

static void do_step(const tn_recurrent *node, const recurrent_scratch *scratch, int64_t step) {
    const int64_t hidden = node->hidden, count = node->streams * hidden;
    const double *bias = scratch->addend + node->streams * node->columns;
    for (int64_t i = 0; i < count; i++)
        scratch->kept[i] = cont_of(node, step, i / hidden) * scratch->hidden[i];
    multiply(scratch, node->streams, node->depth, node->x->data, node->x->type,
             step * node->streams * node->depth, node->input_weights,
             node->x_static ? scratch->addend : bias, node->x_static ? node->columns : 0,
             scratch->gates);
    multiply(scratch, node->streams, hidden, scratch->kept, TN_F64, 0, node->hidden_weights,
             scratch->gates, node->columns, scratch->gates);
    if (node->kind->has_cell)
        step_lstm(node, scratch, step);
    else
        take_tanh(count, scratch->gates, scratch->hidden);
}

/* The step's output, from its hidden state. */
static void write_step(const tn_recurrent *node, const recurrent_scratch *scratch, int64_t step) {
    const int64_t hidden = node->hidden, count = node->streams * hidden;
    const double *result = scratch->hidden;
    if (!node->y) return;
    if (node->output_weights) {
        double *bias =
            scratch->kept; /* as many as there are in a row; read at the next step anew */
        tn_element_read_f64(node->output_bias->data, node->output_bias->type, 0, 1, hidden, bias);
        multiply(scratch, node->streams, hidden, scratch->hidden, TN_F64, 0, node->output_weights,
                 bias, 0, scratch->gates);
        take_tanh(count, scratch->gates, scratch->gates);
        result = scratch->gates;
    }
    tn_element_write_f64(node->y->data, node->y->type, step * count, count, result);
}

tn_status tn_recurrent_reference(tn_call *call) {
    tn_recurrent node = {0};
    recurrent_scratch scratch = {.memory = NULL};
    TN_TRY(tn_recurrent_read(call, &node));
    const int64_t count = node.streams * node.hidden;
    if (count == 0) return TN_OK;
    TN_TRY(create_scratch(call, &node, &scratch));
    begin_addend(&node, &scratch);
    begin_state(node.h_0, count, scratch.hidden);
    begin_state(node.c_0, count, scratch.cell);
    for (int64_t step = 0; step < node.steps; step++) {
        do_step(&node, &scratch, step);
        write_step(&node, &scratch, step);
    }
    if (node.h_last)
        tn_element_write_f64(node.h_last->data, node.h_last->type, 0, count, scratch.hidden);
    if (node.c_last)
        tn_element_write_f64(node.c_last->data, node.c_last->type, 0, count, scratch.cell);
    tn_product_destroy(call, &scratch.product);
    call->host->deallocate(call->host, scratch.memory);
    return TN_OK;
}
