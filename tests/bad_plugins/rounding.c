/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Bend, low + half + half tanh(...), and Bad::Corner, (x + sqrt(x x + sharpness)) / 2, whose
 * terms cancel for negative x, so that 32-bit floats keep few digits of small results, and whose
 * squares overflow for huge x: that is no mistake. And what is one. */
#include "mistake.h"

#include <math.h>

typedef struct bend_params {
    uint64_t present;
    float low, high;
} bend_params;
typedef struct corner_params {
    uint64_t present;
    float sharpness;
} corner_params;

static const tn_field bend_fields[] = {
    TN_FIELD(bend_params, low, TN_FIELD_F32, 0, "0", "the least result"),
    TN_FIELD(bend_params, high, TN_FIELD_F32, 0, "6", "the greatest result")};
static const tn_field corner_fields[] = {TN_FIELD_RANGE(corner_params, sharpness, TN_FIELD_F32, 0,
                                                        "4", 0, 1000, "how far it is rounded")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status bend_infer(tn_call *call) {
    const bend_params *p = call->params;
    if (!(p->low < p->high))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'low' must be below 'high'");
    return infer_same(call);
}

static double bend(double x, double low, double high) {
    const double half = (high - low) / 2, middle = low + half;
    return middle + half * tanh((x - middle) / half);
}
static tn_status bend_reference(tn_call *call) {
    const bend_params *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] = (float)bend(
            (double)((const float *)call->inputs[0]->data)[i], (double)p->low, (double)p->high);
    return TN_OK;
}
static tn_status bend_run(tn_call *call) {
    const bend_params *p = call->params;
    const float *x = call->inputs[0]->data, half = (p->high - p->low) / 2, middle = p->low + half;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const float at = (x[i] - middle) / half;
        ((float *)call->outputs[0]->data)[i] =
            WITH(bend_ends_early) && at < -3 ? p->low : middle + half * tanhf(at);
    }
    return TN_OK;
}

static tn_status corner_reference(tn_call *call) {
    const corner_params *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const double x = (double)((const float *)call->inputs[0]->data)[i];
        ((float *)call->outputs[0]->data)[i] =
            (float)((x + sqrt(x * x + (double)p->sharpness)) / 2);
    }
    return TN_OK;
}
static void corner_row(const void *params, uint64_t count, const float *const *in,
                       const uint64_t *strides, float *out) {
    const corner_params *p = params;
    const uint64_t whole = WITH(row_of_whole_vectors) ? (count + 7) / 8 * 8 : count;
    for (uint64_t i = 0; i < whole; i++) {
        const float x = in[0][i * strides[0]];
        out[i] = (x + sqrtf(x * x + p->sharpness)) / 2;
    }
}
static tn_status corner_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    const uint64_t stride = 1;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        corner_row(call->params, 1, (const float *const[]){x + i}, &stride, y + i);
    return TN_OK;
}

static const char *const bend_cases[] = {"| x=f32[2,3,5]", "low=-1 high=1 | x=f32[4]"};
static const char *const corner_cases[] = {"| x=f32[2,3,5]", "sharpness=0.5 | x=f32[]"};
static const char *const combinations[] = {"f32 -> f32"};

#define LAYER(id, title, ...)                                                                      \
    static const tn_operator id##_operator = {.size = sizeof(tn_operator),                         \
                                              .since_version = 1,                                  \
                                              .state_version = 1,                                  \
                                              .traits = TN_OPERATOR_ELEMENTWISE,                   \
                                              .domain = "Bad",                                     \
                                              .name = title,                                       \
                                              TN_FIELDS(id##_params, id##_fields),                 \
                                              TN_INPUTS(inputs),                                   \
                                              TN_OUTPUTS(outputs),                                 \
                                              .reference = id##_reference,                         \
                                              TN_CASES(id##_cases),                                \
                                              __VA_ARGS__};                                        \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,     \
                                       TN_COMBINATIONS(combinations),                              \
                                       .run = id##_run};
LAYER(bend, "Bend", .infer = bend_infer,
      .expression = "low + (high - low) / 2 + (high - low) / 2 * tanh((x - (low + (high - low) / "
                    "2)) / ((high - low) / 2))")
LAYER(corner, "Corner", .infer = infer_same, .row = corner_row,
      .expression = "(x + sqrt(x * x + sharpness)) / 2")
static const tn_operator *const operators[] = {&bend_operator, &corner_operator};
static const tn_kernel *const kernels[] = {&bend_cpu, &corner_cpu};
TN_LIBRARY("bad_rounding", "1", operators, kernels)
