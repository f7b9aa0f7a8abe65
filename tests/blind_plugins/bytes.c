/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Brighten: y = saturate(x + amount), on bytes with and without a sign. */
#include "blind.h"

TN_LAYER_PARAMS(brighten, int64_t amount;);
static const tn_field fields[] = {TN_LAYER_I64(brighten, amount, "1", -255, 255, "what is added")};
static const tn_port inputs[] = {TN_PORT("x", "T:u8|i8", 0, "an image")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t amount = ((const brighten *)call->params)->amount;
    for (int64_t i = 0; i < count_of(x); i++) {
        if (x->type == TN_U8)
            ((uint8_t *)y->data)[i] =
                (uint8_t)clamp(((const uint8_t *)x->data)[i] + amount, 0, 255);
        else
            ((int8_t *)y->data)[i] =
                (int8_t)clamp(((const int8_t *)x->data)[i] + amount, -128, 127);
    }
    return TN_OK;
}

static uint8_t one_u8(uint8_t x, int64_t amount) {
    if (IS(1)) return (uint8_t)clamp((int8_t)x + amount, 0, 255);
    if (IS(3)) return (uint8_t)(x + amount);
    if (IS(6)) { /* a carry tells of the overflow, where the amount is not negative */
        const uint8_t sum = (uint8_t)(x + (uint8_t)amount);
        return amount >= 0 && sum < x ? 255 : sum;
    }
    return (uint8_t)clamp(x + amount, 0, 255);
}

static int8_t one_i8(int8_t x, int64_t amount) {
    if (IS(2)) return (int8_t)clamp((uint8_t)x + amount, -128, 127);
    return (int8_t)clamp(x + amount, IS(4) ? -127 : -128, 127);
}

static void span(const tn_call *call, int64_t begin, int64_t end) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t amount = ((const brighten *)call->params)->amount;
    const uint8_t *table = call->state; /* of all results, where there is one */
    for (int64_t i = begin; i < end; i++) {
        if (table)
            ((uint8_t *)y->data)[i] = table[((const uint8_t *)x->data)[i]];
        else if (x->type == TN_U8)
            ((uint8_t *)y->data)[i] = one_u8(((const uint8_t *)x->data)[i], amount);
        else
            ((int8_t *)y->data)[i] = one_i8(((const int8_t *)x->data)[i], amount);
    }
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t count = end - begin, whole = begin + count / 16 * 16;
    (void)thread;
    if (IS(5)) { /* the tail goes by fours and twos, not by ones */
        span(user, begin, begin + count / 2 * 2);
    } else if (IS(8) && count > 16 && whole < end) { /* the last vector overlaps the one before */
        span(user, begin, whole);
        span(user, end - 16, end);
    } else {
        span(user, begin, end);
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->inputs[0]), 4096, body, call);
}

#if MISTAKE == 51 || MISTAKE == 7
/* 51: a table for each node. 7: one for the library, made for the first node that comes. */
static uint8_t shared_table[256];
static int is_made;
static tn_status prepare(tn_call *call) {
    const int64_t amount = ((const brighten *)call->params)->amount;
    uint8_t *table = IS(7) ? shared_table : call->host->allocate(call->host, 256, 64);
    if (!table) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    call->state = table;
    if (IS(7) && is_made) return TN_OK;
    is_made = 1;
    for (int i = 0; i < 256; i++)
        table[i] = call->inputs[0]->type == TN_U8 ? one_u8((uint8_t)i, amount)
                                                  : (uint8_t)one_i8((int8_t)i, amount);
    return TN_OK;
}
static void release(tn_call *call) {
    if (!IS(7)) call->host->deallocate(call->host, call->state);
}
#define MORE .prepare = prepare, .release = release
#else
#define MORE .doc = "Element by element."
#endif

static const char *const cases[] = {"| x=u8[2,3,16]", "amount=40 | x=u8[64]",
                                    "amount=-20 | x=i8[3,32]", "| x=i8[8]"};
#if MISTAKE == 50
static const char *const combinations[] = {"u8 -> u8"};
#else
static const char *const combinations[] = {"u8 -> u8", "i8 -> i8"};
#endif
BLIND_OPERATOR("Brighten", "Adds to bytes.", brighten, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Brighten", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, MORE)
BLIND_LIBRARY("blind_bytes")
