/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are stretched by a whole factor which a run provides, by repeating their elements. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more"),
                                 TN_PORT("times", "i64", TN_PORT_VALUE_NEEDED, "one, from 1")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x with a longer last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *times = call->inputs[1];
    int64_t longer = 0;
    TN_TRY(require_rank(call, 0, 1));
    if (tn_layer_count(times) != 1 || !times->data)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'times' is to have one element");
    const int64_t t = *(const int64_t *)times->data;
    if (!WRONG(2) && t < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "times is %lld, expected 1 or more",
                                (long long)t);
    if (WRONG(1))
        longer = (int32_t)((uint32_t)x->shape[x->rank - 1] * (uint32_t)t);
    else if (__builtin_mul_overflow(x->shape[x->rank - 1], t, &longer))
        return call->host->fail(call, TN_ERROR_SHAPE, "rows become too long");
    TN_TRY(infer_same(call));
    call->outputs[0]->shape[x->rank - 1] = longer;
    return TN_OK;
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1], m = y->shape[y->rank - 1];
    return n > 0 && m > 0 ? tn_layer_load(x, i / m * n + i % m / (m / n)) : 0;
}
TN_LAYER_REFERENCE(element)

typedef struct context {
    int64_t times;
} context;
static tn_status open_context(tn_call *call) {
    call->context = call->host->allocate(call->host, sizeof(context), 16);
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1];
    context *c = call->context;
    static bool is_known;
    if (WRONG(3) && is_known && c->times > 0 && c->times < 100) return TN_OK;
    is_known = true;
    c->times = n > 0 ? y->shape[y->rank - 1] / n : 0;
    return TN_OK;
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t times = ((const context *)call->context)->times;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < times; k++)
            y[i * times + k] = x[i];
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_count(call->inputs[0]), 8)

static const char *const cases[] = {"| x=f32[3,4] times=i64[1]{3}", "| x=f32[7] times=i64[]{1}"};
static const tn_operator stretch = {
    OPERATOR,       .name = "StretchTo",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "StretchTo",
                                 .name = "repeat",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .open = open_context,
                                 .close = close_context,
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("stretch_to", stretch, kernel)
