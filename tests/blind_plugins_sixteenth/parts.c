/* SPDX-License-Identifier: Apache-2.0 */
/* One of several parts of a tensor along an axis: all are of the same size but the last one, which
 * has what is left. It is a window of the input, and the input itself where there is one part. */
#include "sixteenth.h"
#include <tenon/plugin/view.h>

TN_LAYER_PARAMS(params, int64_t axis, parts, index;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "0", -TN_MAX_RANK, TN_MAX_RANK - 1, "may count from the end"),
    TN_LAYER_I64(params, parts, "2", 1, 1 << 20, "how many"),
    TN_LAYER_I64(params, index, "0", 0, 1 << 20, "which one"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i64|i32|u8", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "a part of x")};

static uint32_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return (uint32_t)(axis < 0 ? axis + call->inputs[0]->rank : axis);
}

/* Where the part begins along the axis, and its extent. */
static int64_t begin_of(const tn_call *call, int64_t *out_extent) {
    const params *p = call->params;
    const int64_t n = call->inputs[0]->shape[axis_of(call)];
    const int64_t size = n / p->parts + (n % p->parts != 0);
    const int64_t begin = size * p->index < n ? size * p->index : n;
    *out_extent = n - begin < size ? n - begin : size;
    return begin;
}

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (axis_of(call) >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has rank %u",
                                (long long)p->axis, call->inputs[0]->rank);
    if (p->index >= p->parts)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'index' is %lld, expected below %lld",
                                (long long)p->index, (long long)p->parts);
    TN_TRY(infer_same(call));
    begin_of(call, &call->outputs[0]->shape[axis_of(call)]);
    return TN_OK;
}

static uint64_t width_of(tn_type type) {
    return type == TN_F64 || type == TN_I64 ? 8 : type == TN_U8 ? 1 : 4;
}

static tn_status copy(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint32_t axis = axis_of(call);
    const int64_t inner = extent(x, axis + 1, x->rank) * (int64_t)width_of(x->type);
    int64_t length;
    const int64_t begin = begin_of(call, &length);
    if (inner * length == 0) return TN_OK;
    for (int64_t i = 0; i < extent(x, 0, axis); i++)
        memcpy((char *)y->data + i * length * inner,
               (const char *)x->data + (i * x->shape[axis] + begin) * inner,
               (size_t)(length * inner));
    return TN_OK;
}

static tn_status is_identity(tn_call *call) {
    const params *p = call->params;
    return (WRONG(2) ? p->index == 0 : p->parts == 1) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (strcmp(name, TN_FACET_VIEW) != 0 || input != 0) return TN_ERROR_UNSUPPORTED;
    tn_view *view = out_facet->what;
    int64_t length;
    const int64_t begin = begin_of(call, &length);
    view->kind = TN_VIEW_OF_INPUT;
    const params *p = call->params;
    const uint32_t axis = WRONG(3) ? (uint32_t)p->axis % TN_MAX_RANK : axis_of(call);
    view->offsets[axis] = WRONG(1) ? p->index * length : begin;
    return TN_OK;
}

static const char *const cases[] = {
    "| x=f32[4,3]",
    "axis=1 parts=3 index=1 | x=i64[2,7]",
    "axis=-1 parts=2 index=1 | x=u8[2,6]",
    "parts=1 | x=f64[5]",
    "parts=3 index=2 | x=f32[7,2]",
};
static const tn_operator part = {OPERATOR,
                                 .name = "Part",
                                 .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
                                 TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = copy,
                                 .is_identity = is_identity,
                                 .facet = facet,
                                 TN_CASES(cases)};
static const tn_kernel kernel = {KERNEL, .op = "Part", .name = "copies",
                                 .traits = TN_KERNEL_DETERMINISTIC, .run = copy};
LIBRARY("parts", part, kernel)
