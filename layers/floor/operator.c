/* SPDX-License-Identifier: Apache-2.0 */
/* Floor: the next integer below, element by element. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

#include <math.h>

static double floor_real(const void *params, double x) {
    (void)params;
    return floor(x);
}

static void floor_row(const void *params, uint64_t count, const float *const *inputs,
                      const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_FLOOR, 0, 0, count, inputs, strides, output);
}

static tn_status floor_reference(tn_call *call) {
    static const tn_unary_function function = {.real = floor_real};
    return tn_unary_compute(call, &function);
}

static const tn_port floor_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
};
static const tn_port floor_outputs[] = {
    TN_PORT("Y", "T", 0, "integers"),
};
static const char *const floor_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "| X=f32[10]{-2.5,-1.5,-0.5,0.5,1.5,2.5,1e10,-7.2,8388609,0.49999997}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator floor_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Floor",
    .doc = "Numbers rounded down.",
    TN_NO_FIELDS,
    TN_INPUTS(floor_inputs),
    TN_OUTPUTS(floor_outputs),
    .infer = tn_unary_infer,
    .reference = floor_reference,
    .expression = "floor(X)",
    .row = floor_row,
    TN_CASES(floor_cases),
};

TN_MAP_KERNELS(floor, "Floor", TN_MAP_FLOOR, NULL);

static const tn_operator *const floor_operators[] = {&floor_6};
TN_LAYER(floor, floor_operators, floor_kernels);
