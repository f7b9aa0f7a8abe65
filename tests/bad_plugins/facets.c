/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Clamp, which describes itself by a facet of its own, and Bad::Double, whose kernel absorbs
 * it and ReLU in any order; and the mistakes that are made in such kernels. */
#include "../support/steps.h"
#include "mistake.h"

#define CLAMP "bad.clamp/1"

/* The facet's struct. */
typedef struct clamp_facet {
    uint32_t size;
    float low, high;
} clamp_facet;

typedef struct clamp_params {
    uint64_t present;
    float low, high;
} clamp_params;
static const tn_field fields[] = {
    TN_FIELD(clamp_params, low, TN_FIELD_F32, 0, "-1", "lower bound"),
    TN_FIELD(clamp_params, high, TN_FIELD_F32, 0, "1", "upper bound"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static float clamped(float low, float high, float x) {
    return x < low ? low : x > high ? high : x;
}

static tn_status clamp_run(tn_call *call) {
    const clamp_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = clamped(p->low, p->high, x[i]);
    return TN_OK;
}

static tn_status clamp_describe(tn_call *call, uint32_t input, const char *name,
                                tn_facet *out_facet) {
    const clamp_params *p = call->params;
    clamp_facet *clamp = out_facet->what;
    if (input != 0 || strcmp(name, CLAMP) != 0) return TN_ERROR_UNSUPPORTED;
    clamp->size = sizeof(*clamp);
    clamp->low = p->low;
    clamp->high = p->high;
    return TN_OK;
}

static tn_status double_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = 2 * x[i];
    return TN_OK;
}

static float do_step(const tn_step *step, float x) {
    const clamp_facet *clamp = step->what;
    if (strcmp(step->facet, CLAMP) != 0) return x < 0 ? 0 : x;
    return clamped(WITH(clamp_without_low) ? -1 : clamp->low, clamp->high, x);
}

static tn_status double_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const uint32_t steps = WITH(one_clamp_alone) && call->step_count > 1 ? 1 : call->step_count;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        y[i] = 2 * x[i];
        for (uint32_t k = 0; k < steps; k++)
            y[i] = do_step(call->steps[WITH(clamps_backwards) ? steps - 1 - k : k], y[i]);
    }
    return TN_OK;
}

static const char *const clamp_cases[] = {"low=-0.5 high=0.75 | x=f32[3,4]",
                                          "low=0.25 high=3 | x=f32[7]", "| x=f32[0,2]",
                                          "low=-2 high=-0.25 | x=f32[6]"};
static const char *const double_cases[] = {"| x=f32[3,5]", "| x=f32[9]", "| x=f32[2,0]"};
#define OPERATOR(operator_name)                                                                    \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1,                           \
    .traits = TN_OPERATOR_ELEMENTWISE, .domain = "Bad", .name = operator_name, .doc = "",          \
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer_same
static const tn_operator clamp = {OPERATOR("Clamp"), TN_FIELDS(clamp_params, fields),
                                  .reference = clamp_run, .facet = clamp_describe,
                                  TN_CASES(clamp_cases)};
static const tn_operator doubled = {OPERATOR("Double"), TN_NO_FIELDS, .reference = double_reference,
                                    TN_CASES(double_cases)};
static const tn_kernel double_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Double",
                                     .device = "cpu",
                                     .name = "plain",
                                     .absorbs = CLAMP ", tn.activation/1(relu)",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = double_run};
static const tn_operator *const operators[] = {&clamp, &doubled};
static const tn_kernel *const kernels[] = {&double_cpu};
TN_LIBRARY("bad_facets", "1", operators, kernels)
