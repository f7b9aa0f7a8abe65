/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Dot: [m,k] of bytes by [k,n] of signed bytes, in 32 bits. */
#include "blind.h"

TN_LAYER_PARAMS(dot, int64_t zero;);
static const tn_field fields[] = {TN_LAYER_I64(dot, zero, "0", 0, 255, "is taken off each byte")};
static const tn_port inputs[] = {TN_PORT("a", "u8", 0, "[m,k]"), TN_PORT("b", "i8", 0, "[k,n]")};
static const tn_port outputs[] = {TN_PORT("y", "i32", 0, "[m,n]")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, -1)) return TN_ERROR_SHAPE;
    if (call->inputs[0]->shape[1] != call->inputs[1]->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "a has other columns than b has rows");
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[1]->shape[1]);
}
static int32_t saturate(int32_t value) {
    return value > 32767 ? 32767 : value < -32768 ? -32768 : value;
}
static void all(tn_call *call, bool is_kernel) {
    const uint8_t *a = call->inputs[0]->data;
    const int8_t *b = call->inputs[1]->data;
    const int32_t zero = (int32_t)((const dot *)call->params)->zero;
    const int64_t depth = call->inputs[0]->shape[1], n = call->inputs[1]->shape[1];
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++) {
        int32_t sum = 0;
        float real = 0;
        for (int64_t k = 0; k < depth; k++) {
            int32_t x = a[i / n * depth + k] - zero;
            if (is_kernel && IS(2)) x = (uint8_t)x;
            if (is_kernel && IS(3)) x = (int8_t)a[i / n * depth + k] - zero;
            const int32_t product = x * b[k * n + i % n];
            if (is_kernel && IS(1) && k + 1 < depth) { /* two at once, as some instructions do */
                const int32_t next = (a[i / n * depth + k + 1] - zero) * b[(k + 1) * n + i % n];
                sum += saturate(product + next);
                k++;
                continue;
            }
            sum += product;
            real += (float)product;
        }
        ((int32_t *)call->outputs[0]->data)[i] = is_kernel && IS(4) ? (int32_t)real : sum;
    }
}
static tn_status reference(tn_call *call) {
    all(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    all(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| a=u8[3,17] b=i8[17,5]", "zero=128 | a=u8[2,8] b=i8[8,3]"};
static const char *const combinations[] = {"u8, i8 -> i32"};
BLIND_OPERATOR("Dot", "A product of bytes.", dot, )
BLIND_KERNEL("Dot", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_dot")
