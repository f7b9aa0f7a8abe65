/* SPDX-License-Identifier: Apache-2.0 */
/* Some indices along an axis: `count` from `begin` on, each `step`-th. Begins below 0 count from
 * the end. With step 1 the output is a window. */
#include "nineteenth.h"

#include <tenon/plugin/view.h>

TN_LAYER_PARAMS(params, int64_t axis, begin, count, step;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "0", -8, 7, "along which"),
    TN_LAYER_I64(params, begin, "0", -65536, 65535, "the first"),
    TN_LAYER_I64(params, count, "1", 0, 65536, "how many"),
    TN_LAYER_I64(params, step, "1", 1, 65536, "from one to the next")};
static const tn_port inputs[] = {TN_PORT("x", "T:any", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "count along the axis")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_of(call, p->axis, x->rank);
    if (axis < 0) return TN_ERROR_RANGE;
    const int64_t begin = p->begin < 0 ? p->begin + x->shape[axis] : p->begin;
    const int64_t last = begin + (p->count - 1) * p->step;
    if (begin < 0 || begin > x->shape[axis] || (p->count > 0 && last >= x->shape[axis]))
        return call->host->fail(call, TN_ERROR_RANGE, "%lld indices from %lld are not in %lld",
                                (long long)p->count, (long long)begin, (long long)x->shape[axis]);
    infer_same(call);
    call->outputs[0]->shape[axis] = p->count;
    return TN_OK;
}
static int64_t axis_in(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}
static uint64_t bytes_of(tn_type type) {
    switch (type) {
    case TN_F64:
    case TN_I64:
    case TN_U64:
        return 8;
    case TN_F32:
    case TN_I32:
    case TN_U32:
        return 4;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16:
        return 2;
    default:
        return 1;
    }
}
static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_in(call), extent = x->shape[axis];
    const int64_t begin = p->begin < 0 ? p->begin + extent : p->begin;
    uint64_t inner = bytes_of(x->type), outer = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        *(i < axis ? &outer : i > axis ? &inner : &(uint64_t){0}) *= (uint64_t)x->shape[i];
    char *to = call->outputs[0]->data;
    for (uint64_t o = 0; inner > 0 && o < outer; o++)
        for (int64_t k = 0; k < p->count; k++, to += inner)
            memcpy(to,
                   (const char *)x->data +
                       (o * (uint64_t)extent + (uint64_t)(begin + k * p->step)) * inner,
                   inner);
    return TN_OK;
}
static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out) {
    const params *p = call->params;
    if (input != 0 || strcmp(name, TN_FACET_VIEW) != 0) return TN_ERROR_UNSUPPORTED;
    if (p->step != 1 && !WRONG(2)) return TN_ERROR_UNSUPPORTED;
    tn_view *view = out->what;
    const int64_t axis = axis_in(call);
    view->kind = WRONG(3) ? TN_VIEW_OF_OUTPUT : TN_VIEW_OF_INPUT;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        view->offsets[i] = 0;
    view->offsets[WRONG(4) ? (p->axis < 0 ? 0 : p->axis) : axis] =
        p->begin < 0 && !WRONG(1) ? p->begin + call->inputs[0]->shape[axis] : p->begin;
    return TN_OK;
}

static const char *const cases[] = {"begin=1 count=2 | x=f32[4,3]",
                                    "axis=1 begin=2 count=3 | x=f32[2,6,2]",
#if MISTAKE != 1
                                    "axis=1 begin=-2 count=2 | x=u8[3,5]",
#endif
#if MISTAKE != 2
                                    "begin=1 count=2 step=3 | x=i64[6,2]",
#endif
#if MISTAKE != 4
                                    "axis=-1 begin=1 count=2 | x=f32[2,4]",
#endif
                                    "begin=0 count=5 | x=f32[5]"};
static const tn_operator crop = {OPERATOR,          .traits = TN_OPERATOR_SELECTS,
                                 .name = "Crop",    TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs), TN_OUTPUTS(outputs),
                                 .infer = infer,    .reference = reference,
                                 .facet = facet,    TN_CASES(cases)};
static tn_status run(tn_call *call) {
    return reference(call);
}
static const tn_kernel kernel = {KERNEL, .op = "Crop", .name = "runs",
                                 .traits = TN_KERNEL_DETERMINISTIC, .run = run};
LIBRARY("crop", crop, kernel)
