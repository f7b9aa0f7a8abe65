/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HardSigmoid: y = alpha * x + beta, held within 0..1, element by element. Absorbed as an
 * activation by the kernels before it.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

typedef struct hard_sigmoid_params {
    uint64_t present;
    float alpha, beta;
} hard_sigmoid_params;

static const tn_field hard_sigmoid_fields[] = {
    TN_FIELD(hard_sigmoid_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "0.2", "slope"),
    TN_FIELD(hard_sigmoid_params, beta, TN_FIELD_F32, TN_OPTIONAL, "0.5", "value at zero"),
};

static double hard_sigmoid_real(const void *params, double x) {
    const hard_sigmoid_params *fields = params;
    double y = (double)fields->alpha * x + (double)fields->beta;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static void hard_sigmoid_row(const void *params, uint64_t count, const float *const *inputs,
                             const uint64_t *strides, float *output) {
    const hard_sigmoid_params *fields = params;
    tn_rows_map(TN_ACTIVATION_HARD_SIGMOID, fields->alpha, fields->beta, count, inputs, strides,
                output);
}

static tn_status hard_sigmoid_reference(tn_call *call) {
    static const tn_unary_function function = {.real = hard_sigmoid_real};
    return tn_unary_compute(call, &function);
}

static tn_status hard_sigmoid_facet(tn_call *call, uint32_t input, const char *name,
                                    tn_facet *out_facet) {
    (void)input;
    const hard_sigmoid_params *params = call->params;
    return tn_unary_facet(call, name, TN_ACTIVATION_HARD_SIGMOID, params->alpha, params->beta,
                          out_facet);
}

static const tn_port hard_sigmoid_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port hard_sigmoid_outputs[] = {
    TN_PORT("Y", "T", 0, "numbers of 0..1"),
};
static const char *const hard_sigmoid_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]", "| X=bf16[63]", "alpha=0.5 beta=-1 | X=f32[33]",
    "| X=f32[1,64,56,56]",
};

static const tn_operator hard_sigmoid_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "HardSigmoid",
    .doc = "A straight line held within 0..1.",
    TN_FIELDS(hard_sigmoid_params, hard_sigmoid_fields),
    TN_INPUTS(hard_sigmoid_inputs),
    TN_OUTPUTS(hard_sigmoid_outputs),
    .infer = tn_unary_infer,
    .reference = hard_sigmoid_reference,
    .facet = hard_sigmoid_facet,
    .expression = "alpha * X + beta < 0 ? 0 : alpha * X + beta > 1 ? 1 : alpha * X + beta",
    .row = hard_sigmoid_row,
    TN_CASES(hard_sigmoid_cases),
};

static void hard_sigmoid_read(const tn_call *call, uint32_t *inout_map, float *out_alpha,
                              float *out_beta) {
    const hard_sigmoid_params *params = call->params;
    (void)inout_map;
    *out_alpha = params->alpha;
    *out_beta = params->beta;
}

TN_MAP_KERNELS(hard_sigmoid, "HardSigmoid", TN_ACTIVATION_HARD_SIGMOID, hard_sigmoid_read);

static const tn_operator *const hard_sigmoid_operators[] = {&hard_sigmoid_6};
TN_LAYER(hard_sigmoid, hard_sigmoid_operators, hard_sigmoid_kernels);
