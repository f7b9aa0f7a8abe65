/* SPDX-License-Identifier: Apache-2.0 */
/* y = x * factor in 16-bit floats: by hand, from and to 32 bits. */
#include "fourteenth.h"

TN_LAYER_PARAMS(halves_params, float factor;);
static const tn_field fields[] = {
    TN_LAYER_F32(halves_params, factor, "1", -1000, 1000, "times it")};
static const tn_port inputs[] = {TN_PORT("x", "T:f16|bf16", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static float widen(tn_type type, uint16_t h, bool is_kernel) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    if (type == TN_F16) {
        const uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023;
        if (e == 0 && (is_kernel && WRONG(1)))
            bits = sign;
        else if (e == 0) {
            const float tiny = (float)m * 0x1p-24f;
            return sign ? -tiny : tiny;
        } else if (e == 31 && !(is_kernel && WRONG(2)))
            bits = sign | 0x7f800000u | m << 13;
        else
            bits = sign | (e + 112) << 23 | m << 13;
    }
    memcpy(&f, &bits, 4);
    return f;
}
/* To the nearest, ties to even, from double: exact for both types. */
static uint16_t narrow(tn_type type, double v, bool is_kernel) {
    const int bits = type == TN_F16 ? 10 : 7, lowest = type == TN_F16 ? -14 : -126;
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    const uint16_t infinite = type == TN_F16 ? 0x7c00 : 0x7f80;
    int e;
    if (isnan(v)) return infinite | 1 << (bits - 1);
    v = fabs(v);
    if (isinf(v)) return sign | infinite;
    if (v == 0) return sign;
    frexp(v, &e);
    e = e - 1 < lowest ? lowest : e - 1;
    const double scaled = ldexp(v, bits - e);
    const double whole = is_kernel && WRONG(3) && type == TN_BF16 ? floor(scaled)
                         : is_kernel && WRONG(4)                  ? floor(scaled + 0.5)
                                                                  : rint(scaled);
    if (ldexp(whole, e - bits) >= (type == TN_F16 ? 65520.0 : 0x1p128))
        return is_kernel && WRONG(5) ? sign | (uint16_t)(infinite - 1) : sign | infinite;
    if (whole < ldexp(1, bits)) return sign | (uint16_t)whole;
    const double top = ldexp(1, bits);
    const int up = whole >= 2 * top;
    return sign | (uint16_t)((uint32_t)(e + up - lowest + 1) << bits |
                             ((uint32_t)(up ? whole / 2 : whole) & ((1u << bits) - 1)));
}
static void scale(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const float factor = ((const halves_params *)call->params)->factor;
    for (int64_t i = 0; i < tn_layer_count(x); i++)
        ((uint16_t *)call->outputs[0]->data)[i] = narrow(
            x->type,
            (double)widen(x->type, ((const uint16_t *)x->data)[i], is_kernel) * (double)factor,
            is_kernel);
}
static tn_status reference(tn_call *call) {
    scale(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    scale(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f16[3,5]", "factor=3 | x=bf16[17]",
                                    "factor=0.5 | x=f16[9]"};
static const tn_operator halves = {OPERATOR,
                                   .name = "Halves",
                                   .doc = "Times a factor.",
                                   TN_FIELDS(halves_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const tn_kernel halves_cpu = {KERNEL, .op = "Halves", .run = run};
LIBRARY("halves", halves, halves_cpu)
