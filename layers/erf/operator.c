/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erf: the error function, element by element. Of integers, which opset 9 allows, what is behind
 * the point is dropped.
 */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double erf_real(const void *params, double x) {
    (void)params;
    return erf(x);
}

static int64_t erf_whole(const void *params, int64_t x) {
    (void)params;
    return (int64_t)erf((double)x);
}

static void erf_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ERF, 0, 0, count, inputs, strides, output);
}

static tn_status erf_reference(tn_call *call) {
    static const tn_unary_function function = {.real = erf_real, .whole = erf_whole};
    return tn_unary_compute(call, &function);
}

static const tn_port erf_inputs[] = {
    TN_PORT("input", "T:number", 0, "any tensor"),
};
static const tn_port erf_outputs[] = {
    TN_PORT("output", "T", 0, "numbers of -1..1"),
};
static const char *const erf_cases[] = {
    "| input=f32[2,3,5,7]",    "| input=f32[1]",
    "| input=f32[]",           "| input=f32[3,0,2]",
    "| input=f64[17]",         "| input=f16[4,33]",
    "| input=bf16[63]",        "| input=i32[5]{-9,-1,0,1,7}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator erf_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Erf",
    .doc = "Error function.",
    TN_NO_FIELDS,
    TN_INPUTS(erf_inputs),
    TN_OUTPUTS(erf_outputs),
    .infer = tn_unary_infer,
    .reference = erf_reference,
    .expression = "erf(input)",
    .row = erf_row,
    TN_CASES(erf_cases),
};

TN_MAP_KERNELS(erf, "Erf", TN_MAP_ERF, NULL);

static const tn_operator *const erf_operators[] = {&erf_9};
TN_LAYER(erf, erf_operators, erf_kernels);
