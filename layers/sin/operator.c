/* SPDX-License-Identifier: Apache-2.0 */
/* Sin: the sine, element by element; angles in radians. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double sin_real(const void *params, double x) {
    (void)params;
    return sin(x);
}

static void sin_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SIN, 0, 0, count, inputs, strides, output);
}

static tn_status sin_reference(tn_call *call) {
    static const tn_unary_function function = {.real = sin_real};
    return tn_unary_compute(call, &function);
}

static const tn_port sin_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port sin_outputs[] = {
    TN_PORT("output", "T", 0, "the sines"),
};
static const char *const sin_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,100,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator sin_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Sin",
    .doc = "Sine.",
    TN_NO_FIELDS,
    TN_INPUTS(sin_inputs),
    TN_OUTPUTS(sin_outputs),
    .infer = tn_unary_infer,
    .reference = sin_reference,
    .expression = "sin(input)",
    .row = sin_row,
    TN_CASES(sin_cases),
};

TN_MAP_KERNELS(sin, "Sin", TN_MAP_SIN, NULL);

static const tn_operator *const sin_operators[] = {&sin_7};
TN_LAYER(sin, sin_operators, sin_kernels);
