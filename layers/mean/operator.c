/* SPDX-License-Identifier: Apache-2.0 */
/* Mean: the mean of several tensors, with broadcasting. */
#include "kit/elementwise/variadic.h"

static double mean_real(double a, double b) {
    return a + b;
}

static tn_status mean_reference(tn_call *call) {
    static const tn_variadic_function function = {.real = mean_real, .is_mean = true};
    return tn_variadic_compute(call, &function);
}

static const tn_port mean_inputs[] = {
    {"data_0", "T:float", "tensors that broadcast with each other", TN_PORT_VARIADIC, 0, 1, 0},
};
static const tn_port mean_outputs[] = {
    TN_PORT("mean", "T", 0, "the mean"),
};
static const char *const mean_cases[] = {
    "| data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[3,1,1] data_0=f32[7]",
    "| data_0=f32[3] data_0=f32[] data_0=f32[2,1] data_0=f32[2,3] data_0=f32[1] data_0=f32[3]",
    "| data_0=f32[0,3] data_0=f32[1,3]",
    "| data_0=f16[3,33] data_0=f16[33]",
    "| data_0=f64[2,1,3] data_0=f64[4,1] data_0=f64[]",
    "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]",
};

static const tn_operator mean_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Mean",
    .doc = "Mean of several tensors.",
    TN_NO_FIELDS,
    TN_INPUTS(mean_inputs),
    TN_OUTPUTS(mean_outputs),
    .infer = tn_variadic_infer,
    .reference = mean_reference,
    TN_CASES(mean_cases),
};

TN_VARIADIC_KERNELS(mean, "Mean", TN_COMBINE_ADD, true);

static const tn_operator *const mean_operators[] = {&mean_6};
TN_LAYER(mean, mean_operators, mean_kernels);
