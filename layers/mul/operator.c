/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mul: C = A * B with broadcasting; before opset 7 B is broadcast only where `broadcast` says so,
 * from `axis` on. Describes itself as a scale by a constant vector, so that the kernel before it
 * can absorb it.
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"
#include "kit/operator/operand.h"

static double mul_real(const void *params, double a, double b) {
    (void)params;
    return a * b;
}

static int64_t mul_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void mul_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const float *a = inputs[0], *b = inputs[1];
    (void)params;
    for (uint64_t i = 0; i < count; i++)
        output[i] = a[i * strides[0]] * b[i * strides[1]];
}

static const tn_broadcast_binary mul_function = {
    .real = mul_real, .whole = mul_whole, .row = mul_row};

static tn_status mul_reference(tn_call *call) {
    return tn_broadcast_compute(call, &mul_function);
}

static tn_status mul_6_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &mul_function);
}

static tn_status mul_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    return tn_operand_facet_plain(call, input, name, TN_FACET_SCALE, NULL, out_facet);
}

static tn_status mul_6_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    return tn_operand_facet_axis(call, input, name, TN_FACET_SCALE, NULL, out_facet);
}

static const tn_port mul_inputs[] = {
    TN_PORT("A", "T:number", 0, "first factor"),
    TN_PORT("B", "T", 0, "second factor"),
};
static const tn_port mul_outputs[] = {
    TN_PORT("C", "T", 0, "the product; integers wrap"),
};
static const char *const mul_6_cases[] = {
    "| A=f32[2,3,4] B=f32[2,3,4]",
    "broadcast=1 | A=f32[2,3,4,5] B=f32[5]",
    "broadcast=1 axis=1 | A=f32[2,3,4,5] B=f32[3,4]",
    "broadcast=1 axis=0 | A=f64[4,3] B=f64[4]",
    "broadcast=1 | A=f32[7] B=f32[]",
};
static const char *const mul_cases[] = {
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]",
    "| A=f32[2,3,5,7] B=f32[3,1,1]",
    "| A=f32[4,1,7] B=f32[1,5,1]",
    "| A=f32[] B=f32[3]",
    "| A=f32[1] B=f32[]",
    "| A=f32[0,3] B=f32[1,3]",
    "| A=f16[3,33] B=f16[33]",
    "| A=u8[2,2] B=u8[2,1]{3,250}",
    "| A=i64[5,1,2] B=i64[3,1]{-1,7,100}",
    "| A=f32[64,384] B=f32[384]",
    "| A=f32[1,64,56,56] B=f32[1,64,56,56]",
};

static const tn_operator mul_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .domain = "",
    .name = "Mul",
    .doc = "Product of two tensors; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(mul_inputs),
    TN_OUTPUTS(mul_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = mul_6_reference,
    .facet = mul_6_facet,
    TN_CASES(mul_6_cases),
};
static const tn_operator mul_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
    .domain = "",
    .name = "Mul",
    .doc = "Product of two tensors, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(mul_inputs),
    TN_OUTPUTS(mul_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = mul_reference,
    .facet = mul_facet,
    .expression = "A * B",
    .row = mul_row,
    TN_CASES(mul_cases),
};

TN_COMBINE_KERNELS(mul, "Mul", TN_COMBINE_MUL);

static const tn_operator *const mul_operators[] = {&mul_6, &mul_7};
TN_LAYER(mul, mul_operators, mul_kernels);
