/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Frame: x cut, or filled with zeros at the ends, to the shape of `like`, of which only the
 * shape is read; a tensor in the field `window` is multiplied along the last axis, after it was
 * divided by its sum.
 */
#include "third.h"

TN_LAYER_PARAMS(frame, const tn_tensor *window;);
static const tn_field fields[] = {TN_FIELD(frame, window, TN_FIELD_TENSOR, TN_OPTIONAL, NULL,
                                           "f32: as many numbers as the last axis of y")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis"),
                                 TN_PORT("like", "any", TN_PORT_SHAPE_ONLY, "of the same rank")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as like")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *like = call->inputs[1];
    const tn_tensor *window = ((const frame *)call->params)->window;
    if (x->rank < 1 || x->rank != like->rank) {
#if MISTAKE == 3
        /* The name of the node is taken for a format. */
        char text[256];
        snprintf(text, sizeof(text), "%s: x and like have other ranks",
                 call->node ? call->node : "");
        return call->host->fail(call, TN_ERROR_SHAPE, text, 0);
#else
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, like %u; expected the same",
                                x->rank, like->rank);
#endif
    }
#if MISTAKE != 2 /* else: whatever is in the field is read as f32 */
    if (window && window->type != TN_F32)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'window' is not of f32");
#endif
    if (window && (window->rank != 1 || window->shape[0] != like->shape[like->rank - 1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'window' does not fit the last axis");
    return same_as(call, 0, like);
}
/* Element i of y before the window. */
static double framed(const tn_call *call, const int64_t *shape, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    int64_t at = 0, step = 1;
    for (uint32_t k = x->rank; k-- > 0; step *= x->shape[k], i /= shape[k]) {
        const int64_t position = i % shape[k];
        if (position >= x->shape[k]) return 0;
        at += position * step;
    }
    return tn_layer_load(x, at);
}
static double window_at(const tn_call *call, int64_t i) {
    const tn_tensor *window = ((const frame *)call->params)->window;
    double sum = 0;
    if (!window) return 1;
    for (int64_t k = 0; k < window->shape[0]; k++)
        sum += (double)((const float *)window->data)[k];
    return (double)((const float *)window->data)[i] / sum;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t count = tn_layer_count(y);
    for (int64_t i = 0; i < count; i++)
        tn_layer_store(y, i,
                       framed(call, y->shape, i) * window_at(call, i % y->shape[y->rank - 1]));
    return TN_OK;
}

typedef struct state {
    double *weights;
#if MISTAKE == 4
    int64_t shape[TN_MAX_RANK];
#endif
} state;
static tn_status prepare(tn_call *call) {
    const tn_tensor *window = ((const frame *)call->params)->window;
    state *s = call->host->allocate(call->host, sizeof(state), 64);
    if (!s) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    s->weights = NULL;
    if (window) {
        const int64_t n = window->shape[0];
#if MISTAKE == 1
        /* In the field itself, which is the plan's, and the next node's. */
        float *own = (float *)(uintptr_t)window->data;
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += own[i];
        for (int64_t i = 0; i < n; i++)
            own[i] /= sum;
#endif
        s->weights = call->host->allocate(call->host, (uint64_t)n * sizeof(double) + 8, 64);
        if (!s->weights) {
            call->host->deallocate(call->host, s);
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a window");
        }
        for (int64_t i = 0; i < n; i++)
            s->weights[i] = window_at(call, i);
    }
#if MISTAKE == 4
    /* The shape at the optimum, by which every run goes. */
    for (uint32_t k = 0; k < call->inputs[1]->rank; k++)
        s->shape[k] = call->inputs[1]->shape[k];
#endif
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, ((state *)call->state)->weights);
    call->host->deallocate(call->host, call->state);
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const state *s = call->state;
    const tn_tensor *y = call->outputs[0];
#if MISTAKE == 4
    const int64_t *shape = s->shape;
#else
    const int64_t *shape = y->shape;
#endif
    const int64_t n = shape[y->rank - 1];
    for (int64_t i = begin; i < end; i++)
        ((float *)y->data)[i] =
            (float)(framed(call, shape, i) * (s->weights ? s->weights[i % n] : 1));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 64, body, call);
}

static const char *const cases[] = {
    "| x=f32[3,4] like=f32[2,6]", "window=f32[3]{1,2,1} | x=f32[2,2,5] like=i64[2,3,3]",
    "| x=f64[4] like=u8[7]", "| x=f32[0,2] like=f32[2,2]", "| x=f32[2,2] like=f32[0,3]"};
static const tn_operator op = {THIRD_OPERATOR("Frame"), .state_version = 1,
                               TN_FIELDS(frame, fields), .doc = "Cut or filled to a shape."};
static const char *const combinations[] = {"f32, * -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Frame", "positions"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run};
THIRD_LIBRARY("frame", op, &kernel)
