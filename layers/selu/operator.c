/* SPDX-License-Identifier: Apache-2.0 */
/* Selu: y = gamma (x < 0 ? alpha (exp(x) - 1) : x), element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

typedef struct selu_params {
    uint64_t present;
    float alpha;
    float gamma;
} selu_params;

static const tn_field selu_fields[] = {
    TN_FIELD(selu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1.67326319217681884765625",
             "what negative numbers run against"),
    TN_FIELD(selu_params, gamma, TN_FIELD_F32, TN_OPTIONAL, "1.05070102214813232421875", "scale"),
};

static double selu_real(const void *params, double x) {
    const selu_params *fields = params;
    return (double)fields->gamma * (x < 0 ? (double)fields->alpha * expm1(x) : x);
}

static void selu_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    const selu_params *fields = params;
    tn_rows_map(TN_MAP_SELU, fields->alpha, fields->gamma, count, inputs, strides, output);
}

static tn_status selu_reference(tn_call *call) {
    static const tn_unary_function function = {.real = selu_real};
    return tn_unary_compute(call, &function);
}

static const tn_port selu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port selu_outputs[] = {
    TN_PORT("Y", "T", 0, "the scaled numbers"),
};
static const char *const selu_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "alpha=2 gamma=3 | X=f32[5]{-100,-1,-0.0001,0,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator selu_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Selu",
    .doc = "Scaled exponential linear unit.",
    TN_FIELDS(selu_params, selu_fields),
    TN_INPUTS(selu_inputs),
    TN_OUTPUTS(selu_outputs),
    .infer = tn_unary_infer,
    .reference = selu_reference,
    .expression = "gamma * (X < 0 ? alpha * expm1(X) : X)",
    .row = selu_row,
    TN_CASES(selu_cases),
};

static void selu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    const selu_params *fields = call->params;
    (void)inout_map;
    *out_alpha = fields->alpha;
    *out_beta = fields->gamma;
}

TN_MAP_KERNELS(selu, "Selu", TN_MAP_SELU, selu_read);

static const tn_operator *const selu_operators[] = {&selu_6};
TN_LAYER(selu, selu_operators, selu_kernels);
