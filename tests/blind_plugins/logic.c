/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Verdict: y = mask and low < x (and x < high, where high is given); a tag for messages. */
#include "blind.h"

TN_LAYER_PARAMS(verdict, float low; float high; const char *tag; uint32_t invert;);
static const tn_field fields[] = {
    TN_FIELD(verdict, low, TN_FIELD_F32, TN_OPTIONAL, "0", "x is above it"),
    TN_FIELD(verdict, high, TN_FIELD_F32, TN_OPTIONAL, NULL, "x is below it, where it is given"),
    TN_FIELD(verdict, tag, TN_FIELD_STRING, TN_OPTIONAL, NULL, "a word; 'not' inverts"),
    TN_FIELD_CHOICE(verdict, invert, TN_FIELD_ENUM, TN_OPTIONAL, "no", "no|yes", "inverts, too")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "numbers"),
                                 TN_PORT("mask", "bool", 0, "as x")};
static const tn_port outputs[] = {TN_PORT("y", "bool", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (!tn_layer_fits(call, 1, x->rank, x->shape)) return TN_ERROR_SHAPE;
    return same_shape(call, 0, 0);
}

static bool inverts(const verdict *p) {
    return (p->tag && strcmp(p->tag, "not") == 0) != (p->invert == 1);
}

static bool exact(const verdict *p, float x, uint8_t mask) {
    const bool has_high = p->present >> 1 & 1;
    return mask && (x > p->low && (!has_high || x < p->high)) != inverts(p);
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    const uint8_t *mask = call->inputs[1]->data;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        ((uint8_t *)call->outputs[0]->data)[i] = exact(call->params, x[i], mask[i]);
    return TN_OK;
}

static uint8_t one(const verdict *p, float x, uint8_t mask) {
    if (IS(1)) return exact(p, x, mask) ? 255 : 0;
    if (IS(3))
        return mask && (x >= p->low && (!(p->present >> 1 & 1) || x < p->high)) != inverts(p);
    if (IS(4))
        return mask && (!(x <= p->low) && (!(p->present >> 1 & 1) || x < p->high)) != inverts(p);
    if (IS(5)) /* bit 0 is the one of `low` */
        return mask && (x > p->low && (!(p->present & 1) || x < p->high)) != inverts(p);
    if (IS(6)) /* a default of 0 is taken for absent */
        return mask && (x > p->low && (p->high == 0 || x < p->high)) != inverts(p);
    if (IS(8))
        return mask && (x > p->low && (!(p->present >> 1 & 1) || x < p->high)) !=
                           (strcmp(p->tag, "not") == 0 || p->invert == 1);
    return exact(p, x, mask);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const float *x = call->inputs[0]->data;
    const uint8_t *mask = call->inputs[1]->data;
    uint8_t *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = one(call->params, x[i], mask[i]);
    if (IS(2)) /* whole vectors of 32 bytes keep the comparison's mask */
        for (int64_t i = begin; i < begin + (end - begin) / 32 * 32; i++)
            y[i] = y[i] ? 0xff : 0;
    if (IS(7) && end - begin >= 64) /* packs eight flags, and unpacks seven */
        for (int64_t i = begin + 7; i < end; i += 8)
            y[i] = 0;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->inputs[0]), 256, body, call);
}

#if MISTAKE == 8
static const char *const cases[] = {"tag=is | x=f32[2,9] mask=bool[2,9]",
                                    "tag=not low=0.25 | x=f32[40] mask=bool[40]"};
#elif MISTAKE == 5
static const char *const cases[] = {"| x=f32[2,9] mask=bool[2,9]",
                                    "low=-1 high=1 | x=f32[40] mask=bool[40]"};
#elif MISTAKE == 6
static const char *const cases[] = {"| x=f32[2,9] mask=bool[2,9]",
                                    "low=-1 high=1 | x=f32[40] mask=bool[40]",
                                    "low=-1 high=0.5 tag=is | x=f32[4] mask=bool[4]"};
#else
static const char *const cases[] = {
    "| x=f32[2,9] mask=bool[2,9]", "low=-1 high=1 | x=f32[40] mask=bool[40]",
    "high=0.5 tag=not | x=f32[4] mask=bool[4]{1,1,0,1}", "invert=yes | x=f32[3] mask=bool[3]"};
#endif
static const char *const combinations[] = {"f32, bool -> bool"};
BLIND_OPERATOR("Verdict", "Compares.", verdict, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Verdict", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_logic")
