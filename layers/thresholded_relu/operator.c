/* SPDX-License-Identifier: Apache-2.0 */
/* ThresholdedRelu: y = x > alpha ? x : 0, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

typedef struct thresholded_relu_params {
    uint64_t present;
    float alpha;
} thresholded_relu_params;

static const tn_field thresholded_relu_fields[] = {
    TN_FIELD(thresholded_relu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1", "threshold"),
};

static double thresholded_relu_real(const void *params, double x) {
    const thresholded_relu_params *fields = params;
    return x > (double)fields->alpha ? x : 0;
}

static void thresholded_relu_row(const void *params, uint64_t count, const float *const *inputs,
                                 const uint64_t *strides, float *output) {
    const thresholded_relu_params *fields = params;
    tn_rows_map(TN_MAP_THRESHOLDED_RELU, fields->alpha, 0, count, inputs, strides, output);
}

static tn_status thresholded_relu_reference(tn_call *call) {
    static const tn_unary_function function = {.real = thresholded_relu_real};
    return tn_unary_compute(call, &function);
}

static const tn_port thresholded_relu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port thresholded_relu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with elements up to alpha set to zero"),
};
static const char *const thresholded_relu_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "alpha=0.25 | X=f32[5]{-1,0.25,0.26,0,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator thresholded_relu_10 = {
    .size = sizeof(tn_operator),
    .since_version = 10,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "ThresholdedRelu",
    .doc = "Rectified linear unit that begins at a threshold.",
    TN_FIELDS(thresholded_relu_params, thresholded_relu_fields),
    TN_INPUTS(thresholded_relu_inputs),
    TN_OUTPUTS(thresholded_relu_outputs),
    .infer = tn_unary_infer,
    .reference = thresholded_relu_reference,
    .expression = "X > alpha ? X : 0",
    .row = thresholded_relu_row,
    TN_CASES(thresholded_relu_cases),
};

static void thresholded_relu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha,
                                  float *out_beta) {
    const thresholded_relu_params *fields = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = fields->alpha;
}

TN_MAP_KERNELS(thresholded_relu, "ThresholdedRelu", TN_MAP_THRESHOLDED_RELU, thresholded_relu_read);

static const tn_operator *const thresholded_relu_operators[] = {&thresholded_relu_10};
TN_LAYER(thresholded_relu, thresholded_relu_operators, thresholded_relu_kernels);
