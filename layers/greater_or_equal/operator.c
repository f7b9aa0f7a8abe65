/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GreaterOrEqual: C = A >= B, true or false, with broadcasting. NaN is in no order.
 */
#include "kit/operator/broadcast.h"
#include "kit/operator/layer.h"

static double greater_or_equal_real(const void *params, double a, double b) {
    (void)params;
    return a >= b;
}

static int64_t greater_or_equal_whole(const void *params, int64_t a, int64_t b) {
    (void)params;
    return a >= b;
}

static uint64_t greater_or_equal_natural(const void *params, uint64_t a, uint64_t b) {
    (void)params;
    return a >= b;
}

static const tn_broadcast_binary greater_or_equal_function = {.real = greater_or_equal_real,
                                                              .whole = greater_or_equal_whole,
                                                              .natural = greater_or_equal_natural};

static tn_status greater_or_equal_reference(tn_call *call) {
    return tn_broadcast_compute(call, &greater_or_equal_function);
}

static const tn_port greater_or_equal_inputs[] = {
    TN_PORT("A", "T:number", 0, "any tensor"),
    TN_PORT("B", "T", 0, "what it is compared with"),
};
static const tn_port greater_or_equal_outputs[] = {
    TN_PORT("C", "bool", 0, "whether A is at least B"),
};
static const char *const greater_or_equal_cases[] = {
    "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",
    "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",
    "| A=u64[2]{18446744073709551615,2} B=u64[]{2}",
    "| A=f16[3]{1,2,3} B=f16[1]{2}",
    "| A=u8[3]{0,7,255} B=u8[3]{255,7,0}",
    "| A=i8[0,3] B=i8[3]",
    "| A=f32[7,1,33] B=f32[5,1]",
};

static const tn_operator greater_or_equal_12 = {
    .size = sizeof(tn_operator),
    .since_version = 12,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "GreaterOrEqual",
    .doc = "Whether numbers are at least others, broadcast with each other.",
    TN_NO_FIELDS,
    TN_INPUTS(greater_or_equal_inputs),
    TN_OUTPUTS(greater_or_equal_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = greater_or_equal_reference,
    .expression = "A >= B",
    TN_CASES(greater_or_equal_cases),
};

static const tn_operator *const greater_or_equal_operators[] = {&greater_or_equal_12};
TN_LAYER_WITHOUT_KERNELS(greater_or_equal, greater_or_equal_operators);
