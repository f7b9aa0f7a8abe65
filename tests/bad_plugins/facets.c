/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Clamp and Bad::Tilt, which describe themselves by facets of their own, the second with an
 * operand, and Bad::Double, whose kernel absorbs both and ReLU in any order; and the mistakes that
 * are made in such kernels. */
#include "../support/steps.h"
#include "mistake.h"

#define CLAMP "bad.clamp/1"
#define TILT  "bad.tilt/1"

/* The facets' structs. Tilt's operand is broadcast. */
typedef struct clamp_facet {
    uint32_t size;
    float low, high;
} clamp_facet;
typedef struct tilt_facet {
    uint32_t size;
    float slope;
} tilt_facet;

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

typedef struct tilt_params {
    uint64_t present;
    float slope;
} tilt_params;
static const tn_field tilt_fields[] = {
    TN_FIELD(tilt_params, slope, TN_FIELD_F32, 0, "1", "the factor of t"),
};
static const tn_port tilt_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                      TN_PORT("t", "f32", 0, "broadcast to x")};

/* The element of an operand for element i of y, counted from the last axis. */
static float broadcast(const tn_tensor *t, const tn_tensor *y, int64_t i) {
    int64_t at = 0, stride = 1;
    for (uint32_t back = 1; back <= t->rank; back++) {
        const int64_t extent = y->shape[y->rank - back], own = t->shape[t->rank - back];
        if (own > 1) at += i % extent * stride;
        i /= extent;
        stride *= own;
    }
    return ((const float *)t->data)[at];
}

static tn_status tilt_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *t = call->inputs[1];
    if (t->rank > x->rank) return call->host->fail(call, TN_ERROR_SHAPE, "t has a larger rank");
    for (uint32_t back = 1; back <= t->rank; back++)
        if (t->shape[t->rank - back] != 1 && t->shape[t->rank - back] != x->shape[x->rank - back])
            return call->host->fail(call, TN_ERROR_SHAPE, "t is not broadcast to x");
    return infer_same(call);
}

static tn_status tilt_run(tn_call *call) {
    const tilt_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = x[i] + p->slope * broadcast(call->inputs[1], call->outputs[0], i);
    return TN_OK;
}

static tn_status tilt_describe(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    const tilt_params *p = call->params;
    tilt_facet *tilt = out_facet->what;
    if (input != 0 || strcmp(name, TILT) != 0) return TN_ERROR_UNSUPPORTED;
    tilt->size = sizeof(*tilt);
    tilt->slope = p->slope;
    out_facet->operand_count = 1;
    out_facet->operands[0].input = 1;
    out_facet->operands[0].form = TN_OPERAND_BROADCAST;
    return TN_OK;
}

static tn_status double_reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = 2 * x[i];
    return TN_OK;
}

static const tn_tensor *operand_of(const tn_call *call, const tn_step *step) {
    const uint32_t index = step->inputs[1] & ~TN_STEP_OPERAND;
    return call->operands[WITH(one_tilt_for_all) ? 0 : index];
}

static float tilted(const tn_call *call, const tn_step *step, float x, int64_t i) {
    const tn_tensor *t = operand_of(call, step);
    const float slope = WITH(tilt_without_slope) ? 1 : ((const tilt_facet *)step->what)->slope;
    const float element = WITH(tilts_by_whole_tensors) ? ((const float *)t->data)[i % count_of(t)]
                                                       : broadcast(t, call->outputs[0], i);
    return x + slope * element;
}

static float do_step(const tn_call *call, const tn_step *step, float x, int64_t i) {
    const clamp_facet *clamp = step->what;
    if (strcmp(step->facet, TILT) == 0) return tilted(call, step, x, i);
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
            y[i] = do_step(call, call->steps[WITH(clamps_backwards) ? steps - 1 - k : k], y[i], i);
    }
    return TN_OK;
}

static const char *const clamp_cases[] = {"low=-0.5 high=0.75 | x=f32[3,4]",
                                          "low=0.25 high=3 | x=f32[7]", "| x=f32[0,2]",
                                          "low=-2 high=-0.25 | x=f32[6]"};
static const char *const tilt_cases[] = {"slope=0.5 | x=f32[3,4] t=f32[3,4]",
                                         "slope=-2 | x=f32[2,3,4] t=f32[3,1]",
                                         "| x=f32[3,4] t=f32[4]", "slope=3 | x=f32[5] t=f32[]"};
static const char *const double_cases[] = {"| x=f32[3,5]", "| x=f32[9]", "| x=f32[2,0]"};
#define OPERATOR(operator_name)                                                                    \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1,                           \
    .traits = TN_OPERATOR_ELEMENTWISE, .domain = "Bad", .name = operator_name, .doc = "",          \
    TN_OUTPUTS(outputs)
static const tn_operator clamp = {OPERATOR("Clamp"),      TN_INPUTS(inputs),
                                  .infer = infer_same,    TN_FIELDS(clamp_params, fields),
                                  .reference = clamp_run, .facet = clamp_describe,
                                  TN_CASES(clamp_cases)};
static const tn_operator tilt = {OPERATOR("Tilt"),      TN_INPUTS(tilt_inputs),
                                 .infer = tilt_infer,   TN_FIELDS(tilt_params, tilt_fields),
                                 .reference = tilt_run, .facet = tilt_describe,
                                 TN_CASES(tilt_cases)};
static const tn_operator doubled = {OPERATOR("Double"),
                                    TN_INPUTS(inputs),
                                    .infer = infer_same,
                                    TN_NO_FIELDS,
                                    .reference = double_reference,
                                    TN_CASES(double_cases)};
static const tn_kernel double_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Double",
                                     .device = "cpu",
                                     .name = "plain",
                                     .absorbs = CLAMP ", " TILT ", tn.activation/1(relu)",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = double_run};
static const tn_operator *const operators[] = {&clamp, &tilt, &doubled};
static const tn_kernel *const kernels[] = {&double_cpu};
TN_LIBRARY("bad_facets", "1", operators, kernels)
