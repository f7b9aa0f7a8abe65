/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of int8_matrix.h. */
#include <tenon/kit/int8_matrix.h>
#include "kit/int8/dot_rows.h"
#include "kit/math/byte_table.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/dot_end.h>
#include <tenon/kit/parallel.h>

#include <stdio.h>

typedef struct matrix_state {
    const tn_dot_level *level;
    tn_dot_layout layout;
    const void *blob;
    tn_matrix_problem problem; /* rows are the shapes', not these */
    tn_float_epilogue epilogue;
} matrix_state;

#define ROW_CHUNK 48

/* `reverse` turns with each run, see matrix_kernel.c. */
typedef struct matrix_context {
    tn_kernel_context kept; /* tables: offsets of the groups */
    int64_t rows;
    bool reverse;
    int32_t positions[ROW_CHUNK]; /* of a chunk's rows */
} matrix_context;

typedef struct matrix_run {
    const matrix_state *state;
    const matrix_context *context;
    tn_dot_end end;
    const float *scale, *bias;
    const int8_t *input;
    char *x, *output;
    const char *residual;
    int64_t row_chunks;
    tn_dot_choice choice;
} matrix_run;

static bool read_node(const tn_call *call, tn_matrix_problem *out_problem,
                      tn_dot_layout *out_layout, tn_float_epilogue *out_epilogue) {
    const tn_int8_matrix_user *user = call->user;
    const int64_t group = user->level->group;
    return tn_dot_call_read(call, -1, out_epilogue) && user->read(call, out_problem) &&
           out_problem->depth > 0 && out_problem->depth <= TN_DOT_DEPTH_LIMIT &&
           tn_dot_layout_make(user->level, 1, out_problem->columns,
                              (out_problem->depth + group - 1) / group, out_layout);
}

tn_status tn_int8_matrix_accepts(tn_call *call) {
    tn_matrix_problem problem;
    tn_dot_layout layout;
    tn_float_epilogue epilogue;
    return read_node(call, &problem, &layout, &epilogue) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status fill_packed(void *user, void *data, uint64_t bytes) {
    tn_call *call = user;
    const tn_host *host = call->host;
    const matrix_state *state = call->state;
    const tn_matrix_problem *problem = &state->problem;
    const int64_t count = state->layout.groups * state->level->group;
    int32_t *elements = host->allocate(host, (uint64_t)count * sizeof(*elements), 64);
    (void)bytes;
    if (!elements)
        return host->fail(call, TN_ERROR_MEMORY, "no memory to pack %lld weights of a column",
                          (long long)count);
    for (int64_t k = 0; k < count; k++)
        elements[k] = k < problem->depth ? (int32_t)k : -1;
    const tn_dot_source source = {.from = call->inputs[1]->data,
                                  .column_stride = problem->b_column_stride,
                                  .element_stride = problem->b_row_stride,
                                  .period = problem->columns,
                                  .elements = elements};
    tn_dot_pack(&state->layout, &source, data);
    host->deallocate(host, elements);
    return TN_OK;
}

tn_status tn_int8_matrix_prepare(tn_call *call) {
    const tn_host *host = call->host;
    const tn_int8_matrix_user *user = call->user;
    TN_TRY(tn_kernel_state_create(call, sizeof(matrix_state)));
    matrix_state *state = call->state;
    state->level = user->level;
    if (!read_node(call, &state->problem, &state->layout, &state->epilogue))
        return tn_kernel_state_finish(
            call, host->fail(call, TN_ERROR_UNSUPPORTED,
                             "this node does not read as a quantised product with a constant"));
    /* Whoever shares packed weights must have read them the same way. */
    char key[64];
    snprintf(key, sizeof(key), "rows of %lld, columns of %lld",
             (long long)state->problem.b_row_stride, (long long)state->problem.b_column_stride);
    return tn_kernel_state_finish(call,
                                  host->packed(call, 1, key, tn_dot_layout_bytes(&state->layout),
                                               fill_packed, call, &state->blob));
}

void tn_int8_matrix_release(tn_call *call) {
    tn_kernel_state_destroy(call);
}

tn_status tn_int8_matrix_open(tn_call *call) {
    const matrix_state *state = call->state;
    const int64_t group = state->level->group, groups = state->layout.groups;
    TN_TRY(tn_kernel_context_create(call, sizeof(matrix_context)));
    matrix_context *context = call->context;
    const tn_status status = tn_kernel_context_reserve(call, (uint64_t)groups * sizeof(int32_t));
    if (status != TN_OK) {
        tn_kernel_context_destroy(call);
        return status;
    }
    int32_t *offsets = context->kept.tables;
    for (int64_t g = 0; g < groups; g++)
        offsets[g] = (int32_t)(g * group);
    for (int64_t row = 0; row < ROW_CHUNK; row++)
        context->positions[row] = (int32_t)(row * groups * group);
    return TN_OK;
}

void tn_int8_matrix_close(tn_call *call) {
    tn_kernel_context_destroy(call);
}

static int64_t row_bytes(const matrix_state *state, const tn_dot_form *form) {
    return state->layout.groups * state->level->group * form->element_bytes;
}

static int64_t channel_bytes(const matrix_state *state) {
    return (state->layout.padded * (int64_t)sizeof(float) + 63) / 64 * 64;
}

tn_status tn_int8_matrix_reshape(tn_call *call) {
    const matrix_state *state = call->state;
    const tn_int8_matrix_user *user = call->user;
    matrix_context *context = call->context;
    tn_matrix_problem problem;
    if (!user->read(call, &problem) || problem.depth != state->problem.depth ||
        problem.columns != state->problem.columns ||
        problem.rows > INT64_MAX / row_bytes(state, state->level->form) / 2)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as the product it was prepared for");
    context->rows = problem.rows;
    call->workspace_bytes =
        (uint64_t)(2 * channel_bytes(state) + problem.rows * row_bytes(state, state->level->form));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status load_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const matrix_run *run = user;
    const tn_dot_form *form = run->choice.form;
    const int64_t depth = run->state->problem.depth, bytes = row_bytes(run->state, form);
    const int64_t padding = run->state->layout.groups * run->state->level->group - depth;
    (void)thread;
    if (padding == 0) { /* rows side by side */
        form->load(run->x + begin * bytes, run->input + begin * depth, (end - begin) * depth);
        return TN_OK;
    }
    for (int64_t row = begin; row < end; row++) {
        char *to = run->x + row * bytes;
        form->load(to, run->input + row * depth, depth);
        form->clear(to + depth * form->element_bytes, padding);
    }
    return TN_OK;
}

static void run_block(const matrix_run *run, int64_t block, int64_t begin, int64_t end) {
    const matrix_state *state = run->state;
    const tn_dot_layout *layout = &state->layout;
    const int64_t columns = layout->columns, first = tn_dot_block_first(layout, block);
    const int64_t at = (begin * columns + first) * (run->end.type == TN_I8 ? 1 : 4);
    tn_dot_tile tile = {.x = run->x + begin * row_bytes(state, run->choice.form),
                        .offsets = run->context->kept.tables,
                        .scale = run->scale + first,
                        .bias = run->bias + first,
                        .row_stride = columns,
                        .column_stride = 1,
                        .end = &run->end};
    tn_dot_tile_begin(layout, state->blob, &run->choice, 0, block, &tile);
    if (columns - first < tile.columns) tile.columns = columns - first;
    tn_dot_rows_run(state->level, &tile, run->context->positions, end - begin, run->output + at,
                    run->residual ? run->residual + at : NULL);
}

static tn_status run_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const matrix_run *run = user;
    const int64_t rows = run->context->rows;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t unit = run->context->reverse ? begin + end - 1 - i : i;
        const int64_t from = unit % run->row_chunks * ROW_CHUNK;
        run_block(run, unit / run->row_chunks, from,
                  from + ROW_CHUNK < rows ? from + ROW_CHUNK : rows);
    }
    return TN_OK;
}

tn_status tn_int8_matrix_run(tn_call *call) {
    const matrix_state *state = call->state;
    matrix_context *context = call->context;
    const tn_matrix_problem *problem = &state->problem;
    if (context->rows == 0) return TN_OK;
    char *workspace = call->workspace;
    float *scale = call->workspace, *bias = (float *)(void *)(workspace + channel_bytes(state));
    matrix_run run = {.state = state,
                      .context = context,
                      .scale = scale,
                      .bias = bias,
                      .input = call->inputs[0]->data,
                      .x = workspace + 2 * channel_bytes(state),
                      .output = call->outputs[0]->data,
                      .row_chunks = (context->rows + ROW_CHUNK - 1) / ROW_CHUNK};
    const float fold = tn_dot_end_make(call, &state->epilogue, &run.end);
    tn_dot_end_gather(call, &state->epilogue, &state->layout, state->blob, problem->columns,
                      problem->bias_scale, fold,
                      fold * problem->scale * tn_byte_scale(call->inputs[0]), scale, bias);
    if (state->epilogue.residual != UINT32_MAX)
        run.residual = call->operands[state->epilogue.residual]->data;
    context->reverse = !context->reverse;
    tn_dot_range range = {0, 0}; /* of what is behind a row, too */
    if (state->level->narrow)
        state->level->narrow->range((const uint8_t *)run.input, context->rows * problem->depth, 0,
                                    &range);
    run.choice = tn_dot_choose(&state->layout, range);
    tn_status status =
        call->host->parallel_for(call, context->rows, 65536 / problem->depth + 1, load_rows, &run);
    if (status != TN_OK) return status;
    /* About 4 microseconds a thread at least; a row alone is bound by reading the weights. */
    const int64_t rows = context->rows < ROW_CHUNK ? context->rows : ROW_CHUNK;
    const int64_t width = (int64_t)state->level->lanes * state->level->vectors;
    const int64_t each = problem->depth * width * (rows < 2 ? 2 : rows);
    return call->host->parallel_for(call, state->layout.blocks * run.row_chunks,
                                    800000 / (each + 1) + 1, run_units, &run);
}
