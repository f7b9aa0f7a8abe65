/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Verdict: whether any, or all, of the elements along some axes are other than 0 (not a
 * number is, -0 is not). `axes` may be absent, which means all axes, and is a value; of nothing,
 * none is and all are.
 */
#include "third.h"

TN_LAYER_PARAMS(verdict, uint32_t mode; bool keep;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(verdict, mode, TN_FIELD_ENUM, TN_OPTIONAL, "any", "any|all", "what is asked"),
    TN_LAYER_BOOL(verdict, keep, "false", "the axes stay, with one element")};
static const tn_port inputs[] = {
    TN_PORT("x", "f32|f64|i32|u8|bool", 0, "any shape"),
    TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "below 0: from the last")};
static const tn_port outputs[] = {TN_PORT("y", "bool", 0, "the other axes")};

/* Bit i: axis i goes. Below 0: refused. */
static int32_t axes_of(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *axes = tn_layer_input(call, 1);
    int32_t bits = 0;
    if (!axes) return (1 << x->rank) - 1;
    const int64_t count = tn_layer_count(axes);
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = ((const int64_t *)axes->data)[i];
        if (axis < 0) axis += x->rank;
        if (axis < 0 || axis >= x->rank) return -1;
        if (bits >> axis & 1) return -1;
        bits |= 1 << axis;
    }
    return bits;
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *axes = tn_layer_input(call, 1);
    tn_tensor *y = call->outputs[0];
    if (axes && axes->rank > 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "axes has rank %u, not 1", axes->rank);
    if (axes && !axes->data && tn_layer_count(axes) > 0)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "axes is not known");
    const int32_t bits = axes_of(call);
    if (bits < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "an axis is not there, or there twice");
    y->type = TN_BOOL;
    y->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(bits >> i & 1))
            y->shape[y->rank++] = x->shape[i];
        else if (((const verdict *)call->params)->keep)
            y->shape[y->rank++] = 1;
    }
    return TN_OK;
}
/* Where the elements of output `o` begin, and the next of them: counts through the axes that go. */
static int64_t base_of(const tn_tensor *x, int32_t bits, int64_t o) {
    int64_t at = 0, step = 1;
    for (uint32_t i = x->rank; i-- > 0; step *= x->shape[i])
        if (!(bits >> i & 1)) at += o % x->shape[i] * step, o /= x->shape[i];
    return at;
}
static int64_t position_of(const tn_tensor *x, int32_t bits, int64_t k) {
    return base_of(x, ~bits, k);
}
static int64_t reduced_of(const tn_tensor *x, int32_t bits) {
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        if (bits >> i & 1) count *= x->shape[i];
    return count;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int32_t bits = axes_of(call);
    const bool all = ((const verdict *)call->params)->mode == 1;
    const int64_t count = tn_layer_count(call->outputs[0]), elements = reduced_of(x, bits);
    for (int64_t o = 0; o < count; o++) {
        bool answer = all;
        for (int64_t k = 0; k < elements; k++) {
            const bool is = tn_layer_load(x, base_of(x, bits, o) + position_of(x, bits, k)) != 0;
            answer = all ? answer && is : answer || is;
        }
        ((uint8_t *)call->outputs[0]->data)[o] = answer;
    }
    return TN_OK;
}

static bool is_true(const tn_tensor *x, int64_t at) {
#if MISTAKE == 3
    const double value = tn_layer_load(x, at);
    return value > 0 || value < 0; /* not a number is neither */
#elif MISTAKE == 4
    /* By its bits: -0 has one. */
    const int64_t width = width_of(x->type);
    for (int64_t b = 0; b < width; b++)
        if (((const char *)x->data)[at * width + b]) return true;
    return false;
#else
    return tn_layer_load(x, at) != 0;
#endif
}
typedef struct job {
    const tn_call *call;
    int64_t elements;
    int32_t bits;
} job;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const tn_tensor *x = j->call->inputs[0];
    const bool all = ((const verdict *)j->call->params)->mode == 1;
    for (int64_t o = begin; o < end; o++) {
        const int64_t base = base_of(x, j->bits, o);
#if MISTAKE == 2
        bool answer = j->elements > 0 ? all : false; /* all of nothing should be true */
#else
        bool answer = all;
#endif
        int64_t k = 0;
#if MISTAKE == 1
        if (x->type == TN_U8 && !all) { /* bytes are joined as they are: the answer may be 6 */
            uint8_t joined = 0;
            for (; k < j->elements; k++)
                joined |= ((const uint8_t *)x->data)[base + position_of(x, j->bits, k)];
            ((uint8_t *)j->call->outputs[0]->data)[o] = joined;
            continue;
        }
#endif
        for (; k < j->elements && answer == all; k++)
            answer = is_true(x, base + position_of(x, j->bits, k));
        ((uint8_t *)j->call->outputs[0]->data)[o] = answer;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    job j = {call, 0, axes_of(call)};
#if MISTAKE == 5
    /* Without axes: the last one, as another framework has it. */
    const tn_tensor *x = call->inputs[0];
    if (!tn_layer_input(call, 1) && x->rank > 0) j.bits = 1 << (x->rank - 1);
#endif
    j.elements = reduced_of(call->inputs[0], j.bits);
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 16, body, &j);
}

static const char *const cases[] = {"| x=f32[3,4]",
                                    "mode=all | x=i32[2,3,4] axes=i64[1]{-1}",
                                    "keep=true | x=u8[2,3,4] axes=i64[2]{0,-1}",
                                    "mode=all keep=true | x=bool[5,2] axes=i64[1]{0}",
                                    "| x=f64[]",
                                    "| x=f32[4,0,2] axes=i64[1]{1}",
                                    "mode=all | x=f32[2,0] axes=i64[1]{1}",
                                    "| x=f32[3,2]{0,0,1,0,0,0} axes=i64[1]{1}"};
static const tn_operator op = {THIRD_OPERATOR("Verdict"), .state_version = 1,
                               TN_FIELDS(verdict, fields), .doc = "Whether any or all are true."};
static const tn_kernel kernel = {THIRD_KERNEL("Verdict", "early"),
                                 .traits = TN_KERNEL_DETERMINISTIC, .run = run};
THIRD_LIBRARY("verdict", op, &kernel)
