/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greater: C = A > B, true or false, with broadcasting; before opset 7 B is broadcast only where
 * `broadcast` says so, from `axis` on. NaN is in no order.
 */
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

static double greater_real(const void *params, double a, double b) {
    (void)params;
    return a > b;
}

static int64_t greater_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return a > b;
}

static uint64_t greater_natural(const void *params, uint64_t a, uint64_t b) {
    (void)params;
    return a > b;
}

static const tn_broadcast_binary greater_function = {
    .real = greater_real, .whole = greater_whole, .natural = greater_natural};

static tn_status greater_reference(tn_call *call) {
    return tn_broadcast_compute(call, &greater_function);
}

static tn_status greater_1_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &greater_function);
}

static const tn_port greater_inputs[] = {
    TN_PORT("A", "T:number", 0, "any tensor"),
    TN_PORT("B", "T", 0, "what it is compared with"),
};
static const tn_port greater_outputs[] = {
    TN_PORT("C", "bool", 0, "whether A is above B"),
};
static const char *const greater_1_cases[] = {
    "| A=f32[3]{1,-2,3} B=f32[3]{1,2,3}",
    "broadcast=1 axis=0 | A=f64[2,2]{1,2,3,4} B=f64[2]{1,4}",
};
static const char *const greater_cases[] = {
    "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",
    "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",
    "| A=u64[2]{18446744073709551615,2} B=u64[]{2}",
    "| A=f16[3]{1,2,3} B=f16[1]{2}",
    "| A=u8[3]{0,7,255} B=u8[3]{255,7,0}",
    "| A=i8[0,3] B=i8[3]",
    "| A=f32[7,1,33] B=f32[5,1]",
};

static const tn_operator greater_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "Greater",
    .doc = "Whether numbers are above others, which may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(greater_inputs),
    TN_OUTPUTS(greater_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = greater_1_reference,
    TN_CASES(greater_1_cases),
};
static const tn_operator greater_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Greater",
    .doc = "Whether numbers are above others, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(greater_inputs),
    TN_OUTPUTS(greater_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = greater_reference,
    .expression = "A > B",
    TN_CASES(greater_cases),
};

static const tn_operator *const greater_operators[] = {&greater_1, &greater_7};
TN_LAYER_WITHOUT_KERNELS(greater, greater_operators);
