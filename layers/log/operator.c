/* SPDX-License-Identifier: Apache-2.0 */
/* Log: the natural logarithm, element by element; minus infinity of zero, NaN below it. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double log_real(const void *params, double x) {
    (void)params;
    return log(x);
}

static void log_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_LOG, 0, 0, count, inputs, strides, output);
}

static tn_status log_reference(tn_call *call) {
    static const tn_unary_function function = {.real = log_real};
    return tn_unary_compute(call, &function);
}

static const tn_port log_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port log_outputs[] = {
    TN_PORT("output", "T", 0, "the logarithms"),
};
static const char *const log_cases[] = {
    "| input=f32[2,3]{0.1,1,2,1e-40,3e38,7.5}",
    "| input=f32[1]{1}",
    "| input=f32[]{0.7}",
    "| input=f32[3,0,2]",
    "| input=f64[3]{0.2,1,2e300}",
    "| input=f16[4]{0.5,1,2,60000}",
    "| input=bf16[3]{0.5,3,1e20}",
    "| input=f32[5]{0,-1,1e-45,0.9999999,1.0000001}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator log_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Log",
    .doc = "Natural logarithm.",
    TN_NO_FIELDS,
    TN_INPUTS(log_inputs),
    TN_OUTPUTS(log_outputs),
    .infer = tn_unary_infer,
    .reference = log_reference,
    .expression = "log(input)",
    .row = log_row,
    TN_CASES(log_cases),
};

TN_MAP_KERNELS(log, "Log", TN_MAP_LOG, NULL);

static const tn_operator *const log_operators[] = {&log_6};
TN_LAYER(log, log_operators, log_kernels);
