/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::HalfSum, the sum of two tensors that are stored in 16-bit floats, which the kernel converts
 * by hand; and the mistakes at the ends of these types and halfway between two numbers. */
#include "mistake.h"

#include <math.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool is_same = a->rank == b->rank;
    for (uint32_t i = 0; is_same && i < a->rank; i++)
        is_same = a->shape[i] == b->shape[i];
    if (!is_same) return call->host->fail(call, TN_ERROR_SHAPE, "a and b differ in shape");
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0, n = count_of(call->outputs[0]); i < n; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]->data)[i] + ((const float *)call->inputs[1]->data)[i];
    return TN_OK;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}
static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
static uint16_t to_bf16(float x) {
    const uint32_t bits = bits_of(x);
    if (isnan(x) && !WITH(rounds_nan)) return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7FFF + (WITH(halves_go_up) ? 1 : bits >> 16 & 1)) >> 16);
}
static float from_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31;
    const float small = WITH(no_subnormals) ? 0 : (float)(h & 1023) * 0x1p-24F;
    if (exponent == 31 && !WITH(infinity_is_a_number))
        return float_of(sign | 0x7F800000 | (uint32_t)(h & 1023) << 13);
    if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | (uint32_t)(h & 1023) << 13);
    return sign ? -small : small;
}
static uint16_t to_f16(float x) {
    const uint16_t sign = (uint16_t)(bits_of(x) >> 16 & 0x8000);
    const float size = fabsf(x);
    if (isnan(x)) return sign | 0x7E00;
    if (size >= 65520) return sign | (WITH(stops_at_the_largest) ? 0x7BFF : 0x7C00);
    if (size < 0x1p-14F) return sign | (uint16_t)nearbyintf(size * 0x1p24F);
    const uint32_t bits = bits_of(size) - (112U << 23);
    return sign | (uint16_t)((bits + 0xFFF + (bits >> 13 & 1)) >> 13);
}
static float load(const tn_tensor *t, int64_t i) {
    if (t->type == TN_F32) return ((const float *)t->data)[i];
    const uint16_t stored = ((const uint16_t *)t->data)[i];
    return t->type == TN_F16 ? from_f16(stored) : float_of((uint32_t)stored << 16);
}
static tn_status run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    for (int64_t i = 0, n = count_of(y); i < n; i++) {
        const float sum = load(call->inputs[0], i) + load(call->inputs[1], i);
        ((uint16_t *)y->data)[i] = y->type == TN_F16 ? to_f16(sum) : to_bf16(sum);
    }
    return TN_OK;
}

static const char *const cases[] = {"| a=f32[96] b=f32[96]", "| a=f32[3,5] b=f32[3,5]"};
static const char *const combinations[] = {"f16, f16 -> f16", "bf16, bf16 -> bf16",
                                           "f32, f32 -> bf16"};
static const tn_operator half_sum = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Bad",
                                     .name = "HalfSum",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const tn_kernel half_sum_cpu = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "Bad",
                                       .op = "HalfSum",
                                       .device = "cpu",
                                       .name = "by_hand",
                                       .traits = TN_KERNEL_DETERMINISTIC,
                                       TN_COMBINATIONS(combinations),
                                       .run = run};
static const tn_operator *const operators[] = {&half_sum};
static const tn_kernel *const kernels[] = {&half_sum_cpu};
TN_LIBRARY("bad_half_floats", "1", operators, kernels)
