/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add: C = A + B with broadcasting; before opset 7 B is broadcast only where `broadcast` says so,
 * from `axis` on. Describes itself as a bias or a residual addition, so that the kernels before it
 * can absorb it.
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"
#include "kit/operator/operand.h"

static double add_real(const void *params, double a, double b) {
    (void)params;
    return a + b;
}

static int64_t add_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const float *a = inputs[0], *b = inputs[1];
    (void)params;
    if (strides[0] == 1 && strides[1] == 1) {
        for (uint64_t i = 0; i < count; i++)
            output[i] = a[i] + b[i];
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        output[i] = a[i * strides[0]] + b[i * strides[1]];
}

static const tn_broadcast_binary add_function = {
    .real = add_real, .whole = add_whole, .row = add_row};

static tn_status add_reference(tn_call *call) {
    return tn_broadcast_compute(call, &add_function);
}

static tn_status add_6_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &add_function);
}

static tn_status add_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    return tn_operand_facet_plain(call, input, name, TN_FACET_BIAS, TN_FACET_RESIDUAL, out_facet);
}

static tn_status add_6_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    return tn_operand_facet_axis(call, input, name, TN_FACET_BIAS, TN_FACET_RESIDUAL, out_facet);
}

static const tn_port add_inputs[] = {
    TN_PORT("A", "T:number", 0, "first summand"),
    TN_PORT("B", "T", 0, "second summand"),
};
static const tn_port add_outputs[] = {
    TN_PORT("C", "T", 0, "the sum; integers wrap"),
};
static const char *const add_6_cases[] = {
    "| A=f32[2,3,4] B=f32[2,3,4]",
    "broadcast=1 | A=f32[2,3,4,5] B=f32[5]",
    "broadcast=1 axis=1 | A=f32[2,3,4,5] B=f32[3,4]",
    "broadcast=1 axis=0 | A=f64[4,3] B=f64[4]",
    "broadcast=1 | A=f32[7] B=f32[]",
};
static const char *const add_cases[] = {
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]",
    "| A=f32[2,3,5,7] B=f32[3,1,1]",
    "| A=f32[4,1,7] B=f32[1,5,1]",
    "| A=f32[] B=f32[3]",
    "| A=f32[1] B=f32[]",
    "| A=f32[0,3] B=f32[1,3]",
    "| A=f16[3,33] B=f16[33]",
    "| A=u8[2,9] B=u8[2,1]",
    "| A=i64[5,1,2] B=i64[3,1]",
    "| A=f32[1,64,56,56] B=f32[1,64,56,56]",
};

static const tn_operator add_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .domain = "",
    .name = "Add",
    .doc = "Sum of two tensors; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(add_inputs),
    TN_OUTPUTS(add_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = add_6_reference,
    .facet = add_6_facet,
    TN_CASES(add_6_cases),
};
static const tn_operator add_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
    .domain = "",
    .name = "Add",
    .doc = "Sum of two tensors, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(add_inputs),
    TN_OUTPUTS(add_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = add_reference,
    .facet = add_facet,
    .expression = "A + B",
    .row = add_row,
    TN_CASES(add_cases),
};

TN_COMBINE_KERNELS(add, "Add", TN_COMBINE_ADD);

static const tn_operator *const add_operators[] = {&add_6, &add_7};
TN_LAYER(add, add_operators, add_kernels);
