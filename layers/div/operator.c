/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Div: C = A / B with broadcasting; before opset 7 B is broadcast only where `broadcast` says so,
 * from `axis` on. Integers are divided towards zero; by zero they give zero.
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

static double div_real(const void *params, double a, double b) {
    (void)params;
    return a / b;
}

/* The lowest number over -1 is itself: it wraps like all integers here. */
static int64_t div_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    if (b == 0) return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static uint64_t div_natural(const void *params, uint64_t a, uint64_t b) {
    (void)params;
    return b == 0 ? 0 : a / b;
}

static void div_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const float *a = inputs[0], *b = inputs[1];
    (void)params;
    for (uint64_t i = 0; i < count; i++)
        output[i] = a[i * strides[0]] / b[i * strides[1]];
}

static const tn_broadcast_binary div_function = {
    .real = div_real, .whole = div_whole, .natural = div_natural, .row = div_row};

static tn_status div_reference(tn_call *call) {
    return tn_broadcast_compute(call, &div_function);
}

static tn_status div_6_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &div_function);
}

static const tn_port div_inputs[] = {
    TN_PORT("A", "T:number", 0, "dividend"),
    TN_PORT("B", "T", 0, "divisor"),
};
static const tn_port div_outputs[] = {
    TN_PORT("C", "T", 0, "the quotient; of integers without the remainder"),
};
static const char *const div_6_cases[] = {
    "| A=f32[2,3,4] B=f32[2,3,4]",
    "broadcast=1 | A=f32[2,3,4,5] B=f32[5]",
    "broadcast=1 axis=1 | A=f32[2,3,4,5] B=f32[3,4]",
    "broadcast=1 axis=0 | A=f64[4,3] B=f64[4]",
    "broadcast=1 | A=f32[7] B=f32[]",
};
static const char *const div_cases[] = {
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]",
    "| A=f32[2,3,5,7] B=f32[3,1,1]",
    "| A=f32[4,1,7] B=f32[1,5,1]",
    "| A=f32[] B=f32[3]",
    "| A=f32[1] B=f32[]",
    "| A=f32[0,3] B=f32[1,3]",
    "| A=f16[3,33] B=f16[33]",
    "| A=u8[2,2] B=u8[2,1]{3,250}",
    "| A=i64[5,1,2] B=i64[3,1]{-1,7,0}",
    "| A=f32[64,384] B=f32[384]",
    "| A=f32[1,64,56,56] B=f32[1,64,56,56]",
};

static const tn_operator div_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .domain = "",
    .name = "Div",
    .doc = "Quotient of two tensors; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(div_inputs),
    TN_OUTPUTS(div_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = div_6_reference,
    TN_CASES(div_6_cases),
};
static const tn_operator div_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Div",
    .doc = "Quotient of two tensors, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(div_inputs),
    TN_OUTPUTS(div_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = div_reference,
    .expression = "A / B",
    .row = div_row,
    TN_CASES(div_cases),
};

TN_COMBINE_KERNELS(div, "Div", TN_COMBINE_DIV);

static const tn_operator *const div_operators[] = {&div_6, &div_7};
TN_LAYER(div, div_operators, div_kernels);
