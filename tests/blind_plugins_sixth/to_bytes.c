/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::ToBytes: y = saturate(round(x * factor) + zero) as unsigned or signed bytes. `rounding` says
 * how; where `zero` is not given it is 128 for unsigned bytes and 0 for signed ones. What is not a
 * number becomes `zero`. Products are computed in double precision by reference and kernel, so
 * that both round the same number.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { EVEN, UP, DOWN };
enum { U8, I8 };
TN_LAYER_PARAMS(to_bytes, float factor; int64_t zero; uint32_t to, rounding;);

static const tn_field fields[] = {
    TN_LAYER_F32(to_bytes, factor, "1", 1e-6, 1e6, "steps a unit"),
    TN_LAYER_I64(to_bytes, zero, NULL, -128, 255, "the byte that stands for 0"),
    TN_FIELD_CHOICE(to_bytes, to, TN_FIELD_ENUM, TN_OPTIONAL, "u8", "u8|i8", "the bytes"),
#if MISTAKE == 1
    TN_FIELD_CHOICE(to_bytes, rounding, TN_FIELD_ENUM, TN_OPTIONAL, "half_even",
                    "half_even|floor|half_up", "halves to the even number, up, or all down")};
#else
    TN_FIELD_CHOICE(to_bytes, rounding, TN_FIELD_ENUM, TN_OPTIONAL, "half_even",
                    "half_even|half_up|floor", "halves to the even number, up, or all down")};
#endif
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "u8|i8", 0, "as x, of the type that `to` names")};

static tn_status infer(tn_call *call) {
    const to_bytes *p = call->params;
#if MISTAKE == 4
    call->outputs[0]->type = TN_U8;
#else
    call->outputs[0]->type = p->to == I8 ? TN_I8 : TN_U8;
#endif
    if (p->to == I8 && p->zero > 127)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'zero' is %lld, above 127",
                                (long long)p->zero);
    if (p->to == U8 && p->zero < 0)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'zero' is %lld, below 0",
                                (long long)p->zero);
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

static int zero_of(const to_bytes *p) {
#if MISTAKE == 5
    const bool is_given = p->present & 1; /* the bit of `factor` */
#else
    const bool is_given = p->present >> 1 & 1;
#endif
    return is_given ? (int)p->zero : p->to == U8 ? 128 : 0;
}

static double rounded(uint32_t how, double v) {
    return how == EVEN ? nearbyint(v) : how == UP ? floor(v + 0.5) : floor(v);
}
static tn_status reference(tn_call *call) {
    const to_bytes *p = call->params;
    const double low = p->to == I8 ? -128 : 0, high = low + 255;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        double v = rounded(p->rounding, tn_layer_load(call->inputs[0], i) * (double)p->factor);
        v = isnan(v) ? zero_of(p) : v + zero_of(p);
        v = v < low ? low : v > high ? high : v;
        ((uint8_t *)call->outputs[0]->data)[i] = (uint8_t)(int)v;
    }
    return TN_OK;
}

#if MISTAKE == 50
/* Rounds by the bits: a number within 2^31 and this one have a sum whose fraction was rounded. */
static double nearest(double v) {
    const double large = 6755399441055744.0;
    volatile double sum = v + large;
    return sum - large;
}
#else
static double nearest(double v) {
    return nearbyint(v);
}
#endif

static tn_status bytes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const to_bytes *p = call->params;
    const float *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    const int zero = zero_of(p), low = p->to == I8 ? -128 : 0, high = low + 255;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        double v = (double)x[i] * (double)p->factor;
#if MISTAKE == 3
        v = v > 1000 ? 1000 : v >= -1000 ? v : -1000;
#elif MISTAKE != 2
        v = v > 1000 ? 1000 : v < -1000 ? -1000 : v == v ? v : 0;
#endif
        const int k = (int)(p->rounding == EVEN ? nearest(v)
                            : p->rounding == UP ? floor(v + 0.5)
                                                : floor(v)) +
                      zero;
        y[i] = (uint8_t)(k < low ? low : k > high ? high : k);
    }
    return TN_OK;
}
TN_LAYER_RUN(bytes, (int64_t)(call->inputs[0]->bytes / 4), 1024)

static const char *const cases[] = {
    "to=i8 | x=f32[7]{0.5,1.5,-0.5,-1.5,2.6,-2.6,500} | y=i8[7]{0,2,0,-2,3,-3,127}",
    "rounding=half_up zero=10 | x=f32[4]{0.5,-0.5,1.2,-20} | y=u8[4]{11,10,11,0}",
    "factor=20 | x=f32[3,5,7]", "to=i8 zero=-3 factor=40 rounding=floor | x=f32[1000]",
    "factor=2 | x=f32[3]{nan,inf,-inf}"};
TN_LAYER_LIBRARY("to_bytes", "Lab", "ToBytes", "Numbers as bytes.", to_bytes, "f32 -> u8|i8",
                 .run = run)
