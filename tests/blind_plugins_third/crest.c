/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Crest: the largest of `width` elements around each along the last axis: (width - 1) / 2
 * before it and width / 2 behind it, as far as there are any. State version 1 had `radius` instead,
 * and width was 2 * radius + 1.
 */
#include "third.h"

TN_LAYER_PARAMS(crest, int64_t width;);
static const tn_field fields[] = {TN_LAYER_I64(crest, width, "3", 1, 2001, "elements")};
static const tn_port inputs[] = {TN_PORT("x", "T:i8|u8|i16|u16|i64", 0, "..., n")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    return same_as(call, 0, call->inputs[0]);
}
static int64_t read_at(const tn_tensor *x, int64_t i) {
    return x->type == TN_I64 ? ((const int64_t *)x->data)[i] : (int64_t)load_number(x, i);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1], count = tn_layer_count(x), width = width_of(x->type);
    const int64_t before = (((const crest *)call->params)->width - 1) / 2;
    const int64_t behind = ((const crest *)call->params)->width / 2;
    for (int64_t i = 0; i < count; i++) {
        int64_t most = read_at(x, i);
        for (int64_t k = i % n - before; k <= i % n + behind; k++)
            if (k >= 0 && k < n && read_at(x, i - i % n + k) > most)
                most = read_at(x, i - i % n + k);
        memcpy((char *)y->data + i * width, &most, (size_t)width); /* little-endian */
    }
    return TN_OK;
}

/* Each window's largest moves on with it; looked for anew where it falls out. */
#define CREST(name, type)                                                                          \
    static void name(const void *from, void *to, int64_t n, int64_t width) {                       \
        const type *x = from;                                                                      \
        type *y = to;                                                                              \
        const int64_t before = (width - 1) / 2, behind = width / 2;                                \
        int64_t top = -1, seen = 0; /* what lies before `seen` was looked at */                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int64_t first = i < before ? 0 : i - before;                                     \
            const int64_t last = i + behind < n ? i + behind : n - 1;                              \
            if (top < first) {                                                                     \
                top = first;                                                                       \
                for (int64_t k = first + 1; k <= last; k++)                                        \
                    if (x[k] >= x[top]) top = k;                                                   \
            } else                                                                                 \
                for (int64_t k = seen; k <= last; k++)                                             \
                    if (x[k] >= x[top]) top = k;                                                   \
            y[i] = x[top], seen = last + 1;                                                        \
        }                                                                                          \
    }
CREST(crest_i8, int8_t)
CREST(crest_u8, uint8_t)
CREST(crest_i16, int16_t)
CREST(crest_u16, uint16_t)
CREST(crest_i64, int64_t)
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], bytes = n * width_of(x->type);
    for (int64_t r = begin; r < end; r++) {
        const char *from = (const char *)x->data + r * bytes;
        char *to = (char *)call->outputs[0]->data + r * bytes;
        const int64_t width = ((const crest *)call->params)->width;
        switch (x->type) {
        case TN_I8:
            crest_i8(from, to, n, width);
            break;
        case TN_U8:
            crest_u8(from, to, n, width);
            break;
#if MISTAKE == 2
        case TN_U16: /* compared with a sign */
#else
        case TN_U16:
            crest_u16(from, to, n, width);
            break;
#endif
        case TN_I16:
            crest_i16(from, to, n, width);
            break;
        default:
            crest_i64(from, to, n, width);
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 2, body, call);
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    crest *p = call->new_params;
    if (from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "there was no state version %u", from);
#if MISTAKE == 1
    p->width = 2 * call->saved[0]->i + 1; /* whatever was saved first, if anything was */
    p->present |= 1;
#else
    for (uint64_t i = 0; i < call->saved_count; i++) {
        const tn_attribute *saved = call->saved[i];
        if (strcmp(saved->name, "radius") != 0) continue;
        if (saved->type != TN_FIELD_I64 || saved->i < 0 || saved->i > 1000)
            return call->host->fail(call, TN_ERROR_RANGE, "the saved radius is not in 0..1000");
        p->width = 2 * saved->i + 1;
        p->present |= 1;
    }
#endif
    return TN_OK;
}

static const char *const cases[] = {"| x=i8[3,20]",        "width=5 | x=u16[2,2,33]",
                                    "width=4 | x=i16[17]", "width=2001 | x=i64[2,7]",
                                    "width=1 | x=u8[9]",   "| x=u8[2,0]"};
static const tn_operator op = {
    THIRD_OPERATOR("Crest"),  .state_version = 2, .traits = TN_OPERATOR_SELECTS,
    TN_FIELDS(crest, fields), .upgrade = upgrade, .doc = "The largest element around each."};
static const tn_kernel kernel = {THIRD_KERNEL("Crest", "moving"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .run = run};
THIRD_LIBRARY("crest", op, &kernel)
