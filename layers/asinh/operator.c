/* SPDX-License-Identifier: Apache-2.0 */
/* Asinh: the inverse hyperbolic sine, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double asinh_real(const void *params, double x) {
    (void)params;
    return asinh(x);
}

static void asinh_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ASINH, 0, 0, count, inputs, strides, output);
}

static tn_status asinh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = asinh_real};
    return tn_unary_compute(call, &function);
}

static const tn_port asinh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port asinh_outputs[] = {
    TN_PORT("output", "T", 0, "the inverse hyperbolic sines"),
};
static const char *const asinh_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,100,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator asinh_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Asinh",
    .doc = "Inverse hyperbolic sine.",
    TN_NO_FIELDS,
    TN_INPUTS(asinh_inputs),
    TN_OUTPUTS(asinh_outputs),
    .infer = tn_unary_infer,
    .reference = asinh_reference,
    .expression = "asinh(input)",
    .row = asinh_row,
    TN_CASES(asinh_cases),
};

TN_MAP_KERNELS(asinh, "Asinh", TN_MAP_ASINH, NULL);

static const tn_operator *const asinh_operators[] = {&asinh_9};
TN_LAYER(asinh, asinh_operators, asinh_kernels);
