/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a step: the product of the hidden state, and what the cells make of their gates. The
 * formulas are in recurrent.h, the gates' order in kernels.h. */
#include "recurrent/kernels.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * what all cells use */

static const tn_recurrent *node_of(const tn_recurrent_part *part) {
    return part->direction->node;
}

/* The gates of a stream. */
static float *row_of(const tn_recurrent_part *part, int64_t stream) {
    const tn_recurrent_direction *direction = part->direction;
    const int64_t step = part->step - direction->first_step;
    return direction->gates +
           tn_recurrent_gates_row(direction, step, stream) * direction->node->columns;
}

/* The part's elements of the hidden state before the step, and of the one after it. */
static const float *h_before(const tn_recurrent_part *part, int64_t stream) {
    const float *h = part->direction->h[part->iteration % 2];
    return h + stream * node_of(part)->hidden + part->first;
}
static float *h_after(const tn_recurrent_part *part, int64_t stream) {
    float *h = part->direction->h[(part->iteration + 1) % 2];
    return h + stream * node_of(part)->hidden + part->first;
}

/* A product of the part's streams: `columns` of a packed matrix from `first` on, which begins a
 * block. `bias` may be null. */
typedef struct part_product {
    const float *state, *packed, *bias;
    int64_t first, columns;
    float *output;
    int64_t output_stride;
    bool adds; /* to what the output has */
} part_product;

/* A block of columns of the product, from column `at` on. More rows than a tile has are done in two
 * halves, one after the other, so that the second one finds the block in the cache. */
static void multiply_block(const tn_recurrent_part *part, const part_product *product, int64_t at) {
    const tn_recurrent_level *level = part->direction->level;
    const int64_t lanes = level->matrix->lanes, width = lanes * level->matrix->vectors;
    const int64_t hidden = node_of(part)->hidden, rows = part->end_stream - part->first_stream;
    const bool is_full = product->columns - at >= width;
    const int64_t columns = is_full ? width : product->columns - at;
    const int64_t vectors = is_full ? level->matrix->vectors : (columns + lanes - 1) / lanes;
    const bool is_plain = is_full && product->adds && rows > 1;
    const bool are_all = is_plain && level->step->rows[rows - 2];
    const int64_t each = rows <= TN_MATRIX_ROWS || are_all ? rows : (rows + 1) / 2;
    tn_matrix_tile tile = {.a = product->state + part->first_stream * hidden,
                           .a_stride = hidden,
                           .depth = hidden,
                           .b = product->packed + (product->first + at) * hidden,
                           .bias = (product->bias ? product->bias : part->direction->zeros) + at,
                           .output = product->output + at,
                           .output_stride = product->output_stride,
                           .residual = product->adds ? product->output + at : NULL,
                           .columns = columns};
    for (int64_t row = 0; row < rows; row += each) {
        const int64_t count = rows - row < each ? rows - row : each;
        const tn_matrix_function function = is_plain && count > 1
                                                ? level->step->rows[count - 2]
                                                : level->matrix->functions[count - 1][vectors - 1];
        function(&tile);
        tile.a += each * hidden;
        tile.output += each * tile.output_stride;
        if (product->adds) tile.residual = tile.output;
    }
}

/* All full blocks of the product of one stream. */
static void multiply_row(const tn_recurrent_part *part, const part_product *product, int64_t width,
                         int64_t count) {
    const int64_t hidden = node_of(part)->hidden, step = part->iteration % 2 ? -width : width;
    const int64_t at = step < 0 ? (count - 1) * width : 0;
    const tn_recurrent_blocks blocks = {.packed = product->packed + (product->first + at) * hidden,
                                        .output = product->output + at,
                                        .packed_step = step * hidden,
                                        .output_step = step,
                                        .count = count};
    part->direction->level->step->row(hidden, product->state + part->first_stream * hidden,
                                      &blocks);
}

/* Every other iteration begins at the last block, as do_chunks does. */
static void multiply(const tn_recurrent_part *part, const part_product *product) {
    const tn_matrix_level *level = part->direction->level->matrix;
    const int64_t width = (int64_t)level->lanes * level->vectors;
    const int64_t blocks = (product->columns + width - 1) / width;
    int64_t done = 0;
    if (product->adds && part->end_stream - part->first_stream == 1) {
        done = product->columns / width;
        multiply_row(part, product, width, done);
    }
    for (int64_t i = done; i < blocks; i++)
        multiply_block(part, product, (part->iteration % 2 ? blocks - 1 - (i - done) : i) * width);
}

/* Adds the hidden state's product to the part's gates of the first phase. */
static void multiply_gates(const tn_recurrent_part *part) {
    const tn_recurrent *node = node_of(part);
    const int64_t gates = tn_recurrent_first_gates(node);
    const part_product product = {.state = part->direction->h[part->iteration % 2],
                                  .packed = part->direction->packed->hidden_weights,
                                  .first = part->first * gates,
                                  .columns = part->count * gates,
                                  .output = row_of(part, part->first_stream) + part->first * gates,
                                  .output_stride = row_of(part, 1) - row_of(part, 0),
                                  .adds = true};
    multiply(part, &product);
}

static void activate(const tn_recurrent_part *part, uint32_t function, int64_t count, float *x) {
    const tn_recurrent *node = node_of(part);
    const tn_rows_level *rows = part->direction->level->rows;
    if (node->clip < FLT_MAX) rows->maps[TN_ACTIVATION_CLIP](-node->clip, node->clip, count, x, x);
    tn_activation_row(node->functions[part->direction->index][function], rows, count, x);
}

float tn_recurrent_cont(const tn_recurrent *node, int64_t step, int64_t stream) {
    return node->cont ? ((const float *)node->cont->data)[step * node->streams + stream] : 1;
}

static float *y_of(const tn_recurrent_part *part, int64_t stream) {
    const tn_recurrent_direction *direction = part->direction;
    if (!direction->y) return NULL;
    return direction->y + tn_recurrent_y_at(direction->node, part->step, direction->index, stream) +
           part->first;
}

/* Hands on the hidden state after the step: to y, and, times cont, to the next step. */
static void finish(const tn_recurrent_part *part, int64_t stream, float *h) {
    const tn_recurrent *node = node_of(part);
    float *y = y_of(part, stream);
    if (y) memcpy(y, h, (size_t)part->count * sizeof(float));
    if (!node->cont || part->step + 1 == node->steps) return;
    const float cont = tn_recurrent_cont(node, part->step + 1, stream);
    for (int64_t k = 0; k < part->count; k++)
        h[k] *= cont;
}

/* A stream that has no such step. */
static void pass(const tn_recurrent_part *part, int64_t stream) {
    const size_t bytes = (size_t)part->count * sizeof(float);
    float *y = y_of(part, stream);
    memcpy(h_after(part, stream), h_before(part, stream), bytes);
    if (y) memset(y, 0, bytes);
}

/* ----------------------------------------------------------------------------------------------
 * LSTM */

/* x += the peepholes `which` (0: i, 1: o, 2: f) times c. */
static void add_peephole(const tn_recurrent_part *part, int64_t which, const float *c, float *x) {
    const tn_recurrent *node = node_of(part);
    const float *peephole = (const float *)node->peepholes->data +
                            (part->direction->index * 3 + which) * node->hidden + part->first;
    for (int64_t k = 0; k < part->count; k++)
        x[k] += peephole[k] * c[k];
}

/* Activates the gates i, f and o, as far as they need no state after the step. */
static void activate_gates(const tn_recurrent_part *part, const float *c, float *input) {
    const int64_t count = part->count;
    if (!node_of(part)->peepholes) {
        activate(part, 0, 3 * count, input);
        return;
    }
    add_peephole(part, 0, c, input);
    add_peephole(part, 2, c, input + count);
    activate(part, 0, 2 * count, input);
}

/* The factor of the cell state before. */
static void finish_forget(const tn_recurrent_part *part, int64_t stream, const float *input,
                          float *forget) {
    const tn_recurrent *node = node_of(part);
    const float cont = tn_recurrent_cont(node, part->step, stream);
    for (int64_t k = 0; node->input_forget && k < part->count; k++)
        forget[k] = 1 - input[k];
    for (int64_t k = 0; node->cont && k < part->count; k++)
        forget[k] = cont == 0 ? 0 : cont * forget[k];
}

static void do_lstm(const tn_recurrent_part *part, int64_t stream) {
    const tn_recurrent *node = node_of(part);
    const int64_t count = part->count;
    float *input = row_of(part, stream) + part->first * 4, *forget = input + count,
          *output = forget + count, *candidate = output + count;
    float *c = part->direction->c + stream * node->hidden + part->first;
    float *h = h_after(part, stream);
    if (part->direction->is_usual) {
        part->direction->level->step->lstm(count, input, c, h, y_of(part, stream));
        return;
    }
    activate_gates(part, c, input);
    activate(part, 1, count, candidate);
    finish_forget(part, stream, input, forget);
    for (int64_t k = 0; k < count; k++)
        c[k] = forget[k] * c[k] + input[k] * candidate[k];
    if (node->peepholes) {
        add_peephole(part, 1, c, output);
        activate(part, 0, count, output);
    }
    memcpy(h, c, (size_t)count * sizeof(float));
    activate(part, 2, count, h);
    for (int64_t k = 0; k < count; k++)
        h[k] *= output[k];
    finish(part, stream, h);
}

/* ----------------------------------------------------------------------------------------------
 * GRU */

static float *candidate_of(const tn_recurrent_part *part, int64_t stream) {
    return row_of(part, stream) + 2 * node_of(part)->hidden + part->first;
}

/* From z and the candidate's sum to the hidden state. */
static void finish_gru(const tn_recurrent_part *part, int64_t stream) {
    const float *update = row_of(part, stream) + part->first * 2, *before = h_before(part, stream);
    float *candidate = candidate_of(part, stream), *h = h_after(part, stream);
    if (part->direction->is_usual) {
        part->direction->level->step->gru_finish(part->count, update, candidate, before, h,
                                                 y_of(part, stream));
        return;
    }
    activate(part, 1, part->count, candidate);
    for (int64_t k = 0; k < part->count; k++)
        h[k] = (1 - update[k]) * candidate[k] + update[k] * before[k];
    finish(part, stream, h);
}

/* The first phase: z, r and r * h. With linear_before_reset all of it; `linear` is the hidden
 * state's part of the candidate then. */
static void do_gru(const tn_recurrent_part *part, int64_t stream, const float *linear) {
    const tn_recurrent *node = node_of(part);
    const int64_t count = part->count;
    const tn_recurrent_step_level *step = part->direction->level->step;
    float *update = row_of(part, stream) + part->first * 2, *reset = update + count;
    float *candidate = candidate_of(part, stream);
    float *to = part->direction->reset + stream * node->hidden + part->first;
    const float *before = h_before(part, stream);
    const bool is_usual = part->direction->is_usual;
    if (is_usual && node->linear_before_reset)
        step->gru_linear(count, update, linear, candidate);
    else if (is_usual)
        step->gru_gates(count, update, before, to);
    else
        activate(part, 0, 2 * count, update);
    for (int64_t k = 0; !is_usual && k < count; k++) {
        if (node->linear_before_reset)
            candidate[k] += reset[k] * linear[k];
        else
            to[k] = reset[k] * before[k];
    }
    if (node->linear_before_reset) finish_gru(part, stream);
}

/* The hidden state's part of the candidate: beside the gates with linear_before_reset, in the
 * second phase added to them. */
static void multiply_candidate(const tn_recurrent_part *part, float *linear) {
    const tn_recurrent_direction *direction = part->direction;
    const part_product product = {
        .state = linear ? direction->h[part->iteration % 2] : direction->reset,
        .packed = direction->packed->candidate_weights,
        .bias = linear ? direction->hidden_bias + part->first : NULL,
        .first = part->first,
        .columns = part->count,
        .output = linear ? linear : candidate_of(part, part->first_stream),
        .output_stride = linear ? TN_RECURRENT_CHUNK : row_of(part, 1) - row_of(part, 0),
        .adds = !linear};
    multiply(part, &product);
}

/* ----------------------------------------------------------------------------------------------
 * parts */

static void do_rnn(const tn_recurrent_part *part, int64_t stream) {
    float *h = h_after(part, stream);
    memcpy(h, row_of(part, stream) + part->first, (size_t)part->count * sizeof(float));
    activate(part, 0, part->count, h);
    finish(part, stream, h);
}

void tn_recurrent_do_part(const tn_recurrent_part *part, uint32_t phase) {
    const tn_recurrent *node = node_of(part);
    float linear[TN_RECURRENT_ROWS * TN_RECURRENT_CHUNK];
    if (phase == 0 && part->direction->packed->hidden_weights) multiply_gates(part);
    if (node->kind->cell == TN_CELL_GRU && (phase == 1 || node->linear_before_reset))
        multiply_candidate(part, phase == 1 ? NULL : linear);
    for (int64_t n = part->first_stream; n < part->end_stream; n++) {
        if (part->step >= tn_recurrent_length(node, n))
            pass(part, n);
        else if (phase == 1)
            finish_gru(part, n);
        else if (node->kind->cell == TN_CELL_LSTM)
            do_lstm(part, n);
        else if (node->kind->cell == TN_CELL_GRU)
            do_gru(part, n, linear + (n - part->first_stream) * TN_RECURRENT_CHUNK);
        else
            do_rnn(part, n);
    }
}
