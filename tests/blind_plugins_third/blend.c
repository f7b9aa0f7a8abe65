/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Blend: y = a * (1 - c) + b * c, c being t within 0..1; three tensors broadcast with each
 * other. A row function and an expression say the same.
 */
#include "third.h"

static const tn_port inputs[] = {TN_PORT("a", "T:f32|f64", 0, "broadcast"),
                                 TN_PORT("b", "T", 0, "broadcast"),
                                 TN_PORT("t", "T", 0, "broadcast; 0: a, 1: b")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "of the broadcast shape")};

static tn_status infer(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    y->rank = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (call->inputs[i]->rank > y->rank) y->rank = call->inputs[i]->rank;
    for (uint32_t k = 0; k < y->rank; k++) {
        int64_t extent = 1;
        for (uint32_t i = 0; i < 3; i++) {
            const tn_tensor *x = call->inputs[i];
            if (k + x->rank < y->rank) continue;
            const int64_t own = x->shape[k + x->rank - y->rank];
            if (own == 1 || own == extent) continue;
            if (extent != 1)
                return call->host->fail(call, TN_ERROR_SHAPE, "extents %lld and %lld do not fit",
                                        (long long)extent, (long long)own);
            extent = extent != 1 && own < extent ? extent : own;
        }
        y->shape[k] = extent;
    }
    return TN_OK;
}

static double blend(double a, double b, double t) {
    const double part = t > 0 ? t < 1 ? t : 1 : isnan(t) ? t : 0;
    return a * (1 - part) + b * part;
}
/* Where element i of y lies in an input. */
static int64_t position_in(const tn_tensor *x, const tn_tensor *y, int64_t i, bool fast) {
    int64_t at = 0, step = 1;
    for (uint32_t k = y->rank; k-- > 0; i /= y->shape[k]) {
        const int64_t position = i % y->shape[k];
#if MISTAKE == 3
        /* Fast: a tensor of lower rank is laid on the first axes. */
        if (fast && x->rank < y->rank) {
            if (k >= x->rank || x->shape[k] == 1) continue;
            at += position % x->shape[k] * step, step *= x->shape[k];
            continue;
        }
#endif
        if (k + x->rank < y->rank) continue;
        const int64_t own = x->shape[k + x->rank - y->rank];
        if (own != 1) at += position * step;
        step *= own;
    }
    return at;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t count = tn_layer_count(y);
    for (int64_t i = 0; i < count; i++) {
        double v[3];
        for (uint32_t k = 0; k < 3; k++)
            v[k] = tn_layer_load(call->inputs[k], position_in(call->inputs[k], y, i, false));
        tn_layer_store(y, i, blend(v[0], v[1], v[2]));
    }
    return TN_OK;
}
static void row(const void *params, uint64_t count, const float *const *from,
                const uint64_t *strides, float *to) {
    for (uint64_t i = 0; i < count; i++)
#if MISTAKE == 1
        /* t is taken as a whole row, also where it is one element. */
        to[i] = (float)blend((double)from[0][i * strides[0]], (double)from[1][i * strides[1]],
                             (double)from[2][i]);
#else
        to[i] = (float)blend((double)from[0][i * strides[0]], (double)from[1][i * strides[1]],
                             (double)from[2][i * strides[2]]);
#endif
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *y = call->outputs[0];
    for (int64_t i = begin; i < end; i++) {
        float v[3];
        for (uint32_t k = 0; k < 3; k++)
            v[k] = ((const float *)call->inputs[k]->data)[position_in(call->inputs[k], y, i, true)];
#if MISTAKE == 5
        /* A t that is not a number gives a, and what b or a would have spoiled stays well. */
        ((float *)y->data)[i] = v[2] >= 1  ? v[1]
                                : v[2] > 0 ? (float)blend((double)v[0], (double)v[1], (double)v[2])
                                           : v[0];
#else
        ((float *)y->data)[i] = (float)blend((double)v[0], (double)v[1], (double)v[2]);
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 512, body, call);
}

static const char *const cases[] = {
    "| a=f32[2,3,4] b=f32[2,3,4] t=f32[2,3,4]", "| a=f32[3,4] b=f32[3,1] t=f32[]",
    "| a=f32[2,1,5] b=f32[3,1] t=f32[1,1,5]",   "| a=f64[1] b=f64[4,4] t=f64[4]",
    "| a=f32[0,3] b=f32[1,3] t=f32[3]",         "| a=f32[6,6] b=f32[6] t=f32[6,6]"};
static const tn_operator op = {
    THIRD_OPERATOR("Blend"),
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE
#if MISTAKE == 4
              | TN_OPERATOR_COMMUTATIVE /* it is not: 1 - t would have to stand for t */
#endif
    ,
    TN_NO_FIELDS,
#if MISTAKE == 2
    .expression = "a * (1 - fmin(t, 1)) + b * fmin(t, 1)", /* nothing keeps t from going below 0 */
#else
    .expression = "a * (1 - (t < 0 ? 0 : t > 1 ? 1 : t)) + b * (t < 0 ? 0 : t > 1 ? 1 : t)",
#endif
    .row = row,
    .doc = "From one tensor to another."};
static const char *const combinations[] = {"f32, f32, f32 -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Blend", "positions"),
                                 .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(combinations),
                                 .run = run};
THIRD_LIBRARY("blend", op, &kernel)
