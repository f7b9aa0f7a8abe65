/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Centre, rows without their mean: a table and a name from the C library's heap in open,
 * scratch from it in run; and the mistakes that are made when it gives nothing. */
#include "mistake.h"

#include <stdlib.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "of rank 2")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "like x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must be of rank 2");
    return infer_same(call);
}

static tn_status no_memory(tn_call *call) {
    return call->host->fail(call, TN_ERROR_MEMORY, "no memory for rows");
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t rows = call->inputs[0]->shape[0], length = call->inputs[0]->shape[1];
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < length; i++)
            sum += (double)x[r * length + i];
        for (int64_t i = 0; i < length; i++)
            y[r * length + i] = (float)((double)x[r * length + i] - sum / (double)length);
    }
    return TN_OK;
}

typedef struct context_state {
    float *table;
    char *name;
} context_state;

static tn_status open_table(tn_call *call) {
    context_state *context = malloc(sizeof(*context));
    if (!context) return no_memory(call);
    context->table = malloc(32);
    if (!context->table && WITH(frees_what_was_not_made)) free(context->name);
    if (!context->table && !WITH(believes_in_malloc)) {
        free(context);
        return no_memory(call);
    }
    ((volatile float *)context->table)[0] = 1;
    context->name = strdup("centre");
    if (!context->name && !WITH(believes_in_strdup)) {
        if (!WITH(leaks_when_malloc_fails)) free(context->table);
        free(context);
        return no_memory(call);
    }
    ((volatile char *)context->name)[0] = 'C';
    call->context = context;
    return TN_OK;
}

static void close_table(tn_call *call) {
    context_state *context = call->context;
    free(context->name);
    free(context->table);
    free(context);
}

static tn_status run(tn_call *call) {
    const context_state *context = call->context;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t rows = call->inputs[0]->shape[0], length = call->inputs[0]->shape[1];
    double *means = calloc((size_t)rows + 1, sizeof(*means));
    if (!means && WITH(hides_failed_malloc)) return TN_OK;
    if (!means && WITH(fails_without_reason)) return TN_ERROR_DEVICE;
    if (!means) return no_memory(call);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < length; i++)
            means[r] += (double)(x[r * length + i] * context->table[0]) / (double)length;
    for (int64_t i = 0; i < rows * length; i++)
        y[i] = (float)((double)x[i] - means[i / length]);
    free(means);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[5,7]",
                                    "| x=f32[1,4]{1,2,3,6} | y=f32[1,4]{-2,-1,0,3}"};
static const tn_operator centre = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Centre",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel centre_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Centre",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .open = open_table,
                                     .close = close_table,
                                     .run = run};
static const tn_operator *const operators[] = {&centre};
static const tn_kernel *const kernels[] = {&centre_cpu};
TN_LIBRARY("bad_centre", "1", operators, kernels)
