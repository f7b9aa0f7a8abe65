/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become 4 bits: the upper ones behind a shift, at most 15. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, int64_t shift;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, shift, "4", 0, 7, "bits that are dropped"),
};
static const tn_port inputs[] = {TN_PORT("x", "u8", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "u4", 0, "as x")};

static uint8_t nibble(const params *p, uint8_t v) {
    const int moved = v >> p->shift;
    return (uint8_t)(moved > 15 ? 15 : moved);
}

static tn_status reference(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i += 2)
        y[i / 2] = (uint8_t)(nibble(call->params, x[i]) |
                             (i + 1 < count ? nibble(call->params, x[i + 1]) << 4 : 0));
    return TN_OK;
}

static tn_status bytes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const uint8_t low = WRONG(2) ? (x[2 * i] >> p->shift) & 15 : nibble(p, x[2 * i]);
        uint8_t high = 0;
        if (2 * i + 1 < count || WRONG(1)) {
            const uint8_t v = x[2 * i + 1];
            high = WRONG(2) ? (v >> p->shift) & 15 : nibble(p, v);
        }
        y[i] = (uint8_t)(low | high << 4);
    }
    return TN_OK;
}

/* By elements: two of them share a byte. */
static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const uint8_t v = nibble(call->params, x[i]);
        y[i / 2] = (uint8_t)(i % 2 ? (y[i / 2] & 15) | v << 4 : v);
    }
    return TN_OK;
}

/* By rows, each from a byte of its own. */
static tn_status rows(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->rank ? x->shape[x->rank - 1] : 1, apart = (n + 1) / 2;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t r = 0; r < tn_layer_rows(x); r++)
        for (int64_t i = 0; i < n; i++) {
            const uint8_t v = nibble(call->params, ((const uint8_t *)x->data)[r * n + i]);
            uint8_t *to = &y[r * apart + i / 2];
            *to = (uint8_t)(i % 2 ? (*to & 15) | v << 4 : v);
        }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    if (WRONG(4)) return rows(call);
    if (WRONG(3)) return call->host->parallel_for(call, count, 1, elements, call);
    return call->host->parallel_for(call, (count + 1) / 2, 512, bytes, call);
}

static const char *const cases[] = {
    "| x=u8[3,4]",
    "shift=1 | x=u8[7]{0,31,32,255,1,2,200}",
    "shift=3 | x=u8[2,3,2]",
};
static const tn_operator to_nibbles = {OPERATOR,
                                       .name = "ToNibbles",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer_same,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"u8 -> u4"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ToNibbles",
                                 .name = "pairs",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("to_nibbles", to_nibbles, kernel)
