/* SPDX-License-Identifier: Apache-2.0 */
/* Round: the nearest integer, of two the even one, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double round_real(const void *params, double x) {
    (void)params;
    return nearbyint(x);
}

static void round_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ROUND, 0, 0, count, inputs, strides, output);
}

static tn_status round_reference(tn_call *call) {
    static const tn_unary_function function = {.real = round_real};
    return tn_unary_compute(call, &function);
}

static const tn_port round_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port round_outputs[] = {
    TN_PORT("Y", "T", 0, "integers"),
};
static const char *const round_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator round_11 = {
    .size = sizeof(tn_operator),
    .since_version = 11,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Round",
    .doc = "Numbers rounded to the nearest integer, halves to the even one.",
    TN_NO_FIELDS,
    TN_INPUTS(round_inputs),
    TN_OUTPUTS(round_outputs),
    .infer = tn_unary_infer,
    .reference = round_reference,
    .expression = "rint(X)",
    .row = round_row,
    TN_CASES(round_cases),
};

TN_MAP_KERNELS(round, "Round", TN_MAP_ROUND, NULL);

static const tn_operator *const round_operators[] = {&round_11};
TN_LAYER(round, round_operators, round_kernels);
