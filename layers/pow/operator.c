/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pow: Z = X to the power of Y with broadcasting; the types may differ, Z has X's. Integers to the
 * power of integers wrap; to the power of real numbers what is behind the point is dropped.
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/math/element.h"
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

#include <math.h>

static double pow_real(const void *params, double x, double y) {
    (void)params;
    return pow(x, y);
}

static double pow_truncated(const void *params, double x, double y) {
    (void)params;
    return trunc(pow(x, y));
}

/* By squaring; wraps. */
static uint64_t power(uint64_t x, uint64_t y) {
    uint64_t result = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) result *= x;
    return result;
}

/* 1 / x to the power of -y, without the remainder, where y is negative; of 0: 0. */
static int64_t pow_whole(const void *params, int64_t x, int64_t y) {
    (void)params;
    if (y >= 0) return (int64_t)power((uint64_t)x, (uint64_t)y);
    if (x == 1) return 1;
    if (x == -1) return y & 1 ? -1 : 1;
    return 0;
}

static int64_t pow_natural_exponent(const void *params, int64_t x, int64_t y) {
    (void)params;
    return (int64_t)power((uint64_t)x, (uint64_t)y);
}

/* Squares, the commonest power, are exact in double, so that they may be taken at once. */
static void pow_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const float *x = inputs[0], *y = inputs[1];
    (void)params;
    if (strides[1] == 0 && y[0] == 2) {
        for (uint64_t i = 0; i < count; i++)
            output[i] = x[i * strides[0]] * x[i * strides[0]];
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        output[i] = (float)pow((double)x[i * strides[0]], (double)y[i * strides[1]]);
}

static const tn_broadcast_binary *choose_function(const tn_call *call) {
    static const tn_broadcast_binary real = {.real = pow_real, .row = pow_row},
                                     whole = {.real = pow_truncated, .whole = pow_whole},
                                     natural = {.real = pow_truncated,
                                                .whole = pow_natural_exponent};
    if (tn_element_is_real(call->inputs[0]->type)) return &real;
    return call->inputs[1]->type == TN_U64 ? &natural : &whole;
}

static tn_status pow_reference(tn_call *call) {
    return tn_broadcast_compute(call, choose_function(call));
}

static tn_status pow_1_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, choose_function(call));
}

static const tn_port pow_1_inputs[] = {
    TN_PORT("X", "T:float", 0, "base"),
    TN_PORT("Y", "T", 0, "exponent"),
};
static const tn_port pow_7_inputs[] = {
    TN_PORT("X", "T:float|i64|i32", 0, "base"),
    TN_PORT("Y", "number", 0, "exponent, of any type"),
};
static const tn_port pow_outputs[] = {
    TN_PORT("Z", "T", 0, "the powers"),
};
static const char *const pow_1_cases[] = {
    "| X=f32[2,3,4]{0.5,1,2,3,4,5,6,7,8,9,10,11,0.5,1,2,3,4,5,6,7,8,9,10,11} Y=f32[2,3,4]",
    "broadcast=1 | X=f32[3]{0.1,2,30} Y=f32[]{0.5}",
    "broadcast=1 axis=0 | X=f64[3,2]{0.1,2,30,4,5,6} Y=f64[3]{2,3,-1}",
};
static const char *const pow_cases[] = {
    "| X=f32[2,3,5,7] Y=f32[]{2}",
    "| X=f32[5]{0.1,1,2,30,7.5} Y=f32[5]",
    "| X=f32[2,1,3]{0.1,1,2,30,7.5,0} Y=f32[4,1]{0.5,-1,3,0}",
    "| X=f64[4]{0.1,1,2,30} Y=i32[4]{3,-1,0,2}",
    "| X=f16[33] Y=i64[1]{3}",
    "| X=i32[5]{-3,-1,0,2,7} Y=i64[5]{3,-5,0,31,12}",
    "| X=i64[4]{-3,1,2,9} Y=f32[4]{3,0.5,-1,0.5}",
    "| X=i64[2]{-1,3} Y=u64[]{3}",
    "| X=f32[0,3] Y=f32[1]",
    "| X=f32[64,384] Y=f32[]{2}",
    "| X=f32[1,8,1,1]{0.1,1,2,30,7.5,0.5,3,4} Y=f32[1,8,1,1]",
};

static const tn_operator pow_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "Pow",
    .doc = "Powers; the exponent may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(pow_1_inputs),
    TN_OUTPUTS(pow_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = pow_1_reference,
    TN_CASES(pow_1_cases),
};
static const tn_operator pow_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Pow",
    .doc = "Powers, base and exponent broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(pow_7_inputs),
    TN_OUTPUTS(pow_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = pow_reference,
    .expression = "pow(X, Y)",
    .row = pow_row,
    TN_CASES(pow_cases),
};

TN_COMBINE_KERNELS(pow, "Pow", TN_COMBINE_POW);

static const tn_operator *const pow_operators[] = {&pow_1, &pow_7};
TN_LAYER(pow, pow_operators, pow_kernels);
