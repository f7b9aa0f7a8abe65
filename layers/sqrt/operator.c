/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sqrt: the square root, element by element; of negative numbers NaN.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double sqrt_real(const void *params, double x) {
    (void)params;
    return sqrt(x);
}

static void sqrt_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SQRT, 0, 0, count, inputs, strides, output);
}

static tn_status sqrt_reference(tn_call *call) {
    static const tn_unary_function function = {.real = sqrt_real};
    return tn_unary_compute(call, &function);
}

static const tn_port sqrt_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port sqrt_outputs[] = {
    TN_PORT("Y", "T", 0, "the roots"),
};
static const char *const sqrt_cases[] = {
    "| X=f32[2,3,5,7]", "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",      "| X=f16[4,33]", "| X=bf16[63]", "| X=f32[1,64,56,56]",
};

static const tn_operator sqrt_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Sqrt",
    .doc = "Square root.",
    TN_NO_FIELDS,
    TN_INPUTS(sqrt_inputs),
    TN_OUTPUTS(sqrt_outputs),
    .infer = tn_unary_infer,
    .reference = sqrt_reference,
    .expression = "sqrt(X)",
    .row = sqrt_row,
    TN_CASES(sqrt_cases),
};

TN_MAP_KERNELS(sqrt, "Sqrt", TN_MAP_SQRT, NULL);

static const tn_operator *const sqrt_operators[] = {&sqrt_6};
TN_LAYER(sqrt, sqrt_operators, sqrt_kernels);
