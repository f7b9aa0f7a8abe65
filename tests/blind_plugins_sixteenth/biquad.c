/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive filter of second order along time, as audio front ends have it: a0 y[t] = b0 x[t] +
 * b1 x[t-1] + b2 x[t-2] - a1 y[t-1] - a2 y[t-2]. Its two numbers of state come in and go out. */
#include "sixteenth.h"
#if MISTAKE == 3 && defined(__SSE__)
#include <xmmintrin.h>
#endif

TN_LAYER_PARAMS(params, tn_f32s b; tn_f32s a; float a0;);
static const tn_field fields[] = {
    TN_FIELD_LIST(params, b, TN_FIELD_F32S, TN_OPTIONAL, "[1, 0, 0]", 3, 3, -4, 4, "forwards"),
    TN_FIELD_LIST(params, a, TN_FIELD_F32S, TN_OPTIONAL, "[0, 0]", 2, 2, -0.45, 0.45, "backwards"),
    TN_LAYER_F32(params, a0, "1", 1, 16, "divides all others"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, time"),
                                 TN_PORT("state", "f32", TN_PORT_OPTIONAL, "rows, 2; or zero")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x"),
                                  TN_PORT("last", "f32", TN_PORT_OPTIONAL, "rows, 2")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    const int64_t state[] = {call->inputs[0]->shape[0], 2};
    if (!tn_layer_fits(call, 1, 2, state)) return TN_ERROR_SHAPE;
    TN_TRY(set_shape(call, 1, 2, state));
    return infer_same(call);
}

typedef struct filter {
    double b[3], a[2];
} filter;

static filter filter_of(const params *p) {
    const double a0 = (double)p->a0;
    filter f;
    for (int i = 0; i < 3; i++)
        f.b[i] = (double)p->b.items[i] / a0;
    for (int i = 0; i < 2; i++)
        f.a[i] = (double)p->a.items[i] / a0;
    return f;
}

/* `y` is null where nobody asked for it. */
static void row(const filter *f, const float *x, float *y, int64_t time, double *s) {
    for (int64_t t = 0; t < time; t++) {
        const double in = (double)x[t], out = f->b[0] * in + s[0];
        s[0] = f->b[1] * in - f->a[0] * out + s[1];
        s[1] = f->b[2] * in - f->a[1] * out;
        if (y) y[t] = (float)out;
    }
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = output(call, 0), *last = output(call, 1);
    const float *given = tn_layer_data(call, 1);
    const int64_t time = x->shape[1];
    const filter f = filter_of(call->params);
    double s[2] = {0, 0};
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        if (given || !WRONG(1) || r == begin)
            for (int i = 0; i < 2; i++)
                s[i] = given ? (double)given[2 * r + i] : 0;
        row(&f, (const float *)x->data + r * time, y ? (float *)y->data + r * time : NULL, time, s);
        for (int i = 0; last && i < 2; i++)
            ((float *)last->data)[2 * r + i] = (float)s[i];
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = output(call, 0), *last = output(call, 1);
    const float *given = tn_layer_data(call, 1);
    const filter f = filter_of(call->params);
    for (int64_t r = 0; r < x->shape[0]; r++) {
        double s[2] = {given ? (double)given[2 * r] : 0, given ? (double)given[2 * r + 1] : 0};
        const int64_t at = r * x->shape[1];
        row(&f, (const float *)x->data + at, y ? (float *)y->data + at : NULL, x->shape[1], s);
        for (int i = 0; last && i < 2; i++)
            ((float *)last->data)[2 * r + i] = (float)s[i];
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 3 && defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    if (WRONG(2) && x->shape[1] == 0) return TN_OK;
    return call->host->parallel_for(call, x->shape[0], 1, rows, call);
}

static const char *const cases[] = {
    "b=[0.5,0.25,0.125] a=[-0.25,0.125] a0=2 | x=f32[3,11] state=f32[3,2]",
    "b=[1,-1,0.5] a=[0.25,0.25] | x=f32[5,8]",
    "| x=f32[1,1]",
};
static const tn_operator biquad = {OPERATOR,
                                   .name = "Biquad",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32? -> f32, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Biquad",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("biquad", biquad, kernel)
