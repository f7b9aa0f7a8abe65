/* SPDX-License-Identifier: Apache-2.0 */
/* Means over the steps of a state of which a count may tell how many are there. Without steps they
 * are 0. */
#include "seventeenth.h"
#include <tenon/plugin/counted.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "items, steps, features")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "items, features")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[2]);
}

static double mean(const tn_call *call, int64_t i, int64_t steps) {
    const tn_tensor *x = call->inputs[0];
    const int64_t features = x->shape[2];
    double sum = 0;
    for (int64_t t = 0; t < steps; t++)
        sum += tn_layer_load(x, (i / features * x->shape[1] + t) * features + i % features);
    return steps > 0 ? sum / (double)steps : 0;
}
static double element(const tn_call *call, int64_t i) {
    return mean(call, i, call->inputs[0]->shape[1]);
}
TN_LAYER_REFERENCE(element)

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_counted *counted = call->inputs[0]->counted;
    int64_t steps = call->inputs[0]->shape[1];
    if (counted && (counted->axis == 1 || WRONG(2)) && !WRONG(1)) steps = *counted->value;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, mean(call, i, steps));
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 16)

static const char *const cases[] = {"| x=f32[2,5,3]", "| x=f32[1,16,4]", "| x=f32[4,1,1]"};
static const tn_operator mean_steps = {
    OPERATOR,       .name = "MeanSteps",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:counted -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "MeanSteps",
                                 .device = "cpu",
                                 .name = "steps",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("mean_steps", mean_steps, kernel)
