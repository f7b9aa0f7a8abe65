/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Smooth: each row of x filtered by w, around each element; nothing outside. */
#include "second.h"

typedef struct smooth_params {
    uint64_t present;
    float gain;
} smooth_params;
static const tn_field fields[] = {
    OPTION(smooth_params, gain, TN_FIELD_F32, "1", -100, 100, "factor of all of w")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., L"), TN_PORT("w", "f32", 0, "taps")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1 || call->inputs[1]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis, or w not one");
    same_shape(call, 0, 0);
    return TN_OK;
}
static double value(const tn_tensor *x, const float *w, int64_t taps, int64_t i, double gain) {
    const int64_t length = x->shape[x->rank - 1], row = i / length, at = i % length;
    double sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        const int64_t from = at + k - taps / 2;
        if (from >= 0 && from < length) sum += get(x, row * length + from) * (double)w[k];
    }
    return sum * gain;
}
static tn_status reference(tn_call *call) {
    const smooth_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    for (int64_t i = 0, count = elements(x); i < count; i++)
        set(call->outputs[0], i, value(x, w->data, w->shape[0], i, (double)p->gain));
    return TN_OK;
}

typedef struct smooth_state {
    const float *weights;
    uint64_t bytes;
    float *scratch;
} smooth_state;
typedef struct smooth_context {
    const void *from;
    int64_t count, width;
    float *kept;
} smooth_context;

static tn_status prepare(tn_call *call) {
    smooth_state *s = calloc(1, sizeof *s);
    if (!s) return TN_ERROR_MEMORY;
    s->weights = call->inputs[1]->data;
    s->bytes = (uint64_t)elements(call->inputs[0]) * 4;
    if (IS(7)) s->scratch = malloc((size_t)elements(call->inputs[1]) * 4 + 65536);
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    smooth_state *s = call->state;
    free(s->scratch);
    free(s);
}
static tn_status open_context(tn_call *call) {
    call->context = calloc(1, sizeof(smooth_context));
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_context(tn_call *call) {
    smooth_context *c = call->context;
    free(c->kept);
    if (!IS(6)) free(c);
}
static tn_status reshape(tn_call *call) {
    const smooth_state *s = call->state;
    call->workspace_bytes = (uint64_t)elements(call->inputs[0]) * 4;
    if (IS(2)) call->workspace_bytes = s->bytes;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const smooth_params *p = call->params;
    const smooth_state *s = call->state;
    smooth_context *c = call->context;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1], *y = call->outputs[0];
    const int64_t count = elements(x), taps = w->shape[0];
    const float *weights = w->data;
    float *sums = call->workspace;
    if (IS(3) && s->weights) weights = s->weights;
    if (IS(4)) { /* weights are copied when they are other ones */
        if (c->from != w->data || c->count != taps) {
            free(c->kept);
            c->kept = malloc((size_t)taps * 4 + 4);
            if (!c->kept) return TN_ERROR_MEMORY;
            memcpy(c->kept, w->data, (size_t)taps * 4);
            c->from = w->data;
            c->count = taps;
        }
        weights = c->kept;
    }
    if (IS(7)) {
        memcpy(s->scratch, w->data, (size_t)(taps < 16384 ? taps : 16384) * 4);
        for (int64_t k = 0; k < taps && k < 16384; k++)
            s->scratch[k] *= p->gain;
        weights = s->scratch;
    }
    tn_tensor view = *x;
    int64_t width[1] = {x->shape[x->rank - 1]};
    if (IS(5)) { /* the length of a row, worked out where the count changed */
        if (c->count != count) {
            c->count = count;
            c->width = width[0];
        }
        width[0] = c->width;
        view.rank = 1;
        view.shape = width;
    }
    for (int64_t i = 0; i < count; i++) {
        const double v = value(&view, weights, taps, i, IS(7) ? 1 : (double)p->gain);
        if (IS(1))
            sums[i] += (float)v;
        else
            sums[i] = (float)v;
    }
    if (count) memcpy(y->data, sums, (size_t)count * 4);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[2,9] w=f32[3]", "gain=0.5 | x=f32[17] w=f32[4]",
                                    "| x=f32[3,64] w=f32[15]", "| x=f32[0,5] w=f32[3]",
                                    "| x=f32[4] w=f32[0]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
OPERATOR("Smooth", "A filter along rows.", TN_FIELDS(smooth_params, fields))
KERNEL("Smooth", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .prepare = prepare,
       .release = release, .open = open_context, .close = close_context, .reshape = reshape)
LIBRARY("second_smooth")
