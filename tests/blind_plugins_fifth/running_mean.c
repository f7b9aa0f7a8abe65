/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::RunningCentre: takes a running mean off each column: new_mean = momentum * mean +
 * (1 - momentum) * the column's mean, y = x - new_mean. The mean is state that a program hands from
 * run to run and may be updated in place. Without rows it stays as it is. Each output is optional.
 */
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct running {
    uint64_t present;
    float momentum;
} running;
enum { X, MEAN };
enum { Y, NEW_MEAN };

static const tn_field fields[] = {
    TN_FIELD_RANGE(running, momentum, TN_FIELD_F32, TN_OPTIONAL, "0.75", 0, 1,
                   "how much of the mean stays"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                 TN_PORT("mean", "f32", 0, "columns")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", TN_PORT_OPTIONAL, "as x"),
    {"new_mean", "f32", "columns", TN_PORT_ALIAS | TN_PORT_OPTIONAL, 1 + MEAN, 0, 0}};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *mean = call->inputs[MEAN];
    if (x->rank != 2 || mean->rank != 1 || mean->shape[0] != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "mean must have one number a column");
    for (uint32_t i = 0; i < call->output_count; i++) {
        tn_tensor *out = call->outputs[i];
        if (!out) continue;
        out->rank = i == Y ? 2 : 1;
        out->shape[0] = i == Y ? x->shape[0] : x->shape[1];
        if (i == Y) out->shape[1] = x->shape[1];
    }
    return TN_OK;
}

static float *output(const tn_call *call, uint32_t i) {
    return i < call->output_count && call->outputs[i] ? call->outputs[i]->data : NULL;
}

/* A column's new mean. */
static float advance(const tn_call *call, const float *mean, int64_t column) {
    const double momentum = (double)((const running *)call->params)->momentum;
    const int64_t rows = call->inputs[X]->shape[0], columns = call->inputs[X]->shape[1];
    const float *x = call->inputs[X]->data;
    double sum = 0;
    for (int64_t row = 0; row < rows; row++)
        sum += (double)x[row * columns + column];
    return rows ? (float)(momentum * (double)mean[column] + (1 - momentum) * sum / (double)rows)
                : mean[column];
}

/* Reads each number of `mean` once before the new one may lie on it. */
static tn_status reference(tn_call *call) {
    const int64_t rows = call->inputs[X]->shape[0], columns = call->inputs[X]->shape[1];
    const float *x = call->inputs[X]->data;
    float *y = output(call, Y), *new_mean = output(call, NEW_MEAN);
    for (int64_t column = 0; column < columns; column++) {
        const float mean = advance(call, call->inputs[MEAN]->data, column);
        for (int64_t row = 0; y && row < rows; row++)
            y[row * columns + column] = x[row * columns + column] - mean;
        if (new_mean) new_mean[column] = mean;
    }
    return TN_OK;
}

#if MISTAKE == 5
/* The mean, which lives on in the context after the first run. */
static tn_status open_context(tn_call *call) {
    call->context = call->host->allocate(call->host, 2 * sizeof(int64_t) + 65536 * 4, 64);
    if (!call->context) return TN_ERROR_MEMORY;
    *(int64_t *)call->context = -1;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static const float *kept_mean(tn_call *call) {
    int64_t *known = call->context;
    float *mean = (float *)(known + 2);
    const float *given = call->inputs[MEAN]->data;
    const int64_t columns = call->inputs[X]->shape[1];
    if (columns > 65536) return given;
    if (*known != columns)
        for (int64_t i = 0; i < columns; i++)
            mean[i] = given[i];
    *known = columns;
    for (int64_t i = 0; i < columns; i++)
        mean[i] = advance(call, mean, i);
    return mean;
}
#endif

/* Items are columns. */
static tn_status centre(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t rows = call->inputs[X]->shape[0], columns = call->inputs[X]->shape[1];
    const float *x = call->inputs[X]->data, *mean = call->inputs[MEAN]->data;
    float *y = output(call, Y), *new_mean = output(call, NEW_MEAN);
    (void)thread;
    for (int64_t column = begin; column < end; column++) {
#if MISTAKE == 1
        if (new_mean) new_mean[column] = advance(call, mean, column);
#endif
#if MISTAKE == 4
        const float momentum = ((const running *)call->params)->momentum;
        float sum = 0;
        for (int64_t row = 0; row < rows; row++)
            sum += x[row * columns + column];
        const float next = momentum * mean[column] + (1 - momentum) * sum / (float)rows;
#elif MISTAKE == 5
        const float next = ((const float *)((const int64_t *)call->context + 2))[column];
#else
        const float next = advance(call, mean, column);
#endif
        for (int64_t row = 0; y && row < rows; row++)
            y[row * columns + column] = x[row * columns + column] - next;
#if MISTAKE == 2
        if (new_mean) new_mean[column] = advance(call, mean, column);
#elif MISTAKE == 3
        new_mean[column] = next;
#elif MISTAKE != 1
        if (new_mean) new_mean[column] = next;
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
#if MISTAKE == 5
    const float *mean = kept_mean(call);
    if (mean == call->inputs[MEAN]->data) return reference(call);
#endif
    return call->host->parallel_for(call, call->inputs[X]->shape[1], 16, centre, call);
}

static const char *const cases[] = {"| x=f32[4,3] mean=f32[3]",
                                    "momentum=0.5 | x=f32[2,2]{1,2,3,6} mean=f32[2]{4,0} | "
                                    "y=f32[2,2]{-2,0,0,4} new_mean=f32[2]{3,2}",
                                    "momentum=0 | x=f32[5,40] mean=f32[40]"};
static const tn_operator running_centre = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Fifth",
    .name = "RunningCentre",
    .doc = "Columns without their running means.",
    TN_FIELDS(running, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32, f32 -> f32?, f32?"};
static const tn_kernel running_centre_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "RunningCentre",
    .device = "cpu",
    .name = "columns",
#if MISTAKE == 2 || MISTAKE == 50 /* a column of x is read to its end before y is written there */
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
    .traits = TN_KERNEL_DETERMINISTIC,
#endif
    TN_COMBINATIONS(combinations),
#if MISTAKE == 5
    .open = open_context,
    .close = close_context,
#endif
    .run = run,
};

static const tn_operator *const operators[] = {&running_centre};
static const tn_kernel *const kernels[] = {&running_centre_cpu};
TN_LIBRARY("running_mean", "1.0", operators, kernels)
