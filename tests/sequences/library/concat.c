/* SPDX-License-Identifier: Apache-2.0 */
/* ConcatFromSequence: all items behind each other along an axis of theirs, or along a new one. */
#include "sequences.h"

#include <string.h>

typedef struct concat_params {
    uint64_t present;
    int64_t axis, new_axis;
} concat_params;

static tn_status first_item(tn_call *call, uint64_t *out_count, const tn_tensor **out_item) {
    const tn_status status = lists(call)->length(call, call->inputs[0], out_count);
    if (status != TN_OK) return status;
    if (*out_count == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "a sequence without items has no shape");
    return lists(call)->item(call, call->inputs[0], 0, out_item);
}

static bool fits(const tn_tensor *item, const tn_tensor *first, uint32_t axis, bool is_new) {
    bool answer = item->rank == first->rank;
    for (uint32_t i = 0; answer && i < first->rank; i++)
        answer = item->shape[i] == first->shape[i] || (i == axis && !is_new);
    return answer;
}

static tn_status infer(tn_call *call) {
    const concat_params *params = call->params;
    tn_tensor *output = call->outputs[0];
    const tn_tensor *first = NULL, *item = NULL;
    uint64_t count = 0;
    uint32_t axis = 0;
    if (!call->inputs[0]->data) {
        const uint32_t rank = call->inputs[0]->rank;
        output->rank = rank == TN_RANK_UNKNOWN ? rank : rank + (params->new_axis != 0);
        return TN_OK; /* the extents are -1, and the run says them */
    }
    tn_status status = first_item(call, &count, &first);
    if (status == TN_OK)
        status = read_axis(call, params->axis, first->rank + (params->new_axis != 0), &axis);
    if (status != TN_OK) return status;
    int64_t extent = 0;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        status = lists(call)->item(call, call->inputs[0], i, &item);
        if (status == TN_OK && !fits(item, first, axis, params->new_axis))
            return call->host->fail(call, TN_ERROR_SHAPE, "item %llu has another shape",
                                    (unsigned long long)i);
        extent += params->new_axis ? 1 : item->shape[axis];
    }
    output->rank = first->rank + (params->new_axis != 0);
    for (uint32_t i = 0; i < output->rank; i++)
        output->shape[i] = i == axis ? extent : first->shape[i - (params->new_axis && i > axis)];
    return status;
}

static tn_status run(tn_call *call) {
    const concat_params *params = call->params;
    tn_tensor *output = call->outputs[0];
    const tn_tensor *item = NULL;
    uint64_t count = 0, rows = 1, at = 0;
    uint32_t axis = 0;
    tn_status status = first_item(call, &count, &item);
    if (status == TN_OK) status = read_axis(call, params->axis, output->rank, &axis);
    for (uint32_t i = 0; i < axis; i++)
        rows *= (uint64_t)output->shape[i];
    for (uint64_t i = 0; i < count && status == TN_OK && output->bytes > 0; i++) {
        status = lists(call)->item(call, call->inputs[0], i, &item);
        const uint64_t bytes = item->bytes / rows, pitch = output->bytes / rows;
        for (uint64_t row = 0; row < rows; row++)
            memcpy((char *)output->data + row * pitch + at, (const char *)item->data + row * bytes,
                   bytes);
        at += bytes;
    }
    return status;
}

static const tn_field fields[] = {
    TN_FIELD(concat_params, axis, TN_FIELD_I64, TN_REQUIRED, NULL, "along which they are put"),
    TN_FIELD(concat_params, new_axis, TN_FIELD_I64, TN_OPTIONAL, "0", "whether it is a new one"),
};
static const tn_port inputs[] = {TN_PORT("input_sequence", "seq(T:any)", 0, "the items")};
static const tn_port outputs[] = {TN_PORT("concat_result", "T", 0, "all of them")};
static const char *const cases[] = {
    "axis=0 | input_sequence=f32[2,3] input_sequence=f32[1,3]",
    "axis=-1 | input_sequence=f32[2,3] input_sequence=f32[2,1]",
    "axis=1 new_axis=1 | input_sequence=f32[2,3] input_sequence=f32[2,3]"};
const tn_operator concat_operator = {SEQUENCE_OPERATOR("ConcatFromSequence", "all items as one"),
                                     TN_FIELDS(concat_params, fields), TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs), TN_CASES(cases)};
const tn_kernel concat_kernel = {SEQUENCE_KERNEL("ConcatFromSequence", "copies rows")};
