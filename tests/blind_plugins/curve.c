/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Curve: linear interpolation between `points`, which lie evenly over 0..1; x outside takes
 * the nearest one; `gain` is applied where it is given. Its state is saved as bytes of its own.
 */
#include "blind.h"

TN_LAYER_PARAMS(curve, tn_f32s points; float gain; float *owned;);
static const tn_field fields[] = {
    TN_FIELD_LIST(curve, points, TN_FIELD_F32S, TN_REQUIRED, NULL, 1, 1024, 0, 0, "of the curve"),
    TN_FIELD(curve, gain, TN_FIELD_F32, TN_OPTIONAL, NULL, "a factor, 1 where it is not given")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}

static double one(const curve *p, double x) {
    const uint64_t last = p->points.count - 1;
    const double at = (isnan(x) || x < 0 ? 0 : x > 1 ? 1 : x) * (double)last;
    const uint64_t left = (uint64_t)at, right = left < last ? left + 1 : left;
    const double part = at - (double)left;
    const double y =
        (double)p->points.items[left] * (1 - part) + (double)p->points.items[right] * part;
    return isnan(x) ? x : p->present >> 1 & 1 ? y * (double)p->gain : y;
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, one(call->params, get(call->inputs[0], i)));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return reference(call);
}

/* The state: present, count, gain, then the points. */
typedef struct head {
    uint64_t present, count;
    double gain;
} head;

static uint64_t item_bytes(void) {
    return IS(3) ? 8 : sizeof(float);
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const curve *p = call->params;
    const uint64_t bytes = sizeof(head) + (IS(1) ? 8 : p->points.count * item_bytes());
    const uint64_t capacity = *inout_bytes;
    *inout_bytes = bytes;
    if (!data) return TN_OK;
    if (capacity < bytes) return call->host->fail(call, TN_ERROR_ARGUMENT, "too few bytes");
    const head h = {p->present, p->points.count, (double)p->gain};
    char *to = (char *)data + sizeof(head);
    memcpy(data, &h, sizeof(h));
    if (IS(1)) { /* the address, which means nothing in another process */
        memcpy(to, &p->points.items, 8);
        return TN_OK;
    }
    for (uint64_t i = 0; i < p->points.count; i++) {
        if (IS(3)) { /* as text of three digits */
            char text[32] = {0};
            snprintf(text, sizeof(text), "%.3g", (double)p->points.items[i]);
            const float rounded = strtof(text, NULL);
            memcpy(to + 8 * i, &rounded, sizeof(rounded));
            memset(to + 8 * i + 4, 0, 4);
        } else {
            memcpy(to + 4 * i, p->points.items + i, sizeof(float));
        }
    }
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    curve *p = call->new_params;
    head h;
    if (bytes < sizeof(h)) return call->host->fail(call, TN_ERROR_FORMAT, "the state is too short");
    memcpy(&h, data, sizeof(h));
    if (h.count < 1 || h.count > 1024)
        return call->host->fail(call, TN_ERROR_FORMAT, "the state has no points, or too many");
    if (IS(5) && !(p->owned = malloc(h.count * sizeof(float))))
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for points");
    if (bytes != sizeof(h) + (IS(1) ? 8 : h.count * item_bytes())) {
        p->owned = NULL; /* with mistake 5 there was something, and it is lost */
        return call->host->fail(call, TN_ERROR_FORMAT, "the state has another length");
    }
    if (!IS(5)) p->owned = malloc(h.count * sizeof(float));
    if (!IS(4) && !p->owned) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for points");
    const char *from = (const char *)data + sizeof(h);
    const float *items = NULL;
    if (IS(1)) memcpy(&items, from, 8);
    for (uint64_t i = 0; i < h.count; i++) {
        if (IS(1))
            ((volatile float *)p->owned)[i] = items[i];
        else
            memcpy((float *)(uintptr_t)((volatile char *)p->owned + 4 * i), from + item_bytes() * i,
                   4);
    }
    p->points = (tn_f32s){h.count, p->owned};
    p->gain = (float)h.gain;
    if (!IS(2)) p->present = h.present & 3; /* 2: nobody knows any more what was given */
    return TN_OK;
}

static void destroy_params(void *user, void *params) {
    (void)user;
    free(((curve *)params)->owned);
    ((curve *)params)->owned = NULL;
}

#if MISTAKE == 2
static const char *const cases[] = {"points=[0,1] | x=f32[3,17]", "points=[1,-1,2.5] | x=f64[8]"};
#elif MISTAKE == 3
static const char *const cases[] = {"points=[0,1] | x=f32[3,17]",
                                    "points=[1,-1,2.5] gain=2 | x=f32[8]",
                                    "points=[125,0.25] | x=f32[6]"};
#else
static const char *const cases[] = {"points=[0,1] | x=f32[3,17]",
                                    "points=[1,-1,2.5] gain=2 | x=f32[8]",
                                    "points=[0.125] | x=f64[4]"};
#endif
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Curve", "A curve.", curve, .traits = TN_OPERATOR_ELEMENTWISE, .save = save,
               .load = load, .destroy_params = destroy_params)
BLIND_KERNEL("Curve", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_curve")
