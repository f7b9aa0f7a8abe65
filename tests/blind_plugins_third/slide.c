/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Slide: the mean of each window along the last axis, with stride, dilation and padding on
 * both sides. With `ceil` a last window may hang over the end, if it begins before the input's end.
 * Where count_pads is set the divisor counts taps in the padding, never those that hang over it;
 * the mean of no taps is 0.
 */
#include "third.h"

TN_LAYER_PARAMS(slide, int64_t window, stride, dilation; tn_i64s pads; bool ceil, count_pads;);
static const tn_field fields[] = {
    TN_FIELD_RANGE(slide, window, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 1000, "taps"),
    TN_LAYER_I64(slide, stride, "1", 1, 1000, "from window to window"),
    TN_LAYER_I64(slide, dilation, "1", 1, 1000, "from tap to tap"),
    TN_LAYER_I64S(slide, pads, "[0, 0]", 2, 0, 1000, "before and after the axis"),
    TN_LAYER_BOOL(slide, ceil, "false", "a last window may hang over the end"),
    TN_LAYER_BOOL(slide, count_pads, "false", "padding counts in the mean")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., L")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "..., the number of windows")};

static tn_status infer(tn_call *call) {
    const slide *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1 || x->shape[x->rank - 1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis with elements");
    const int64_t length = x->shape[x->rank - 1], reach = (p->window - 1) * p->dilation + 1;
    if (length > INT64_MAX - 4000)
        return call->host->fail(call, TN_ERROR_SHAPE, "the last axis of x is too long");
    const int64_t range = length + p->pads.items[0] + p->pads.items[1] - reach;
#if MISTAKE == 3
    /* No refusal: (range / stride) rounds towards 0, so a window that is a little too long counts.
     */
#else
    if (range < 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "a window reaches over %lld elements, not %lld", (long long)reach,
                                (long long)(range + reach));
#endif
    int64_t count = range / p->stride + 1;
    if (p->ceil && range % p->stride && count * p->stride < length + p->pads.items[0]) count++;
    same_as(call, 0, x);
    call->outputs[0]->shape[x->rank - 1] = count;
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const slide *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t length = x->shape[x->rank - 1], count = y->shape[y->rank - 1];
    const int64_t rows = tn_layer_rows(x), before = p->pads.items[0], after = p->pads.items[1];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < count; o++) {
            double sum = 0, taps = 0;
            for (int64_t k = 0; k < p->window; k++) {
                const int64_t at = o * p->stride + k * p->dilation - before;
                if (at >= 0 && at < length) sum += tn_layer_load(x, r * length + at);
                taps += p->count_pads ? at < length + after : at >= 0 && at < length;
            }
            tn_layer_store(y, r * count + o, taps > 0 ? sum / taps : 0);
        }
    return TN_OK;
}

/* Taps first..last-1 of the window that begins at `start` lie before `end`. */
static int64_t taps_before(const slide *p, int64_t start, int64_t end) {
    if (start >= end) return 0;
    const int64_t taps = (end - start + p->dilation - 1) / p->dilation;
    return taps < p->window ? taps : p->window;
}
static int64_t divisor_of(const slide *p, int64_t start, int64_t length, int64_t taps) {
#if MISTAKE == 2
    /* All of the window, also what hangs over the end with `ceil`. */
    return p->count_pads ? p->window : taps;
#else
    return p->count_pads ? taps_before(p, start, length + p->pads.items[1]) : taps;
#endif
}

typedef struct position {
    int64_t start, first, last;
} position;
static position position_of(const slide *p, int64_t o, int64_t length) {
    position a = {o * p->stride - p->pads.items[0], 0, 0};
#if MISTAKE == 1
    /* Rounds down: with dilation the first tap may lie before the row. */
    if (a.start < 0) a.first = -a.start / p->dilation;
#else
    if (a.start < 0) a.first = (-a.start + p->dilation - 1) / p->dilation;
#endif
    a.last = taps_before(p, a.start, length);
#if MISTAKE == 3
    if (p->pads.items[0] + p->pads.items[1] == 0 && !p->ceil) a.last = p->window;
#endif
    if (a.last < a.first) a.last = a.first;
    return a;
}

#if MISTAKE == 4
/* Divisors of the windows at the profile's optimum, used for every length. */
static tn_status prepare(tn_call *call) {
    const slide *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t length = x->shape[x->rank - 1];
    const tn_tensor *y = call->outputs[0];
    const int64_t count = y->shape[y->rank - 1];
    int64_t *divisors = call->host->allocate(call->host, (uint64_t)count * 8 + 8, 64);
    if (!divisors) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for divisors");
    for (int64_t o = 0; o < count; o++) {
        const position a = position_of(p, o, length);
        divisors[o] = divisor_of(p, a.start, length, a.last - a.first);
    }
    call->state = divisors;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
#endif

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const slide *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t length = x->shape[x->rank - 1], count = y->shape[y->rank - 1];
    for (int64_t i = begin; i < end; i++) {
        const float *row = (const float *)x->data + i / count * length;
        const position a = position_of(p, i % count, length);
        double sum = 0;
        for (int64_t k = a.first; k < a.last; k++)
            sum += (double)row[a.start + k * p->dilation];
        int64_t divisor = divisor_of(p, a.start, length, a.last - a.first);
#if MISTAKE == 4
        divisor = ((const int64_t *)call->state)[i % count];
#endif
        ((float *)y->data)[i] = divisor > 0 ? (float)(sum / (double)divisor) : 0.0f;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 64, body, call);
}

static const char *const cases[] = {"window=3 | x=f32[2,3,17]",
                                    "window=2 stride=2 pads=[1,1] | x=f32[4,10]",
                                    "window=3 dilation=2 stride=2 pads=[2,1] | x=f32[3,12]",
                                    "window=4 stride=3 ceil=true | x=f64[2,9]",
                                    "window=4 stride=3 pads=[1,1] count_pads=true | x=f32[13]",
                                    "window=1 | x=f32[0,5]"};
static const tn_operator op = {THIRD_OPERATOR("Slide"), .state_version = 1,
                               TN_FIELDS(slide, fields),
                               .doc = "The mean of windows along the last axis."};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Slide", "windows"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 4
                                 .prepare = prepare,
                                 .release = release,
#endif
                                 .run = run};
THIRD_LIBRARY("slide", op, &kernel)
