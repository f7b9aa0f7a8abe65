/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OneHot: a new axis of `depth` elements, with the on-value where the index says and the off-value
 * elsewhere. Negative indices count from the end; those outside switch nothing on.
 */
#include <tenon/kit/lanes.h>
#include "kit/math/element.h"
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"

enum { ONE_HOT_INDICES = 0, ONE_HOT_DEPTH = 1, ONE_HOT_VALUES = 2 };

static const tn_field one_hot_fields[] = {
    TN_AXIS_FIELD(TN_OPTIONAL, "-1",
                  "where the new axis stands in the output; negative: from the end"),
};

static tn_status read_axis(tn_call *call, uint32_t *out_axis) {
    TN_TRY(tn_infer_require_rank(call, ONE_HOT_INDICES, 0, TN_MAX_RANK - 1));
    return tn_axis_read(call, call->inputs[ONE_HOT_INDICES]->rank + 1, out_axis);
}

static tn_status one_hot_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t axis = 0;
    TN_TRY(read_axis(call, &axis));
    const tn_tensor *indices = call->inputs[ONE_HOT_INDICES], *depth = call->inputs[ONE_HOT_DEPTH];
    if (tn_element_count(depth) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'depth' must be one number");
    if (tn_element_count(call->inputs[ONE_HOT_VALUES]) != 2)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'values' must be two numbers, for off and on");
    if (!depth->data)
        return call->host->fail(call, TN_ERROR_STATE, "the value of input 'depth' is not known");
    for (uint32_t i = 0; i <= indices->rank; i++)
        shape[i] = i == axis ? tn_element_i64(depth, 0) : indices->shape[i > axis ? i - 1 : i];
    return tn_infer_set_shape(call, 0, indices->rank + 1, shape);
}

/* The element that index number `at` switches on, or -1. */
static int64_t find_element(const tn_tensor *indices, int64_t at, int64_t depth) {
    const double value = tn_element_f64(indices, at);
    if (!(value >= -(double)depth && value < (double)depth)) return -1;
    const int64_t index = tn_element_i64(indices, at);
    return index < 0 ? index + depth : index;
}

static tn_status one_hot_reference(tn_call *call) {
    const tn_tensor *indices = call->inputs[ONE_HOT_INDICES], *y = call->outputs[0];
    const char *values = call->inputs[ONE_HOT_VALUES]->data;
    const size_t bytes = tn_element_bytes(y->type);
    uint32_t axis = 0;
    TN_TRY(read_axis(call, &axis));
    if (tn_element_count(y) == 0) return TN_OK;
    const tn_lanes lanes = tn_lanes_along(y, axis, axis + 1);
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++) {
        const int64_t element = find_element(indices, lane, lanes.count);
        char *to = (char *)y->data + (size_t)tn_lanes_first(&lanes, lane) * bytes;
        for (int64_t k = 0; k < lanes.count; k++, to += (size_t)lanes.inner * bytes)
            memcpy(to, k == element ? values + bytes : values, bytes);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernel: all elements are off, then those that indices name are on */

typedef struct one_hot_job {
    const tn_tensor *indices, *y;
    const char *values;
    tn_lanes lanes;
    size_t bytes; /* of an element */
} one_hot_job;

/* An item is an element. */
static tn_status switch_off(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const one_hot_job *job = user;
    (void)thread;
    tn_element_fill((char *)job->y->data + (size_t)begin * job->bytes, job->bytes, end - begin,
                    job->values);
    return TN_OK;
}

/* An item is a lane. */
static tn_status switch_on(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const one_hot_job *job = user;
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++) {
        const int64_t element = find_element(job->indices, lane, job->lanes.count);
        const int64_t at = tn_lanes_first(&job->lanes, lane) + element * job->lanes.inner;
        if (element >= 0)
            memcpy((char *)job->y->data + (size_t)at * job->bytes, job->values + job->bytes,
                   job->bytes);
    }
    return TN_OK;
}

static tn_status one_hot_run(tn_call *call) {
    enum { GRAIN = 16384, LANES = 2048 };
    one_hot_job job = {.indices = call->inputs[ONE_HOT_INDICES],
                       .y = call->outputs[0],
                       .values = call->inputs[ONE_HOT_VALUES]->data,
                       .bytes = tn_element_bytes(call->outputs[0]->type)};
    uint32_t axis = 0;
    TN_TRY(read_axis(call, &axis));
    if (tn_element_count(job.y) == 0) return TN_OK;
    job.lanes = tn_lanes_along(job.y, axis, axis + 1);
    TN_TRY(call->host->parallel_for(call, tn_element_count(job.y), GRAIN, switch_off, &job));
    return call->host->parallel_for(call, job.lanes.outer * job.lanes.inner, LANES, switch_on,
                                    &job);
}

static const tn_port one_hot_inputs[] = {
    TN_PORT("indices", "number", 0, "any tensor; what is behind the point is dropped"),
    TN_PORT("depth", "number", TN_PORT_VALUE_NEEDED, "extent of the new axis"),
    TN_PORT("values", "T:any", 0, "the off-value, then the on-value"),
};
static const tn_port one_hot_outputs[] = {TN_PORT("output", "T", 0, "off and on")};
static const char *const one_hot_cases[] = {
    "| indices=i64[3]{0,7,8} depth=i64[]{10} values=i32[2]{1,3}",
    "axis=1 | indices=f32[2,2]{1,9,2,4} depth=f32[]{10} values=f32[2]{1,3}",
    "axis=0 | indices=i32[3]{0,-7,-11} depth=i64[1]{10} values=f16[2]{0,1}",
    "axis=-2 | indices=u8[2,3] depth=i32[]{4} values=bool[2]{1,0}",
    "| indices=i64[]{2} depth=i64[]{3} values=f64[2]{0,1}",
    "| indices=i64[2]{0,1} depth=i64[]{0} values=f32[2]{0,1}",
};

TN_OPERATOR(one_hot, "", "OneHot", 9, "Indices as rows of which one element is on.",
            TN_FIELDS(tn_axis_params, one_hot_fields));

TN_CPU_KERNEL(one_hot_elements, "", "OneHot", "elements",
              "Filled and then switched on, on all threads.", .run = one_hot_run);

TN_LAYER(one_hot, TN_OPERATORS(&one_hot_9), TN_KERNELS(&one_hot_elements));
