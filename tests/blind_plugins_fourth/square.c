/* SPDX-License-Identifier: Apache-2.0 */
/* SignedSquare: x * |x| times a factor, in three widths of floats. */
#include "fourth.h"

TN_LAYER_PARAMS(params, float factor;);
static const tn_field fields[] = {TN_LAYER_F32(params, factor, "1", -100, 100, "of all")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|bf16", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return fourth_same(call, 0, 0);
}

static float bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
static uint32_t float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The reference's own: both directions by the numbers' meaning. */
static double read_half(uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const double magnitude = exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                             : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                            : ldexp(mantissa, -24);
    return h & 0x8000 ? -magnitude : magnitude;
}
static uint16_t write_half(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs(value);
    if (isnan(value)) return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 65520) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x1p-14) return (uint16_t)(sign | (uint16_t)rint(ldexp(magnitude, 24)));
    int exponent;
    const double fraction = frexp(magnitude, &exponent); /* 0.5..1: 1024..2048 steps */
    const uint32_t steps = (uint32_t)rint(ldexp(fraction, 11));
    return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + steps));
}
static uint16_t write_brain(double value) {
    if (isnan(value)) return 0x7fc0;
    const uint32_t bits = float_to_bits((float)value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double factor = (double)((const params *)call->params)->factor;
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        const uint16_t h = x->type == TN_F32 ? 0 : ((const uint16_t *)x->data)[i];
        const double v = x->type == TN_F32   ? (double)((const float *)x->data)[i]
                         : x->type == TN_F16 ? read_half(h)
                                             : (double)bits_to_float((uint32_t)h << 16);
        const double value = v * fabs(v) * factor;
        if (x->type == TN_F32)
            ((float *)y->data)[i] = (float)value;
        else
            ((uint16_t *)y->data)[i] = x->type == TN_F16 ? write_half(value) : write_brain(value);
    }
    return TN_OK;
}

/* The kernel's: by their bits. */
static float half_to_float(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
#if MISTAKE != 4 /* MISTAKE: infinity and NaN are read as numbers above the others */
    if (magnitude >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (magnitude & 1023) << 13);
#endif
    if (magnitude < 0x400) {
        const float small = (float)magnitude * 0x1p-24f;
        return sign ? -small : small;
    }
    return bits_to_float(sign | ((magnitude << 13) + (112u << 23)));
}
static uint16_t float_to_half(float value) {
    const uint32_t bits = float_to_bits(value), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
#if MISTAKE == 3
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7bff); /* MISTAKE: not infinity */
#else
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
#endif
#if MISTAKE == 2
    if (magnitude < 0x38800000) return sign; /* MISTAKE: subnormal results become 0 */
#else
    if (magnitude < 0x38800000)
        return (uint16_t)(sign | (uint16_t)rintf(bits_to_float(magnitude) * 0x1p24f));
#endif
    const uint32_t moved = magnitude - (112u << 23);
    return (uint16_t)(sign | (moved + 0xfff + (moved >> 13 & 1)) >> 13);
}
static uint16_t float_to_brain(float value) {
    const uint32_t bits = float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
#if MISTAKE == 1
    return (uint16_t)(bits >> 16); /* MISTAKE: cut off, not rounded */
#else
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float factor = ((const params *)call->params)->factor;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (x->type == TN_F32) {
            const double v = (double)((const float *)x->data)[i];
            ((float *)y->data)[i] = (float)(v * fabs(v) * (double)factor);
            continue;
        }
        const uint16_t h = ((const uint16_t *)x->data)[i];
#if MISTAKE == 5
        const bool is_half = true; /* MISTAKE: there are two types of 16 bits */
#else
        const bool is_half = x->type == TN_F16;
#endif
        const float v = is_half ? half_to_float(h) : bits_to_float((uint32_t)h << 16);
        const float value = (float)((double)v * (double)fabsf(v) * (double)factor);
        ((uint16_t *)y->data)[i] = is_half ? float_to_half(value) : float_to_brain(value);
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 1024)

static const char *const cases[] = {
    "| x=f32[3,4,5]",
    "factor=0.5 | x=f16[33]",
    "factor=-3 | x=bf16[2,9]",
    "| x=f16[4]{-2,0.5,0,3}",
};
FOURTH_OPERATOR("SignedSquare", "x times its magnitude times a factor.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "SignedSquare", "bits",
              .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("square", "1.0", operators, kernels)
