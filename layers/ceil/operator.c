/* SPDX-License-Identifier: Apache-2.0 */
/* Ceil: the next integer above, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double ceil_real(const void *params, double x) {
    (void)params;
    return ceil(x);
}

static void ceil_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_CEIL, 0, 0, count, inputs, strides, output);
}

static tn_status ceil_reference(tn_call *call) {
    static const tn_unary_function function = {.real = ceil_real};
    return tn_unary_compute(call, &function);
}

static const tn_port ceil_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port ceil_outputs[] = {
    TN_PORT("Y", "T", 0, "integers"),
};
static const char *const ceil_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator ceil_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Ceil",
    .doc = "Numbers rounded up.",
    TN_NO_FIELDS,
    TN_INPUTS(ceil_inputs),
    TN_OUTPUTS(ceil_outputs),
    .infer = tn_unary_infer,
    .reference = ceil_reference,
    .expression = "ceil(X)",
    .row = ceil_row,
    TN_CASES(ceil_cases),
};

TN_MAP_KERNELS(ceil, "Ceil", TN_MAP_CEIL, NULL);

static const tn_operator *const ceil_operators[] = {&ceil_6};
TN_LAYER(ceil, ceil_operators, ceil_kernels);
