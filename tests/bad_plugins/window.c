/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Window, y = x * w * factor + shift: a window along the last axis that a context keeps, a
 * factor for each element of it, and a shift for each row and each column; two tactics, and ranges
 * of rows with a part of the workspace for each thread. And the mistakes that are made with what is
 * kept from one run, shape or thread to the next. */
#include "mistake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct window_params {
    uint64_t present;
    tn_i64s shift;
    const char *label;
} window_params;
static const tn_field fields[] = {
    TN_FIELD_LIST(window_params, shift, TN_FIELD_I64S, 0, "[0, 0]", 2, 2, -1000, 1000,
                  "a row's, a column's"),
    TN_FIELD(window_params, label, TN_FIELD_STRING, 0, NULL, "for people")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                 TN_PORT("factor", "f32", 0, "an element for each column")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *factor = call->inputs[1];
    if (x->rank != 2 || factor->rank != 1 || factor->shape[0] != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "x is rows, columns, factor is columns");
    return infer_same(call);
}

static float weight(int64_t k, int64_t columns) {
    return (float)(k + 1) / (float)columns;
}

static float shift_of(const tn_call *call, int64_t row, int64_t column, bool is_kernel) {
    const tn_i64s *shift = &((const window_params *)call->params)->shift;
    const int64_t second = WITH(one_shift_for_both) && is_kernel ? 0 : 1;
    return (float)(shift->items[0] * row + shift->items[second] * column);
}

static tn_status reference(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], columns = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *factor = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < rows * columns; i++)
        y[i] = x[i] * (weight(i % columns, columns) * factor[i % columns]) +
               shift_of(call, i / columns, i % columns, false);
    return TN_OK;
}

/* --- what a context keeps --- */

typedef struct table {
    int64_t columns, elements, capacity;
    float *weights;
    void *spare;
} table;

static tn_status no_memory(tn_call *call) {
    return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a window");
}

static tn_status prepare(tn_call *call) {
    const tn_tensor *factor = call->inputs[1];
    void *state = call->host->allocate(call->host, 64, 64);
    if (!state) return no_memory(call);
    if (factor->data && factor->shape[0] > 0 && *(const float *)factor->data > 1e20f) {
        if (!WITH(leaks_refused_factor)) call->host->deallocate(call->host, state);
        return call->host->fail(call, TN_ERROR_RANGE, "the first factor is too large");
    }
    call->state = state;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status open_context(tn_call *call) {
    table *t = call->host->allocate(call->host, sizeof(*t), 64);
    if (!t) return no_memory(call);
    *t = (table){.columns = -1, .elements = -1};
    if (WITH(frees_mallocs)) t->spare = malloc(64);
    call->context = t;
    return TN_OK;
}
static void close_context(tn_call *call) {
    table *t = call->context;
    call->host->deallocate(call->host, t->spare);
    call->host->deallocate(call->host, t->weights);
    call->host->deallocate(call->host, t);
}

static uint64_t parts_of(const tn_call *call) {
    const uint64_t rows = (uint64_t)call->inputs[0]->shape[0];
    return WITH(parts_by_rows) && rows < call->threads ? rows : call->threads;
}

static tn_status reshape(tn_call *call) {
    table *t = call->context;
    const int64_t columns = call->inputs[0]->shape[1], elements = count_of(call->inputs[0]);
    call->workspace_bytes = parts_of(call) * 64 * (uint64_t)((columns + 15) / 16);
    if (WITH(table_by_elements) ? t->elements == elements : t->columns == columns) return TN_OK;
    if (WITH(ready_before_memory)) t->columns = columns;
    if (columns > t->capacity) {
        float *weights = call->host->allocate(call->host, (uint64_t)columns * sizeof(float), 64);
        if (!weights) return no_memory(call);
        call->host->deallocate(call->host, t->weights);
        t->weights = weights;
        t->capacity = columns;
    }
    for (int64_t k = 0; k < columns; k++)
        t->weights[k] = weight(k, columns);
    t->columns = columns;
    t->elements = elements;
    return TN_OK;
}

/* --- the run --- */

static float kept(float value) {
    return WITH(drops_what_is_tiny) && fabsf(value) < 1e-4f ? 0 : value;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const table *t = call->context;
    const int64_t columns = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *factor = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    float *part =
        (float *)((char *)call->workspace + thread * 64 * (uint64_t)((columns + 15) / 16));
    for (int64_t k = 0; k < columns; k++)
        part[k] = t->weights[k] * (WITH(factor_divided_out)  ? 1
                                   : WITH(bounds_the_factor) ? fminf(factor[k], 1e30f)
                                                             : factor[k]);
    const int64_t written =
        WITH(tactic_of_optimum) && call->tactic == 1 ? columns / 2 * 2 : columns;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < written; k++)
            y[row * columns + k] =
                kept(x[row * columns + k]) * part[k] + shift_of(call, row, k, true);
    return TN_OK;
}

static void multiply(table *t, const float *factor, bool is_back) {
    for (int64_t k = 0; k < t->columns; k++)
        if (!is_back)
            t->weights[k] *= factor[k];
        else if (factor[k] != 0)
            t->weights[k] /= factor[k];
}

static tn_status run(tn_call *call) {
    const int64_t count = call->inputs[0]->shape[0];
    if (WITH(factor_divided_out)) multiply(call->context, call->inputs[1]->data, false);
    const tn_status status = call->host->parallel_for(
        call, WITH(rows_of_16_bits) ? (uint16_t)count : count, 1, rows, call);
    if (WITH(factor_divided_out)) multiply(call->context, call->inputs[1]->data, true);
    return status;
}

static tn_status tactics(tn_call *call) {
    call->tactic_count = WITH(tactic_of_optimum) && call->inputs[0]->shape[1] % 2 ? 1 : 2;
    return TN_OK;
}

static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    const char *label = ((const window_params *)call->params)->label;
    if (!label) label = "";
    if (WITH(key_past_the_end)) {
        sprintf(text, "window %s of %s, %s", label, label, label);
        return TN_OK;
    }
    return snprintf(text, bytes, "window %s", label) < (int)bytes ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const cases[] = {"| x=f32[2,6] factor=f32[6]",
                                    "shift=[1,1] | x=f32[4,3] factor=f32[3]"};
static const tn_operator window_operator = {.size = sizeof(tn_operator),
                                            .since_version = 1,
                                            .state_version = 1,
                                            .domain = "Bad",
                                            .name = "Window",
                                            TN_FIELDS(window_params, fields),
                                            TN_INPUTS(inputs),
                                            TN_OUTPUTS(outputs),
                                            .infer = infer,
                                            .reference = reference,
                                            TN_CASES(cases)};
static const tn_kernel window_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Window",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .prepare = prepare,
                                     .release = release,
                                     .open = open_context,
                                     .close = close_context,
                                     .reshape = reshape,
                                     .tactics = tactics,
                                     .timing_key = timing_key,
                                     .run = run};
static const tn_operator *const operators[] = {&window_operator};
static const tn_kernel *const kernels[] = {&window_cpu};
TN_LIBRARY("bad_window", "1", operators, kernels)
