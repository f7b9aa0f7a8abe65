/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xor: C = whether one of both is true, with broadcasting; before opset 7 B is broadcast only where
 * `broadcast` says so, from `axis` on.
 */
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

static int64_t xor_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return a != b;
}

static const tn_broadcast_binary xor_function = {.whole = xor_whole};

static tn_status xor_reference(tn_call *call) {
    return tn_broadcast_compute(call, &xor_function);
}

static tn_status xor_1_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &xor_function);
}

static const tn_port xor_inputs[] = {
    TN_PORT("A", "T:bool", 0, "any tensor"),
    TN_PORT("B", "T", 0, "another one"),
};
static const tn_port xor_outputs[] = {
    TN_PORT("C", "bool", 0, "whether one of both is true"),
};
static const char *const xor_1_cases[] = {
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}",
    "broadcast=1 axis=0 | A=bool[2,2]{0,1,1,0} B=bool[2]{1,0}",
};
static const char *const xor_cases[] = {
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}",
    "| A=bool[2,1]{0,1} B=bool[2]{1,0}",
    "| A=bool[]{1} B=bool[]{1}",
    "| A=bool[0,3] B=bool[3]",
    "| A=bool[7,1,33] B=bool[5,1]",
};

static const tn_operator xor_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "Xor",
    .doc = "Whether one of both is true; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(xor_inputs),
    TN_OUTPUTS(xor_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = xor_1_reference,
    TN_CASES(xor_1_cases),
};
static const tn_operator xor_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Xor",
    .doc = "Whether one of both is true, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(xor_inputs),
    TN_OUTPUTS(xor_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = xor_reference,
    .expression = "A != B",
    TN_CASES(xor_cases),
};

static const tn_operator *const xor_operators[] = {&xor_1, &xor_7};
TN_LAYER_WITHOUT_KERNELS(xor, xor_operators);
