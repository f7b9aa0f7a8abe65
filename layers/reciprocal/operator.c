/* SPDX-License-Identifier: Apache-2.0 */
/* Reciprocal: y = 1 / x, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

static double reciprocal_real(const void *params, double x) {
    (void)params;
    return 1 / x;
}

static void reciprocal_row(const void *params, uint64_t count, const float *const *inputs,
                           const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_RECIPROCAL, 0, 0, count, inputs, strides, output);
}

static tn_status reciprocal_reference(tn_call *call) {
    static const tn_unary_function function = {.real = reciprocal_real};
    return tn_unary_compute(call, &function);
}

static const tn_port reciprocal_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port reciprocal_outputs[] = {
    TN_PORT("Y", "T", 0, "the reciprocals"),
};
static const char *const reciprocal_cases[] = {
    "| X=f32[2,3,5,7]", "| X=f32[1]",           "| X=f32[]",
    "| X=f32[3,0,2]",   "| X=f64[17]",          "| X=f16[4,33]",
    "| X=bf16[63]",     "| X=f32[3]{0,-4,0.5}", "| X=f32[1,64,56,56]",
};

static const tn_operator reciprocal_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Reciprocal",
    .doc = "Reciprocals.",
    TN_NO_FIELDS,
    TN_INPUTS(reciprocal_inputs),
    TN_OUTPUTS(reciprocal_outputs),
    .infer = tn_unary_infer,
    .reference = reciprocal_reference,
    .expression = "1 / X",
    .row = reciprocal_row,
    TN_CASES(reciprocal_cases),
};

TN_MAP_KERNELS(reciprocal, "Reciprocal", TN_MAP_RECIPROCAL, NULL);

static const tn_operator *const reciprocal_operators[] = {&reciprocal_6};
TN_LAYER(reciprocal, reciprocal_operators, reciprocal_kernels);
