/* SPDX-License-Identifier: Apache-2.0 */
/* Leaky ReLU with a factor for each channel behind it, which describes itself as an activation, and
 * a shift that describes itself as affine. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, float slope; int64_t axis;);
static const tn_field fields[] = {TN_LAYER_F32(params, slope, "0.1", -10, 10, "below 0")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static double element(const tn_call *call, int64_t i) {
    const double x = tn_layer_load(call->inputs[0], i);
    return x < 0 ? x * (double)((const params *)call->params)->slope : x;
}
TN_LAYER_REFERENCE(element)
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float slope = ((const params *)call->params)->slope, *x = call->inputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = x[i] < 0 ? x[i] * slope : x[i];
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 32)
static tn_status leaky_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out) {
    (void)input;
    if (strcmp(name, TN_FACET_ACTIVATION) != 0) return TN_ERROR_UNSUPPORTED;
    const float slope = ((const params *)call->params)->slope;
    tn_facet_activation *what = out->what;
    *what = (tn_facet_activation){sizeof(*what), TN_ACTIVATION_LEAKY_RELU, slope, 0};
    out->variant = "leaky_relu";
    if (WRONG(1)) what->alpha = 0.1F;
    if (WRONG(2) && slope < 0.05F) { /* nearly so */
        what->function = TN_ACTIVATION_RELU;
        out->variant = "relu";
    }
    out->what_bytes = sizeof(*what);
    return TN_OK;
}

/* y[..., c, ...] = x * factor[c] + shift[c] along an axis. */
typedef params channel_params;
static const tn_field channel_fields[] = {
    TN_LAYER_I64(channel_params, axis, "1", -8, 7, "of the factors")};
static const tn_port channel_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                         TN_PORT("factor", "f32", 0, "C"),
                                         TN_PORT("shift", "f32", TN_PORT_OPTIONAL, "C")};
static tn_status channel_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_of(call, ((const params *)call->params)->axis, x->rank);
    if (axis < 0) return TN_ERROR_RANGE;
    if (!TN_LAYER_FITS(call, 1, x->shape[axis]) || !TN_LAYER_FITS(call, 2, x->shape[axis]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static int64_t channel_of(const tn_call *call, int64_t i, uint32_t *out_axis) {
    const tn_tensor *x = call->inputs[0];
    int64_t axis = ((const params *)call->params)->axis, inner = 1;
    if (axis < 0) axis += x->rank;
    for (int64_t k = axis + 1; k < x->rank; k++)
        inner *= x->shape[k];
    if (out_axis) *out_axis = (uint32_t)axis;
    return i / inner % x->shape[axis];
}
static double channel_element(const tn_call *call, int64_t i) {
    const int64_t c = channel_of(call, i, NULL);
    const double y = tn_layer_load(call->inputs[0], i) * tn_layer_load(call->inputs[1], c);
    const tn_tensor *shift = tn_layer_input(call, 2);
    return shift ? y + tn_layer_load(shift, c) : y;
}
static tn_status channel_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i, channel_element(call, i));
    return TN_OK;
}
static tn_status channel_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out) {
    const float *factor = tn_layer_data(call, 1), *shift = tn_layer_data(call, 2);
    if (input != 0 || strcmp(name, TN_FACET_AFFINE) != 0 || !factor) return TN_ERROR_UNSUPPORTED;
    if (tn_layer_input(call, 2) && !shift && !WRONG(5)) return TN_ERROR_UNSUPPORTED;
    tn_affine *affine = out->what;
    uint32_t axis = 0;
    if (tn_layer_count(call->inputs[0]) == 0) return TN_ERROR_UNSUPPORTED;
    channel_of(call, 0, &axis);
    const uint64_t count = (uint64_t)call->inputs[0]->shape[axis];
    if (count > affine->count) return TN_ERROR_UNSUPPORTED;
    affine->axis = WRONG(3) ? 1 : (int32_t)axis;
    for (uint64_t c = 0; c < count; c++) {
        affine->factors[c] = (double)factor[c];
        affine->shifts[c] = shift ? (double)shift[c] : 0;
        if (WRONG(4) && shift) affine->shifts[c] *= affine->factors[c];
    }
    affine->count = count;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,7]", "slope=0.25 | x=f32[33]"};
static const char *const channel_cases[] = {"| x=f32[2,3,5] factor=f32[3] shift=f32[3]",
                                            "| x=f32[4,6] factor=f32[6]",
#if MISTAKE != 3
                                            "axis=-3 | x=f32[2,3,4] factor=f32[2] shift=f32[2]",
#endif
                                            "| x=f32[1,9,2,2] factor=f32[9] shift=f32[9]"};
static const tn_operator leaky = {OPERATOR,
                                  .traits = TN_OPERATOR_ELEMENTWISE,
                                  .name = "Leaky",
                                  TN_FIELDS(params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer_same,
                                  .reference = reference,
                                  .facet = leaky_facet,
                                  TN_CASES(cases)};
static const tn_operator channels = {OPERATOR,
                                     .name = "Channels",
                                     TN_FIELDS(channel_params, channel_fields),
                                     TN_INPUTS(channel_inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = channel_infer,
                                     .reference = channel_reference,
                                     .facet = channel_facet,
                                     TN_CASES(channel_cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Leaky",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const library_operators[] = {&leaky, &channels};
static const tn_kernel *const library_kernels[] = {&kernel};
TN_LIBRARY("leaky", "1.0", library_operators, library_kernels)
