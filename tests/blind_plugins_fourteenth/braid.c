/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of any type behind each other along an axis. */
#include "fourteenth.h"

TN_LAYER_PARAMS(braid_params, int64_t axis;);
static const tn_field fields[] = {
    TN_LAYER_I64(braid_params, axis, "0", -8, 7, "along which; may count from the end")};
static const tn_port inputs[] = {{"x", "T:any", "the parts", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "all of them")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const braid_params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}
static tn_status infer(tn_call *call) {
    const int64_t axis = axis_of(call);
    int64_t sum = 0;
    if (axis < 0 || axis >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is beyond the rank");
    for (uint32_t k = 0; k < call->input_count; k++) {
        int64_t shape[TN_MAX_RANK];
        for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
            shape[i] = i == axis ? TN_LAYER_ANY : call->inputs[0]->shape[i];
        if (call->inputs[k]->rank != call->inputs[0]->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "the ranks differ");
        for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
            if (i != axis && shape[i] != call->inputs[k]->shape[i])
                return call->host->fail(call, TN_ERROR_SHAPE, "the shapes differ");
        sum += call->inputs[k]->shape[axis];
    }
    same_shape(call->inputs[0], call->outputs[0]);
    call->outputs[0]->shape[axis] = sum;
    return TN_OK;
}
static void join(const tn_call *call, int64_t axis, bool is_kernel) {
    const tn_tensor *y = call->outputs[0];
    const uint64_t size =
        is_kernel && WRONG(2) && element_bytes(y->type) < 8 ? 4 : element_bytes(y->type);
    const int64_t outer = product(y->shape, 0, axis);
    const uint64_t row = (uint64_t)product(y->shape, axis, y->rank) * size;
    uint64_t at = 0;
    for (uint32_t k = 0; k < call->input_count && !(is_kernel && WRONG(3) && k == 4); k++) {
        const tn_tensor *x = call->inputs[k];
        const uint64_t part = (uint64_t)product(x->shape, axis, x->rank) * size;
        if (is_kernel && WRONG(4) && part == 0) return;
        for (int64_t i = 0; i < outer; i++)
            memcpy((char *)y->data + (uint64_t)i * row + at,
                   (const char *)x->data + (uint64_t)i * part, part);
        at += is_kernel && WRONG(1)
                  ? (uint64_t)product(call->inputs[0]->shape, axis, x->rank) * size
                  : part;
    }
}
static tn_status reference(tn_call *call) {
    join(call, axis_of(call), false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t axis = ((const braid_params *)call->params)->axis;
    join(call, WRONG(5) && axis < 0 ? call->inputs[0]->rank - 1 : axis_of(call), true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[2,3] x=f32[2,3]", "axis=1 | x=f64[2,2,3] x=f64[2,2,3]",
                                    "axis=-1 | x=i64[3,2] x=i64[3,2] x=i64[3,2]"};
static const tn_operator braid = {OPERATOR,
                                  .name = "Braid",
                                  .doc = "Parts behind each other.",
                                  TN_FIELDS(braid_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const tn_kernel braid_cpu = {KERNEL, .op = "Braid", .run = run};
LIBRARY("braid", braid, braid_cpu)
