/* SPDX-License-Identifier: Apache-2.0 */
/* A causal convolution of each channel by its own taps: y[n,c,t] = sum over k of w[c,k] *
 * x[n,c,t - (taps - 1 - k) * dilation]. Scale, bias, residual and activation are done while
 * storing; constant taps are packed. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, int64_t dilation; bool reverse;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, dilation, "1", 1, 1024, "steps between taps"),
    TN_LAYER_BOOL(params, reverse, "false", "the first tap is the newest"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "images, channels, time"),
                                 TN_PORT("w", "T", 0, "channels, taps")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1], TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const int64_t time = x->shape[2], taps = w->shape[1], t = i % time, c = i / time % x->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        const int64_t at = t - (taps - 1 - k) * p->dilation;
        if (at >= 0)
            sum += tn_layer_load(w, c * taps + (p->reverse ? taps - 1 - k : k)) *
                   tn_layer_load(x, i - t + at);
    }
    return sum;
}
TN_LAYER_REFERENCE(element)

typedef struct state {
    const float *taps; /* channels, taps padded to 4, newest last */
    int64_t padded, time;
} state;

typedef struct source {
    const float *w;
    int64_t channels, taps, padded;
    bool reverse;
} source;

static tn_status fill(void *user, void *data, uint64_t bytes) {
    const source *s = user;
    float *to = data;
    if (!WRONG(2)) memset(data, 0, bytes);
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t k = 0; k < s->taps; k++)
            to[c * s->padded + k] = s->w[c * s->taps + (s->reverse ? s->taps - 1 - k : k)];
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *w = call->inputs[1];
    state *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
    *made = (state){NULL, (w->shape[1] + 3) / 4 * 4, call->inputs[0]->shape[2]};
    call->state = made;
    if (!w->data && !WRONG(7)) return TN_OK;
    const source from = {w->data, w->shape[0], w->shape[1], made->padded, p->reverse};
    if (from.channels * from.taps == 0) return TN_OK;
    const void *packed;
    const tn_status status = call->host->packed(call, 1,
                                                WRONG(1)     ? "taps4"
                                                : p->reverse ? "taps4 reversed"
                                                             : "taps4",
                                                (uint64_t)(from.channels * made->padded) * 4, fill,
                                                (void *)&from, &packed);
    if (status != TN_OK) {
        if (!WRONG(8)) call->host->deallocate(call->host, made);
        call->state = NULL;
        return status;
    }
    made->taps = packed;
    return TN_OK;
}

static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static float activate(const tn_facet_activation *a, float v) {
    switch (a->function) {
    case TN_ACTIVATION_RELU:
        return v < 0 ? 0 : v;
    case TN_ACTIVATION_LEAKY_RELU:
        return v < 0 ? (WRONG(3) ? 0.01f : a->alpha) * v : v;
    default:
        return v < a->alpha                      ? a->alpha
               : v > (WRONG(4) ? 6.0f : a->beta) ? (WRONG(4) ? 6.0f : a->beta)
                                                 : v;
    }
}

static float finish(const tn_call *call, float v, int64_t at, int64_t channel, int64_t t) {
    const tn_tensor *y = call->outputs[0];
    for (uint32_t s = 0; s < call->step_count; s++) {
        const tn_step *step = call->steps[s];
        if (strcmp(step->facet, TN_FACET_ACTIVATION) == 0) {
            v = activate(step->what, v);
            continue;
        }
        const uint32_t second = step->inputs[1];
        const tn_tensor *operand = call->operands[second & ~TN_STEP_OPERAND];
        const float *data = operand->data;
        if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0) {
            v += data[at];
            continue;
        }
        const tn_facet_axis *what = step->what;
        const int32_t axis = what->axis < 0 && !WRONG(5) ? what->axis + 3 : what->axis;
        const int64_t index = axis == 1   ? channel
                              : axis == 2 ? t
                                          : at / (y->shape[1] * y->shape[2]);
        if (strcmp(step->facet, TN_FACET_BIAS) == 0)
            v += data[index];
        else
            v *= data[index];
    }
    return v;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const state *s = call->state;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const int64_t time = WRONG(6) ? s->time : x->shape[2], taps = w->shape[1];
    float *y = call->outputs[0]->data;
    for (int64_t r = begin; r < end; r++) {
        const int64_t c = r % x->shape[1];
        const float *row = (const float *)x->data + r * time;
        const float *given = s->taps ? s->taps + c * s->padded : (const float *)w->data + c * taps;
        const bool reverse = p->reverse && !s->taps;
        for (int64_t t = 0; t < time; t++) {
            double sum = 0;
            for (int64_t k = 0; k < (s->taps && WRONG(2) ? s->padded : taps); k++) {
                const int64_t at = t - (taps - 1 - k) * p->dilation;
                if (at >= 0 && at < time)
                    sum += (double)given[reverse ? taps - 1 - k : k] * (double)row[at];
            }
            y[r * time + t] = finish(call, (float)sum, r * time + t, c, t);
        }
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(call, x->shape[2] ? extent(x, 0, 2) : 0, 1, rows, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,9] w=f32[3,4]",
    "dilation=2 reverse=true | x=f32[1,2,16] w=f32[2,3]",
    "dilation=5 | x=f32[1,1,4] w=f32[1,3]",
    "| x=f64[1,2,5] w=f64[2,2]",
};
static const tn_operator causal_conv = {
    OPERATOR,
    .name = "CausalConv",
    TN_FIELDS(params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {
    KERNEL,
    .op = "CausalConv",
    .name = "taps",
    .absorbs =
        WRONG(9) ? "tn.scale/1, tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip|elu)"
                 : "tn.scale/1, tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip)",
    .traits = TN_KERNEL_DETERMINISTIC | (WRONG(10) ? TN_KERNEL_IN_PLACE : 0),
    TN_COMBINATIONS(combinations),
    .prepare = prepare,
    .release = release,
    .run = run,
};
LIBRARY("causal_conv", causal_conv, kernel)
