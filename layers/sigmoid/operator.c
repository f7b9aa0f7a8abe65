/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sigmoid: y = 1 / (1 + exp(-x)), element by element. Absorbed as an activation by the kernels
 * before it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double sigmoid_real(const void *params, double x) {
    (void)params;
    return 1 / (1 + exp(-x));
}

static void sigmoid_row(const void *params, uint64_t count, const float *const *inputs,
                        const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_ACTIVATION_SIGMOID, 0, 0, count, inputs, strides, output);
}

static tn_status sigmoid_reference(tn_call *call) {
    static const tn_unary_function function = {.real = sigmoid_real};
    return tn_unary_compute(call, &function);
}

static tn_status sigmoid_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    (void)input;
    return tn_unary_facet(call, name, TN_ACTIVATION_SIGMOID, 0, 0, out_facet);
}

static const tn_port sigmoid_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port sigmoid_outputs[] = {
    TN_PORT("Y", "T", 0, "numbers of 0..1"),
};
static const char *const sigmoid_cases[] = {
    "| X=f32[2,3,5,7]", "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",      "| X=f16[4,33]", "| X=bf16[63]", "| X=f32[1,64,56,56]",
};

static const tn_operator sigmoid_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Sigmoid",
    .doc = "Logistic function.",
    TN_NO_FIELDS,
    TN_INPUTS(sigmoid_inputs),
    TN_OUTPUTS(sigmoid_outputs),
    .infer = tn_unary_infer,
    .reference = sigmoid_reference,
    .facet = sigmoid_facet,
    .expression = "1 / (1 + exp(-X))",
    .row = sigmoid_row,
    TN_CASES(sigmoid_cases),
};

TN_MAP_KERNELS(sigmoid, "Sigmoid", TN_ACTIVATION_SIGMOID, NULL);

static const tn_operator *const sigmoid_operators[] = {&sigmoid_6};
TN_LAYER(sigmoid, sigmoid_operators, sigmoid_kernels);
