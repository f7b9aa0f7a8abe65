/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Shift: y = x shifted by `by` bits to the left, or to the right below 0; zeros come in. */
#include "blind.h"

TN_LAYER_PARAMS(shift, int64_t by;);
static const tn_field fields[] = {TN_LAYER_I64(shift, by, "1", -100, 100, "below 0: right")};
static const tn_port inputs[] = {TN_PORT("x", "T:u8|u32|u64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}
static uint64_t read_bits(const tn_tensor *t, int64_t i) {
    return t->type == TN_U8    ? ((const uint8_t *)t->data)[i]
           : t->type == TN_U32 ? ((const uint32_t *)t->data)[i]
                               : ((const uint64_t *)t->data)[i];
}
static void write_bits(const tn_tensor *t, int64_t i, uint64_t bits) {
    if (t->type == TN_U8)
        ((uint8_t *)t->data)[i] = (uint8_t)bits;
    else if (t->type == TN_U32)
        ((uint32_t *)t->data)[i] = (uint32_t)bits;
    else
        ((uint64_t *)t->data)[i] = bits;
}
static uint64_t shifted(uint64_t x, int64_t by) {
    return by <= -64 || by >= 64 ? 0 : by < 0 ? x >> -by : x << by;
}
static tn_status reference(tn_call *call) {
    const int64_t by = ((const shift *)call->params)->by;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        write_bits(call->outputs[0], i, shifted(read_bits(call->inputs[0], i), by));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t by = ((const shift *)call->params)->by;
    for (int64_t i = 0; i < count_of(x); i++) {
        const uint64_t bits = read_bits(x, i);
        uint64_t y = shifted(bits, by);
        if (IS(1)) y = by < 0 ? bits >> (-by & 63) : bits << (by & 63);
        if (IS(2) && x->type == TN_U32 && by < 0 && by > -32)
            y = (uint64_t)(uint32_t)((int32_t)(uint32_t)bits >> -by);
        if (IS(3) && by > -32 && by < 32) y = by < 0 ? (uint32_t)bits >> -by : (uint32_t)bits << by;
        write_bits(call->outputs[0], i, y);
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=u32[3,7]", "by=-2 | x=u32[20]", "by=3 | x=u64[9]",
                                    "by=-1 | x=u8[11]"};
static const char *const combinations[] = {"u8 -> u8", "u32 -> u32", "u64 -> u64"};
BLIND_OPERATOR("Shift", "Shifts bits.", shift, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Shift", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
BLIND_LIBRARY("blind_bits")
