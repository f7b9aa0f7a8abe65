/* SPDX-License-Identifier: Apache-2.0 */
/* What networks write where they lack operators of these tables: rewrites, for operator.c alone. */
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

/* SiLU, as every exporter writes it; Swish of another factor, as Keras does. */
static const char *const silu_cases[] = {"x=f32[2,3,5]", "x=f32[]"};
static const tn_rewrite silu_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "silu",
    .doc = "x * sigmoid(x)",
    .pattern = "y = Mul(x, Sigmoid(x))",
    .replacement = "y = Swish(x)",
    TN_REWRITE_CASES(silu_cases),
};
static const char *const scaled_cases[] = {"x=f32[2,3,5] alpha=1.702", "x=f32[7] alpha=-0.5"};
static const tn_rewrite scaled_rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "swish",
    .doc = "x * sigmoid(alpha * x), such as the approximation of GELU by 1.702",
    .pattern = "y = Mul(x, Sigmoid(Mul(x, ?alpha)))",
    .replacement = "y = Swish(x, alpha=?alpha)",
    TN_REWRITE_CASES(scaled_cases),
};

static const tn_rewrite *const elementwise_rewrites[] = {&hard_swish_rewrite, &hard_sigmoid_rewrite,
                                                         &silu_rewrite, &scaled_rewrite};
