/* SPDX-License-Identifier: Apache-2.0 */
/* Acos: the arc cosine, element by element; NaN outside -1..1. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double acos_real(const void *params, double x) {
    (void)params;
    return acos(x);
}

static void acos_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ACOS, 0, 0, count, inputs, strides, output);
}

static tn_status acos_reference(tn_call *call) {
    static const tn_unary_function function = {.real = acos_real};
    return tn_unary_compute(call, &function);
}

static const tn_port acos_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port acos_outputs[] = {
    TN_PORT("output", "T", 0, "the arc cosines"),
};
static const char *const acos_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-2,2,1,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator acos_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Acos",
    .doc = "Arc cosine.",
    TN_NO_FIELDS,
    TN_INPUTS(acos_inputs),
    TN_OUTPUTS(acos_outputs),
    .infer = tn_unary_infer,
    .reference = acos_reference,
    .expression = "acos(input)",
    .row = acos_row,
    TN_CASES(acos_cases),
};

TN_MAP_KERNELS(acos, "Acos", TN_MAP_ACOS, NULL);

static const tn_operator *const acos_operators[] = {&acos_7};
TN_LAYER(acos, acos_operators, acos_kernels);
