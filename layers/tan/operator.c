/* SPDX-License-Identifier: Apache-2.0 */
/* Tan: the tangent, element by element; angles in radians. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double tan_real(const void *params, double x) {
    (void)params;
    return tan(x);
}

static void tan_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_TAN, 0, 0, count, inputs, strides, output);
}

static tn_status tan_reference(tn_call *call) {
    static const tn_unary_function function = {.real = tan_real};
    return tn_unary_compute(call, &function);
}

static const tn_port tan_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port tan_outputs[] = {
    TN_PORT("output", "T", 0, "the tangents"),
};
static const char *const tan_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,100,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator tan_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Tan",
    .doc = "Tangent.",
    TN_NO_FIELDS,
    TN_INPUTS(tan_inputs),
    TN_OUTPUTS(tan_outputs),
    .infer = tn_unary_infer,
    .reference = tan_reference,
    .expression = "tan(input)",
    .row = tan_row,
    TN_CASES(tan_cases),
};

TN_MAP_KERNELS(tan, "Tan", TN_MAP_TAN, NULL);

static const tn_operator *const tan_operators[] = {&tan_7};
TN_LAYER(tan, tan_operators, tan_kernels);
