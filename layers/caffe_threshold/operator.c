/* SPDX-License-Identifier: Apache-2.0 */
/* Threshold of Caffe: y = x > threshold ? 1 : 0, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

typedef struct caffe_threshold_params {
    uint64_t present;
    float threshold;
} caffe_threshold_params;

static const tn_field caffe_threshold_fields[] = {
    TN_FIELD(caffe_threshold_params, threshold, TN_FIELD_F32, TN_OPTIONAL, "0",
             "what a number must exceed"),
};

static double caffe_threshold_real(const void *params, double x) {
    const caffe_threshold_params *fields = params;
    return x > (double)fields->threshold;
}

static void caffe_threshold_row(const void *params, uint64_t count, const float *const *inputs,
                                const uint64_t *strides, float *output) {
    const caffe_threshold_params *fields = params;
    tn_rows_map(TN_MAP_THRESHOLD, fields->threshold, 0, count, inputs, strides, output);
}

static tn_status caffe_threshold_reference(tn_call *call) {
    static const tn_unary_function function = {.real = caffe_threshold_real};
    return tn_unary_compute(call, &function);
}

static const tn_port caffe_threshold_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port caffe_threshold_outputs[] = {
    TN_PORT("Y", "T", 0, "0 or 1"),
};
static const char *const caffe_threshold_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "threshold=0.5 | X=f32[5]{-1,0.5,0.51,0,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator caffe_threshold_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "Caffe",
    .name = "Threshold",
    .doc = "1 above a threshold, 0 elsewhere.",
    TN_FIELDS(caffe_threshold_params, caffe_threshold_fields),
    TN_INPUTS(caffe_threshold_inputs),
    TN_OUTPUTS(caffe_threshold_outputs),
    .infer = tn_unary_infer,
    .reference = caffe_threshold_reference,
    .expression = "X > threshold ? 1 : 0",
    .row = caffe_threshold_row,
    TN_CASES(caffe_threshold_cases),
};

static void caffe_threshold_read(const tn_call *call, uint32_t *inout_map, float *out_alpha,
                                 float *out_beta) {
    const caffe_threshold_params *fields = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = fields->threshold;
}

TN_MAP_KERNELS_OF(caffe_threshold, "Caffe", "Threshold", TN_MAP_THRESHOLD, caffe_threshold_read);

static const tn_operator *const caffe_threshold_operators[] = {&caffe_threshold_1};
TN_LAYER(caffe_threshold, caffe_threshold_operators, caffe_threshold_kernels);
