/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of tile_matrix.h. */
#include "kit/int8/tiles/tile_matrix.h"
#include "kit/int8/tiles/tile_scaled.h"

#include <stdio.h>

#if defined(__x86_64__)

typedef struct matrix_state {
    const void *blob; /* the packed weights, then the columns' scales */
} matrix_state;

typedef struct matrix_run {
    tn_call *call;
    tn_matrix_problem problem;
    tn_float_epilogue epilogue;
    tn_tile_rows rows;
} matrix_run;

/* Before the shapes are known there may be any number of rows. */
static bool read_run(tn_call *call, matrix_run *run) {
    const tn_tile_matrix_user *user = call->user;
    run->call = call;
    return tn_dot_call_read(call, -1, &run->epilogue) && user->read(call, &run->problem) &&
           tn_tile_rows_make(user->level, run->problem.rows < 1 ? 1 : run->problem.rows,
                             run->problem.depth, run->problem.columns, true, call->threads,
                             &run->rows);
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a quantised product with a constant");
}

tn_status tn_tile_matrix_accepts(tn_call *call) {
    matrix_run run;
    return read_run(call, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static float *scales_of(const matrix_run *run, const void *blob) {
    return (float *)(uintptr_t)((const char *)blob + tn_tile_layout_bytes(&run->rows.layout));
}

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const matrix_run *run = user;
    const tn_host *host = run->call->host;
    const tn_matrix_problem *problem = &run->problem;
    const float *w = run->call->inputs[1]->data;
    const int64_t depth = problem->depth, columns = problem->columns;
    int8_t *steps = host->allocate(host, (uint64_t)(columns * depth), 64);
    (void)bytes;
    if (!steps)
        return host->fail(run->call, TN_ERROR_MEMORY, "no memory to pack %lld weights",
                          (long long)(columns * depth));
    for (int64_t c = 0; c < columns; c++)
        tn_tile_quantise(w + c * problem->b_column_stride, problem->b_row_stride, depth,
                         steps + c * depth, scales_of(run, data) + c);
    tn_tile_pack(&run->rows.layout, steps, depth, depth, 1, data);
    host->deallocate(host, steps);
    return TN_OK;
}

tn_status tn_tile_matrix_prepare(tn_call *call) {
    matrix_run run;
    char key[96];
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(matrix_state)));
    matrix_state *state = call->state;
    /* Whoever shares packed weights must have read them the same way. */
    snprintf(key, sizeof(key), "scaled tiles, rows of %lld, columns of %lld, chunks of %lld",
             (long long)run.problem.b_row_stride, (long long)run.problem.b_column_stride,
             (long long)run.rows.layout.chunk);
    const uint64_t bytes =
        tn_tile_layout_bytes(&run.rows.layout) + (uint64_t)run.problem.columns * 4;
    return tn_kernel_state_finish(
        call, call->host->packed(call, 1, key, bytes, pack, &run, &state->blob));
}

tn_status tn_tile_matrix_reshape(tn_call *call) {
    matrix_run run;
    if (!read_run(call, &run)) return refuse(call);
    call->workspace_bytes =
        tn_tile_scaled_bytes(&run.rows.layout) + tn_tile_rows_unit_bytes(&run.rows) * call->threads;
    return TN_OK;
}

tn_status tn_tile_matrix_run(tn_call *call) {
    const matrix_state *state = call->state;
    matrix_run run;
    tn_tile_scaled scaled;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (!read_run(call, &run)) return refuse(call);
    const tn_matrix_problem *problem = &run.problem;
    const tn_tile_bias bias = {.values = problem->has_bias ? call->inputs[2]->data : NULL,
                               .stride = problem->bias_is_scalar ? 0 : 1,
                               .factor = problem->bias_scale};
    tn_tile_scaled_make(call, &run.epilogue, &run.rows.layout, scales_of(&run, state->blob),
                        problem->scale, &bias, call->workspace, &scaled);
    const tn_tile_pair pair = {call->inputs[0]->data, state->blob, scaled.end};
    return tn_tile_rows_run(call, &run.rows, &pair, 1,
                            (char *)call->workspace + tn_tile_scaled_bytes(&run.rows.layout));
}

#endif
