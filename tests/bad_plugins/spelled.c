/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Plus and Bad::Twice, which networks without it spell as "Plus(x, x)": the builder puts Twice
 * in place of that; and the mistakes with it. */
#include "mistake.h"

static const tn_port plus_inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                      TN_PORT("b", "f32", 0, "as a")};
static const tn_port twice_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as the first input")};

static tn_status infer_plus(tn_call *call) {
    if (count_of(call->inputs[0]) != count_of(call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "a and b differ in shape");
    return infer_same(call);
}

static tn_status plus(tn_call *call) {
    const float *a = call->inputs[0]->data, *b = call->inputs[call->input_count - 1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = a[i] + b[i];
    return TN_OK;
}

static const char *const plus_cases[] = {"| a=f32[3,5] b=f32[3,5]"};
static const char *const twice_cases[] = {"| x=f32[3,5]", "| x=f32[11]"};
static const char *const spellings[] = {WITH(spelling_of_another)   ? "Plus(x, Plus(x, x))"
                                        : WITH(spelling_of_nothing) ? "Sum(x, x)"
                                                                    : "Plus(x, x)"};
static const tn_operator plus_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Plus",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(plus_inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_plus,
                                          .reference = plus,
                                          TN_CASES(plus_cases)};
static const tn_operator twice_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .traits = TN_OPERATOR_ELEMENTWISE,
                                           .domain = "Bad",
                                           .name = "Twice",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(twice_inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer_same,
                                           .reference = plus,
                                           TN_CASES(twice_cases),
                                           TN_SPELLINGS(spellings)};
static const tn_operator *const operators[] = {&plus_operator, &twice_operator};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel twice_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Twice",
                                    .device = "cpu",
                                    .name = "plain",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = plus};
static const tn_kernel *const kernels[] = {&twice_cpu};
TN_LIBRARY("bad_spelled", "1", operators, kernels)
