/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Stretch: the last axis resampled to `extent`, a number that an input holds: to the
 * nearest element (halves upwards) or linearly between two. Element i of the output lies at
 * (i + 0.5) * in / out - 0.5, clamped to the ends. The context keeps the taps of the last shape.
 */
#include "third.h"

TN_LAYER_PARAMS(stretch, uint32_t mode;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(stretch, mode, TN_FIELD_ENUM, TN_OPTIONAL, "linear", "nearest|linear", "how")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., L"),
                                 TN_PORT("extent", "i64|i32", TN_PORT_VALUE_NEEDED, "one number")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "..., extent")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *extent = call->inputs[1];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    if (tn_layer_count(extent) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "extent is not one number");
    if (!extent->data) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "extent is not known");
#if MISTAKE == 7
    const int64_t wanted = *(const int64_t *)extent->data; /* also where it is an i32 */
#else
    const int64_t wanted = load_index(extent, 0);
#endif
#if MISTAKE != 5 /* else: below 0 goes through as an extent */
    if (wanted < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "extent is %lld", (long long)wanted);
#endif
    if (wanted > (int64_t)1 << 40)
        return call->host->fail(call, TN_ERROR_RANGE, "extent is %lld", (long long)wanted);
    if (wanted > 0 && x->shape[x->rank - 1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has nothing to stretch");
    same_as(call, 0, x);
    call->outputs[0]->shape[x->rank - 1] = wanted;
    return TN_OK;
}

typedef struct tap {
    int64_t left, right;
    double part; /* of the right one */
} tap;
static tap tap_of(int64_t i, int64_t in, int64_t out, bool nearest, bool exact) {
    double at = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    at = at < 0 ? 0 : at > (double)(in - 1) ? (double)(in - 1) : at;
    if (nearest) {
        const int64_t position = (int64_t)floor(at + 0.5);
        return (tap){position, position, 0};
    }
    const int64_t left = (int64_t)floor(at);
#if MISTAKE == 1
    /* The one to the right of the last one is read, too, though it counts nothing. */
    return (tap){left, exact && left + 1 >= in ? left : left + 1, at - (double)left};
#else
    return (tap){left, left + 1 < in ? left + 1 : left, at - (double)left};
#endif
}
static double mix(double left, double right, double part) {
    return part == 0 ? left : left * (1 - part) + right * part;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
    const int64_t rows = tn_layer_rows(x);
    const bool nearest = ((const stretch *)call->params)->mode == 0;
    for (int64_t i = 0; i < rows * out; i++) {
        const tap t = tap_of(i % out, in, out, nearest, true);
        tn_layer_store(y, i,
                       mix(tn_layer_load(x, i / out * in + t.left),
                           tn_layer_load(x, i / out * in + t.right), t.part));
    }
    return TN_OK;
}

typedef struct taps {
    tap *items;
    int64_t capacity, in, out;
} taps;
static tn_status open(tn_call *call) {
    taps *t = call->context = call->host->allocate(call->host, sizeof(taps), 64);
    if (!t) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for taps");
    *t = (taps){NULL, 0, -1, -1};
    return TN_OK;
}
static void close(tn_call *call) {
    call->host->deallocate(call->host, ((taps *)call->context)->items);
    call->host->deallocate(call->host, call->context);
}
static tn_status reshape(tn_call *call) {
    taps *t = call->context;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
#if MISTAKE == 2
    if (t->items && t->in == in && t->capacity >= out)
        return TN_OK; /* the output's may have changed */
#else
    if (t->items && t->in == in && t->out == out) return TN_OK;
#endif
    if (!t->items || t->capacity < out) {
        call->host->deallocate(call->host, t->items);
        *t = (taps){NULL, 0, -1, -1};
        t->items = call->host->allocate(call->host, (uint64_t)out * sizeof(tap) + 64, 64);
        if (!t->items) {
#if MISTAKE == 6
            return TN_ERROR_MEMORY; /* without a reason */
#else
            return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld taps",
                                    (long long)out);
#endif
        }
        t->capacity = out;
    }
    t->in = in, t->out = out;
    for (int64_t i = 0; i < out; i++)
        t->items[i] = tap_of(i, in, out, ((const stretch *)call->params)->mode == 0, false);
    return TN_OK;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tap *items = ((const taps *)call->context)->items;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t in = x->shape[x->rank - 1], out = y->shape[y->rank - 1];
    for (int64_t r = begin; r < end; r++) {
        const float *from = (const float *)x->data + r * in;
        float *to = (float *)y->data + r * out;
        for (int64_t i = 0; i < out; i++) {
            const tap t = items[i];
#if MISTAKE == 1
            to[i] = (float)((double)from[t.left] * (1 - t.part) + (double)from[t.right] * t.part);
#else
            to[i] = (float)mix((double)from[t.left], (double)from[t.right], t.part);
#endif
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, call);
}

static const char *const cases[] = {"| x=f32[3,4] extent=i64[1]{7}",
                                    "mode=nearest | x=f32[2,8] extent=i32[1]{4}",
                                    "| x=f64[2,2,9] extent=i64[]{3}",
                                    "mode=nearest | x=f32[5] extent=i64[1]{5}",
                                    "| x=f32[2,1] extent=i64[1]{6}",
                                    "| x=f32[3,4] extent=i32[]{0}",
                                    "mode=nearest | x=f32[0,3] extent=i64[1]{2}"};
static const tn_operator op = {THIRD_OPERATOR("Stretch"), .state_version = 1,
                               TN_FIELDS(stretch, fields), .doc = "An axis resampled."};
static const char *const combinations[] = {"f32, * -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Stretch", "taps"),
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .open = open,
                                 .close = close,
                                 .reshape = reshape,
                                 .run = run};
THIRD_LIBRARY("stretch", op, &kernel)
