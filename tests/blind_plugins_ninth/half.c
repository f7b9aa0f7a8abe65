/* SPDX-License-Identifier: Apache-2.0 */
/* RowTotal: gain times the sum of each row, of 16-bit floats. */
#include "ninth.h"

TN_LAYER_PARAMS(total, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(total, gain, "1", -1000, 1000, "of the sum")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|bf16", 0, "any shape, one axis or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x without its last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}

static double half_to_double(uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const double sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}
static uint16_t double_to_half(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return 0x7E00;
    const double a = fabs(x);
    if (a >= 65520) return WRONG(2) ? sign | 0x7BFF : sign | 0x7C00;
    if (WRONG(3) && a < ldexp(1, -14)) return sign; /* below the normal ones */
    if (a < ldexp(1, -14)) return sign | (uint16_t)nearbyint(ldexp(a, 24));
    int exponent;
    const double mantissa = frexp(a, &exponent) * 2048; /* 1024 to 2048 */
    const uint32_t bits = (uint32_t)nearbyint(mantissa) + (uint32_t)(exponent + 13) * 1024;
    return sign | (uint16_t)bits;
}
static double brain_to_double(uint16_t b) {
    const uint32_t bits = (uint32_t)b << 16;
    float x;
    memcpy(&x, &bits, 4);
    return (double)x;
}
static uint16_t float_to_brain(float x, bool half_up) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (isnan(x)) return 0x7FC0;
    return (uint16_t)((bits + 0x7FFF + (half_up ? 1 : bits >> 16 & 1)) >> 16);
}
/* To a float so that a second rounding does no harm: to odd. */
static float to_odd(double x) {
    const float f = (float)x;
    uint32_t bits;
    if (isnan(x) || isinf(f) || (double)f == x) return f;
    memcpy(&bits, &f, 4);
    const bool is_larger = fabs((double)f) > fabs(x);
    if (is_larger) bits--;
    bits |= 1;
    float odd;
    memcpy(&odd, &bits, 4);
    return odd;
}

static double load(const tn_tensor *t, int64_t i) {
    const uint16_t *halves = t->data;
    return t->type == TN_F16    ? half_to_double(halves[i])
           : t->type == TN_BF16 ? brain_to_double(halves[i])
                                : (double)((const float *)t->data)[i];
}
static void store(const tn_tensor *t, int64_t i, double x) {
    if (t->type == TN_F16)
        ((uint16_t *)t->data)[i] = double_to_half(x);
    else if (t->type == TN_BF16)
        ((uint16_t *)t->data)[i] = float_to_brain(to_odd(x), false);
    else
        ((float *)t->data)[i] = (float)x;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t row = 0; row < tn_layer_rows(x); row++) {
        double sum = 0;
        for (int64_t k = row * n; k < row * n + n; k++)
            sum += load(x, k);
        sum *= (double)((const total *)call->params)->gain;
        if (y->type == TN_F16 && (WRONG(2) || WRONG(3))) { /* the mistakes are the kernel's */
            const double a = fabs(sum);
            if (a >= 65520)
                ((uint16_t *)y->data)[row] = (uint16_t)((signbit(sum) ? 0x8000 : 0) | 0x7C00);
            else if (a < ldexp(1, -14))
                ((uint16_t *)y->data)[row] =
                    (uint16_t)((signbit(sum) ? 0x8000 : 0) | (uint16_t)nearbyint(ldexp(a, 24)));
            else
                store(y, row, sum);
        } else
            store(y, row, sum);
    }
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double gain = (double)((const total *)call->params)->gain;
    const int64_t n = x->shape[x->rank - 1];
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        double sum = 0;
        for (int64_t k = row * n; k < row * n + n; k++) {
            sum += load(x, k);
            if (WRONG(1) && x->type == TN_F16) sum = half_to_double(double_to_half(sum));
        }
        if (WRONG(4) && y->type == TN_BF16)
            ((uint16_t *)y->data)[row] = float_to_brain(to_odd(gain * sum), true);
        else
            store(y, row, gain * sum);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->inputs[0]), 4)

static const char *const cases[] = {"| x=f16[3,8]", "gain=0.5 | x=bf16[2,2,5]", "| x=f32[2,9]"};
static const tn_operator total_operator = {
    OPERATOR,          .state_version = 1,  .name = "RowTotal", TN_FIELDS(total, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,     .reference = reference,
    TN_CASES(cases)};
static const tn_kernel total_cpu = {KERNEL, .op = "RowTotal", .name = "rows",
                                    .traits = TN_KERNEL_DETERMINISTIC, .run = run};
LIBRARY("ninth_half", total_operator, total_cpu)
