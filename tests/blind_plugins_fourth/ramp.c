/* SPDX-License-Identifier: Apache-2.0 */
/* Ramp: x times a factor, plus an offset, held above 0 if wanted; what it is said to be besides. */
#include "fourth.h"
#include "../support/steps.h"

TN_LAYER_PARAMS(params, float factor, offset; bool above_zero;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, factor, "1", -1000, 1000, "of x"),
    TN_LAYER_F32(params, offset, "0", -1000, 1000, "added to it"),
    TN_LAYER_BOOL(params, above_zero, "false", "whether results below 0 become 0")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return fourth_same(call, 0, 0);
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double product = tn_layer_load(call->inputs[0], i) * (double)p->factor;
    const double y = p->offset == 0 ? product : product + (double)p->offset; /* -0 stays -0 */
    return p->above_zero && y < 0 ? 0 : y;
}
TN_LAYER_REFERENCE(element)

static tn_status is_identity(tn_call *call) {
    const params *p = call->params;
#if MISTAKE == 1
    return p->factor == 1 && !p->above_zero ? TN_OK : TN_ERROR_UNSUPPORTED; /* MISTAKE: no offset */
#else
    return p->factor == 1 && p->offset == 0 && !p->above_zero ? TN_OK : TN_ERROR_UNSUPPORTED;
#endif
}
static tn_status affine(tn_call *call, tn_affine *out) {
    const params *p = call->params;
    const tn_tensor *y = call->outputs[0];
    if (y->rank == 0) return TN_ERROR_UNSUPPORTED;
#if MISTAKE != 2 /* MISTAKE: what is held above 0 is not affine */
    if (p->above_zero) return TN_ERROR_UNSUPPORTED;
#endif
    const uint32_t axis = y->rank > 1;
    if (y->shape[axis] < 0 || (uint64_t)y->shape[axis] > out->count) return TN_ERROR_UNSUPPORTED;
    out->axis = (int32_t)axis;
    out->count = (uint64_t)y->shape[axis];
    for (uint64_t c = 0; c < out->count; c++) {
        out->factors[c] = (double)p->factor;
#if MISTAKE == 3
        out->shifts[c] = (double)p->factor * (double)p->offset; /* MISTAKE: (x + offset) * factor */
#else
        out->shifts[c] = (double)p->offset;
#endif
    }
    return TN_OK;
}
static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out) {
    const params *p = call->params;
#if MISTAKE == 4
    if (input != 0 || !p->above_zero) return TN_ERROR_UNSUPPORTED; /* MISTAKE: nor the rest */
#else
    if (input != 0 || !p->above_zero || p->factor != 1 || p->offset != 0)
        return TN_ERROR_UNSUPPORTED;
#endif
    out->kind = SEEN_ACTIVATION;
    out->activation = TN_ACTIVATION_RELU;
    return TN_OK;
}
DESCRIBES(facet, epilogue, affine, NULL)

static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const double product = (double)x[i] * (double)p->factor;
        const double value = p->offset == 0 ? product : product + (double)p->offset;
#if MISTAKE == 6
        y[i] = p->above_zero && !(value > 0) ? 0 : (float)value; /* MISTAKE: NaN becomes 0 */
#else
        y[i] = p->above_zero && value < 0 ? 0 : (float)value;
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(items, tn_layer_count(call->outputs[0]), 2048)

static const char *const cases[] = {
    "| x=f32[2,6]",
    "factor=2 offset=-1 | x=f32[1,3,4,4]",
    "above_zero=true | x=f32[5,5]",
    "factor=-0.5 offset=0.25 above_zero=true | x=f64[9]",
    "offset=3 | x=f32[2]{1,-4} | y=f32[2]{4,-1}",
};
static const char *const combinations[] = {"f32 -> f32"};
FOURTH_OPERATOR("Ramp", "x times a factor plus an offset.", .state_version = 1,
#if MISTAKE == 5
                /* MISTAKE: elements do not stay as they are */
                .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY | TN_OPERATOR_SELECTS,
#else
                .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY,
#endif
                TN_FIELDS(params, fields), .is_identity = is_identity, .facet = facet)
FOURTH_KERNEL(the_kernel, "Ramp", "items", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
              TN_COMBINATIONS(combinations), .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("ramp", "1.0", operators, kernels)
