/* SPDX-License-Identifier: Apache-2.0 */
/* Cosh: the hyperbolic cosine, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double cosh_real(const void *params, double x) {
    (void)params;
    return cosh(x);
}

static void cosh_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_COSH, 0, 0, count, inputs, strides, output);
}

static tn_status cosh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = cosh_real};
    return tn_unary_compute(call, &function);
}

static const tn_port cosh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port cosh_outputs[] = {
    TN_PORT("output", "T", 0, "the hyperbolic cosines"),
};
static const char *const cosh_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,80,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator cosh_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Cosh",
    .doc = "Hyperbolic cosine.",
    TN_NO_FIELDS,
    TN_INPUTS(cosh_inputs),
    TN_OUTPUTS(cosh_outputs),
    .infer = tn_unary_infer,
    .reference = cosh_reference,
    .expression = "cosh(input)",
    .row = cosh_row,
    TN_CASES(cosh_cases),
};

TN_MAP_KERNELS(cosh, "Cosh", TN_MAP_COSH, NULL);

static const tn_operator *const cosh_operators[] = {&cosh_9};
TN_LAYER(cosh, cosh_operators, cosh_kernels);
