/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LeakyRelu: y = x < 0 ? alpha * x : x, element by element. Absorbed as an activation by the
 * kernels before it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

typedef struct leaky_relu_params {
    uint64_t present;
    float alpha;
} leaky_relu_params;

static const tn_field leaky_relu_fields[] = {
    TN_FIELD(leaky_relu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "0.01",
             "slope of negative numbers"),
};

static double leaky_relu_real(const void *params, double x) {
    const leaky_relu_params *fields = params;
    return x < 0 ? (double)fields->alpha * x : x;
}

static void leaky_relu_row(const void *params, uint64_t count, const float *const *inputs,
                           const uint64_t *strides, float *output) {
    const leaky_relu_params *fields = params;
    tn_rows_map(TN_ACTIVATION_LEAKY_RELU, fields->alpha, 0, count, inputs, strides, output);
}

static tn_status leaky_relu_reference(tn_call *call) {
    static const tn_unary_function function = {.real = leaky_relu_real};
    return tn_unary_compute(call, &function);
}

static tn_status leaky_relu_facet(tn_call *call, uint32_t input, const char *name,
                                  tn_facet *out_facet) {
    (void)input;
    const leaky_relu_params *params = call->params;
    return tn_unary_facet(call, name, TN_ACTIVATION_LEAKY_RELU, params->alpha, 0, out_facet);
}

static const tn_port leaky_relu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port leaky_relu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with negative elements multiplied by alpha"),
};
static const char *const leaky_relu_cases[] = {
    "| X=f32[2,3,5,7]",      "| X=f32[1]",          "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",           "| X=f16[4,33]",       "| X=bf16[63]", "alpha=0.3 | X=f32[33]",
    "alpha=-2 | X=f32[2,9]", "| X=f32[1,64,56,56]",
};

static const tn_operator leaky_relu_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "LeakyRelu",
    .doc = "Rectified linear unit that lets a part of negative numbers through.",
    TN_FIELDS(leaky_relu_params, leaky_relu_fields),
    TN_INPUTS(leaky_relu_inputs),
    TN_OUTPUTS(leaky_relu_outputs),
    .infer = tn_unary_infer,
    .reference = leaky_relu_reference,
    .facet = leaky_relu_facet,
    .expression = "X < 0 ? alpha * X : X",
    .row = leaky_relu_row,
    TN_CASES(leaky_relu_cases),
};

static void leaky_relu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha,
                            float *out_beta) {
    const leaky_relu_params *params = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = params->alpha;
}

TN_MAP_KERNELS(leaky_relu, "LeakyRelu", TN_ACTIVATION_LEAKY_RELU, leaky_relu_read);

static const tn_operator *const leaky_relu_operators[] = {&leaky_relu_6};
TN_LAYER(leaky_relu, leaky_relu_operators, leaky_relu_kernels);
