/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HardSwish: y = x * (x / 6 + 0.5 held within 0..1), element by element. Absorbed as an activation
 * by the kernels before it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

static double hard_swish_real(const void *params, double x) {
    double gate = x / 6 + 0.5;
    (void)params;
    return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
}

static void hard_swish_row(const void *params, uint64_t count, const float *const *inputs,
                           const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_ACTIVATION_HARD_SWISH, 0, 0, count, inputs, strides, output);
}

static tn_status hard_swish_reference(tn_call *call) {
    static const tn_unary_function function = {.real = hard_swish_real};
    return tn_unary_compute(call, &function);
}

static tn_status hard_swish_facet(tn_call *call, uint32_t input, const char *name,
                                  tn_facet *out_facet) {
    (void)input;
    return tn_unary_facet(call, name, TN_ACTIVATION_HARD_SWISH, 0, 0, out_facet);
}

static const tn_port hard_swish_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port hard_swish_outputs[] = {
    TN_PORT("Y", "T", 0, "X times its gate"),
};
static const char *const hard_swish_cases[] = {
    "| X=f32[2,3,5,7]", "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",      "| X=f16[4,33]", "| X=bf16[63]", "| X=f32[1,64,56,56]",
};

static const char *const hard_swish_spellings[] = {
    "Div(Mul(X, Clip(Add(X, 3), 0, 6)), 6)",
    "Mul(X, Div(Clip(Add(X, 3), 0, 6), 6))",
    "Mul(Mul(X, Clip(Add(X, 3), 0, 6)), 0.16666667)",
    "Mul(X, Mul(Clip(Add(X, 3), 0, 6), 0.16666667))",
};

static const tn_operator hard_swish_14 = {
    .size = sizeof(tn_operator),
    .since_version = 14,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "HardSwish",
    .doc = "Swish with a straight line for its gate.",
    TN_NO_FIELDS,
    TN_INPUTS(hard_swish_inputs),
    TN_OUTPUTS(hard_swish_outputs),
    .infer = tn_unary_infer,
    .reference = hard_swish_reference,
    .facet = hard_swish_facet,
    .expression = "X * (X < -3 ? 0 : X > 3 ? 1 : X / 6 + 0.5)",
    .row = hard_swish_row,
    TN_CASES(hard_swish_cases),
    TN_SPELLINGS(hard_swish_spellings),
};

TN_MAP_KERNELS(hard_swish, "HardSwish", TN_ACTIVATION_HARD_SWISH, NULL);

static const tn_operator *const hard_swish_operators[] = {&hard_swish_14};
TN_LAYER(hard_swish, hard_swish_operators, hard_swish_kernels);
