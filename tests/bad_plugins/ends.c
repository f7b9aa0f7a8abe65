/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Nearest, floats as 32-bit integers, saturated; Bad::Multiplied, products of types that no
 * case has; Bad::Tripled, halves times three: and the mistakes at the ends of types. */
#include "mistake.h"

#include <math.h>

static const tn_port float_input[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port whole_output[] = {TN_PORT("y", "i32", 0, "as x")};
static const tn_port factors[] = {TN_PORT("a", "T:f32|i32", 0, "any shape"),
                                  TN_PORT("b", "T", 0, "as a")};
static const tn_port product[] = {TN_PORT("y", "T", 0, "a * b")};
static const tn_port half_input[] = {TN_PORT("x", "f16", 0, "any shape")};
static const tn_port half_output[] = {TN_PORT("y", "f16", 0, "3 x")};

/* --- Nearest --- */
static tn_status nearest_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const double v = rint((double)x[i]);
        ((int32_t *)call->outputs[0]->data)[i] = isnan(v)           ? 0
                                                 : v < -2147483648. ? INT32_MIN
                                                 : v > 2147483647.  ? INT32_MAX
                                                                    : (int32_t)v;
    }
    return TN_OK;
}
static tn_status nearest_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const float v = fmaxf(fminf(rintf(x[i]), 0x1p31f), -0x1p31f);
        ((int32_t *)call->outputs[0]->data)[i] = x[i] != x[i] ? 0
                                                 : v == 0x1p31f && !WITH(clamps_as_float)
                                                     ? INT32_MAX
                                                     : (int32_t)v;
    }
    return TN_OK;
}

/* --- Multiplied --- */
static tn_status infer_multiplied(tn_call *call) {
    if (count_of(call->inputs[0]) != count_of(call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "a and b must be alike");
    return infer_same(call);
}
static tn_status multiply(tn_call *call, bool is_kernel) {
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    void *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        if (call->inputs[0]->type == TN_F32)
            ((float *)y)[i] = ((const float *)a)[i] * ((const float *)b)[i];
        else if (WITH(product_as_float) && is_kernel)
            ((int32_t *)y)[i] =
                (int32_t)((float)((const int32_t *)a)[i] * (float)((const int32_t *)b)[i]);
        else
            ((uint32_t *)y)[i] = ((const uint32_t *)a)[i] * ((const uint32_t *)b)[i];
    }
    return TN_OK;
}
static tn_status multiplied_reference(tn_call *call) {
    return multiply(call, false);
}
static tn_status multiplied_run(tn_call *call) {
    return multiply(call, true);
}

/* --- Tripled --- */
static double half_value(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                         : exponent == 0 ? ldexp(fraction, -24)
                                         : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 ? -value : value;
}
/* Rounds once, to even. */
static uint16_t nearest_half(double value, bool is_kernel) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value)) return 0x7e00;
    if (value == 0) return sign;
    if (fabs(value) >= 65520)
        return sign | (WITH(half_saturates) && is_kernel && !isinf(value) ? 0x7bff : 0x7c00);
    (void)frexp(value, &exponent);
    exponent = exponent - 11 > -24 ? exponent - 11 : -24;
    return (uint16_t)(sign |
                      (((exponent + 24) << 10) + (int)nearbyint(ldexp(fabs(value), -exponent))));
}
static tn_status triple(tn_call *call, bool is_kernel) {
    const uint16_t *x = call->inputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        ((uint16_t *)call->outputs[0]->data)[i] = nearest_half(3 * half_value(x[i]), is_kernel);
    return TN_OK;
}
static tn_status tripled_reference(tn_call *call) {
    return triple(call, false);
}
static tn_status tripled_run(tn_call *call) {
    return triple(call, true);
}

static const char *const nearest_cases[] = {"| x=f32[3,4]"};
static const char *const multiplied_cases[] = {"| a=f32[3,4] b=f32[3,4]"};
static const char *const tripled_cases[] = {"| x=f16[3,40]"};
#define LAYER(id, title, from, to, rule)                                                           \
    static const tn_operator id = {.size = sizeof(tn_operator),                                    \
                                   .since_version = 1,                                             \
                                   .state_version = 1,                                             \
                                   .domain = "Bad",                                                \
                                   .name = title,                                                  \
                                   TN_NO_FIELDS,                                                   \
                                   TN_INPUTS(from),                                                \
                                   TN_OUTPUTS(to),                                                 \
                                   .infer = rule,                                                  \
                                   .reference = id##_reference,                                    \
                                   TN_CASES(id##_cases)};                                          \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       .run = id##_run}
LAYER(nearest, "Nearest", float_input, whole_output, infer_same);
LAYER(multiplied, "Multiplied", factors, product, infer_multiplied);
LAYER(tripled, "Tripled", half_input, half_output, infer_same);

static const tn_operator *const operators[] = {&nearest, &multiplied, &tripled};
static const tn_kernel *const kernels[] = {&nearest_cpu, &multiplied_cpu, &tripled_cpu};
TN_LIBRARY("bad_ends", "1", operators, kernels)
