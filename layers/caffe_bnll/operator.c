/* SPDX-License-Identifier: Apache-2.0 */
/* BNLL of Caffe (binomial normal log likelihood): y = log(1 + exp(x)), element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double caffe_bnll_real(const void *params, double x) {
    (void)params;
    if (isnan(x)) return x;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static void caffe_bnll_row(const void *params, uint64_t count, const float *const *inputs,
                           const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SOFTPLUS, 0, 0, count, inputs, strides, output);
}

static tn_status caffe_bnll_reference(tn_call *call) {
    static const tn_unary_function function = {.real = caffe_bnll_real};
    return tn_unary_compute(call, &function);
}

static const tn_port caffe_bnll_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port caffe_bnll_outputs[] = {
    TN_PORT("Y", "T", 0, "positive numbers"),
};
static const char *const caffe_bnll_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]", "| X=bf16[63]", "| X=f32[5]{-100,-20,0,20,1e30}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator caffe_bnll_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "Caffe",
    .name = "BNLL",
    .doc = "A smooth form of the rectified linear unit.",
    TN_NO_FIELDS,
    TN_INPUTS(caffe_bnll_inputs),
    TN_OUTPUTS(caffe_bnll_outputs),
    .infer = tn_unary_infer,
    .reference = caffe_bnll_reference,
    .expression = "fmax(X, 0) + log1p(exp(-fabs(X)))",
    .row = caffe_bnll_row,
    TN_CASES(caffe_bnll_cases),
};

TN_MAP_KERNELS_OF(caffe_bnll, "Caffe", "BNLL", TN_MAP_SOFTPLUS, NULL);

static const tn_operator *const caffe_bnll_operators[] = {&caffe_bnll_1};
TN_LAYER(caffe_bnll, caffe_bnll_operators, caffe_bnll_kernels);
