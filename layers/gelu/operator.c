/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gelu: y = x * P(X < x) for a standard normal X, exactly by the error function or approximated by
 * tanh, as the field `approximate` says. Absorbed as an activation by the kernels before it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

enum { GELU_NONE = 0, GELU_TANH = 1 };

typedef struct gelu_params {
    uint64_t present;
    uint32_t approximate;
} gelu_params;

static const tn_field gelu_fields[] = {
    TN_FIELD_CHOICE(gelu_params, approximate, TN_FIELD_ENUM, TN_OPTIONAL, "none", "none|tanh",
                    "none: by the error function; tanh: approximated"),
};

static void gelu_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    const gelu_params *fields = params;
    tn_rows_map(fields->approximate == GELU_TANH ? TN_ACTIVATION_GELU_TANH : TN_ACTIVATION_GELU_ERF,
                0, 0, count, inputs, strides, output);
}

static tn_status gelu_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const gelu_params *params = call->params;
    (void)input;
    return tn_unary_facet(call, name,
                          params->approximate == GELU_TANH ? TN_ACTIVATION_GELU_TANH
                                                           : TN_ACTIVATION_GELU_ERF,
                          0, 0, out_facet);
}

static const tn_port gelu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port gelu_outputs[] = {
    TN_PORT("Y", "T", 0, "X times the probability of a smaller number"),
};
static const char *const gelu_cases[] = {
    "| X=f32[2,3,5,7]",
    "approximate=tanh | X=f32[2,3,5,7]",
    "| X=f32[1]",
    "| X=f32[]",
    "approximate=tanh | X=f32[3,0,2]",
    "| X=f64[17]",
    "approximate=tanh | X=f16[4,33]",
    "| X=bf16[63]",
    "| X=f32[64,3072]",
    "approximate=tanh | X=f32[64,3072]",
};

static const tn_operator gelu_20 = {
    .size = sizeof(tn_operator),
    .since_version = 20,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Gelu",
    .doc = "Gaussian error linear unit.",
    TN_FIELDS(gelu_params, gelu_fields),
    TN_INPUTS(gelu_inputs),
    TN_OUTPUTS(gelu_outputs),
    .facet = gelu_facet,
    /* half the complementary error function keeps its digits where X is far below 0 */
    .expression = "approximate == 1"
                  " ? X / (1 + exp(-1.5957691216057308 * (X + 0.044715 * X * X * X)))"
                  " : 0.5 * X * erfc(-0.7071067811865476 * X)",
    .row = gelu_row,
    TN_CASES(gelu_cases),
};

static void gelu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    const gelu_params *params = call->params;
    (void)out_alpha, (void)out_beta;
    if (params->approximate == GELU_TANH) *inout_map = TN_ACTIVATION_GELU_TANH;
}

TN_MAP_KERNELS(gelu, "Gelu", TN_ACTIVATION_GELU_ERF, gelu_read);

static const tn_operator *const gelu_operators[] = {&gelu_20};

/* As PyTorch, TensorFlow, Keras, Transformers and ONNX's own function body write it: they differ in
 * where the half stands and in a division or a product by the root. */
static const char *const gelu_rewrite_cases[] = {"x=f32[2,3,5]", "x=f32[17]"};
static const tn_rewrite gelu_erf = {
    .size = sizeof(tn_rewrite),
    .name = "gelu.erf",
    .doc = "x / 2 * (1 + erf(x / sqrt(2)))",
    .pattern = "e = Erf(Div(x, 1.4142135) | Mul(x, 0.70710678));"
               "n = Add(e, 1) | Sum(e, 1);"
               "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)"
               " | Div(Mul(x, n), 2) | Mul(x, Div(n, 2)) | Mul(Div(x, 2), n)",
    .replacement = "y = Gelu(x)",
    TN_REWRITE_CASES(gelu_rewrite_cases),
};
/* The root of 2 / pi is a constant, or Sqrt of one that was folded. x^3 is a Pow, or x * x * x in
 * either grouping; Transformers' gelu_fast multiplies the root into x. */
static const tn_rewrite gelu_tanh = {
    .size = sizeof(tn_rewrite),
    .name = "gelu.tanh",
    .doc = "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))",
    .pattern = "c = Mul(Pow(x, 3) | Mul(x, Mul(x, x)), 0.044715)"
               " | Mul(x, Mul(x, Mul(x, 0.044715)) | Mul(Mul(x, x), 0.044715));"
               "s = Add(x, c) | Sum(x, c);"
               "n = Add(Tanh(Mul(s, 0.7978845608)), 1) | Sum(Tanh(Mul(s, 0.7978845608)), 1);"
               "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)"
               " | Div(Mul(x, n), 2) | Mul(x, Div(n, 2)) | Mul(Div(x, 2), n)",
    .replacement = "y = Gelu(x, approximate=tanh)",
    TN_REWRITE_CASES(gelu_rewrite_cases),
};
static const tn_rewrite gelu_fast = {
    .size = sizeof(tn_rewrite),
    .name = "gelu.fast",
    .doc = "x / 2 * (1 + tanh(x * sqrt(2 / pi) * (1 + 0.044715 * x * x))), as Transformers has it",
    .pattern = "n = Add(Tanh(Mul(Mul(x, 0.7978845608),"
               "  Add(Mul(Mul(x, 0.044715), x) | Mul(Mul(x, x), 0.044715), 1))), 1);"
               "y = Mul(Mul(x, n), 0.5) | Mul(x, Mul(n, 0.5)) | Mul(Mul(x, 0.5), n)",
    .replacement = "y = Gelu(x, approximate=tanh)",
    TN_REWRITE_CASES(gelu_rewrite_cases),
};

static const tn_rewrite *const gelu_rewrites[] = {&gelu_erf, &gelu_tanh, &gelu_fast};
TN_LAYER_WITH_REWRITES(gelu, gelu_operators, gelu_kernels, gelu_rewrites);
