/* SPDX-License-Identifier: Apache-2.0 */
/* SplitToSequence: pieces of a tensor along an axis, of lengths that `split` has, all of one that
 * it has as a scalar (the last may be shorter), or of 1, the axis then kept or not. */
#include "sequences.h"

#include <string.h>

typedef struct split_params {
    uint64_t present;
    int64_t axis, keepdims;
} split_params;

/* The length of piece `index`. */
static int64_t piece_of(const tn_tensor *split, uint64_t index, int64_t left) {
    const int64_t *lengths = split ? split->data : NULL;
    const int64_t length = !split ? 1 : lengths[split->rank ? index : 0];
    return length < left || (split && split->rank) ? length : left;
}

static bool is_squeezed(const tn_call *call) {
    const split_params *params = call->params;
    return !call->inputs[1] && !params->keepdims;
}

/* The shape of a piece; answers its rank. */
static uint32_t shape_of(const tn_call *call, uint32_t axis, int64_t length, int64_t *extents) {
    const tn_tensor *x = call->inputs[0];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis || !is_squeezed(call)) extents[rank++] = i == axis ? length : x->shape[i];
    return rank;
}

static tn_status infer(tn_call *call) {
    const split_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *split = call->inputs[1];
    uint32_t axis = 0;
    const tn_status status = read_axis(call, params->axis, x->rank, &axis);
    if (status != TN_OK) return status;
    int64_t length = 1;
    if (split && split->rank) length = -1;
    if (split && !split->rank) {
        length = *(const int64_t *)split->data;
        if (length <= 0)
            return call->host->fail(call, TN_ERROR_RANGE, "pieces of length %lld",
                                    (long long)length);
        if (x->shape[axis] % length != 0) length = -1;
    }
    call->outputs[0]->rank = shape_of(call, axis, length, call->outputs[0]->shape);
    return TN_OK;
}

static tn_status add_piece(tn_call *call, uint32_t axis, int64_t begin, int64_t length) {
    const tn_tensor *x = call->inputs[0];
    int64_t extents[TN_MAX_RANK];
    uint64_t rows = 1;
    void *data = NULL;
    for (uint32_t i = 0; i < axis; i++)
        rows *= (uint64_t)x->shape[i];
    const tn_status status = lists(call)->append(
        call, call->outputs[0], shape_of(call, axis, length, extents), extents, &data);
    if (status != TN_OK || rows == 0 || x->bytes == 0) return status;
    const uint64_t row = x->bytes / rows, each = row / (uint64_t)x->shape[axis],
                   wanted = each * (uint64_t)length;
    for (uint64_t i = 0; i < rows; i++)
        memcpy((char *)data + i * wanted, (const char *)x->data + i * row + (uint64_t)begin * each,
               wanted);
    return status;
}

static tn_status run(tn_call *call) {
    const split_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *split = call->inputs[1];
    uint32_t axis = 0;
    tn_status status = read_axis(call, params->axis, x->rank, &axis);
    const uint64_t most = split && split->rank ? (uint64_t)split->shape[0] : UINT64_MAX;
    int64_t begin = 0;
    for (uint64_t i = 0; status == TN_OK && i < most && begin < x->shape[axis]; i++) {
        const int64_t length = piece_of(split, i, x->shape[axis] - begin);
        if (length < 0 || length > x->shape[axis] - begin)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "a piece of %lld elements at %lld of %lld", (long long)length,
                                    (long long)begin, (long long)x->shape[axis]);
        status = add_piece(call, axis, begin, length);
        begin += length;
    }
    if (status == TN_OK && begin != x->shape[axis])
        return call->host->fail(call, TN_ERROR_SHAPE, "the pieces have %lld of %lld elements",
                                (long long)begin, (long long)x->shape[axis]);
    return status;
}

static const tn_field fields[] = {
    TN_FIELD(split_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0", "along which it is cut"),
    TN_FIELD(split_params, keepdims, TN_FIELD_I64, TN_OPTIONAL, "1",
             "whether the axis stays, without `split`"),
};
static const tn_port inputs[] = {
    TN_PORT("input", "T:any", 0, "what is cut"),
    TN_PORT("split", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "lengths"),
};
static const tn_port outputs[] = {TN_PORT("output_sequence", "seq(T)", 0, "the pieces")};
static const char *const cases[] = {"| input=f32[5,2] split=i64[]{2}",
                                    "axis=-1 | input=f32[2,6] split=i64[3]{1,2,3}",
                                    "axis=1 keepdims=0 | input=i64[2,3]", "| input=f32[3]"};
const tn_operator split_operator = {SEQUENCE_OPERATOR("SplitToSequence", "pieces of a tensor"),
                                    TN_FIELDS(split_params, fields), TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs), TN_CASES(cases)};
const tn_kernel split_kernel = {SEQUENCE_KERNEL("SplitToSequence", "copies rows")};
