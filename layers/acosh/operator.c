/* SPDX-License-Identifier: Apache-2.0 */
/* Acosh: the inverse hyperbolic cosine, element by element; NaN below 1. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double acosh_real(const void *params, double x) {
    (void)params;
    return acosh(x);
}

static void acosh_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ACOSH, 0, 0, count, inputs, strides, output);
}

static tn_status acosh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = acosh_real};
    return tn_unary_compute(call, &function);
}

static const tn_port acosh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port acosh_outputs[] = {
    TN_PORT("output", "T", 0, "the inverse hyperbolic cosines"),
};
static const char *const acosh_cases[] = {
    "| input=f32[2,3]{1,1.5,2,10,1e5,1.0001}",
    "| input=f32[]{3}",
    "| input=f32[3,0,2]",
    "| input=f64[3]{1,2,300}",
    "| input=f16[3]{1,2,7}",
    "| input=bf16[2]{1,4}",
    "| input=f32[4]{-2,2,1,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator acosh_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Acosh",
    .doc = "Inverse hyperbolic cosine.",
    TN_NO_FIELDS,
    TN_INPUTS(acosh_inputs),
    TN_OUTPUTS(acosh_outputs),
    .infer = tn_unary_infer,
    .reference = acosh_reference,
    .expression = "acosh(input)",
    .row = acosh_row,
    TN_CASES(acosh_cases),
};

TN_MAP_KERNELS(acosh, "Acosh", TN_MAP_ACOSH, NULL);

static const tn_operator *const acosh_operators[] = {&acosh_9};
TN_LAYER(acosh, acosh_operators, acosh_kernels);
