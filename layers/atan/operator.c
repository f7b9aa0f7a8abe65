/* SPDX-License-Identifier: Apache-2.0 */
/* Atan: the arc tangent, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double atan_real(const void *params, double x) {
    (void)params;
    return atan(x);
}

static void atan_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ATAN, 0, 0, count, inputs, strides, output);
}

static tn_status atan_reference(tn_call *call) {
    static const tn_unary_function function = {.real = atan_real};
    return tn_unary_compute(call, &function);
}

static const tn_port atan_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port atan_outputs[] = {
    TN_PORT("output", "T", 0, "the arc tangents"),
};
static const char *const atan_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,100,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator atan_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Atan",
    .doc = "Arc tangent.",
    TN_NO_FIELDS,
    TN_INPUTS(atan_inputs),
    TN_OUTPUTS(atan_outputs),
    .infer = tn_unary_infer,
    .reference = atan_reference,
    .expression = "atan(input)",
    .row = atan_row,
    TN_CASES(atan_cases),
};

TN_MAP_KERNELS(atan, "Atan", TN_MAP_ATAN, NULL);

static const tn_operator *const atan_operators[] = {&atan_7};
TN_LAYER(atan, atan_operators, atan_kernels);
