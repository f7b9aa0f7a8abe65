/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Squash: y = gain * x / sqrt(1 + x * x), +-gain at infinity, on floats of three widths. */
#include "blind.h"

TN_LAYER_PARAMS(squash, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(squash, gain, "1", -1e6, 1e6, "the limit")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|bf16", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}

static double exact(double gain, double x) {
    return isinf(x) ? copysign(1, x) * gain : gain * x / sqrt(1 + x * x);
}

static tn_status reference(tn_call *call) {
    const double gain = (double)((const squash *)call->params)->gain;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, exact(gain, get(call->inputs[0], i)));
    return TN_OK;
}

static double read_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    if (IS(1) && exponent == 31) /* taken for a number like the others */
        return (bits & 0x8000 ? -1 : 1) * ldexp(1024 + (bits & 1023), 6);
    if (IS(2) && exponent == 0) return bits & 0x8000 ? -0.0 : 0.0;
    if (IS(52) && exponent > 0 && exponent < 31) { /* by a table of its own */
        static const double unit[] = {0x1p-24, 0x1p-24, 0x1p-23, 0x1p-22, 0x1p-21, 0x1p-20, 0x1p-19,
                                      0x1p-18, 0x1p-17, 0x1p-16, 0x1p-15, 0x1p-14, 0x1p-13, 0x1p-12,
                                      0x1p-11, 0x1p-10, 0x1p-9,  0x1p-8,  0x1p-7,  0x1p-6,  0x1p-5,
                                      0x1p-4,  0x1p-3,  0x1p-2,  0x1p-1,  1,       2,       4,
                                      8,       16,      32};
        return (bits & 0x8000 ? -1 : 1) * unit[exponent] * (1024 + (bits & 1023));
    }
    return half_to_double(bits);
}

static uint16_t write_half(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (IS(3) && fabs(value) >= 0x1p-14 && fabs(value) < 65504) { /* the carry is lost */
        int exponent = 0;
        frexp(fabs(value), &exponent);
        return (uint16_t)(sign | (exponent + 14) << 10 |
                          ((int)rint(ldexp(fabs(value), 11 - exponent)) & 1023));
    }
    if (IS(5) && fabs(value) >= 65536) { /* the exponent runs into the sign */
        int exponent = 0;
        frexp(fabs(value), &exponent);
        return (uint16_t)((sign | (exponent + 14) << 10) +
                          ((int)ldexp(fabs(value), 11 - exponent) & 1023));
    }
    return half_from_double(value);
}

static double one(double gain, double x) {
    if (IS(4)) { /* the square is infinite long before x is */
        const float f = (float)x, square = f * f;
        return isinf(x) ? copysign(1, x) * gain : gain * (double)(f / sqrtf(1.0f + square));
    }
    if (IS(6)) return (x < 0 ? -1 : 1) * exact(gain, fabs(x));
    if (IS(7)) return exact(gain, fmin(fmax(x, -1e4), 1e4)); /* NaN becomes a number */
    return exact(gain, x);
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double gain = (double)((const squash *)call->params)->gain;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        if (x->type == TN_F16)
            ((uint16_t *)y->data)[i] =
                write_half(one(gain, read_half(((const uint16_t *)x->data)[i])));
        else
            set(y, i, one(gain, get(x, i)));
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->inputs[0]), 512, body, call);
}

static const char *const cases[] = {"| x=f32[3,17]", "gain=4 | x=f16[2,33]", "gain=-2 | x=bf16[40]",
                                    "gain=100000 | x=f16[8]", "| x=f32[]"};
#if MISTAKE == 50
static const char *const combinations[] = {"f16 -> f16"};
#elif MISTAKE == 51
static const char *const combinations[] = {"f32|f16|bf16 -> f32|f16|bf16"};
#else
static const char *const combinations[] = {"f32 -> f32", "f16 -> f16", "bf16 -> bf16"};
#endif
BLIND_OPERATOR("Squash", "A sigmoid without exponentials.", squash,
               .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Squash", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
BLIND_LIBRARY("blind_halves")
