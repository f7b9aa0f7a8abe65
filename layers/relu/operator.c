/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relu: y = x < 0 ? 0 : x, element by element. Only the operator: it is absorbed as an activation
 * by the kernels before it, or runs through its row function.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

static double relu_real(const void *params, double x) {
    (void)params;
    return x < 0 ? 0 : x;
}

static int64_t relu_whole(const void *params, int64_t x) {
    (void)params;
    return x < 0 ? 0 : x;
}

static void relu_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    const float *x = inputs[0];
    uint64_t stride = strides[0];
    (void)params;
    if (stride == 1) {
        for (uint64_t i = 0; i < count; i++)
            output[i] = x[i] < 0 ? 0 : x[i];
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        output[i] = x[i * stride] < 0 ? 0 : x[i * stride];
}

static tn_status relu_reference(tn_call *call) {
    static const tn_unary_function function = {relu_real, relu_whole, relu_row};
    return tn_unary_compute(call, &function);
}

static tn_status relu_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    (void)input;
    return tn_unary_facet(call, name, TN_ACTIVATION_RELU, 0, 0, out_facet);
}

static const tn_port relu_inputs[] = {
    TN_PORT("X", "T:float|i8|i16|i32|i64", 0, "any tensor"),
};
static const tn_port relu_outputs[] = {
    TN_PORT("Y", "T", 0, "X with negative elements set to zero"),
};
static const char *const relu_cases[] = {
    "| X=f32[2,3,5,7]", "| X=f32[1]",   "| X=f32[]",      "| X=f32[3,0,2]",      "| X=f64[17]",
    "| X=f16[4,33]",    "| X=bf16[63]", "| X=i32[2,9,3]", "| X=f32[1,64,56,56]",
};

static const tn_operator relu_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Relu",
    .doc = "Rectified linear unit: negative elements become zero.",
    TN_NO_FIELDS,
    TN_INPUTS(relu_inputs),
    TN_OUTPUTS(relu_outputs),
    .infer = tn_unary_infer,
    .reference = relu_reference,
    .facet = relu_facet,
    .expression = "X < 0 ? 0 : X",
    .row = relu_row,
    TN_CASES(relu_cases),
};

TN_MAP_KERNELS(relu, "Relu", TN_ACTIVATION_RELU, NULL);

static const tn_operator *const relu_operators[] = {&relu_6};
TN_LAYER(relu, relu_operators, relu_kernels);
