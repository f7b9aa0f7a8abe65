/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that describe themselves, so that others absorb them: a vector that is added, a leaky
 * ReLU as a maximum, and bounds. */
#include "sixteenth.h"

TN_LAYER_PARAMS(add_params, int64_t axis;);
static const tn_field add_fields[] = {
    TN_LAYER_I64(add_params, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "may count from the end"),
};
TN_LAYER_PARAMS(leak_params, float alpha;);
static const tn_field leak_fields[] = {
    TN_LAYER_F32(leak_params, alpha, "0.1", 0.015625, 4, "y = max(x, alpha * x)"),
};
TN_LAYER_PARAMS(cap_params, float low, high;);
static const tn_field cap_fields[] = {
    TN_FIELD(cap_params, low, TN_FIELD_F32, TN_OPTIONAL, "0", "the least value"),
    TN_FIELD(cap_params, high, TN_FIELD_F32, TN_OPTIONAL, "6", "the largest value"),
};
static const tn_port add_inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more"),
                                     TN_PORT("v", "f32", 0, "as long as x's axis")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const add_params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status add_infer(tn_call *call) {
    const int64_t axis = axis_of(call);
    if (axis < 0 || axis >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has rank %u",
                                (long long)((const add_params *)call->params)->axis,
                                call->inputs[0]->rank);
    if (!TN_LAYER_FITS(call, 1, call->inputs[0]->shape[axis])) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static tn_status add_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t inner = extent(x, axis + 1, x->rank);
    for (int64_t i = 0; i < tn_layer_count(x); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(x, i) +
                           tn_layer_load(call->inputs[1], i / inner % x->shape[axis]));
    return TN_OK;
}

static tn_status add_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (strcmp(name, TN_FACET_BIAS) != 0 || (input != 0 && !WRONG(1)) || !call->inputs[1]->data)
        return TN_ERROR_UNSUPPORTED;
    const int32_t axis = (int32_t)((const add_params *)call->params)->axis;
    const tn_facet_axis what = {sizeof(what), axis};
    memcpy(out_facet->what, &what, sizeof(what));
    out_facet->what_bytes = sizeof(what);
    out_facet->operand_count = 1;
    out_facet->operands[0] = (tn_facet_operand){1, TN_OPERAND_VECTOR, axis, 0};
    return TN_OK;
}

static tn_status leak_reference(tn_call *call) {
    const double alpha = (double)((const leak_params *)call->params)->alpha;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const double x = tn_layer_load(call->inputs[0], i);
        tn_layer_store(call->outputs[0], i, x > alpha * x ? x : alpha * x);
    }
    return TN_OK;
}

static tn_status activation(tn_facet *out_facet, const char *variant, uint32_t function,
                            float alpha, float beta) {
    const tn_facet_activation what = {sizeof(what), function, alpha, beta};
    memcpy(out_facet->what, &what, sizeof(what));
    out_facet->what_bytes = sizeof(what);
    out_facet->variant = variant;
    return TN_OK;
}

static tn_status leak_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const float alpha = ((const leak_params *)call->params)->alpha;
    /* Above 1 the maximum is the other one of the two on both sides of 0. */
    if (strcmp(name, TN_FACET_ACTIVATION) != 0 || input != 0 || (alpha > 1 && !WRONG(2)))
        return TN_ERROR_UNSUPPORTED;
    return activation(out_facet, "leaky_relu", TN_ACTIVATION_LEAKY_RELU, alpha, 0);
}

static tn_status cap_infer(tn_call *call) {
    const cap_params *p = call->params;
    if (!(p->low <= p->high))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'low' is %g, above 'high', %g",
                                (double)p->low, (double)p->high);
    return infer_same(call);
}

static tn_status cap_reference(tn_call *call) {
    const cap_params *p = call->params;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const float x = ((const float *)call->inputs[0]->data)[i];
        ((float *)call->outputs[0]->data)[i] = x < p->low ? p->low : x > p->high ? p->high : x;
    }
    return TN_OK;
}

static tn_status cap_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const cap_params *p = call->params;
    if (strcmp(name, TN_FACET_ACTIVATION) != 0 || input != 0) return TN_ERROR_UNSUPPORTED;
    if (p->low == 0 && (p->high == INFINITY || WRONG(3)))
        return activation(out_facet, "relu", TN_ACTIVATION_RELU, 0, 0);
    return activation(out_facet, "clip", TN_ACTIVATION_CLIP, p->low, p->high);
}

static const char *const add_cases[] = {"| x=f32[2,3,4] v=f32[4]", "axis=1 | x=f32[2,3,3] v=f32[3]",
                                        "axis=-2 | x=f32[5,2] v=f32[5]", "| x=f32[6] v=f32[6]"};
static const char *const leak_cases[] = {"| x=f32[3,5]", "alpha=1.5 | x=f32[7]"};
static const char *const cap_cases[] = {"| x=f32[3,5]", "low=-1 high=2.5 | x=f32[9]"};
static const tn_operator add_operator = {OPERATOR,
                                         .name = "AddVector",
                                         TN_FIELDS(add_params, add_fields),
                                         TN_INPUTS(add_inputs),
                                         TN_OUTPUTS(outputs),
                                         .infer = add_infer,
                                         .reference = add_reference,
                                         .facet = add_facet,
                                         TN_CASES(add_cases)};
static const tn_operator leak_operator = {OPERATOR,
                                          .name = "Leak",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(leak_params, leak_fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_same,
                                          .reference = leak_reference,
                                          .facet = leak_facet,
                                          TN_CASES(leak_cases)};
static const tn_operator cap_operator = {OPERATOR,
                                         .name = "Cap",
                                         .traits = TN_OPERATOR_ELEMENTWISE,
                                         TN_FIELDS(cap_params, cap_fields),
                                         TN_INPUTS(inputs),
                                         TN_OUTPUTS(outputs),
                                         .infer = cap_infer,
                                         .reference = cap_reference,
                                         .facet = cap_facet,
                                         TN_CASES(cap_cases)};
static const tn_operator *const operators[] = {&add_operator, &leak_operator, &cap_operator};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "declared",
                             .version = "1.0",
                             .operator_count = TN_COUNT(operators),
                             .operators = operators};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    (void)host;
    return &library;
}
