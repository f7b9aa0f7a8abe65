/* SPDX-License-Identifier: Apache-2.0 */
/* What networks write where they lack operators of these tables: rewrites, for operator.c alone. */
/* As MobileNetV3 comes from PyTorch (ReLU6 is a Clip, or Min and Max) and from TensorFlow (a factor
 * as the divisor). HardSigmoid is what PyTorch writes from opset 14 on. */
static const char *const hard_swish_rewrite_cases[] = {"x=f32[2,3,5]", "x=f32[17]"};
TN_REWRITE(hard_swish_rewrite, "hard-swish", "x * clip(x + 3, 0, 6) / 6",
           .pattern = "c = Clip(Add(x, 3), 0, 6) | Clip(Add(x, 3), min=0, max=6);"
                      "y = Div(Mul(x, c), 6) | Mul(x, Div(c, 6)) | Mul(Mul(x, c), 0.16666667)"
                      " | Mul(x, Mul(c, 0.16666667)) | Mul(Mul(x, 0.16666667), c)",
           .replacement = "y = HardSwish(x)", TN_REWRITE_CASES(hard_swish_rewrite_cases));
TN_REWRITE(hard_sigmoid_rewrite, "hard-swish.hard-sigmoid", "x * HardSigmoid(x)",
           .pattern = "y = Mul(x, HardSigmoid(x, alpha=0.16666667, beta=0.5))",
           .replacement = "y = HardSwish(x)", TN_REWRITE_CASES(hard_swish_rewrite_cases));

/* SiLU, as every exporter writes it; Swish of another factor, as Keras does. */
static const char *const silu_cases[] = {"x=f32[2,3,5]", "x=f32[]"};
TN_REWRITE(silu_rewrite, "silu", "x * sigmoid(x)", .pattern = "y = Mul(x, Sigmoid(x))",
           .replacement = "y = Swish(x)", TN_REWRITE_CASES(silu_cases));
static const char *const scaled_cases[] = {"x=f32[2,3,5] alpha=1.702", "x=f32[7] alpha=-0.5"};
TN_REWRITE(scaled_rewrite, "swish",
           "x * sigmoid(alpha * x), such as the approximation of GELU by 1.702",
           .pattern = "y = Mul(x, Sigmoid(Mul(x, ?alpha)))",
           .replacement = "y = Swish(x, alpha=?alpha)", TN_REWRITE_CASES(scaled_cases));

/* As PyTorch writes it below opset 18, with Softplus or, like ONNX's body of that, a logarithm. */
TN_REWRITE(mish_rewrite, "mish", "x * tanh(log(1 + exp(x)))",
           .pattern = "y = Mul(x, Tanh(Softplus(x) | Log(Add(Exp(x), 1))))",
           .replacement = "y = Mish(x)", TN_REWRITE_CASES(silu_cases));

/* As PyTorch, TensorFlow, Keras, Transformers and ONNX's own function body write it: they differ in
 * where the half stands and in a division or a product by the root. */
static const char *const gelu_rewrite_cases[] = {"x=f32[2,3,5]", "x=f32[17]"};
TN_REWRITE(gelu_erf, "gelu.erf", "x / 2 * (1 + erf(x / sqrt(2)))",
           .pattern = "e = Erf(Div(x, 1.4142135) | Mul(x, 0.70710678));"
                      "n = Add(e, 1) | Sum(e, 1);"
                      "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)"
                      " | Div(Mul(x, n), 2) | Mul(x, Div(n, 2)) | Mul(Div(x, 2), n)",
           .replacement = "y = Gelu(x)", TN_REWRITE_CASES(gelu_rewrite_cases));
/* The root of 2 / pi is a constant, or Sqrt of one that was folded. x^3 is a Pow, or x * x * x in
 * either grouping; Transformers' gelu_fast multiplies the root into x. */
TN_REWRITE(gelu_tanh, "gelu.tanh", "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))",
           .pattern = "c = Mul(Pow(x, 3) | Mul(x, Mul(x, x)), 0.044715)"
                      " | Mul(x, Mul(x, Mul(x, 0.044715)) | Mul(Mul(x, x), 0.044715));"
                      "s = Add(x, c) | Sum(x, c);"
                      "n = Add(Tanh(Mul(s, 0.7978845608)), 1) | Sum(Tanh(Mul(s, 0.7978845608)), 1);"
                      "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)"
                      " | Div(Mul(x, n), 2) | Mul(x, Div(n, 2)) | Mul(Div(x, 2), n)",
           .replacement = "y = Gelu(x, approximate=tanh)", TN_REWRITE_CASES(gelu_rewrite_cases));
TN_REWRITE(gelu_fast, "gelu.fast",
           "x / 2 * (1 + tanh(x * sqrt(2 / pi) * (1 + 0.044715 * x * x))), as Transformers has it",
           .pattern = "n = Add(Tanh(Mul(Mul(x, 0.7978845608),"
                      "  Add(Mul(Mul(x, 0.044715), x) | Mul(Mul(x, x), 0.044715), 1))), 1);"
                      "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)",
           .replacement = "y = Gelu(x, approximate=tanh)", TN_REWRITE_CASES(gelu_rewrite_cases));

static const tn_rewrite *const elementwise_rewrites[] = {&hard_swish_rewrite, &hard_sigmoid_rewrite,
                                                         &silu_rewrite,       &scaled_rewrite,
                                                         &gelu_erf,           &gelu_tanh,
                                                         &gelu_fast,          &mish_rewrite};
