/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Or: C = whether any of both is true, with broadcasting; before opset 7 B is broadcast only where
 * `broadcast` says so, from `axis` on.
 */
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/layer.h"

static int64_t or_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return a | b;
}

static const tn_broadcast_binary or_function = {.whole = or_whole};

static tn_status or_reference(tn_call *call) {
    return tn_broadcast_compute(call, &or_function);
}

static tn_status or_1_reference(tn_call *call) {
    return tn_axis_broadcast_compute(call, &or_function);
}

static const tn_port or_inputs[] = {
    TN_PORT("A", "T:bool", 0, "any tensor"),
    TN_PORT("B", "T", 0, "another one"),
};
static const tn_port or_outputs[] = {
    TN_PORT("C", "bool", 0, "whether any of both is true"),
};
static const char *const or_1_cases[] = {
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}",
    "broadcast=1 axis=0 | A=bool[2,2]{0,1,1,0} B=bool[2]{1,0}",
};
static const char *const or_cases[] = {
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}",
    "| A=bool[2,1]{0,1} B=bool[2]{1,0}",
    "| A=bool[]{1} B=bool[]{1}",
    "| A=bool[0,3] B=bool[3]",
    "| A=bool[7,1,33] B=bool[5,1]",
};

static const tn_operator or_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "Or",
    .doc = "Whether any of both is true; the second may be broadcast along given axes.",
    TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),
    TN_INPUTS(or_inputs),
    TN_OUTPUTS(or_outputs),
    .infer = tn_axis_broadcast_infer,
    .reference = or_1_reference,
    TN_CASES(or_1_cases),
};
static const tn_operator or_7 = {
    .size = sizeof(tn_operator),
    .since_version = 7,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Or",
    .doc = "Whether any of both is true, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(or_inputs),
    TN_OUTPUTS(or_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = or_reference,
    .expression = "A || B",
    TN_CASES(or_cases),
};

static const tn_operator *const or_operators[] = {&or_1, &or_7};
TN_LAYER_WITHOUT_KERNELS(or, or_operators);
