/* SPDX-License-Identifier: Apache-2.0 */
/* Swish: y = x / (1 + exp(-alpha x)), element by element. Absorbed as an activation by kernels
 * before it. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

typedef struct swish_params {
    uint64_t present;
    float alpha;
} swish_params;

static const tn_field swish_fields[] = {
    TN_FIELD(swish_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1", "slope within the sigmoid"),
};

static double swish_real(const void *params, double x) {
    const swish_params *fields = params;
    return x / (1 + exp(-(double)fields->alpha * x));
}

static void swish_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    const swish_params *fields = params;
    tn_rows_map(TN_ACTIVATION_SWISH, fields->alpha, 0, count, inputs, strides, output);
}

static tn_status swish_reference(tn_call *call) {
    static const tn_unary_function function = {.real = swish_real};
    return tn_unary_compute(call, &function);
}

static tn_status swish_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    (void)input;
    const swish_params *fields = call->params;
    return tn_unary_facet(call, name, TN_ACTIVATION_SWISH, fields->alpha, 0, out_facet);
}

static const tn_port swish_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port swish_outputs[] = {
    TN_PORT("Y", "T", 0, "the numbers, negative ones close to zero"),
};
static const char *const swish_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]", "| X=bf16[63]", "alpha=2 | X=f32[5]{-80,-1,0,3,50}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator swish_24 = {
    .size = sizeof(tn_operator),
    .since_version = 24,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Swish",
    .doc = "Numbers times their sigmoid.",
    TN_FIELDS(swish_params, swish_fields),
    TN_INPUTS(swish_inputs),
    TN_OUTPUTS(swish_outputs),
    .infer = tn_unary_infer,
    .reference = swish_reference,
    .facet = swish_facet,
    .expression = "X / (1 + exp(-alpha * X))",
    .row = swish_row,
    TN_CASES(swish_cases),
};

static void swish_read(const tn_call *call, uint32_t *inout_map, float *out_alpha,
                       float *out_beta) {
    const swish_params *fields = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = fields->alpha;
}

TN_MAP_KERNELS(swish, "Swish", TN_ACTIVATION_SWISH, swish_read);

static const tn_operator *const swish_operators[] = {&swish_24};

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

static const tn_rewrite *const swish_rewrites[] = {&silu_rewrite, &scaled_rewrite};
TN_LAYER_WITH_REWRITES(swish, swish_operators, swish_kernels, swish_rewrites);
