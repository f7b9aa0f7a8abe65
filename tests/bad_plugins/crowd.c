/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Columns, sums of columns with a partial sum for each thread; Bad::Weighted, columns times
 * weights with what follows them, in ranges; Bad::Chained, tensors behind each other; Bad::Flipped,
 * along axes in any order: and the mistakes that many threads, parts without elements and lists in
 * another order show. */
#include "mistake.h"
#include "../support/steps.h"

#include <string.h>

static const tn_port matrix[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port columns_output[] = {TN_PORT("y", "f32", 0, "columns")};
static const tn_port weighted_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                          TN_PORT("w", "f32", 0, "columns")};
static const tn_port any_number[] = {TN_PORT("x", "f32", TN_PORT_VARIADIC, "alike but for axis 0")};
static const tn_port any_input[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port any_output[] = {TN_PORT("y", "f32", 0, "by x")};

/* --- Columns --- */
static tn_status columns_infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must be of rank 2");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[1];
    return TN_OK;
}
static tn_status columns_reference(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], columns = call->inputs[0]->shape[1];
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++)
            sum += (double)((const float *)call->inputs[0]->data)[r * columns + c];
        ((float *)call->outputs[0]->data)[c] = (float)sum;
    }
    return TN_OK;
}
static uint32_t slots_of(const tn_call *call) {
    return WITH(table_of_64_threads) ? 64 : WITH(two_partial_sums) ? 2 : call->threads;
}
static tn_status columns_reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)call->inputs[0]->shape[1] * sizeof(double) * slots_of(call);
    return TN_OK;
}
static tn_status add_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t columns = call->inputs[0]->shape[1];
    const uint32_t slot = WITH(two_partial_sums) ? thread % 2 : thread;
    double *sums = (double *)call->workspace + slot * columns;
    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < columns; c++)
            sums[c] += (double)((const float *)call->inputs[0]->data)[r * columns + c];
    return TN_OK;
}
static tn_status columns_run(tn_call *call) {
    const int64_t columns = call->inputs[0]->shape[1];
    memset(call->workspace, 0, (size_t)call->workspace_bytes);
    const tn_status status =
        call->host->parallel_for(call, call->inputs[0]->shape[0], 16, add_rows, call);
    for (int64_t c = 0; c < columns && status == TN_OK; c++) {
        double sum = 0;
        for (uint32_t t = 0; t < slots_of(call); t++)
            sum += ((const double *)call->workspace)[t * columns + c];
        ((float *)call->outputs[0]->data)[c] = (float)sum;
    }
    return status;
}

/* --- Weighted --- */
static tn_status weighted_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 1 || w->shape[0] != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "w must have a number for each column of x");
    return infer_same(call);
}
static tn_status weighted_reference(tn_call *call) {
    const int64_t columns = call->inputs[0]->shape[1];
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        ((float *)call->outputs[0]->data)[i] = ((const float *)call->inputs[0]->data)[i] *
                                               ((const float *)call->inputs[1]->data)[i % columns];
    return TN_OK;
}
static tn_status weigh(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t columns = call->inputs[0]->shape[1];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        float y = ((const float *)call->inputs[0]->data)[i] *
                  ((const float *)call->inputs[1]->data)[i % columns];
        for (uint32_t k = 0; k < call->step_count; k++)
            y += ((const float *)call->operands[SEE_STEP(call, k)->operand]
                      ->data)[WITH(operand_of_range) ? i - begin : i];
        ((float *)call->outputs[0]->data)[i] = y;
    }
    return TN_OK;
}
static tn_status weighted_run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->outputs[0]), 64, weigh, call);
}

/* --- Chained --- */
static tn_status chained_infer(tn_call *call) {
    int64_t rows = 0;
    for (uint32_t k = 0; k < call->input_count; k++) {
        const tn_tensor *x = call->inputs[k], *first = call->inputs[0];
        if (x->rank < 1 || x->rank != first->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "all must have one rank, at least 1");
        for (uint32_t i = 1; i < x->rank; i++)
            if (x->shape[i] != first->shape[i])
                return call->host->fail(call, TN_ERROR_SHAPE, "only the first axes may differ");
        rows += x->shape[0];
    }
    infer_same(call);
    call->outputs[0]->shape[0] = rows;
    return TN_OK;
}
static tn_status chain_up(tn_call *call, bool is_kernel) {
    char *to = call->outputs[0]->data;
    for (uint32_t k = 0; k < call->input_count; k++) {
        const size_t bytes = (size_t)count_of(call->inputs[k]) * sizeof(float);
        if (WITH(empty_part_ends) && is_kernel && bytes == 0) break;
        memcpy(to, call->inputs[k]->data, bytes);
        to += bytes;
    }
    return TN_OK;
}
static tn_status chained_reference(tn_call *call) {
    return chain_up(call, false);
}
static tn_status chained_run(tn_call *call) {
    return chain_up(call, true);
}

/* --- Flipped --- */
typedef struct flipped_params {
    uint64_t present;
    tn_i64s axes;
} flipped_params;
static const tn_field flipped_fields[] = {TN_FIELD_LIST(
    flipped_params, axes, TN_FIELD_I64S, 0, NULL, 0, 8, -8, 7, "that are turned round, each once")};
static tn_status flipped_infer(tn_call *call) {
    const flipped_params *p = call->params;
    const int64_t rank = call->inputs[0]->rank;
    for (uint64_t i = 0; i < p->axes.count; i++)
        if (p->axes.items[i] < -rank || p->axes.items[i] >= rank)
            return call->host->fail(call, TN_ERROR_RANGE, "axes[%llu] is beyond the rank",
                                    (unsigned long long)i);
    return infer_same(call);
}
static tn_status flip(tn_call *call, bool is_kernel) {
    const flipped_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    bool is_along[TN_MAX_RANK] = {false};
    for (uint64_t i = 0; i < p->axes.count; i++) {
        const int64_t axis = p->axes.items[i];
        if (WITH(axes_must_ascend) && is_kernel && i > 0 && axis < p->axes.items[i - 1]) break;
        is_along[axis < 0 ? axis + x->rank : axis] = true;
    }
    for (int64_t i = 0, n = count_of(x); i < n; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (uint32_t k = x->rank; k-- > 0; rest /= x->shape[k], step *= x->shape[k])
            at += (is_along[k] ? x->shape[k] - 1 - rest % x->shape[k] : rest % x->shape[k]) * step;
        ((float *)call->outputs[0]->data)[i] = ((const float *)x->data)[at];
    }
    return TN_OK;
}
static tn_status flipped_reference(tn_call *call) {
    return flip(call, false);
}
static tn_status flipped_run(tn_call *call) {
    return flip(call, true);
}

static const char *const columns_cases[] = {"| x=f32[40,5]"};
static const char *const weighted_cases[] = {"| x=f32[3,5] w=f32[5]", "| x=f32[40,9] w=f32[9]"};
static const char *const chained_cases[] = {"| x=f32[2,3] x=f32[1,3] x=f32[4,3]"};
static const char *const flipped_cases[] = {"axes=[0,1] | x=f32[3,5]", "axes=[-1] | x=f32[2,3,4]"};
#define LAYER(id, title, table, from, to, ...)                                                     \
    static const tn_operator id = {.size = sizeof(tn_operator),                                    \
                                   .since_version = 1,                                             \
                                   .state_version = 1,                                             \
                                   .domain = "Bad",                                                \
                                   .name = title,                                                  \
                                   table,                                                          \
                                   TN_INPUTS(from),                                                \
                                   TN_OUTPUTS(to),                                                 \
                                   .infer = id##_infer,                                            \
                                   .reference = id##_reference,                                    \
                                   TN_CASES(id##_cases)};                                          \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       __VA_ARGS__.run = id##_run}
#define FIELDS TN_FIELDS(flipped_params, flipped_fields)
LAYER(columns, "Columns", TN_NO_FIELDS, matrix, columns_output, .reshape = columns_reshape, );
LAYER(weighted, "Weighted", TN_NO_FIELDS, weighted_inputs, any_output,
      .absorbs = "tn.residual/1", );
LAYER(chained, "Chained", TN_NO_FIELDS, any_number, any_output, .revision = 1, );
LAYER(flipped, "Flipped", FIELDS, any_input, any_output, .revision = 1, );

static const tn_operator *const operators[] = {&columns, &weighted, &chained, &flipped};
static const tn_kernel *const kernels[] = {&columns_cpu, &weighted_cpu, &chained_cpu, &flipped_cpu};
TN_LIBRARY("bad_crowd", "1", operators, kernels)
