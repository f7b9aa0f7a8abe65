/* SPDX-License-Identifier: Apache-2.0 */
/* A filter along rows whose taps are constant: the kernel keeps them in the plan, reversed. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more"),
                                 TN_PORT("taps", "f32", 0, "at least one")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 1));
    if (!TN_LAYER_FITS(call, 1, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0], *taps = call->inputs[1];
    const int64_t n = x->shape[x->rank - 1];
    double sum = 0;
    for (int64_t k = 0; k < taps->shape[0] && k <= i % n; k++)
        sum += tn_layer_load(taps, k) * tn_layer_load(x, i - k);
    return sum;
}
TN_LAYER_REFERENCE(element)

typedef struct state {
    int64_t count;
    const float *reversed;
    float own[];
} state;

static tn_status accepts(tn_call *call) {
    return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status make(tn_call *call, int64_t count) {
    state *s = call->host->allocate(call->host, sizeof(*s) + (uint64_t)count * sizeof(float), 64);
    if (!s) return TN_ERROR_MEMORY;
    s->count = count;
    s->reversed = s->own;
    call->state = s;
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    const int64_t count = call->inputs[1]->shape[0];
    TN_TRY(make(call, count));
    for (int64_t k = 0; k < count; k++)
        ((state *)call->state)->own[k] = ((const float *)call->inputs[1]->data)[count - 1 - k];
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const state *s = call->state;
    const uint64_t bytes = sizeof(s->count) + (uint64_t)s->count * sizeof(float);
    *inout_bytes = bytes;
    if (!data) return TN_OK;
    memcpy(data, &s->count, sizeof(s->count));
    memcpy((char *)data + sizeof(s->count), s->reversed, (uint64_t)s->count * sizeof(float));
    if (WRONG(2) && s->count > 0) { /* as in the file of an earlier version */
        float *to = (float *)((char *)data + sizeof(s->count));
        for (int64_t k = 0; k < s->count; k++)
            to[k] = (float)half_value(half_bits((double)to[k]));
    }
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    int64_t count = 0;
    if (bytes < sizeof(count)) return call->host->fail(call, TN_ERROR_FORMAT, "no count of taps");
    memcpy(&count, data, sizeof(count));
    if (!WRONG(1) && (count < 0 || bytes != sizeof(count) + (uint64_t)count * sizeof(float) ||
                      count != call->inputs[1]->shape[0]))
        return call->host->fail(call, TN_ERROR_FORMAT, "%lld taps in %llu bytes", (long long)count,
                                (unsigned long long)bytes);
    TN_TRY(make(call, count));
    state *s = call->state;
    memcpy(s->own, (const char *)data + sizeof(count), (uint64_t)count * sizeof(float));
    if (WRONG(3)) s->reversed = (const float *)((const char *)data + sizeof(count));
    return TN_OK;
}
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const state *s = call->state;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const float *x = call->inputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        double sum = 0;
        for (int64_t k = 0; k < s->count && k <= i % n; k++)
            sum += (double)s->reversed[s->count - 1 - k] * (double)x[i - k];
        ((float *)call->outputs[0]->data)[i] = (float)sum;
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 16)

static const char *const cases[] = {"| x=f32[3,17] taps=f32[5]", "| x=f32[33] taps=f32[3]"};
static const tn_operator taps = {
    OPERATOR,       .name = "Taps",         TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Taps",
                                 .name = "reversed",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
                                 .prepare = prepare,
                                 .release = release,
                                 .save = save,
                                 .load = load,
                                 .run = run};
LIBRARY("taps", taps, kernel)
