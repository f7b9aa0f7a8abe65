/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::FloorDiv: y = floor(x / divisor), on integers; what has no quotient wraps. */
#include "blind.h"

TN_LAYER_PARAMS(floor_div, int64_t divisor;);
static const tn_field fields[] = {
    TN_FIELD(floor_div, divisor, TN_FIELD_I64, TN_OPTIONAL, "3", "not 0")};
static const tn_port inputs[] = {TN_PORT("x", "T:i64|i32|u64|u32", 0, "integers")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t d = ((const floor_div *)call->params)->divisor;
    const bool is_unsigned = call->inputs[0]->type == TN_U64 || call->inputs[0]->type == TN_U32;
    if (d == 0 || (is_unsigned && d < 0))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'divisor' is %lld", (long long)d);
    return same_shape(call, 0, 0);
}

static int64_t floor_quotient(int64_t x, int64_t d) {
    if (d == -1) return (int64_t)(0 - (uint64_t)x);
    const int64_t q = x / d;
    return q - (x % d != 0 && (x < 0) != (d < 0));
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t d = ((const floor_div *)call->params)->divisor;
    for (int64_t i = 0; i < count_of(x); i++) {
        if (x->type == TN_I64)
            ((int64_t *)y->data)[i] = floor_quotient(((const int64_t *)x->data)[i], d);
        else if (x->type == TN_I32)
            ((int32_t *)y->data)[i] = (int32_t)floor_quotient(((const int32_t *)x->data)[i], d);
        else if (x->type == TN_U64)
            ((uint64_t *)y->data)[i] = ((const uint64_t *)x->data)[i] / (uint64_t)d;
        else
            ((uint32_t *)y->data)[i] = (uint32_t)(((const uint32_t *)x->data)[i] / (uint64_t)d);
    }
    return TN_OK;
}

static int64_t one(int64_t x, int64_t d) {
    if (IS(1)) return (int64_t)floor((double)x / (double)d);
    if (IS(5)) return d == -1 ? (int64_t)(0 - (uint64_t)x) : x / d;
    if (IS(6)) {                            /* INT64_MIN / -1 traps */
        const volatile int64_t divisor = d; /* the compiler makes a negation of it elsewhere */
        const int64_t q = x / divisor;
        return q - (x - q * d != 0 && (x < 0) != (d < 0));
    }
    if (IS(7) && d == 2) return x / 2; /* the shift that was meant here rounds down */
    return floor_quotient(x, d);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t d = ((const floor_div *)call->params)->divisor;
    if (IS(4)) {
        d = (int32_t)d;
        if (d == 0) d = 1;
    }
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (x->type == TN_I64)
            ((int64_t *)y->data)[i] = one(((const int64_t *)x->data)[i], d);
        else if (x->type == TN_I32)
            ((int32_t *)y->data)[i] = (int32_t)floor_quotient(((const int32_t *)x->data)[i], d);
        else if (x->type == TN_U64 && IS(2))
            ((int64_t *)y->data)[i] = ((const int64_t *)x->data)[i] / d;
        else if (x->type == TN_U64)
            ((uint64_t *)y->data)[i] = ((const uint64_t *)x->data)[i] / (uint64_t)d;
        else if (IS(3))
            ((uint32_t *)y->data)[i] = (uint32_t)floor_quotient(((const int32_t *)x->data)[i], d);
        else
            ((uint32_t *)y->data)[i] = (uint32_t)(((const uint32_t *)x->data)[i] / (uint64_t)d);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->inputs[0]), 1024, body, call);
}

static const char *const cases[] = {"| x=i64[2,9]", "divisor=-2 | x=i64[5]",
                                    "divisor=2 | x=i32[4,4]", "| x=u64[17]",
                                    "divisor=7 | x=u32[3,5]"};
static const char *const combinations[] = {"i64 -> i64", "i32 -> i32", "u64 -> u64", "u32 -> u32"};
BLIND_OPERATOR("FloorDiv", "Quotients, rounded down.", floor_div, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("FloorDiv", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_integers")
