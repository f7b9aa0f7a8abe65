/* SPDX-License-Identifier: Apache-2.0 */
/* Take: slices of a tensor along an axis, by their indices. */
#include "fourth.h"

TN_LAYER_PARAMS(params, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(params, axis, "0", -8, 7, "below 0: from the end")};
static const tn_port inputs[] = {
    TN_PORT("data", "T:any", 0, "at least one axis"),
    TN_PORT("indices", "I:i32|i64", 0, "below 0: from the end of the axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the axis replaced by those of indices")};

static tn_status infer(tn_call *call) {
    const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
    const int64_t field = ((const params *)call->params)->axis;
    const int64_t axis = field < 0 ? field + data->rank : field;
    tn_tensor *y = call->outputs[0];
    if (axis < 0 || axis >= (int64_t)data->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of a tensor of rank %u",
                                (long long)field, data->rank);
#if MISTAKE != 7 /* MISTAKE: more axes than a tensor may have */
    if (data->rank - 1 + indices->rank > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "the result has %u axes",
                                data->rank - 1 + indices->rank);
#endif
    y->rank = 0;
    for (uint32_t i = 0; i < data->rank; i++)
        if (i != axis)
            y->shape[y->rank++] = data->shape[i];
        else
            for (uint32_t k = 0; k < indices->rank; k++)
                y->shape[y->rank++] = indices->shape[k];
    return TN_OK;
}

typedef struct plan {
    int64_t outer, extent, many;
    size_t slice;
} plan;
static plan make_plan(const tn_call *call) {
    const tn_tensor *data = call->inputs[0];
    const int64_t field = ((const params *)call->params)->axis;
    const uint32_t axis = (uint32_t)(field < 0 ? field + data->rank : field);
    plan p = {.extent = data->shape[axis], .many = tn_layer_count(call->inputs[1])};
    p.slice = (size_t)fourth_extent(data, axis + 1, data->rank) * fourth_bytes(data->type);
    p.outer = p.slice > 0 ? fourth_extent(data, 0, axis) : 0;
    return p;
}
static int64_t read_index(const tn_tensor *indices, int64_t i) {
    return indices->type == TN_I64 ? ((const int64_t *)indices->data)[i]
                                   : ((const int32_t *)indices->data)[i];
}

static tn_status reference(tn_call *call) {
    const plan p = make_plan(call);
    for (int64_t k = 0; k < p.many; k++) {
        int64_t index = read_index(call->inputs[1], k);
        if (index < -p.extent || index >= p.extent)
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld of %lld", (long long)index,
                                    (long long)p.extent);
        if (index < 0) index += p.extent;
        for (int64_t o = 0; o < p.outer; o++)
            memcpy((char *)call->outputs[0]->data + (size_t)(o * p.many + k) * p.slice,
                   (const char *)call->inputs[0]->data + (size_t)(o * p.extent + index) * p.slice,
                   p.slice);
    }
    return TN_OK;
}

/* Items are indices. */
static tn_status slices(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    plan p = make_plan(call);
    (void)thread;
#if MISTAKE == 5
    p.slice = p.slice / fourth_bytes(call->inputs[0]->type) * sizeof(float); /* MISTAKE: any type */
#elif MISTAKE == 6
    p.outer = 1; /* MISTAKE: only right for the first axis */
#endif
    for (int64_t k = begin; k < end; k++) {
#if MISTAKE == 4
        int64_t index = (int32_t)read_index(call->inputs[1], k); /* MISTAKE: i64 cut to 32 bits */
#else
        int64_t index = read_index(call->inputs[1], k);
#endif
#if MISTAKE == 3
        if (index < -p.extent || index >= p.extent) return TN_ERROR_RANGE; /* MISTAKE: no reason */
#elif MISTAKE == 2
        if (index >= p.extent) /* MISTAKE: nor may it be too far below 0 */
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld of %lld", (long long)index,
                                    (long long)p.extent);
#elif MISTAKE == 1
        if (index < 0) index = 0; /* MISTAKE: counts from the end */
        if (index >= p.extent)
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld of %lld", (long long)index,
                                    (long long)p.extent);
#else
        if (index < -p.extent || index >= p.extent)
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld of %lld", (long long)index,
                                    (long long)p.extent);
#endif
        if (index < 0) index += p.extent;
        for (int64_t o = 0; o < p.outer; o++)
            memcpy((char *)call->outputs[0]->data + (size_t)(o * p.many + k) * p.slice,
                   (const char *)call->inputs[0]->data + (size_t)(o * p.extent + index) * p.slice,
                   p.slice);
    }
    return TN_OK;
}
TN_LAYER_RUN(slices, tn_layer_count(call->inputs[1]), 8)

static const char *const cases[] = {
    "| data=f32[5,4] indices=i64[3]{0,4,2}",
    "axis=1 | data=f32[2,3,4] indices=i64[2,2]{0,1,2,-1}",
    "axis=-1 | data=i64[3,6] indices=i32[2]{5,-6}",
    "| data=bool[7] indices=i64[]{3}",
};
FOURTH_OPERATOR("Take", "Slices along an axis by their indices.", .state_version = 1,
                .traits = TN_OPERATOR_SELECTS, TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Take", "slices", .traits = TN_KERNEL_DETERMINISTIC, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("take", "1.0", operators, kernels)
