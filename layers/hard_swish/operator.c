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
};

TN_MAP_KERNELS(hard_swish, "HardSwish", TN_ACTIVATION_HARD_SWISH, NULL);

static const tn_operator *const hard_swish_operators[] = {&hard_swish_14};

/* As MobileNetV3 comes from PyTorch (ReLU6 is a Clip, or Min and Max) and from TensorFlow (a factor
 * in the divisor's place). HardSigmoid is what PyTorch writes from opset 14 on. */
static const char *const hard_swish_rewrite_cases[] = {"x=f32[2,3,5]", "x=f32[17]"};
static const tn_rewrite hard_swish_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "hard-swish",
    .doc = "x * clip(x + 3, 0, 6) / 6",
    .pattern = "c = Clip(Add(x, 3), 0, 6) | Clip(Add(x, 3), min=0, max=6);"
               "y = Div(Mul(x, c), 6) | Mul(x, Div(c, 6)) | Mul(Mul(x, c), 0.16666667)"
               " | Mul(x, Mul(c, 0.16666667)) | Mul(Mul(x, 0.16666667), c)",
    .replacement = "y = HardSwish(x)",
    TN_REWRITE_CASES(hard_swish_rewrite_cases),
};
static const tn_rewrite hard_sigmoid_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "hard-swish.hard-sigmoid",
    .doc = "x * HardSigmoid(x)",
    .pattern = "y = Mul(x, HardSigmoid(x, alpha=0.16666667, beta=0.5))",
    .replacement = "y = HardSwish(x)",
    TN_REWRITE_CASES(hard_swish_rewrite_cases),
};

static const tn_rewrite *const hard_swish_rewrites[] = {&hard_swish_rewrite, &hard_sigmoid_rewrite};
TN_LAYER_WITH_REWRITES(hard_swish, hard_swish_operators, hard_swish_kernels, hard_swish_rewrites);
