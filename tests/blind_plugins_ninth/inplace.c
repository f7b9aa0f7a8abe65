/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: the difference of each element to the one before it along the last axis, times a gain, or
 * (reverse) the line from its end; in place. */
#include "ninth.h"

TN_LAYER_PARAMS(steps, float gain; bool reverse;);
static const tn_field fields[] = {
    TN_LAYER_F32(steps, gain, "1", -100, 100, "of the differences"),
    TN_LAYER_BOOL(steps, reverse, "false", "true: the line from its end, times gain")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x; the first of a line stays")};

static int64_t line_length(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return x->rank > 0 ? x->shape[x->rank - 1] : 1;
}

static double element(const tn_call *call, int64_t i) {
    const steps *p = call->params;
    const int64_t n = line_length(call), k = i % n;
    const double x = tn_layer_load(call->inputs[0], i);
    if (p->reverse) return (double)p->gain * tn_layer_load(call->inputs[0], i - k + n - 1 - k);
    return (double)p->gain * (k > 0 ? x - tn_layer_load(call->inputs[0], i - 1) : x);
}
TN_LAYER_REFERENCE(element)

static void reverse_line(const float *x, float *y, int64_t n, float gain) {
    if (WRONG(1)) { /* from both ends, with two elements in registers where the memory is one */
        for (int64_t k = 0; k < n; k++)
            y[k] = gain * x[n - 1 - k];
        return;
    }
    for (int64_t k = 0; k < (n + 1) / 2; k++) {
        const float low = x[k], high = x[n - 1 - k];
        y[k] = gain * high, y[n - 1 - k] = gain * low;
    }
}

static void differences(const float *x, float *y, int64_t n, float gain) {
    if (WRONG(2)) {
        for (int64_t k = 0; k < n; k++)
            y[k] = gain * (k > 0 ? x[k] - x[k - 1] : x[k]);
        return;
    }
    for (int64_t k = n - 1; k > 0; k--)
        y[k] = gain * (x[k] - x[k - 1]);
    if (n > 0) y[0] = gain * x[0];
}

static tn_status lines(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const steps *p = call->params;
    const int64_t n = line_length(call);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const float *x = (const float *)call->inputs[0]->data + item * n;
        float *y = (float *)call->outputs[0]->data + item * n;
        if (p->reverse)
            reverse_line(x, y, n, p->gain);
        else
            differences(x, y, n, p->gain);
    }
    return TN_OK;
}

/* Elements of all lines: what lies before a thread's first element is another thread's. */
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const steps *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t n = line_length(call);
    (void)thread;
    for (int64_t i = end - 1; i >= begin; i--)
        y[i] = p->gain * (i % n > 0 ? x[i] - x[i - 1] : x[i]);
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const bool by_element = WRONG(3) && !((const steps *)call->params)->reverse;
    return by_element ? elements(call, begin, end, thread) : lines(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const bool by_element = WRONG(3) && !((const steps *)call->params)->reverse;
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(call, by_element ? tn_layer_count(x) : tn_layer_rows(x), 1,
                                    body, call);
}

static const char *const cases[] = {"| x=f32[2,3,4]", "reverse=true gain=2 | x=f32[5]",
                                    "gain=-1 | x=f32[3,7]"};
static const tn_operator steps_operator = {
    OPERATOR,          .state_version = 1,  .name = "Steps",     TN_FIELDS(steps, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer_same, .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel steps_cpu = {KERNEL,
                                    .op = "Steps",
                                    .name = "lines",
                                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("ninth_inplace", steps_operator, steps_cpu)
