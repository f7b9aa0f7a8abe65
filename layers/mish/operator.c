/* SPDX-License-Identifier: Apache-2.0 */
/* Mish: y = x tanh(log(1 + exp(x))), element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double mish_real(const void *params, double x) {
    (void)params;
    if (isnan(x)) return x;
    return x * tanh(fmax(x, 0) + log1p(exp(-fabs(x))));
}

static void mish_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_MISH, 0, 0, count, inputs, strides, output);
}

static tn_status mish_reference(tn_call *call) {
    static const tn_unary_function function = {.real = mish_real};
    return tn_unary_compute(call, &function);
}

static const tn_port mish_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port mish_outputs[] = {
    TN_PORT("Y", "T", 0, "the numbers, negative ones close to zero"),
};
static const char *const mish_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",    "| X=f32[]",    "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]", "| X=bf16[63]", "| X=f32[6]{-90,-20,-0.001,0,20,1e30}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator mish_18 = {
    .size = sizeof(tn_operator),
    .since_version = 18,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Mish",
    .doc = "A smooth unit that lets a little of negative numbers through.",
    TN_NO_FIELDS,
    TN_INPUTS(mish_inputs),
    TN_OUTPUTS(mish_outputs),
    .infer = tn_unary_infer,
    .reference = mish_reference,
    .expression = "X * tanh(fmax(X, 0) + log1p(exp(-fabs(X))))",
    .row = mish_row,
    TN_CASES(mish_cases),
};

TN_MAP_KERNELS(mish, "Mish", TN_MAP_MISH, NULL);

static const tn_operator *const mish_operators[] = {&mish_18};
TN_LAYER(mish, mish_operators, mish_kernels);
