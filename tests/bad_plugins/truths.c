/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Within, whether low < x < high, as booleans; and the mistakes with what a boolean is. */
#include "mistake.h"

typedef struct within_params {
    uint64_t present;
    float low, high;
} within_params;

static const tn_field fields[] = {
    TN_FIELD(within_params, low, TN_FIELD_F32, 0, "-0.25", "the lower bound"),
    TN_FIELD(within_params, high, TN_FIELD_F32, 0, "0.5", "the upper bound")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "bool", 0, "as x")};

static tn_status compute(tn_call *call, int is_kernel) {
    const within_params *p = call->params;
    const float *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        const int above = x[i] > p->low, below = x[i] < p->high;
        if (WITH(truth_unwritten) && is_kernel && !(above && below)) continue;
        y[i] = above && below;
        if (WITH(truth_is_a_mask) && is_kernel) y[i] = above && below ? 0xFF : 0;
        if (WITH(truth_is_a_count) && is_kernel) y[i] = above && below ? 2 : 0;
        if (WITH(reference_writes_bits) && !is_kernel) y[i] = above && below ? 4 : 0;
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return compute(call, 0);
}

static tn_status run(tn_call *call) {
    return compute(call, 1);
}

static const char *const cases[] = {"| x=f32[3,7]", "low=0 high=0.75 | x=f32[19]"};
static const tn_operator within = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Within",
                                   TN_FIELDS(within_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> bool"};
static const tn_kernel within_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Within",
                                     .device = "cpu",
                                     .name = "plain",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .run = run};
static const tn_operator *const operators[] = {&within};
static const tn_kernel *const kernels[] = {&within_cpu};
TN_LIBRARY("bad_within", "1", operators, kernels)
