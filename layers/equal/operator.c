/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal: C = A == B, true or false, with broadcasting; before opset 7 B is broadcast only where
 * `broadcast` says so, from `axis` on. NaN equals nothing.
 */
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

static double equal_real(const void *params, double a, double b) {
    (void)params;
    return a == b;
}

static int64_t equal_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return a == b;
}

static const tn_broadcast_binary equal_function = {.real = equal_real, .whole = equal_whole};

static tn_status equal_reference(tn_call *call) {
    return tn_broadcast_compute(call, &equal_function);
}

static tn_status equal_1_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &equal_function);
}

static const tn_port equal_inputs[] = {
    TN_PORT("A", "T:any", 0, "any tensor"),
    TN_PORT("B", "T", 0, "what it is compared with"),
};
static const tn_port equal_outputs[] = {
    TN_PORT("C", "bool", 0, "whether they are equal"),
};
static const char *const equal_1_cases[] = {
    "| A=i32[3]{1,-2,3} B=i32[3]{1,2,3}",
    "broadcast=1 axis=0 | A=i64[2,2]{1,2,3,4} B=i64[2]{1,4}",
    "broadcast=1 | A=bool[2,2]{0,1,1,0} B=bool[]{1}",
};
static const char *const equal_cases[] = {
    "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",
    "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",
    "| A=bool[4]{0,1,0,1} B=bool[4]{0,0,1,1}",
    "| A=f16[3]{1,2,3} B=f16[1]{2}",
    "| A=u64[2]{1,2} B=u64[]{2}",
    "| A=i8[0,3] B=i8[3]",
    "| A=f32[7,1,33] B=f32[5,1]",
};

static const tn_operator equal_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "Equal",
    .doc = "Equality of two tensors; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(equal_inputs),
    TN_OUTPUTS(equal_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = equal_1_reference,
    TN_CASES(equal_1_cases),
};
static const tn_operator equal_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Equal",
    .doc = "Equality of two tensors, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(equal_inputs),
    TN_OUTPUTS(equal_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = equal_reference,
    .expression = "A == B",
    TN_CASES(equal_cases),
};

static const tn_operator *const equal_operators[] = {&equal_1, &equal_7};
TN_LAYER_WITHOUT_KERNELS(equal, equal_operators);
