/* SPDX-License-Identifier: Apache-2.0 */
/* Softsign: y = x / (1 + |x|), element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double softsign_real(const void *params, double x) {
    (void)params;
    return x / (1 + fabs(x));
}

static void softsign_row(const void *params, uint64_t count, const float *const *inputs,
                         const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SOFTSIGN, 0, 0, count, inputs, strides, output);
}

static tn_status softsign_reference(tn_call *call) {
    static const tn_unary_function function = {.real = softsign_real};
    return tn_unary_compute(call, &function);
}

static const tn_port softsign_inputs[] = {
    TN_PORT("input", "T:float", 0, "any tensor"),
};
static const tn_port softsign_outputs[] = {
    TN_PORT("output", "T", 0, "numbers of -1..1"),
};
static const char *const softsign_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=f32[4]{-100,0,20,1e30}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator softsign_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Softsign",
    .doc = "Numbers brought within -1..1.",
    TN_NO_FIELDS,
    TN_INPUTS(softsign_inputs),
    TN_OUTPUTS(softsign_outputs),
    .infer = tn_unary_infer,
    .reference = softsign_reference,
    .expression = "input / (1 + fabs(input))",
    .row = softsign_row,
    TN_CASES(softsign_cases),
};

TN_MAP_KERNELS(softsign, "Softsign", TN_MAP_SOFTSIGN, NULL);

static const tn_operator *const softsign_operators[] = {&softsign_1};
TN_LAYER(softsign, softsign_operators, softsign_kernels);
