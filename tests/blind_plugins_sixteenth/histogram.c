/* SPDX-License-Identifier: Apache-2.0 */
/* How many elements lie in each of several equal parts of a range. The range's end belongs to the
 * last part; what lies outside, and NaN, is not counted. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, int64_t bins; float low, high;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, bins, "8", 1, 65536, "parts"),
    TN_LAYER_F32(params, low, "0", -1e6, 1e6, "where the first one begins"),
    TN_LAYER_F32(params, high, "1", -1e6, 1e6, "where the last one ends"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("counts", "i64", 0, "bins")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!(p->low < p->high))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'low' is %g, not below 'high', %g",
                                (double)p->low, (double)p->high);
    return TN_LAYER_SET_SHAPE(call, 0, p->bins);
}

/* The part that an element belongs to, or -1. */
static int64_t bin_of(const params *p, float v, bool is_kernel) {
    const double low = (double)p->low, high = (double)p->high;
    double at = ((double)v - low) / (high - low) * (double)p->bins;
    if (is_kernel && WRONG(3)) at = (double)((v - p->low) * ((float)p->bins / (p->high - p->low)));
    if (is_kernel && WRONG(2))
        return at > -1 && v <= p->high && at < (double)p->bins ? (int64_t)at
               : v == p->high                                  ? p->bins - 1
                                                               : -1;
    if (!(v >= p->low && v <= p->high)) return -1;
    if (is_kernel && WRONG(1)) return (int64_t)at;
    return at < (double)p->bins ? (int64_t)at : p->bins - 1;
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    int64_t *counts = call->outputs[0]->data;
    const params *p = call->params;
    for (int64_t k = 0; k < p->bins; k++)
        counts[k] = 0;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const int64_t bin = bin_of(p, x[i], false);
        if (bin >= 0) counts[bin]++;
    }
    return TN_OK;
}

TN_LAYER_WORKSPACE((uint64_t)((const params *)call->params)->bins * 8 * call->threads)

static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const float *x = call->inputs[0]->data;
    int64_t *counts = (int64_t *)call->workspace + (int64_t)thread * p->bins;
    for (int64_t i = begin; i < end; i++) {
        const int64_t bin = bin_of(p, x[i], true);
        if (bin >= 0) counts[bin]++;
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t bins = ((const params *)call->params)->bins;
    int64_t *of_threads = call->workspace, *counts = call->outputs[0]->data;
    memset(of_threads, 0, (size_t)bins * 8 * call->threads);
    TN_TRY(call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 1024, elements, call));
    for (int64_t k = 0; k < bins; k++) {
        counts[k] = 0;
        for (uint32_t t = 0; t < call->threads; t++)
            counts[k] += of_threads[(int64_t)t * bins + k];
    }
    return TN_OK;
}

static const char *const cases[] = {
    "| x=f32[300]",
    "bins=10 | x=f32[2,5]{0,0.1,0.25,0.75,0.5,0.7,0.35,0.95,2,-2}",
    "bins=3 low=-1 high=2 | x=f32[3,3,3]",
};
static const tn_operator histogram = {OPERATOR,
                                      .name = "Histogram",
                                      TN_FIELDS(params, fields),
                                      TN_INPUTS(inputs),
                                      TN_OUTPUTS(outputs),
                                      .infer = infer,
                                      .reference = reference,
                                      TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Histogram",
                                 .name = "counts",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("histogram", histogram, kernel)
