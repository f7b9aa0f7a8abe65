/* SPDX-License-Identifier: Apache-2.0 */
/* ConcatFromSequence: all items behind each other along an axis of theirs, or along a new one. */
#include "sequence.h"

#include <string.h>

typedef struct concat_params {
    uint64_t present;
    int64_t axis;
    bool new_axis;
} concat_params;

static tn_status first_item(tn_call *call, uint64_t *out_length, const tn_tensor **out_item) {
    const tn_sequence_service *lists = tn_sequence_lists(call);
    TN_TRY(lists->length(call, call->inputs[0], out_length));
    if (*out_length == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "a sequence without items has no shape");
    return lists->item(call, call->inputs[0], 0, out_item);
}

static bool fits(const tn_tensor *item, const tn_tensor *first, uint32_t axis, bool is_new) {
    bool answer = item->rank == first->rank;
    for (uint32_t i = 0; answer && i < first->rank; i++)
        answer = item->shape[i] == first->shape[i] || (i == axis && !is_new);
    return answer;
}

/* The extent along the axis. */
static tn_status add_up(tn_call *call, uint64_t length, const tn_tensor *first, uint32_t axis,
                        int64_t *out_extent) {
    const concat_params *params = call->params;
    *out_extent = 0;
    for (uint64_t i = 0; i < length; i++) {
        const tn_tensor *item = NULL;
        TN_TRY(tn_sequence_lists(call)->item(call, call->inputs[0], i, &item));
        if (!fits(item, first, axis, params->new_axis))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "item %llu differs from the first one along another axis",
                                    (unsigned long long)i);
        if (!tn_infer_add(*out_extent, params->new_axis ? 1 : item->shape[axis], out_extent))
            return call->host->fail(call, TN_ERROR_SHAPE, "the items are too long");
    }
    return TN_OK;
}

/* Before a run: the rank, with extents of -1, which the run says. */
static void infer_open(tn_call *call) {
    const concat_params *params = call->params;
    const uint32_t rank = call->inputs[0]->rank;
    call->outputs[0]->rank = rank == TN_RANK_UNKNOWN ? rank : rank + params->new_axis;
}

static tn_status concat_infer(tn_call *call) {
    const concat_params *params = call->params;
    const tn_tensor *first = NULL;
    uint64_t length = 0;
    uint32_t axis = 0;
    int64_t extent = 0, shape[TN_MAX_RANK + 1];
    if (!call->inputs[0]->data) {
        infer_open(call);
        return TN_OK;
    }
    TN_TRY(first_item(call, &length, &first));
    const uint32_t rank = first->rank + params->new_axis;
    if (rank > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "the result has rank %u", rank);
    TN_TRY(tn_infer_axis(call, "axis", params->axis, rank, &axis));
    TN_TRY(add_up(call, length, first, axis, &extent));
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = i == axis ? extent : first->shape[i - (params->new_axis && i > axis)];
    return tn_infer_set_shape(call, 0, rank, shape);
}

/* Rows of items behind each other, `bytes` of an item and `pitch` of the output each; of strings
 * their bytes are appended. */
static tn_status put_rows(tn_call *call, const tn_tensor *item, uint64_t rows, uint64_t at) {
    const tn_tensor *output = call->outputs[0];
    const uint64_t bytes = item->bytes / rows, pitch = output->bytes / rows;
    for (uint64_t row = 0; row < rows && bytes > 0; row++) {
        const uint64_t to = row * pitch + at, from = row * bytes;
        if (item->type != TN_STRING)
            memcpy((unsigned char *)output->data + to, (const unsigned char *)item->data + from,
                   bytes);
        for (uint64_t i = 0; item->type == TN_STRING && i < bytes; i += sizeof(tn_string))
            TN_TRY(tn_strings_append(call, (int64_t)((to + i) / sizeof(tn_string)), item,
                                     (int64_t)((from + i) / sizeof(tn_string))));
    }
    return TN_OK;
}

static tn_status concat_reference(tn_call *call) {
    const concat_params *params = call->params;
    const tn_tensor *output = call->outputs[0], *item = NULL;
    uint64_t length = 0, at = 0;
    uint32_t axis = 0;
    TN_TRY(first_item(call, &length, &item));
    TN_TRY(tn_infer_axis(call, "axis", params->axis, output->rank, &axis));
    const uint64_t rows = (uint64_t)tn_infer_product(output->shape, 0, axis);
    for (uint64_t i = 0; i < length && output->bytes > 0; i++) {
        TN_TRY(tn_sequence_lists(call)->item(call, call->inputs[0], i, &item));
        TN_TRY(put_rows(call, item, rows, at));
        at += item->bytes / rows;
    }
    return TN_OK;
}

static const tn_field concat_fields[] = {
    TN_FIELD(concat_params, axis, TN_FIELD_I64, TN_REQUIRED, NULL, "along which they are put"),
    TN_FIELD(concat_params, new_axis, TN_FIELD_BOOL, TN_OPTIONAL, "0", "whether it is a new one"),
};
static const tn_port concat_inputs[] = {
    TN_PORT("input_sequence", "seq(T:any|string)", 0, "the items")};
static const tn_port concat_outputs[] = {TN_PORT("concat_result", "T", 0, "all of them")};
static const char *const concat_cases[] = {
    "axis=0 | input_sequence=f32[2,3] input_sequence=f32[1,3]",
    "axis=-1 | input_sequence=f32[2,3] input_sequence=f32[2,1]",
    "axis=1 new_axis=1 | input_sequence=f32[2,3] input_sequence=f32[2,3]",
    "axis=0 new_axis=1 | input_sequence=i64[] input_sequence=i64[]",
    ("axis=1 | input_sequence=string[2,1]{a,b} input_sequence=string[2,2]{c,d,e,f} | "
     "concat_result=string[2,3]{a,c,d,b,e,f}")};
const tn_operator tn_sequence_concat = TN_OPERATOR_TABLE(concat, "", "ConcatFromSequence", 11,
                                                         "All items of a sequence as one tensor.",
                                                         TN_FIELDS(concat_params, concat_fields));
