/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tanh: the hyperbolic tangent, element by element. Absorbed as an activation by the kernels before
 * it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double tanh_real(const void *params, double x) {
    (void)params;
    return tanh(x);
}

static void tanh_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_ACTIVATION_TANH, 0, 0, count, inputs, strides, output);
}

static tn_status tanh_reference(tn_call *call) {
    static const tn_unary_function function = {.real = tanh_real};
    return tn_unary_compute(call, &function);
}

static tn_status tanh_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    (void)input;
    return tn_unary_facet(call, name, TN_ACTIVATION_TANH, 0, 0, out_facet);
}

static const tn_port tanh_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port tanh_outputs[] = {
    TN_PORT("output", "T", 0, "numbers of -1..1"),
};
static const char *const tanh_cases[] = {
    "| input=f32[2,3,5,7]", "| input=f32[1]",    "| input=f32[]",    "| input=f32[3,0,2]",
    "| input=f64[17]",      "| input=f16[4,33]", "| input=bf16[63]", "| input=f32[1,64,56,56]",
};

static const tn_operator tanh_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Tanh",
    .doc = "Hyperbolic tangent.",
    TN_NO_FIELDS,
    TN_INPUTS(tanh_inputs),
    TN_OUTPUTS(tanh_outputs),
    .infer = tn_unary_infer,
    .reference = tanh_reference,
    .facet = tanh_facet,
    .expression = "tanh(input)",
    .row = tanh_row,
    TN_CASES(tanh_cases),
};

TN_MAP_KERNELS(tanh, "Tanh", TN_ACTIVATION_TANH, NULL);

static const tn_operator *const tanh_operators[] = {&tanh_6};
TN_LAYER(tanh, tanh_operators, tanh_kernels);
