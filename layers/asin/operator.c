/* SPDX-License-Identifier: Apache-2.0 */
/* Asin: the arc sine, element by element; NaN outside -1..1. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double asin_real(const void *params, double x) {
    (void)params;
    return asin(x);
}

static void asin_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ASIN, 0, 0, count, inputs, strides, output);
}

static tn_status asin_reference(tn_call *call) {
    static const tn_unary_function function = {.real = asin_real};
    return tn_unary_compute(call, &function);
}

static const tn_port asin_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port asin_outputs[] = {
    TN_PORT("output", "T", 0, "the arc sines"),
};
static const char *const asin_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-2,2,1,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator asin_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Asin",
    .doc = "Arc sine.",
    TN_NO_FIELDS,
    TN_INPUTS(asin_inputs),
    TN_OUTPUTS(asin_outputs),
    .infer = tn_unary_infer,
    .reference = asin_reference,
    .expression = "asin(input)",
    .row = asin_row,
    TN_CASES(asin_cases),
};

TN_MAP_KERNELS(asin, "Asin", TN_MAP_ASIN, NULL);

static const tn_operator *const asin_operators[] = {&asin_7};
TN_LAYER(asin, asin_operators, asin_kernels);
