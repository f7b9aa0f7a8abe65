/* SPDX-License-Identifier: Apache-2.0 */
/* a + factor * b in floats of 32 and 16 bits, both kinds of these, converted by hand. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, float factor;);
static const tn_field fields[] = {TN_LAYER_F32(params, factor, "1", -1e6, 1e6, "of b")};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    return tn_layer_load(call->inputs[0], i) +
           (double)((const params *)call->params)->factor * tn_layer_load(call->inputs[1], i);
}
TN_LAYER_REFERENCE(element)

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
    if (WRONG(1)) return (uint16_t)(bits >> 16);
    if (isnan(x) && !WRONG(2)) return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7FFF + (WRONG(3) ? 1 : bits >> 16 & 1)) >> 16);
}
static float from_half(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31,
                   mantissa = h & 1023;
    if (exponent == 31 && !WRONG(6)) return float_of(sign | 0x7F800000 | mantissa << 13);
    if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    if (WRONG(4)) return float_of(sign);
    const float small = (float)mantissa * 0x1p-24F;
    return sign ? -small : small;
}
static uint16_t to_half(float x) {
    const uint16_t sign = (uint16_t)(bits_of(x) >> 16 & 0x8000);
    const float size = fabsf(x);
    if (isnan(x)) return sign | 0x7E00;
    if (size >= 65520.0F) return sign | (WRONG(5) ? 0x7BFF : 0x7C00);
    if (size < 0x1p-14F) return sign | (uint16_t)nearbyintf(size * 0x1p24F);
    const uint32_t bits = bits_of(size) - (112U << 23);
    return sign | (uint16_t)((bits + 0xFFF + (bits >> 13 & 1)) >> 13);
}
static float load_at(const tn_tensor *t, int64_t i) {
    if (t->type == TN_F32) return ((const float *)t->data)[i];
    const uint16_t stored = ((const uint16_t *)t->data)[i];
    return t->type == TN_F16 ? from_half(stored) : float_of((uint32_t)stored << 16);
}
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float factor = ((const params *)call->params)->factor;
    const tn_tensor *y = call->outputs[0];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const float sum = load_at(call->inputs[0], i) + factor * load_at(call->inputs[1], i);
        if (y->type == TN_F32)
            ((float *)y->data)[i] = sum;
        else
            ((uint16_t *)y->data)[i] = y->type == TN_F16 ? to_half(sum) : to_bf16(sum);
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 64)

static const char *const cases[] = {"| a=f32[3,11] b=f32[3,11]",
                                    "factor=0.5 | a=f32[64] b=f32[64]"};
static const tn_operator halves = {OPERATOR,
                                   .name = "HalvesAdd",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "bf16, bf16 -> bf16",
                                           "f16, f16 -> f16", "f32, f32 -> bf16",
                                           "f32, f32 -> f16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "HalvesAdd",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("halves_add", halves, kernel)
