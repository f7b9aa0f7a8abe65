/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Total, the sums of the rows of a matrix, and Bad::Above, the elements of a vector that are
 * above 0, by kernels that count (tenon/plugin/counted.h); and the mistakes that are made there. */
#include "mistake.h"

#include <tenon/plugin/counted.h>

/* --- Total --- */
static const tn_port total_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port total_outputs[] = {TN_PORT("y", "f32", 0, "a sum for each row")};

static tn_status total_infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "a matrix has two axes");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[0];
    return TN_OK;
}
static void add_up(const tn_tensor *x, int64_t rows, int64_t columns, int64_t pitch, float *sums) {
    const int64_t read = WITH(times_zero_behind) ? pitch : columns;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < read; i++)
            sum += ((const float *)x->data)[row * pitch + i] * (float)(i < columns);
        sums[row] = (float)sum;
    }
}
static tn_status total_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    add_up(x, x->shape[0], x->shape[1], x->shape[1], call->outputs[0]->data);
    return TN_OK;
}
/* The count of a context's first run. */
static tn_status open_count(tn_call *call) {
    int64_t *count = call->host->allocate(call->host, sizeof(*count), 64);
    if (!count) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a count");
    *count = -1;
    call->context = count;
    return TN_OK;
}
static void close_count(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
/* Rows from the count on are summed as well: nobody reads these sums. */
static tn_status total_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    int64_t columns = x->shape[1];
    const bool is_counted = x->counted && (x->counted->axis == 1 || WITH(counts_columns));
    if (is_counted && !WITH(sums_the_capacity)) columns = *x->counted->value;
    if (is_counted && WITH(zero_counts_nothing) && columns == 0) columns = x->shape[1];
    if (is_counted && WITH(first_count_kept)) {
        int64_t *first = call->context;
        if (*first < 0) *first = columns;
        columns = *first;
    }
    if (columns > x->shape[1]) columns = x->shape[1];
    add_up(x, x->shape[0], columns, WITH(rows_by_the_count) ? columns : x->shape[1],
           call->outputs[0]->data);
    return TN_OK;
}
static const char *const total_cases[] = {"| x=f32[3,5]", "| x=f32[1,16]", "| x=f32[9,2]"};
static const tn_operator total_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Bad",
                                           .name = "Total",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(total_inputs),
                                           TN_OUTPUTS(total_outputs),
                                           .infer = total_infer,
                                           .reference = total_reference,
                                           TN_CASES(total_cases)};
static const char *const total_combinations[] = {"f32:counted -> f32"};

/* --- Above --- */
static const tn_port above_inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port above_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "those above 0, in their order")};

static tn_status above_infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "a vector has one axis");
    return infer_same(call);
}
static int64_t select_above(const tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    int64_t found = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        if (from[i] > 0) to[found++] = from[i];
    return found;
}
static tn_status above_reference(tn_call *call) {
    call->outputs[0]->shape[0] = select_above(call);
    return TN_OK;
}
static tn_status above_run(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    const int64_t found = select_above(call);
    if (!y->counted || WITH(counts_and_shapes)) y->shape[0] = found;
    if (!y->counted || WITH(stores_no_count)) return TN_OK;
    y->counted->axis = 0;
    *y->counted->value = WITH(counts_bytes) ? found * (int64_t)sizeof(float) : found;
    return TN_OK;
}
static const char *const above_cases[] = {"| x=f32[7]", "| x=f32[64]"};
static const tn_operator above_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Bad",
                                           .name = "Above",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(above_inputs),
                                           TN_OUTPUTS(above_outputs),
                                           .infer = above_infer,
                                           .reference = above_reference,
                                           TN_CASES(above_cases)};
static const char *const above_combinations[] = {"f32 -> f32:counted"};

#define COUNTING_KERNEL(variable, operator_name, texts, function)                                  \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = operator_name,                                        \
                                       .device = "cpu",                                            \
                                       .name = "counts",                                           \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       TN_COMBINATIONS(texts),                                     \
                                       .open = open_count,                                         \
                                       .close = close_count,                                       \
                                       .run = function}
COUNTING_KERNEL(total_cpu, "Total", total_combinations, total_run);
COUNTING_KERNEL(above_cpu, "Above", above_combinations, above_run);

static const tn_operator *const operators[] = {&total_operator, &above_operator};
static const tn_kernel *const kernels[] = {&total_cpu, &above_cpu};
TN_LIBRARY("bad_counts", "1", operators, kernels)
