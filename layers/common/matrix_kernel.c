/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of matrix_kernel.h. */
#include "common/matrix_kernel.h"
#include "common/epilogue.h"

#include <string.h>

typedef struct matrix_state {
    const tn_matrix_level *level;
    const float *packed;
    tn_matrix_problem problem; /* rows are the shapes', not these */
    tn_float_epilogue epilogue;
} matrix_state;

/* `reverse` turns with each run: going over the weights back and forth finds the part read last
 * still in the cache, where always starting at the front of weights larger than the cache finds
 * nothing. */
typedef struct matrix_context {
    int64_t rows;
    bool reverse;
} matrix_context;

typedef struct matrix_run {
    const matrix_state *state;
    const float *a, *bias, *residual;
    float *output;
    int64_t rows, row_chunk, row_chunks, blocks;
    bool reverse;
} matrix_run;

#define ROW_CHUNK (8 * TN_MATRIX_ROWS)

static bool read_problem(const tn_call *call, tn_matrix_problem *out_problem,
                         tn_float_epilogue *out_epilogue) {
    const tn_matrix_kernel_user *user = call->user;
    return user->read(call, out_problem) && out_problem->depth > 0 && out_problem->columns > 0 &&
           tn_float_epilogue_read(call, -1, out_epilogue);
}

tn_status tn_matrix_kernel_accepts(tn_call *call) {
    tn_matrix_problem problem;
    tn_float_epilogue epilogue;
    if (!call->inputs[1] || !call->inputs[1]->data || !read_problem(call, &problem, &epilogue))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status fill_packed(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const matrix_state *state = call->state;
    const tn_matrix_problem *problem = &state->problem;
    (void)bytes;
    tn_matrix_pack(state->level, problem->depth, problem->columns, call->inputs[1]->data,
                   problem->b_row_stride, problem->b_column_stride, problem->scale, data);
    return TN_OK;
}

/* Whoever shares a packed right side must have packed it the same way. */
static void packed_key(const tn_matrix_problem *problem, char key[32]) {
    uint32_t bits;
    memcpy(&bits, &problem->scale, sizeof(bits));
    const uint64_t parts[2] = {(uint64_t)problem->b_row_stride, bits};
    for (int i = 0; i < 31; i++)
        key[i] = (char)('a' + (parts[i / 16] >> (i % 16 * 4) & 15));
    key[31] = 0;
}

tn_status tn_matrix_kernel_prepare(tn_call *call) {
    const tn_host *host = call->host;
    const tn_matrix_kernel_user *user = call->user;
    matrix_state *state = host->allocate(host, sizeof(*state), 64);
    if (!state) return host->fail(call, TN_ERROR_MEMORY, "no memory for the product's state");
    memset(state, 0, sizeof(*state));
    state->level = user->level;
    if (!read_problem(call, &state->problem, &state->epilogue)) {
        host->deallocate(host, state);
        return host->fail(call, TN_ERROR_UNSUPPORTED,
                          "this node does not read as a product with a constant");
    }
    const int64_t floats =
        tn_matrix_packed_floats(state->level, state->problem.depth, state->problem.columns);
    char key[32];
    packed_key(&state->problem, key);
    const void *packed = NULL;
    call->state = state;
    tn_status status =
        host->packed(call, 1, key, (uint64_t)floats * sizeof(float), fill_packed, call, &packed);
    if (status != TN_OK) {
        call->state = NULL;
        host->deallocate(host, state);
        return status;
    }
    state->packed = packed;
    return TN_OK;
}

void tn_matrix_kernel_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

tn_status tn_matrix_kernel_open(tn_call *call) {
    matrix_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the product's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

void tn_matrix_kernel_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

static uint64_t bias_floats(int64_t columns) {
    return (uint64_t)((columns + 63) / 64 * 64);
}

tn_status tn_matrix_kernel_reshape(tn_call *call) {
    const matrix_state *state = call->state;
    matrix_context *context = call->context;
    const tn_matrix_kernel_user *user = call->user;
    tn_matrix_problem problem;
    if (!user->read(call, &problem) || problem.depth != state->problem.depth ||
        problem.columns != state->problem.columns)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as the product it was prepared for");
    context->rows = problem.rows;
    call->workspace_bytes = bias_floats(problem.columns) * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static void run_block(const matrix_run *run, int64_t block, int64_t from, int64_t to) {
    const matrix_state *state = run->state;
    const tn_matrix_problem *problem = &state->problem;
    const int64_t width = (int64_t)state->level->lanes * state->level->vectors,
                  first = block * width;
    const int64_t columns = problem->columns - first < width ? problem->columns - first : width;
    const int64_t vectors = (columns + state->level->lanes - 1) / state->level->lanes;
    tn_matrix_tile tile = {.a_stride = problem->depth,
                           .depth = problem->depth,
                           .b = state->packed + first * problem->depth,
                           .bias = run->bias + first,
                           .output_stride = problem->columns,
                           .columns = columns,
                           .activation = state->epilogue.activation,
                           .alpha = state->epilogue.alpha,
                           .beta = state->epilogue.beta};
    for (int64_t row = from; row < to; row += TN_MATRIX_ROWS) {
        const int64_t rows = to - row < TN_MATRIX_ROWS ? to - row : TN_MATRIX_ROWS;
        tile.a = run->a + row * problem->depth;
        tile.output = run->output + row * problem->columns + first;
        tile.residual = run->residual ? run->residual + row * problem->columns + first : NULL;
        state->level->functions[rows - 1][vectors - 1](&tile);
    }
}

static tn_status run_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const matrix_run *run = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t unit = run->reverse ? begin + end - 1 - i : i;
        const int64_t from = unit % run->row_chunks * run->row_chunk;
        const int64_t to = from + run->row_chunk < run->rows ? from + run->row_chunk : run->rows;
        run_block(run, unit / run->row_chunks, from, to);
    }
    return TN_OK;
}

static void gather_bias(const tn_call *call, const matrix_state *state, float *bias) {
    const tn_matrix_problem *problem = &state->problem;
    const float *own = problem->has_bias ? call->inputs[2]->data : NULL;
    for (int64_t n = 0; n < problem->columns; n++)
        bias[n] = own ? own[problem->bias_is_scalar ? 0 : n] * problem->bias_scale : 0.0f;
    for (uint32_t b = 0; b < state->epilogue.bias_count; b++) {
        const float *more = call->operands[state->epilogue.bias[b]]->data;
        for (int64_t n = 0; n < problem->columns; n++)
            bias[n] += more[n];
    }
}

tn_status tn_matrix_kernel_run(tn_call *call) {
    const matrix_state *state = call->state;
    matrix_context *context = call->context;
    const tn_matrix_problem *problem = &state->problem;
    const int64_t width = (int64_t)state->level->lanes * state->level->vectors;
    if (context->rows == 0) return TN_OK;
    gather_bias(call, state, call->workspace);
    matrix_run run = {.state = state,
                      .a = call->inputs[0]->data,
                      .bias = call->workspace,
                      .output = call->outputs[0]->data,
                      .rows = context->rows,
                      .row_chunk = ROW_CHUNK,
                      .row_chunks = (context->rows + ROW_CHUNK - 1) / ROW_CHUNK,
                      .blocks = (problem->columns + width - 1) / width,
                      .reverse = context->reverse};
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    context->reverse = !context->reverse;
    const int64_t units = run.blocks * run.row_chunks;
    /* About 4 microseconds a thread at least; a row alone is bound by reading the weights. */
    const int64_t rows = context->rows < ROW_CHUNK ? context->rows : ROW_CHUNK;
    const int64_t each = problem->depth * width * (rows < 3 ? 3 : rows);
    return call->host->parallel_for(call, units, 400000 / (each + 1) + 1, run_units, &run);
}
