/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of matrix_kernel.h. */
#include <tenon/kit/matrix_kernel.h>
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/matrix_product.h>

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
    tn_kernel_context kept; /* no tables */
    int64_t rows;
    bool reverse;
} matrix_context;

static bool read_problem(const tn_call *call, tn_matrix_problem *out_problem,
                         tn_float_epilogue *out_epilogue) {
    const tn_matrix_kernel_user *user = call->user;
    return user->read(call, out_problem) && out_problem->depth > 0 && out_problem->columns > 0 &&
           tn_float_epilogue_read(call, -1, out_epilogue);
}

/* Whether all tensors are of 16-bit floats: they are computed in 32, from copies in the workspace.
 */
static bool is_widened(const tn_call *call) {
    return call->inputs[0]->type != TN_F32;
}

static void widen(const tn_tensor *from, int64_t count, float *to) {
    TN_KIT_BEST(tn_cells)->load(TN_CELL_F32, from->type, count, from->data, to);
}

tn_status tn_matrix_kernel_accepts(tn_call *call) {
    tn_matrix_problem problem;
    tn_float_epilogue epilogue;
    if (is_widened(call) && call->step_count > 0) return TN_ERROR_UNSUPPORTED;
    if (!call->inputs[1] || !call->inputs[1]->data || !read_problem(call, &problem, &epilogue))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status fill_packed(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const matrix_state *state = call->state;
    const tn_matrix_kernel_user *of = call->user;
    const tn_matrix_problem *problem = &state->problem;
    const tn_host *host = call->host;
    const tn_tensor *b = call->inputs[1];
    const int64_t count = problem->depth * problem->columns;
    const bool is_wide = b->type == TN_F32 && !of->weights;
    float *wide = is_wide ? b->data : host->allocate(host, (uint64_t)count * sizeof(float), 64);
    (void)bytes;
    if (!wide) return TN_ERROR_MEMORY;
    if (of->weights)
        of->weights(call, wide);
    else if (!is_wide)
        widen(b, count, wide);
    tn_matrix_pack(state->level, problem->depth, problem->columns, wide, problem->b_row_stride,
                   problem->b_column_stride, problem->scale, data);
    if (!is_wide) host->deallocate(host, wide);
    return TN_OK;
}

/* Whoever shares a packed right side must have packed it the same way. */
static void packed_key(const tn_call *call, const tn_matrix_problem *problem, char key[48]) {
    const tn_matrix_kernel_user *user = call->user;
    uint32_t bits;
    memcpy(&bits, &problem->scale, sizeof(bits));
    const uint64_t parts[3] = {(uint64_t)problem->b_row_stride, bits,
                               user->mark ? user->mark(call) : 0};
    const int length = user->mark ? 47 : 31;
    for (int i = 0; i < length; i++)
        key[i] = (char)('a' + (parts[i / 16] >> (i % 16 * 4) & 15));
    key[length] = 0;
}

tn_status tn_matrix_kernel_prepare(tn_call *call) {
    const tn_host *host = call->host;
    const tn_matrix_kernel_user *user = call->user;
    TN_TRY(tn_kernel_state_create(call, sizeof(matrix_state)));
    matrix_state *state = call->state;
    state->level = user->level;
    if (!read_problem(call, &state->problem, &state->epilogue))
        return tn_kernel_state_finish(
            call, host->fail(call, TN_ERROR_UNSUPPORTED,
                             "this node does not read as a product with a constant"));
    const int64_t floats =
        tn_matrix_packed_floats(state->level, state->problem.depth, state->problem.columns);
    char key[48];
    packed_key(call, &state->problem, key);
    const void *packed = NULL;
    const tn_status status =
        host->packed(call, 1, key, (uint64_t)floats * sizeof(float), fill_packed, call, &packed);
    state->packed = packed;
    return tn_kernel_state_finish(call, status);
}

void tn_matrix_kernel_release(tn_call *call) {
    tn_kernel_state_destroy(call);
}

tn_status tn_matrix_kernel_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(matrix_context));
}

void tn_matrix_kernel_close(tn_call *call) {
    tn_kernel_context_destroy(call);
}

static uint64_t bias_floats(int64_t columns) {
    return (uint64_t)((columns + 63) / 64 * 64);
}

/* Copies of A, of the output and of the bias stand behind the gathered bias. */
static uint64_t widened_floats(const tn_matrix_problem *problem, int64_t of_row) {
    return ((uint64_t)problem->rows * (uint64_t)of_row + 15) / 16 * 16;
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
    uint64_t floats = bias_floats(problem.columns);
    if (is_widened(call))
        floats += widened_floats(&problem, problem.depth) +
                  widened_floats(&problem, problem.columns) + bias_floats(problem.columns);
    call->workspace_bytes = floats * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status run_widened(tn_call *call, tn_matrix_product *product) {
    const tn_matrix_problem problem = {.rows = product->rows};
    const tn_tensor *y = call->outputs[0];
    float *a = (float *)call->workspace + bias_floats(product->columns);
    float *output = a + widened_floats(&problem, product->depth);
    widen(call->inputs[0], product->rows * product->depth, a);
    product->a = a;
    product->output = output;
    TN_TRY(tn_matrix_product_run(call, product));
    TN_KIT_BEST(tn_cells)->store(TN_CELL_F32, y->type, product->rows * product->columns, output,
                                 y->data);
    return TN_OK;
}

/* The bias of 16-bit floats, behind the copies of A and the output. */
static const float *widen_bias(const tn_call *call, const tn_matrix_problem *problem,
                               int64_t rows) {
    const tn_matrix_problem sized = {.rows = rows};
    float *bias = (float *)call->workspace + bias_floats(problem->columns) +
                  widened_floats(&sized, problem->depth) + widened_floats(&sized, problem->columns);
    widen(call->inputs[2], problem->bias_is_scalar ? 1 : problem->columns, bias);
    return bias;
}

tn_status tn_matrix_kernel_run(tn_call *call) {
    const matrix_state *state = call->state;
    matrix_context *context = call->context;
    const tn_matrix_problem *problem = &state->problem;
    const tn_matrix_kernel_user *user = call->user;
    const uint32_t bias = user->bias ? user->bias : 2;
    const float *own = problem->has_bias ? call->inputs[bias]->data : NULL;
    if (context->rows == 0) return TN_OK;
    if (own && is_widened(call)) own = widen_bias(call, problem, context->rows);
    tn_epilogue_gather_bias(call, &state->epilogue, own, !problem->bias_is_scalar,
                            problem->bias_scale, 0, problem->columns, call->workspace);
    tn_matrix_product product = {.level = state->level,
                                 .a = call->inputs[0]->data,
                                 .packed = state->packed,
                                 .bias = call->workspace,
                                 .output = call->outputs[0]->data,
                                 .rows = context->rows,
                                 .depth = problem->depth,
                                 .columns = problem->columns,
                                 .activation = state->epilogue.activation,
                                 .alpha = state->epilogue.alpha,
                                 .beta = state->epilogue.beta,
                                 .reverse = context->reverse};
    if (state->epilogue.residual != UINT32_MAX)
        product.residual = call->operands[state->epilogue.residual]->data;
    context->reverse = !context->reverse;
    return is_widened(call) ? run_widened(call, &product) : tn_matrix_product_run(call, &product);
}
