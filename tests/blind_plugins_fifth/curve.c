/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Curve: a function made of straight pieces between knots. Beyond the outer knots it stays
 * as it is there (clamp), or goes on as the outer pieces do. The knots come as two lists; a plan
 * keeps them as one block of bytes: their number, whether it clamps, which were given, all xs, all
 * ys.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct curve {
    uint64_t present;
    tn_f32s xs, ys;
    bool clamp;
    float *owned; /* what the lists point into after `load`; null where the host has them */
} curve;

static const tn_field fields[] = {
    TN_FIELD_LIST(curve, xs, TN_FIELD_F32S, TN_REQUIRED, NULL, 2, 4096, -1e6, 1e6,
                  "positions of the knots, each above the one before"),
    TN_FIELD_LIST(curve, ys, TN_FIELD_F32S, TN_REQUIRED, NULL, 2, 4096, -1e6, 1e6,
                  "the values there"),
    TN_FIELD(curve, clamp, TN_FIELD_BOOL, TN_OPTIONAL, "true", "false: the outer pieces go on"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const curve *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (p->xs.count != p->ys.count || p->xs.count < 2)
        return call->host->fail(call, TN_ERROR_RANGE, "%llu positions and %llu values",
                                (unsigned long long)p->xs.count, (unsigned long long)p->ys.count);
    for (uint64_t i = 1; i < p->xs.count; i++)
        if (!(p->xs.items[i - 1] < p->xs.items[i]))
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "position %llu is not above the one before",
                                    (unsigned long long)i);
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static double evaluate(const curve *p, double x) {
    const float *xs = p->xs.items, *ys = p->ys.items;
    const uint64_t last = p->xs.count - 1;
    uint64_t low = 0, high = last;
    if (p->clamp && x <= (double)xs[0]) return (double)ys[0];
    if (p->clamp && x >= (double)xs[last]) return (double)ys[last];
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        *(x < (double)xs[middle] ? &high : &low) = middle;
    }
    const double slope =
        ((double)ys[high] - (double)ys[low]) / ((double)xs[high] - (double)xs[low]);
    return (double)ys[low] + (x - (double)xs[low]) * slope;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint64_t count = x->bytes / (x->type == TN_F64 ? 8 : 4);
    for (uint64_t i = 0; i < count; i++) {
        if (x->type == TN_F64)
            ((double *)y->data)[i] = evaluate(call->params, ((const double *)x->data)[i]);
        else
            ((float *)y->data)[i] =
                (float)evaluate(call->params, (double)((const float *)x->data)[i]);
    }
    return TN_OK;
}

/* What stands before the knots. */
typedef struct head {
    uint64_t count, clamp, present;
} head;

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const curve *p = call->params;
    const uint64_t list = p->xs.count * sizeof(float), bytes = sizeof(head) + 2 * list;
    if (data) {
#if MISTAKE == 1
        const head h = {p->xs.count, 0, p->present};
#else
        const head h = {p->xs.count, p->clamp, p->present};
#endif
        if (*inout_bytes < bytes)
            return call->host->fail(call, TN_ERROR_ARGUMENT, "no room for %llu bytes",
                                    (unsigned long long)bytes);
        memcpy(data, &h, sizeof(h));
        memcpy((char *)data + sizeof(h), p->xs.items, list);
        memcpy((char *)data + sizeof(h) + list, p->ys.items, list);
    }
    *inout_bytes = bytes;
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    curve *p = call->new_params;
    head h;
    if (bytes < sizeof(h)) return call->host->fail(call, TN_ERROR_FORMAT, "the knots are cut off");
    memcpy(&h, data, sizeof(h));
    const uint64_t list = h.count * sizeof(float);
#if MISTAKE != 2
    if (h.count < 2 || h.count > 4096 || bytes != sizeof(h) + 2 * list)
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes are not those of %llu knots",
                                (unsigned long long)bytes, (unsigned long long)h.count);
#endif
#if MISTAKE == 3
    const float *knots = (const float *)((const char *)data + sizeof(h));
#else
    float *knots = p->owned = malloc(2 * list);
    if (!knots) return TN_ERROR_MEMORY;
    memcpy(knots, (const char *)data + sizeof(h), 2 * list);
#endif
    p->xs = (tn_f32s){h.count, knots};
    p->ys = (tn_f32s){h.count, knots + h.count};
    p->clamp = h.clamp != 0;
    p->present = h.present;
    return TN_OK;
}

static void destroy_params(void *user, void *params) {
    curve *p = params;
    (void)user;
#if MISTAKE != 4
    free(p->owned);
#endif
    p->owned = NULL;
}

static tn_status bend(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = (float)evaluate(call->params, (double)x[i]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / sizeof(float));
    return call->host->parallel_for(call, count, 2048, bend, call);
}

static const char *const cases[] = {
    "xs=[-1,0,2] ys=[0,1,0] | x=f32[5]{-2,-0.5,0,1,3} | y=f32[5]{0,0.5,1,0.5,0}",
    "xs=[0,1] ys=[1,3] clamp=false | x=f64[4]{-1,0,0.5,2} | y=f64[4]{-1,1,2,5}",
    "xs=[-2,-1,0,1,2] ys=[-0.5,-0.25,0,1,2.5] clamp=false | x=f32[3,4,5]"};
static const tn_operator curve_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "Fifth",
    .name = "Curve",
    .doc = "A function made of straight pieces.",
    TN_FIELDS(curve, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .save = save,
    .load = load,
    .destroy_params = destroy_params,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel curve_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Curve",
    .device = "cpu",
    .name = "elements",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .run = run,
};
static const tn_operator *const operators[] = {&curve_operator};
static const tn_kernel *const kernels[] = {&curve_cpu};
TN_LIBRARY("curve", "1.0", operators, kernels)
