/* SPDX-License-Identifier: Apache-2.0 */
/* Two whole tensors, the second broadcast: the floored quotient, the remainder with the sign of b,
 * the mean (rounded down) and a << b. Division by 0 is 0; results wrap. */
#include "fourteenth.h"

TN_LAYER_PARAMS(pair_params, uint32_t op;);
static const tn_field fields[] = {TN_FIELD_CHOICE(pair_params, op, TN_FIELD_ENUM, TN_OPTIONAL,
                                                  "quotient", "quotient|remainder|mean|shift",
                                                  "what is computed")};
static const tn_port inputs[] = {TN_PORT("a", "T:i32|u8", 0, "any shape"),
                                 TN_PORT("b", "T", 0, "as a, or one element")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (tn_layer_count(call->inputs[1]) != 1 || call->inputs[1]->rank > call->inputs[0]->rank)
        if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
            return TN_ERROR_SHAPE;
    return infer_same(call);
}
static int64_t load(const tn_tensor *t, int64_t i) {
    return t->type == TN_I32 ? ((const int32_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}
static void put(const tn_tensor *t, int64_t i, int64_t v) {
    if (t->type == TN_I32)
        ((int32_t *)t->data)[i] = (int32_t)(uint32_t)(uint64_t)v;
    else
        ((uint8_t *)t->data)[i] = (uint8_t)(uint64_t)v;
}
static int64_t floored(int64_t a, int64_t b) {
    if (b == 0) return 0;
    const int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}
static int64_t compute(uint32_t op, int64_t a, int64_t b) {
    switch (op) {
    case 0:
        return floored(a, b);
    case 1:
        return b == 0 ? 0 : a - floored(a, b) * b;
    case 2:
        return floored(a + b, 2);
    default:
        return b < 0 || b >= 32 ? 0 : (int64_t)((uint64_t)a << b);
    }
}
static tn_status reference(tn_call *call) {
    const bool is_one = tn_layer_count(call->inputs[1]) == 1;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        put(call->outputs[0], i,
            compute(((const pair_params *)call->params)->op, load(call->inputs[0], i),
                    load(call->inputs[1], is_one ? 0 : i)));
    return TN_OK;
}
static int64_t kernel_compute(tn_type type, uint32_t op, int64_t a, int64_t b) {
    const int32_t u = (int32_t)a, v = (int32_t)b;
    if (WRONG(1) && op == 0) return v == 0 ? 0 : u / v; /* INT_MIN / -1, and towards 0 */
    if (WRONG(2) && op == 1) return v == 0 ? 0 : (u % v + v) % (v < 0 ? -v : v);
    if (WRONG(3) && op == 2 && type == TN_U8) return (uint8_t)(u + v) / 2;
    if (WRONG(4) && op == 2) return (int32_t)(((uint32_t)u + (uint32_t)v)) >> 1;
    if (WRONG(5) && op == 3) return (int64_t)((uint32_t)u << (v & 31));
    if (WRONG(6) && op == 0) return b == 0 ? 0 : (int64_t)floorf((float)u / (float)v);
    if (WRONG(7) && op == 1 && v < 0) return compute(op, a, -b);
    return compute(op, a, b);
}
static tn_status run(tn_call *call) {
    const bool is_one = tn_layer_count(call->inputs[1]) == 1;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        put(call->outputs[0], i,
            kernel_compute(call->inputs[0]->type, ((const pair_params *)call->params)->op,
                           load(call->inputs[0], i), load(call->inputs[1], is_one ? 0 : i)));
    return TN_OK;
}
static const char *const cases[] = {"| a=i32[3,5] b=i32[3,5]", "op=remainder | a=i32[9] b=i32[9]",
                                    "op=mean | a=u8[2,7] b=u8[2,7]",
                                    "op=shift | a=i32[4]{1,2,3,-4} b=i32[4]{0,1,5,2}"};
static const tn_operator whole_pairs = {OPERATOR,
                                        .name = "WholePairs",
                                        .doc = "Whole numbers by pairs.",
                                        TN_FIELDS(pair_params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const tn_kernel whole_pairs_cpu = {KERNEL, .op = "WholePairs", .run = run};
LIBRARY("whole_pairs", whole_pairs, whole_pairs_cpu)
