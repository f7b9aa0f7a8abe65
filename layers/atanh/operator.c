/* SPDX-License-Identifier: Apache-2.0 */
/* Atanh: the inverse hyperbolic tangent, element by element; NaN outside -1..1. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double atanh_real(const void *params, double x) {
    (void)params;
    return atanh(x);
}

static void atanh_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ATANH, 0, 0, count, inputs, strides, output);
}

static tn_status atanh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = atanh_real};
    return tn_unary_compute(call, &function);
}

static const tn_port atanh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port atanh_outputs[] = {
    TN_PORT("output", "T", 0, "the inverse hyperbolic tangents"),
};
static const char *const atanh_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-2,2,1,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator atanh_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Atanh",
    .doc = "Inverse hyperbolic tangent.",
    TN_NO_FIELDS,
    TN_INPUTS(atanh_inputs),
    TN_OUTPUTS(atanh_outputs),
    .infer = tn_unary_infer,
    .reference = atanh_reference,
    .expression = "atanh(input)",
    .row = atanh_row,
    TN_CASES(atanh_cases),
};

TN_MAP_KERNELS(atanh, "Atanh", TN_MAP_ATANH, NULL);

static const tn_operator *const atanh_operators[] = {&atanh_9};
TN_LAYER(atanh, atanh_operators, atanh_kernels);
