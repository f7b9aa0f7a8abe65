/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::RunningMean: y[n, c] = x[n, c] - mean[c], and the mean goes on:
 * next[c] = momentum * mean[c] + (1 - momentum) * (the mean of x[., c] over the batch); an empty
 * batch leaves it as it is. `next` may lie on `mean`, which is then updated in place. Version 1 of
 * the fields had `decay`, which is 1 - momentum.
 */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif
enum { X, MEAN };

TN_LAYER_PARAMS(running, float momentum;);

static const tn_field fields[] = {
    TN_LAYER_F32(running, momentum, "0.9", 0, 1, "how much of the old mean stays")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C"),
                                 TN_PORT("mean", "T", 0, "C")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x"),
                                  {"next", "T", "the new mean", TN_PORT_ALIAS, MEAN + 1, 0, 0}};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, X, -1, -1) || !TN_LAYER_FITS(call, MEAN, call->inputs[X]->shape[1]))
        return TN_ERROR_SHAPE;
    if (call->outputs[0]) tn_layer_set_shape(call, 0, 2, call->inputs[X]->shape);
    if (call->output_count > 1 && call->outputs[1])
        tn_layer_set_shape(call, 1, 1, call->inputs[MEAN]->shape);
    return TN_OK;
}

/* Output `port`, null where it is not requested. */
static const tn_tensor *wanted(const tn_call *call, uint32_t port) {
    return port < call->output_count ? call->outputs[port] : NULL;
}

static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[X]->shape[0], channels = call->inputs[X]->shape[1];
    const double momentum = (double)((const running *)call->params)->momentum;
    const tn_tensor *y = wanted(call, 0), *next = wanted(call, 1);
    for (int64_t c = 0; c < channels; c++) {
        const double mean = tn_layer_load(call->inputs[MEAN], c);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const double x = tn_layer_load(call->inputs[X], i * channels + c);
            sum += x;
            if (y) tn_layer_store(y, i * channels + c, x - mean);
        }
        if (next)
            tn_layer_store(next, c, n ? momentum * mean + (1 - momentum) * sum / (double)n : mean);
    }
    return TN_OK;
}

/* Items are channels. */
static tn_status channels(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[X]->shape[0], step = call->inputs[X]->shape[1];
    const float momentum = ((const running *)call->params)->momentum;
    const float *x = call->inputs[X]->data, *mean = call->inputs[MEAN]->data;
    float *y = wanted(call, 0) ? wanted(call, 0)->data : NULL;
    float *next = wanted(call, 1) ? wanted(call, 1)->data : NULL;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        const float old = mean[c];
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i * step + c];
#if MISTAKE == 3
        if (next) next[c] = momentum * old + (1 - momentum) * (sum / (float)n);
#else
        if (next) next[c] = n ? momentum * old + (1 - momentum) * (sum / (float)n) : old;
#endif
        for (int64_t i = 0; y && i < n; i++)
#if MISTAKE == 2
            y[i * step + c] = x[i * step + c] - mean[c];
#else
            y[i * step + c] = x[i * step + c] - old;
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(channels, call->inputs[X]->shape[1], 4)

static tn_status upgrade(tn_call *call, uint32_t from) {
    running *p = call->new_params;
    if (from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "fields of version %u", from);
#if MISTAKE == 1
    p->momentum = (float)(1 - call->saved[0]->f); /* version 1 had this one field */
    p->present |= 1;
#else
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (call->saved[i]->name && !strcmp(call->saved[i]->name, "decay")) {
            const double decay = call->saved[i]->f;
            if (!(decay >= 0 && decay <= 1))
                return call->host->fail(call, TN_ERROR_RANGE, "saved field 'decay' is %g", decay);
            p->momentum = (float)(1 - decay);
            p->present |= 1;
        }
#endif
    return TN_OK;
}

static const char *const cases[] = {
    "momentum=0.5 | x=f32[2,2]{1,2,3,6} mean=f32[2]{1,0} | y=f32[2,2]{0,2,2,6} next=f32[2]{1.5,2}",
    "| x=f32[7,13] mean=f32[13]", "momentum=0 | x=f64[3,2] mean=f64[2]",
    "| x=f32[0,3] mean=f32[3]{1,2,3} | y=f32[0,3] next=f32[3]{1,2,3}"};
static const tn_operator running_operator = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 2,
                                             .domain = "Lab",
                                             .name = "RunningMean",
                                             .doc = "Differences from a mean that goes on.",
                                             TN_FIELDS(running, fields),
                                             TN_INPUTS(inputs),
                                             TN_OUTPUTS(outputs),
                                             .infer = infer,
                                             .reference = reference,
                                             .upgrade = upgrade,
                                             TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32, f32"};
static const tn_kernel channels_kernel = {.size = sizeof(tn_kernel),
                                          .revision = 1,
                                          .domain = "Lab",
                                          .op = "RunningMean",
                                          .device = "cpu",
                                          .name = "channels",
                                          .traits = TN_KERNEL_DETERMINISTIC,
                                          TN_COMBINATIONS(combinations),
                                          .run = run};
static const tn_operator *const operators[] = {&running_operator};
static const tn_kernel *const kernels[] = {&channels_kernel};
TN_LIBRARY("running_mean", "1.0", operators, kernels)
