/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of a third party, in the domain "tiny": with an expression and a reference,
 * but without a kernel and without a row function.
 */
#ifndef TN_TESTS_UNIT_KIT_THIRD_PARTY_LAYERS_H
#define TN_TESTS_UNIT_KIT_THIRD_PARTY_LAYERS_H

#include <tenon/plugin.h>

static int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

/* Element `index` of a tensor of `y`'s shape in one that is broadcast to it; all are linear. */
static double load(const tn_tensor *x, const tn_tensor *y, int64_t index) {
    int64_t at = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        const uint32_t axis = y->rank - 1 - i, own = x->rank - 1 - i;
        if (x->shape[own] != 1) at += index % y->shape[axis] * x->strides[own];
        index /= y->shape[axis];
    }
    return (double)((const float *)x->data)[at];
}

static tn_status copy_shape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

typedef struct bend_params {
    uint64_t present;
    double by;
} bend_params;
static const tn_field bend_fields[] = {
    TN_FIELD(bend_params, by, TN_FIELD_F64, TN_OPTIONAL, "0.5", "how far")};

static tn_status bend_reference(tn_call *call) {
    const bend_params *params = call->params;
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++) {
        const double x = load(call->inputs[0], call->outputs[0], i);
        ((float *)call->outputs[0]->data)[i] = (float)(x + params->by * x * x);
    }
    return TN_OK;
}
static tn_status less_reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)(load(call->inputs[0], call->outputs[0], i) -
                    2 * load(call->inputs[1], call->outputs[0], i));
    return TN_OK;
}

static const tn_port one_input[] = {TN_PORT("x", "T:f32", 0, "numbers")};
static const tn_port two_inputs[] = {TN_PORT("a", "T:f32", 0, "numbers"),
                                     TN_PORT("b", "T", 0, "broadcast to a")};
static const tn_port one_output[] = {TN_PORT("y", "T", 0, "the result")};
static const tn_operator bend = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 .domain = "tiny",
                                 .name = "Bend",
                                 .doc = "x + by * x * x",
                                 TN_FIELDS(bend_params, bend_fields),
                                 TN_INPUTS(one_input),
                                 TN_OUTPUTS(one_output),
                                 .infer = copy_shape,
                                 .reference = bend_reference,
                                 .expression = "x + by * x * x"};
static const tn_operator less = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 .domain = "tiny",
                                 .name = "Less2",
                                 .doc = "a - 2 * b",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(two_inputs),
                                 TN_OUTPUTS(one_output),
                                 .infer = copy_shape,
                                 .reference = less_reference,
                                 .expression = "a - 2 * b"};
static const tn_operator mute = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 .domain = "tiny",
                                 .name = "Mute",
                                 .doc = "a - 2 * b, and says nothing",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(two_inputs),
                                 TN_OUTPUTS(one_output),
                                 .infer = copy_shape,
                                 .reference = less_reference};

#endif
