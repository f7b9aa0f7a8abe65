/* SPDX-License-Identifier: Apache-2.0 */
/* Sum: the sum of several tensors, with broadcasting. */
#include "kit/elementwise/variadic.h"
#include "kit/operator/operand.h"

static double sum_real(double a, double b) {
    return a + b;
}

static tn_status sum_reference(tn_call *call) {
    static const tn_variadic_function function = {.real = sum_real};
    return tn_variadic_compute(call, &function);
}

/* Of two tensors it is Add. */
static tn_status sum_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (call->input_count != 2) return TN_ERROR_UNSUPPORTED;
    return tn_operand_facet_plain(call, input, name, TN_FACET_BIAS, TN_FACET_RESIDUAL, out_facet);
}

static const tn_port sum_inputs[] = {
    {"data_0", "T:float", "tensors that broadcast with each other", TN_PORT_VARIADIC, 0, 1, 0},
};
static const tn_port sum_outputs[] = {
    TN_PORT("sum", "T", 0, "the sum"),
};
static const char *const sum_cases[] = {
    "| data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[3,1,1] data_0=f32[7]",
    "| data_0=f32[3] data_0=f32[] data_0=f32[2,1] data_0=f32[2,3] data_0=f32[1] data_0=f32[3]",
    "| data_0=f32[0,3] data_0=f32[1,3]",
    "| data_0=f16[3,33] data_0=f16[33]",
    "| data_0=f64[2,1,3] data_0=f64[4,1] data_0=f64[]",
    "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]",
};

static const tn_operator sum_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
    .domain = "",
    .name = "Sum",
    .doc = "Sum of several tensors.",
    TN_NO_FIELDS,
    TN_INPUTS(sum_inputs),
    TN_OUTPUTS(sum_outputs),
    .infer = tn_variadic_infer,
    .reference = sum_reference,
    .facet = sum_facet,
    TN_CASES(sum_cases),
};

TN_VARIADIC_KERNELS(sum, "Sum", TN_COMBINE_ADD, false);

static const tn_operator *const sum_operators[] = {&sum_6};
TN_LAYER(sum, sum_operators, sum_kernels);
