/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::PermuteLetters: the axes of a tensor in another order, told by letters: from=NCHW to=NHWC.
 * Without `to` their order is turned round. Letters are any characters, each once.
 */
#include <string.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct letters {
    uint64_t present;
    const char *from, *to;
} letters;

static const tn_field fields[] = {
    TN_FIELD(letters, from, TN_FIELD_STRING, TN_REQUIRED, NULL, "a letter for each axis of x"),
    TN_FIELD(letters, to, TN_FIELD_STRING, TN_OPTIONAL, NULL, "the same letters for those of y"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32|u8", 0, "as many axes as letters")};
static const tn_port outputs[] = {
#if MISTAKE == 4
    TN_PORT_VIEW_OF("y", "T", 0, "the axes in another order"),
#else
    TN_PORT("y", "T", 0, "the axes in another order"),
#endif
};

/* Which axis of x is axis i of y; false: the letters say no order of `rank` axes. */
typedef struct order {
    uint32_t axis[TN_MAX_RANK];
} order;
static bool find_order(const letters *p, uint32_t rank, order *out_order) {
#if MISTAKE == 3
    const char *to = p->to;
#else
    const char *to = p->to ? p->to : "";
#endif
    uint32_t seen = 0;
    if (strlen(p->from) != rank || (p->to && strlen(to) != rank)) return false;
#if MISTAKE == 3
    if (strlen(to) != rank) return false;
#endif
    for (uint32_t i = 0; i < rank; i++) {
        const char letter = p->to ? to[i] : p->from[rank - 1 - i];
        const char *at = strchr(p->from, letter);
        if (!at || strchr(at + 1, letter)) return false;
        out_order->axis[i] = (uint32_t)(at - p->from);
        seen |= 1u << out_order->axis[i];
    }
    return seen == (1u << rank) - 1;
}

static tn_status infer(tn_call *call) {
    const letters *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    order o;
    if (!find_order(p, x->rank, &o))
        return call->host->fail(call, TN_ERROR_SHAPE, "'%.20s' to '%.20s' is no order of %u axes",
                                p->from, p->to ? p->to : "", x->rank);
    y->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        y->shape[i] = x->shape[o.axis[i]];
    return TN_OK;
}

static tn_status is_identity(tn_call *call) {
    const letters *p = call->params;
    const tn_tensor *x = call->inputs[0];
    order o;
    if (!find_order(p, x->rank, &o)) return TN_ERROR_UNSUPPORTED;
#if MISTAKE == 2
    /* Axes of one element may stand anywhere: no element moves. */
    int64_t last = -1;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->shape[o.axis[i]] == 1) continue;
        if ((int64_t)o.axis[i] < last) return TN_ERROR_UNSUPPORTED;
        last = o.axis[i];
    }
#else
    for (uint32_t i = 0; i < x->rank; i++)
        if (o.axis[i] != i) return TN_ERROR_UNSUPPORTED;
#endif
    return TN_OK;
}

static uint64_t count_of(const tn_tensor *x) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        count *= (uint64_t)x->shape[i];
    return count;
}
/* Elements begin..end-1 of y. */
static void move(const tn_call *call, const order *o, int64_t begin, int64_t end) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint64_t size = x->type == TN_U8 ? 1 : 4;
    uint64_t step[TN_MAX_RANK], product = 1;
    for (uint32_t i = x->rank; i-- > 0; product *= (uint64_t)x->shape[i])
        step[i] = product;
    for (int64_t i = begin; i < end; i++) {
        uint64_t left = (uint64_t)i, at = 0;
        for (uint32_t axis = y->rank; axis-- > 0; left /= (uint64_t)y->shape[axis])
            at += left % (uint64_t)y->shape[axis] * step[o->axis[axis]];
        memcpy((char *)y->data + (uint64_t)i * size, (const char *)x->data + at * size, size);
    }
}

static tn_status reference(tn_call *call) {
    order o;
    find_order(call->params, call->inputs[0]->rank, &o);
    move(call, &o, 0, (int64_t)count_of(call->outputs[0]));
    return TN_OK;
}

static tn_status move_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
#if MISTAKE == 5
    static order o; /* letters are read once */
    static uint32_t known;
    if (known != call->inputs[0]->rank) find_order(call->params, call->inputs[0]->rank, &o);
    known = call->inputs[0]->rank;
#else
    order o;
    find_order(call->params, call->inputs[0]->rank, &o);
#endif
    move(call, &o, begin, end);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, (int64_t)count_of(call->outputs[0]), 1024, move_elements,
                                    call);
}

static const char *const cases[] = {
    "from=NCHW to=NHWC | x=f32[2,3,4,5] | y=f32[2,4,5,3]",
    "from=ab to=ba | x=u8[2,3]{1,2,3,4,5,6} | y=u8[3,2]{1,4,2,5,3,6}",
#if MISTAKE != 3
    "from=xyz | x=i32[4,1,3] | y=i32[3,1,4]",
#endif
    "from=abc to=cab | x=i32[2,1,7]"};
static const tn_operator permute = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
    .domain = "Fifth",
    .name = "PermuteLetters",
    .doc = "Axes in another order, by letters.",
    TN_FIELDS(letters, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .is_identity = is_identity,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32|i32|u8 -> f32|i32|u8"};
static const tn_kernel permute_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "PermuteLetters",
    .device = "cpu",
    .name = "elements",
#if MISTAKE == 1
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
    .traits = TN_KERNEL_DETERMINISTIC,
#endif
    TN_COMBINATIONS(combinations),
    .run = run,
};
static const tn_operator *const operators[] = {&permute};
static const tn_kernel *const kernels[] = {&permute_cpu};
TN_LIBRARY("letters", "1.0", operators, kernels)
