/* SPDX-License-Identifier: Apache-2.0 */
/* Elu: y = x < 0 ? alpha (exp(x) - 1) : x, element by element. Absorbed as an activation by kernels
 * before it. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

typedef struct elu_params {
    uint64_t present;
    float alpha;
} elu_params;

static const tn_field elu_fields[] = {
    TN_FIELD(elu_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1",
             "what negative numbers run against"),
};

static double elu_real(const void *params, double x) {
    const elu_params *fields = params;
    return x < 0 ? (double)fields->alpha * expm1(x) : x;
}

static void elu_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    const elu_params *fields = params;
    tn_rows_map(TN_ACTIVATION_ELU, fields->alpha, 0, count, inputs, strides, output);
}

static tn_status elu_reference(tn_call *call) {
    static const tn_unary_function function = {.real = elu_real};
    return tn_unary_compute(call, &function);
}

static tn_status elu_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    (void)input;
    const elu_params *fields = call->params;
    return tn_unary_facet(call, name, TN_ACTIVATION_ELU, fields->alpha, 0, out_facet);
}

static const tn_port elu_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port elu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with negative elements above -alpha"),
};
static const char *const elu_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "alpha=2.5 | X=f32[5]{-100,-1,-0.0001,0,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator elu_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Elu",
    .doc = "Exponential linear unit.",
    TN_FIELDS(elu_params, elu_fields),
    TN_INPUTS(elu_inputs),
    TN_OUTPUTS(elu_outputs),
    .infer = tn_unary_infer,
    .reference = elu_reference,
    .facet = elu_facet,
    .expression = "X < 0 ? alpha * expm1(X) : X",
    .row = elu_row,
    TN_CASES(elu_cases),
};

static void elu_read(const tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    const elu_params *fields = call->params;
    (void)inout_map, (void)out_beta;
    *out_alpha = fields->alpha;
}

TN_MAP_KERNELS(elu, "Elu", TN_ACTIVATION_ELU, elu_read);

static const tn_operator *const elu_operators[] = {&elu_6};
TN_LAYER(elu, elu_operators, elu_kernels);
