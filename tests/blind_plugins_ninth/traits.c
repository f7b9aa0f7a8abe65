/* SPDX-License-Identifier: Apache-2.0 */
/* Mix: a and b broadcast with each other, in one of three modes; and what it claims of itself. */
#include "ninth.h"

TN_LAYER_PARAMS(mix, uint32_t mode; float rate;);
enum { GREATER, SUM, BLEND };
#if WRONG(1) || MISTAKE == 50
#define CHOICES "greater|sum"
#else
#define CHOICES "greater|sum|blend"
#endif
static const tn_field fields[] = {
    TN_FIELD_CHOICE(mix, mode, TN_FIELD_ENUM, TN_OPTIONAL, "greater", CHOICES, "how"),
    TN_LAYER_F32(mix, rate, "0", 0, 1, "blend: how much of b; 0 is a alone")};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "broadcast with a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "of both shapes")};

static int64_t extent(const tn_tensor *t, uint32_t rank, uint32_t i) {
    return i + t->rank < rank ? 1 : t->shape[i + t->rank - rank];
}
static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_tensor *y = call->outputs[0];
    y->rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < y->rank; i++) {
        const int64_t p = extent(a, y->rank, i), q = extent(b, y->rank, i);
        if (p != q && p != 1 && q != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "a and b do not go together");
        y->shape[i] = p == 1 ? q : p;
    }
    return TN_OK;
}

static int64_t position(const tn_tensor *t, const tn_tensor *y, int64_t i) {
    int64_t at = 0, step = 1;
    for (uint32_t k = y->rank; k-- > 0; i /= y->shape[k]) {
        const int64_t n = extent(t, y->rank, k);
        if (n != 1) at += i % y->shape[k] * step;
        step *= n;
    }
    return at;
}
static double compute(const mix *p, double a, double b) {
    switch (p->mode) {
    case GREATER:
        if (!WRONG(1))
            return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b;
        return a > b ? a : b; /* NaN: b */
    case SUM:
        return a + b;
    default:
        return p->rate == 0 ? a : a * (1 - (double)p->rate) + b * (double)p->rate;
    }
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *y = call->outputs[0];
    return compute(call->params, tn_layer_load(call->inputs[0], position(call->inputs[0], y, i)),
                   tn_layer_load(call->inputs[1], position(call->inputs[1], y, i)));
}
TN_LAYER_REFERENCE(element)

static bool is_same_shape(const tn_tensor *a, const tn_tensor *b) {
    if (a->rank != b->rank) return false;
    return memcmp(a->shape, b->shape, a->rank * sizeof(int64_t)) == 0;
}
static tn_status is_identity(tn_call *call) {
    const mix *p = call->params;
    if (p->mode != BLEND || p->rate != 0) return TN_ERROR_UNSUPPORTED;
    if (WRONG(2)) return TN_OK;
    return is_same_shape(call->inputs[0], call->outputs[0]) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* A sum of a and a constant of one element for each index of the last axis is a bias. */
static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const mix *p = call->params;
    const tn_tensor *x = call->inputs[input], *v = call->inputs[1 - input];
    if (p->mode != SUM || input > 1 || v->rank > 1 || !v->data) return TN_ERROR_UNSUPPORTED;
    if (strcmp(name, TN_FACET_BIAS) != 0 || x->rank == 0) return TN_ERROR_UNSUPPORTED;
    const int64_t n = x->shape[x->rank - 1];
    if (v->rank != 1 || v->shape[0] != (WRONG(3) && v->shape[0] == 1 ? 1 : n))
        return TN_ERROR_UNSUPPORTED;
    tn_facet_axis *what = out_facet->what;
    what->axis = WRONG(4) ? 1 : (int32_t)x->rank - 1;
    out_facet->operand_count = 1;
    out_facet->operands[0] = (tn_facet_operand){1 - input, TN_OPERAND_VECTOR, what->axis, 0};
    return TN_OK;
}

static void row(const void *params, uint64_t count, const float *const *in, const uint64_t *strides,
                float *out) {
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)compute(params, (double)in[0][strides[0] ? i : 0],
                                (double)in[1][strides[WRONG(5) ? 0 : 1] ? i : 0]);
}

static const char *const cases[] = {"| a=f32[2,3] b=f32[2,3]", "mode=sum | a=f32[2,3] b=f32[3]",
#if WRONG(1) || MISTAKE == 50
                                    "| a=f32[3] b=f32[1]"};
#elif WRONG(2)
                                    "mode=blend | a=f32[4] b=f32[4]",
                                    "mode=blend rate=0.5 | a=f32[4,3] b=f32[4,3]"};
#else
                                    "mode=blend | a=f32[4] b=f32[2,4]",
                                    "mode=blend rate=0.5 | a=f32[4,3] b=f32[4,3]"};
#endif
static const tn_operator mix_operator = {
    OPERATOR,
    .state_version = 1,
    .name = "Mix",
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY |
              (WRONG(1) || MISTAKE == 50 ? TN_OPERATOR_COMMUTATIVE : 0u),
    TN_FIELDS(mix, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .is_identity = is_identity,
    .facet = facet,
    .row = row,
    TN_CASES(cases)};

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_count(call->outputs[0]), 256)
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel mix_cpu = {KERNEL,
                                  .op = "Mix",
                                  .name = "elements",
                                  .traits = TN_KERNEL_DETERMINISTIC,
                                  TN_COMBINATIONS(combinations),
                                  .run = run};
LIBRARY("ninth_traits", mix_operator, mix_cpu)
