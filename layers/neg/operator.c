/* SPDX-License-Identifier: Apache-2.0 */
/* Neg: y = -x, element by element; integers wrap. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/operator/layer.h"

static double neg_real(const void *params, double x) {
    (void)params;
    return -x;
}

static int64_t neg_whole(const void *params, int64_t x) {
    (void)params;
    return (int64_t)(0 - (uint64_t)x);
}

static void neg_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_NEG, 0, 0, count, inputs, strides, output);
}

static tn_status neg_reference(tn_call *call) {
    static const tn_unary_function function = {.real = neg_real, .whole = neg_whole};
    return tn_unary_compute(call, &function);
}

static const tn_port neg_inputs[] = {
    TN_PORT("X", "T:signed", 0, "any tensor"),
};
static const tn_port neg_outputs[] = {
    TN_PORT("Y", "T", 0, "the numbers turned"),
};
static const char *const neg_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "| X=i32[2,9,3]",
    "| X=i8[3]{-128,0,5}", "| X=i64[2]{-9223372036854775807,3}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator neg_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Neg",
    .doc = "Numbers with their sign turned.",
    TN_NO_FIELDS,
    TN_INPUTS(neg_inputs),
    TN_OUTPUTS(neg_outputs),
    .infer = tn_unary_infer,
    .reference = neg_reference,
    .expression = "-X",
    .row = neg_row,
    TN_CASES(neg_cases),
};

TN_MAP_KERNELS(neg, "Neg", TN_MAP_NEG, NULL);

static const tn_operator *const neg_operators[] = {&neg_6};
TN_LAYER(neg, neg_operators, neg_kernels);
