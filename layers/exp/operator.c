/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exp: the exponential function, element by element.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double exp_real(const void *params, double x) {
    (void)params;
    return exp(x);
}

static void exp_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_EXP, 0, 0, count, inputs, strides, output);
}

static tn_status exp_reference(tn_call *call) {
    static const tn_unary_function function = {.real = exp_real};
    return tn_unary_compute(call, &function);
}

static const tn_port exp_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port exp_outputs[] = {
    TN_PORT("output", "T", 0, "e to the power of the input"),
};
static const char *const exp_cases[] = {
    "| input=f32[2,3,5,7]", "| input=f32[1]",    "| input=f32[]",    "| input=f32[3,0,2]",
    "| input=f64[17]",      "| input=f16[4,33]", "| input=bf16[63]", "| input=f32[1,64,56,56]",
};

static const tn_operator exp_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Exp",
    .doc = "Exponential function.",
    TN_NO_FIELDS,
    TN_INPUTS(exp_inputs),
    TN_OUTPUTS(exp_outputs),
    .infer = tn_unary_infer,
    .reference = exp_reference,
    .expression = "exp(input)",
    .row = exp_row,
    TN_CASES(exp_cases),
};

TN_MAP_KERNELS(exp, "Exp", TN_MAP_EXP, NULL);

static const tn_operator *const exp_operators[] = {&exp_6};
TN_LAYER(exp, exp_operators, exp_kernels);
