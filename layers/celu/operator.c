/* SPDX-License-Identifier: Apache-2.0 */
/* Celu: y = x < 0 ? alpha (exp(x / alpha) - 1) : x, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

typedef struct celu_params {
    uint64_t present;
    float alpha;
} celu_params;

static const tn_field celu_fields[] = {
    TN_FIELD(celu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1",
             "what negative numbers run against"),
};

static double celu_real(const void *params, double x) {
    const celu_params *fields = params;
    return x < 0 ? (double)fields->alpha * expm1(x / (double)fields->alpha) : x;
}

static void celu_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    const celu_params *fields = params;
    tn_rows_map(TN_MAP_CELU, fields->alpha, 0, count, inputs, strides, output);
}

static tn_status celu_reference(tn_call *call) {
    static const tn_unary_function function = {.real = celu_real};
    return tn_unary_compute(call, &function);
}

static const tn_port celu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port celu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with negative elements above -alpha"),
};
static const char *const celu_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "alpha=2 | X=f32[5]{-100,-1,-0.0001,0,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator celu_12 = {
    .size = sizeof(tn_operator),
    .since_version = 12,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Celu",
    .doc = "Continuously differentiable exponential linear unit.",
    TN_FIELDS(celu_params, celu_fields),
    TN_INPUTS(celu_inputs),
    TN_OUTPUTS(celu_outputs),
    .infer = tn_unary_infer,
    .reference = celu_reference,
    .expression = "X < 0 ? alpha * expm1(X / alpha) : X",
    .row = celu_row,
    TN_CASES(celu_cases),
};

static void celu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    const celu_params *fields = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = fields->alpha;
}

TN_MAP_KERNELS(celu, "Celu", TN_MAP_CELU, celu_read);

static const tn_operator *const celu_operators[] = {&celu_12};
TN_LAYER(celu, celu_operators, celu_kernels);
