/* SPDX-License-Identifier: Apache-2.0 */
/* Sinh: the hyperbolic sine, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double sinh_real(const void *params, double x) {
    (void)params;
    return sinh(x);
}

static void sinh_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SINH, 0, 0, count, inputs, strides, output);
}

static tn_status sinh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = sinh_real};
    return tn_unary_compute(call, &function);
}

static const tn_port sinh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port sinh_outputs[] = {
    TN_PORT("output", "T", 0, "the hyperbolic sines"),
};
static const char *const sinh_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-10,80,3,0.001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator sinh_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Sinh",
    .doc = "Hyperbolic sine.",
    TN_NO_FIELDS,
    TN_INPUTS(sinh_inputs),
    TN_OUTPUTS(sinh_outputs),
    .infer = tn_unary_infer,
    .reference = sinh_reference,
    .expression = "sinh(input)",
    .row = sinh_row,
    TN_CASES(sinh_cases),
};

TN_MAP_KERNELS(sinh, "Sinh", TN_MAP_SINH, NULL);

static const tn_operator *const sinh_operators[] = {&sinh_9};
TN_LAYER(sinh, sinh_operators, sinh_kernels);
