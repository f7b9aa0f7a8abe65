/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Codebook: gain times the knot that is nearest to x (of two as near, the first in the list;
 * not a number stays one). Its state is saved as bytes: 8 `present`, 8 number of knots, 4 gain, 4
 * version, then the knots.
 */
#include "third.h"

TN_LAYER_PARAMS(codebook, tn_f32s knots; float gain; void *owned;);
static const tn_field fields[] = {
    TN_FIELD_LIST(codebook, knots, TN_FIELD_F32S, TN_REQUIRED, NULL, 1, 1000, -1e6, 1e6, "results"),
    TN_LAYER_F32(codebook, gain, "1", -1000, 1000, "factor")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_as(call, 0, call->inputs[0]);
}
static double nearest(const codebook *p, double x) {
    uint64_t best = 0;
    if (isnan(x)) return x;
    for (uint64_t i = 1; i < p->knots.count; i++)
        if (fabs((double)p->knots.items[i] - x) < fabs((double)p->knots.items[best] - x)) best = i;
    return (double)p->gain * (double)p->knots.items[best];
}
static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++)
        tn_layer_store(call->outputs[0], i,
                       nearest(call->params, tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}

enum { HEAD = 24, VERSION = 1 };
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const codebook *p = call->params;
    const uint64_t bytes = HEAD + p->knots.count * sizeof(float);
#if MISTAKE == 3
    /* The struct's bytes in memory, pointers and all, goes before the rest. */
    const uint64_t all = bytes + sizeof(codebook);
    if (data) {
        if (*inout_bytes < all) return call->host->fail(call, TN_ERROR_ARGUMENT, "too little room");
        memcpy((char *)data + bytes, p, sizeof(codebook));
    }
    *inout_bytes = all;
#else
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the state needs %llu bytes",
                                (unsigned long long)bytes);
    *inout_bytes = bytes;
#endif
    if (!data) return TN_OK;
    const uint32_t version = VERSION;
    float gain = p->gain;
#if MISTAKE == 1
    gain = 1; /* the factor does not come back */
#endif
    char *to = data;
    memcpy(to, &p->present, 8);
    memcpy(to + 8, &p->knots.count, 8);
    memcpy(to + 16, &gain, 4);
    memcpy(to + 20, &version, 4);
    memcpy(to + HEAD, p->knots.items, p->knots.count * sizeof(float));
    return TN_OK;
}
static tn_status refuse(tn_call *call, const char *why) {
#if MISTAKE == 6
    return TN_ERROR_FORMAT; /* without the reason */
#else
    return call->host->fail(call, TN_ERROR_FORMAT, "the saved state %s", why);
#endif
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    codebook *p = call->new_params;
    const char *from = data;
    uint64_t count;
    uint32_t version;
    if (bytes < HEAD) return refuse(call, "is cut off");
    memcpy(&p->present, from, 8);
    memcpy(&count, from + 8, 8);
    memcpy(&p->gain, from + 16, 4);
    memcpy(&version, from + 20, 4);
    if (version != VERSION) return refuse(call, "is of another version");
    if (count < 1 || count > 1000) return refuse(call, "has too many knots or none");
    if (!(p->gain >= -1000 && p->gain <= 1000)) return refuse(call, "has a gain beyond its range");
#if MISTAKE == 2
        /* How many bytes there are behind the head is not looked at. */
#elif MISTAKE == 3
    if (bytes != HEAD + count * sizeof(float) + sizeof(codebook))
        return refuse(call, "has another length than its knots");
#else
    if (bytes != HEAD + count * sizeof(float))
        return refuse(call, "has another length than its knots");
#endif
#if MISTAKE == 7
    /* Points into the host's bytes, which are gone when this returns. */
    p->knots = (tn_f32s){count, (const float *)(const void *)(from + HEAD)};
    return TN_OK;
#endif
    p->owned = malloc(count * sizeof(float));
    if (!p->owned) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for knots");
    memcpy(p->owned, from + HEAD, count * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(((const float *)p->owned)[i])) {
            free(p->owned);
            p->owned = NULL;
            return refuse(call, "has a knot that is no number");
        }
    p->knots = (tn_f32s){count, p->owned};
    return TN_OK;
}
static void destroy_params(void *user, void *params) {
    codebook *p = params;
#if MISTAKE == 4
    if (p->owned) p->owned = NULL; /* forgotten, not freed */
#elif MISTAKE == 5
    free((void *)(uintptr_t)p->knots.items); /* also where the list is the host's */
#else
    free(p->owned);
    p->owned = NULL;
#endif
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)nearest(call->params, (double)((const float *)call->inputs[0]->data)[i]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 128, body, call);
}

static const char *const cases[] = {
    "knots=[-1,0,2.5] gain=2 | x=f32[3,9]", "knots=[0.25] | x=f64[5]",
    "knots=[1,-1,1] gain=-0.5 | x=f32[4]{0,nan,inf,-3}", "knots=[0,1] | x=f32[0]"};
static const tn_operator op = {THIRD_OPERATOR("Codebook"),
                               .state_version = 1,
                               .traits = TN_OPERATOR_ELEMENTWISE,
                               TN_FIELDS(codebook, fields),
                               .save = save,
                               .load = load,
                               .destroy_params = destroy_params,
                               .doc = "The nearest of a list of numbers."};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Codebook", "search"),
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations), .run = run};
THIRD_LIBRARY("codebook", op, &kernel)
