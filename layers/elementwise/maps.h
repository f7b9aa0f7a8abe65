/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators of one input that are their expressions; it is included where a kind of
 * table is made of it (operator.c, cuda.c), with these macros defined for one row:
 *
 *     MAP(prefix, domain, name, since_version, function of tenon/kit/rows.h, expression,
 *         types, input, output, what comes out, documentation, cases ...)
 *     CURVE(the same up to the documentation,
 *           how many numbers it has as fields, name, default, documentation of the first,
 *           and of the second; cases ...)
 *     CHOICE(the same up to the documentation, name of a field that chooses between the function
 * and the ones after it, default, its choices, documentation; cases ...)
 *     CLIP(as CURVE): Clip, whose kernels are also the version's with inputs for bounds (clip.h)
 *
 * Kernels, and the activation that a node describes itself as, are the function's. Reference and
 * shapes are the expression's.
 */
MAP(abs, "", "Abs", 6, TN_MAP_ABS, "fabs(X)", "T:number", "X", "Y",
    "how far from zero the numbers are", "Absolute values.", STANDARD("X"), "| X=i32[2,9,3]",
    "| X=i8[3]{-128,0,5}", "| X=i64[2]{-9223372036854775807,3}", "| X=u8[3]{0,7,255}",
    "| X=u64[2]{18446744073709551615,1}")
MAP(acos, "", "Acos", 7, TN_MAP_ACOS, "acos(input)", "T:float", "input", "output",
    "the arc cosines", "Arc cosine.", STANDARD("input"), "| input=f32[4]{-2,2,1,0.001}")
MAP(acosh, "", "Acosh", 9, TN_MAP_ACOSH, "acosh(input)", "T:float", "input", "output",
    "the inverse hyperbolic cosines", "Inverse hyperbolic cosine.",
    "| input=f32[2,3]{1,1.5,2,10,1e5,1.0001}", "| input=f32[]{3}", "| input=f32[3,0,2]",
    "| input=f64[3]{1,2,300}", "| input=f16[3]{1,2,7}", "| input=bf16[2]{1,4}",
    "| input=f32[4]{-2,2,1,0.001}", "| input=f32[1,64,56,56]")
MAP(asin, "", "Asin", 7, TN_MAP_ASIN, "asin(input)", "T:float", "input", "output", "the arc sines",
    "Arc sine.", STANDARD("input"), "| input=f32[4]{-2,2,1,0.001}")
MAP(asinh, "", "Asinh", 9, TN_MAP_ASINH, "asinh(input)", "T:float", "input", "output",
    "the inverse hyperbolic sines", "Inverse hyperbolic sine.", STANDARD("input"),
    "| input=f32[4]{-10,100,3,0.001}")
MAP(atan, "", "Atan", 7, TN_MAP_ATAN, "atan(input)", "T:float", "input", "output",
    "the arc tangents", "Arc tangent.", STANDARD("input"), "| input=f32[4]{-10,100,3,0.001}")
MAP(atanh, "", "Atanh", 9, TN_MAP_ATANH, "atanh(input)", "T:float", "input", "output",
    "the inverse hyperbolic tangents", "Inverse hyperbolic tangent.", STANDARD("input"),
    "| input=f32[4]{-2,2,1,0.001}")
MAP(caffe_bnll, "Caffe", "BNLL", 1, TN_MAP_SOFTPLUS, "fmax(X, 0) + log1p(exp(-fabs(X)))", "T:float",
    "X", "Y", "positive numbers", "A smooth form of the rectified linear unit.", STANDARD("X"),
    "| X=f32[5]{-100,-20,0,20,1e30}",
    "| X=f64[4]{-20,0,1,20} | "
    "Y=f64[4]{2.061153620314381e-09,0.6931471805599453,1.3132616875182228,20.000000002061153}")
MAP(ceil, "", "Ceil", 6, TN_MAP_CEIL, "ceil(X)", "T:float", "X", "Y", "integers",
    "Numbers rounded up.", STANDARD("X"),
    "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}")
MAP(cos, "", "Cos", 7, TN_MAP_COS, "cos(input)", "T:float", "input", "output", "the cosines",
    "Cosine.", STANDARD("input"), "| input=f32[4]{-10,100,3,0.001}")
MAP(cosh, "", "Cosh", 9, TN_MAP_COSH, "cosh(input)", "T:float", "input", "output",
    "the hyperbolic cosines", "Hyperbolic cosine.", STANDARD("input"),
    "| input=f32[4]{-10,80,3,0.001}")
MAP(erf, "", "Erf", 9, TN_MAP_ERF, "erf(input)", "T:number", "input", "output", "values of -1..1",
    "Error function.", STANDARD("input"), "| input=i32[5]{-9,-1,0,1,7}")
MAP(exp, "", "Exp", 6, TN_MAP_EXP, "exp(input)", "T:float", "input", "output",
    "e to the power of the input", "Exponential function.", STANDARD("input"))
MAP(floor, "", "Floor", 6, TN_MAP_FLOOR, "floor(X)", "T:float", "X", "Y", "integers",
    "Numbers rounded down.", STANDARD("X"),
    "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}")
MAP(log, "", "Log", 6, TN_MAP_LOG, "log(input)", "T:float", "input", "output", "the logarithms",
    "Natural logarithm.", "| input=f32[2,3]{0.1,1,2,1e-40,3e38,7.5}", "| input=f32[1]{1}",
    "| input=f32[]{0.7}", "| input=f32[3,0,2]", "| input=f64[3]{0.2,1,2e300}",
    "| input=f16[4]{0.5,1,2,60000}", "| input=bf16[3]{0.5,3,1e20}",
    "| input=f32[5]{0,-1,1e-45,0.9999999,1.0000001}", "| input=f32[1,64,56,56]")
MAP(mish, "", "Mish", 18, TN_MAP_MISH, "X * tanh(fmax(X, 0) + log1p(exp(-fabs(X))))", "T:float",
    "X", "Y", "the numbers, negative ones close to zero",
    "A smooth unit that lets a little of negative values through.", STANDARD("X"),
    "| X=f32[6]{-90,-20,-0.001,0,20,1e30}")
MAP(neg, "", "Neg", 6, TN_MAP_NEG, "-X", "T:signed", "X", "Y", "the numbers turned",
    "Numbers with their sign turned.", STANDARD("X"), "| X=i32[2,9,3]", "| X=i8[3]{-128,0,5}",
    "| X=i64[2]{-9223372036854775807,3}")
MAP(reciprocal, "", "Reciprocal", 6, TN_MAP_RECIPROCAL, "1 / X", "T:float", "X", "Y",
    "the reciprocals", "Reciprocals.", STANDARD("X"), "| X=f32[3]{0,-4,0.5}")
MAP(relu, "", "Relu", 6, TN_ACTIVATION_RELU, "X < 0 ? 0 : X", "T:float|i8|i16|i32|i64", "X", "Y",
    "X with negative elements set to zero", "Rectified linear unit: negative elements become zero.",
    STANDARD("X"), "| X=i32[2,9,3]")
MAP(round, "", "Round", 11, TN_MAP_ROUND, "rint(X)", "T:float", "X", "Y", "integers",
    "Numbers rounded to the nearest integer, halves to the even one.", STANDARD("X"),
    "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}")
MAP(sigmoid, "", "Sigmoid", 6, TN_ACTIVATION_SIGMOID, "1 / (1 + exp(-X))", "T:float", "X", "Y",
    "numbers of 0..1", "Logistic function.", STANDARD("X"))
MAP(sign, "", "Sign", 9, TN_MAP_SIGN, "input > 0 ? 1 : input < 0 ? -1 : input", "T:number", "input",
    "output", "-1, 0 or 1", "Signs of numbers.", STANDARD("input"), "| input=i32[2,9,3]",
    "| input=i8[3]{-128,0,5}", "| input=i64[2]{-9223372036854775807,3}",
    "| input=u64[3]{18446744073709551615,0,1}", "| input=f32[4]{0,-0.0,-3,1e-40}")
MAP(sin, "", "Sin", 7, TN_MAP_SIN, "sin(input)", "T:float", "input", "output", "the sines", "Sine.",
    STANDARD("input"), "| input=f32[4]{-10,100,3,0.001}")
MAP(sinh, "", "Sinh", 9, TN_MAP_SINH, "sinh(input)", "T:float", "input", "output",
    "the hyperbolic sines", "Hyperbolic sine.", STANDARD("input"), "| input=f32[4]{-10,80,3,0.001}")
MAP(softplus, "", "Softplus", 1, TN_MAP_SOFTPLUS, "fmax(X, 0) + log1p(exp(-fabs(X)))", "T:float",
    "X", "Y", "positive numbers", "A smooth form of the rectified linear unit.", STANDARD("X"),
    "| X=f32[5]{-100,-20,0,20,1e30}")
MAP(softsign, "", "Softsign", 1, TN_MAP_SOFTSIGN, "input / (1 + fabs(input))", "T:float", "input",
    "output", "values of -1..1", "Values mapped to -1..1.", STANDARD("input"),
    "| input=f32[4]{-100,0,20,1e30}")
MAP(sqrt, "", "Sqrt", 6, TN_MAP_SQRT, "sqrt(X)", "T:float", "X", "Y", "the roots", "Square root.",
    STANDARD("X"))
MAP(tan, "", "Tan", 7, TN_MAP_TAN, "tan(input)", "T:float", "input", "output", "the tangents",
    "Tangent.", STANDARD("input"), "| input=f32[4]{-10,100,3,0.001}")
MAP(tanh, "", "Tanh", 6, TN_ACTIVATION_TANH, "tanh(input)", "T:float", "input", "output",
    "values of -1..1", "Hyperbolic tangent.", STANDARD("input"))
CURVE(caffe_threshold, "Caffe", "Threshold", 1, TN_MAP_THRESHOLD, "X > threshold ? 1 : 0",
      "T:float", "X", "Y", "0 or 1", "1 above a threshold, 0 elsewhere.", 1, "threshold", "0",
      "what a number must exceed", NULL, NULL, NULL, STANDARD("X"),
      "threshold=0.5 | X=f32[5]{-1,0.5,0.51,0,3}",
      "threshold=0.5 | X=f32[4]{-1,0.5,0.51,3} | Y=f32[4]{0,0,1,1}")
CURVE(celu, "", "Celu", 12, TN_MAP_CELU, "X < 0 ? alpha * expm1(X / alpha) : X", "T:float", "X",
      "Y", "X with negative elements above -alpha",
      "Continuously differentiable exponential linear unit.", 1, "alpha", "1",
      "what negative values run against", NULL, NULL, NULL, STANDARD("X"),
      "alpha=2 | X=f32[5]{-100,-1,-0.0001,0,3}")
CLIP(clip, "", "Clip", 6, TN_ACTIVATION_CLIP, CLIP_TEXT, "T:float", "input", "output",
     "the input held within the bounds", "Elements held within bounds given by fields.", 2, "min",
     "-3.4028234663852886e+38", "lower bound", "max", "3.4028234663852886e+38", "upper bound",
     "| input=f32[2,3,5]", "min=-1 max=1 | input=f32[2,3,5,7]", "min=0 | input=f64[17]",
     "min=1 max=-1 | input=f16[33]", "min=0 max=6 | input=f32[1,64,56,56]")
CURVE(elu, "", "Elu", 6, TN_ACTIVATION_ELU, "X < 0 ? alpha * expm1(X) : X", "T:float", "X", "Y",
      "X with negative elements above -alpha", "Exponential linear unit.", 1, "alpha", "1",
      "what negative values run against", NULL, NULL, NULL, STANDARD("X"),
      "alpha=2.5 | X=f32[5]{-100,-1,-0.0001,0,3}")
CURVE(hard_sigmoid, "", "HardSigmoid", 6, TN_ACTIVATION_HARD_SIGMOID,
      "alpha * X + beta < 0 ? 0 : alpha * X + beta > 1 ? 1 : alpha * X + beta", "T:float", "X", "Y",
      "numbers of 0..1", "A straight line held within 0..1.", 2, "alpha", "0.2", "slope", "beta",
      "0.5", "value at zero", STANDARD("X"), "alpha=0.5 beta=-1 | X=f32[33]")
CURVE(hard_swish, "", "HardSwish", 14, TN_ACTIVATION_HARD_SWISH,
      "X * (X < -3 ? 0 : X > 3 ? 1 : X / 6 + 0.5)", "T:float", "X", "Y", "X times its gate",
      "Swish with a straight line for its gate.", 0, NULL, NULL, NULL, NULL, NULL, NULL,
      STANDARD("X"))
CURVE(leaky_relu, "", "LeakyRelu", 6, TN_ACTIVATION_LEAKY_RELU, "X < 0 ? alpha * X : X", "T:float",
      "X", "Y", "X with negative elements multiplied by alpha",
      "Rectified linear unit that lets a part of negative values through.", 1, "alpha", "0.01",
      "slope of negative values", NULL, NULL, NULL, STANDARD("X"), "alpha=0.3 | X=f32[33]",
      "alpha=-2 | X=f32[2,9]")
CURVE(selu, "", "Selu", 6, TN_MAP_SELU, "gamma * (X < 0 ? alpha * expm1(X) : X)", "T:float", "X",
      "Y", "the scaled numbers", "Scaled exponential linear unit.", 2, "alpha",
      "1.67326319217681884765625", "what negative values run against", "gamma",
      "1.05070102214813232421875", "scale", STANDARD("X"),
      "alpha=2 gamma=3 | X=f32[5]{-100,-1,-0.0001,0,3}")
CURVE(swish, "", "Swish", 24, TN_ACTIVATION_SWISH, "X / (1 + exp(-alpha * X))", "T:float", "X", "Y",
      "the numbers, negative ones close to zero", "Numbers times their sigmoid.", 1, "alpha", "1",
      "slope within the sigmoid", NULL, NULL, NULL, STANDARD("X"),
      "alpha=2 | X=f32[5]{-80,-1,0,3,50}")
CURVE(thresholded_relu, "", "ThresholdedRelu", 10, TN_MAP_THRESHOLDED_RELU, "X > alpha ? X : 0",
      "T:float", "X", "Y", "X with elements up to alpha set to zero",
      "Rectified linear unit that begins at a threshold.", 1, "alpha", "1", "threshold", NULL, NULL,
      NULL, STANDARD("X"), "alpha=0.25 | X=f32[5]{-1,0.25,0.26,0,3}")
/* half the complementary error function keeps its digits where X is far below 0 */
CHOICE(gelu, "", "Gelu", 20, TN_ACTIVATION_GELU_ERF,
       "approximate == 1 ? X / (1 + exp(-1.5957691216057308 * (X + 0.044715 * X * X * X)))"
       " : 0.5 * X * erfc(-0.7071067811865476 * X)",
       "T:float", "X", "Y", "X times the probability of a smaller number",
       "Gaussian error linear unit.", "approximate", "none", "none|tanh",
       "none: by the error function; tanh: approximated", STANDARD("X"),
       "approximate=tanh | X=f32[2,3,5,7]", "approximate=tanh | X=f32[3,0,2]",
       "approximate=tanh | X=f16[4,33]", "| X=f32[64,3072]", "approximate=tanh | X=f32[64,3072]")
