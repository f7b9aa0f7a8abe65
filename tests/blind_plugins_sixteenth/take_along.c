/* SPDX-License-Identifier: Apache-2.0 */
/* Elements along an axis by indices of their own, which may count from the end: y[..., i, ...] =
 * x[..., index[..., i, ...], ...]. The other extents of the indices are at most those of x. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, int64_t axis;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "0", -TN_MAX_RANK, TN_MAX_RANK - 1, "may count from the end"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i64|i32|i8|u8|bool", 0, "rank 1 or more"),
                                 TN_PORT("index", "i32|i64", 0, "of x's rank")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as the indices")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *index = call->inputs[1];
    const int64_t axis = axis_of(call), given = ((const params *)call->params)->axis;
    if (axis < 0 || axis >= x->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has rank %u",
                                (long long)given, x->rank);
    if (index->rank != x->rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'index' has rank %u, x has %u",
                                index->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != (WRONG(4) ? given : axis) && index->shape[i] > x->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "input 'index' has %lld elements along axis %u, x has %lld",
                                    (long long)index->shape[i], i, (long long)x->shape[i]);
    return set_shape(call, 0, index->rank, index->shape);
}

static uint64_t width_of(tn_type type) {
    switch (type) {
    case TN_F64:
    case TN_I64:
        return 8;
    case TN_F32:
    case TN_I32:
        return 4;
    default:
        return 1;
    }
}

/* Where the element is that belongs to index i; -1 and a reason where there is none. */
static int64_t position(tn_call *call, int64_t i, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *index = call->inputs[1];
    const int64_t axis = axis_of(call), n = x->shape[axis];
    const int64_t given = index->type == TN_I32 ? ((const int32_t *)index->data)[i]
                                                : ((const int64_t *)index->data)[i];
    const int64_t of_axis = given < 0 ? given + n : given;
    if ((of_axis < 0 && !(is_kernel && WRONG(1))) || of_axis >= n) {
        call->host->fail(call, TN_ERROR_RANGE, "index %lld, expected %lld to %lld",
                         (long long)given, (long long)-n, (long long)n - 1);
        return -1;
    }
    int64_t at = 0, stride = 1;
    for (int64_t k = (int64_t)x->rank - 1; k >= 0; k--) {
        at += (k == axis ? of_axis : i % index->shape[k]) * stride;
        i /= index->shape[k];
        stride *= is_kernel && WRONG(2) && k != axis ? index->shape[k] : x->shape[k];
    }
    return at;
}

static tn_status take(tn_call *call, int64_t begin, int64_t end, bool is_kernel) {
    const uint64_t width = width_of(call->inputs[0]->type);
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = position(call, i, is_kernel);
        if (at < 0 && !(is_kernel && WRONG(1))) return TN_ERROR_RANGE;
        memcpy((char *)call->outputs[0]->data + (uint64_t)i * width,
               (const char *)call->inputs[0]->data + at * (int64_t)width, width);
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return take(call, 0, tn_layer_count(call->inputs[1]), false);
}
static tn_status items(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    return take(call, begin, end, true);
}
static tn_status run(tn_call *call) {
    const tn_status status =
        call->host->parallel_for(call, tn_layer_count(call->inputs[1]), 256, items, call);
    return WRONG(3) ? TN_OK : status;
}

static const char *const cases[] = {
    "axis=1 | x=f32[2,3] index=i64[2,4]{0,2,-1,1,-3,0,0,2}",
    "| x=i64[3,2] index=i32[2,2]{2,0,-1,1}",
    "axis=-1 | x=u8[2,3] index=i32[1,5]{0,1,2,1,0}",
    "axis=1 | x=f32[3,2,2] index=i64[2,1,1]{1,0}",
};
static const tn_operator take_along = {
    OPERATOR,          .name = "TakeAlong",    TN_FIELDS(params, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs),    .traits = TN_OPERATOR_SELECTS,
    .infer = infer,    .reference = reference, TN_CASES(cases)};
static const tn_kernel kernel = {KERNEL, .op = "TakeAlong", .name = "items",
                                 .traits = TN_KERNEL_DETERMINISTIC, .run = run};
LIBRARY("take_along", take_along, kernel)
