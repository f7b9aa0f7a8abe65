/* SPDX-License-Identifier: Apache-2.0 */
/* Link: any number of tensors one after the other along an axis. */
#include "fourth.h"

TN_LAYER_PARAMS(params, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(params, axis, "0", -8, 7, "below 0: from the end")};
static const tn_port inputs[] = {{"x", "T:f32|f64|i64|u8|bool",
                                  "one or more of the same extents but for the axis",
                                  TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "all of them")};

static uint32_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return (uint32_t)(axis < 0 ? axis + call->inputs[0]->rank : axis);
}
static tn_status infer(tn_call *call) {
    const tn_tensor *first = call->inputs[0];
    const int64_t field = ((const params *)call->params)->axis;
    if (field < -(int64_t)first->rank || field >= (int64_t)first->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of tensors of rank %u",
                                (long long)field, first->rank);
    const uint32_t axis = axis_of(call);
    fourth_same(call, 0, 0);
    for (uint32_t i = 1; i < call->input_count; i++) {
        const tn_tensor *x = call->inputs[i];
        if (x->rank != first->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "tensor %u has rank %u, the first %u", i,
                                    x->rank, first->rank);
        for (uint32_t k = 0; k < x->rank; k++) {
            if (k == axis) continue;
            if (x->shape[k] != first->shape[k])
                return call->host->fail(call, TN_ERROR_SHAPE, "tensor %u differs along axis %u", i,
                                        k);
        }
        if (x->shape[axis] > INT64_MAX - call->outputs[0]->shape[axis])
            return call->host->fail(call, TN_ERROR_RANGE, "too long together");
        call->outputs[0]->shape[axis] += x->shape[axis];
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const uint32_t axis = axis_of(call);
    const size_t size = fourth_bytes(y->type);
    const int64_t inner = fourth_extent(y, axis + 1, y->rank);
    char *to = y->data;
    if (tn_layer_count(y) == 0) return TN_OK;
    for (int64_t outer = 0; outer < fourth_extent(y, 0, axis); outer++)
        for (uint32_t i = 0; i < call->input_count; i++) {
            const size_t run = (size_t)(call->inputs[i]->shape[axis] * inner) * size;
            memcpy(to, (const char *)call->inputs[i]->data + (size_t)outer * run, run);
            to += run;
        }
    return TN_OK;
}

/* Items are what lies before the axis. */
static tn_status runs(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *y = call->outputs[0];
    const uint32_t axis = axis_of(call);
    const int64_t inner = fourth_extent(y, axis + 1, y->rank);
#if MISTAKE == 2
    const size_t size = y->type == TN_F64 ? 8 : y->type == TN_F32 ? 4 : 1; /* MISTAKE: i64 */
#else
    const size_t size = fourth_bytes(y->type);
#endif
    const size_t row = (size_t)(y->shape[axis] * inner) * size;
    (void)thread;
    for (int64_t outer = begin; outer < end; outer++) {
        char *to = (char *)y->data + (size_t)outer * row;
#if MISTAKE == 1
        for (uint32_t i = 0; i < call->input_count && i < 2; i++) { /* MISTAKE: there may be more */
#else
        for (uint32_t i = 0; i < call->input_count; i++) {
#endif
#if MISTAKE == 3
            /* MISTAKE: all are taken to be as long as the first */
            const size_t run = (size_t)(call->inputs[0]->shape[axis] * inner) * size;
#else
            const size_t run = (size_t)(call->inputs[i]->shape[axis] * inner) * size;
#endif
            memcpy(to, (const char *)call->inputs[i]->data + (size_t)outer * run, run);
            to += run;
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(runs,
             tn_layer_count(call->outputs[0]) ? fourth_extent(call->outputs[0], 0, axis_of(call))
                                              : 0,
             1)

static const char *const cases[] = {
    "| x=f32[2,3] x=f32[4,3] | y=f32[6,3]",
    "axis=1 | x=f32[2,3,4] x=f32[2,1,4] x=f32[2,2,4]",
    "axis=-1 | x=i64[3,2] x=i64[3,5]",
    "| x=u8[2]{1,2} x=u8[1]{9} | y=u8[3]{1,2,9}",
};
FOURTH_OPERATOR("Link", "Tensors one after the other along an axis.", .state_version = 1,
                .traits = TN_OPERATOR_SELECTS, TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Link", "runs", .traits = TN_KERNEL_DETERMINISTIC, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("link", "1.0", operators, kernels)
