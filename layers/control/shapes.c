/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of what bodies compute, as far as they are known before a run; see control.h. */
#include "control.h"

#include <string.h>

void tn_control_shapes_init(tn_control_shapes *shapes) {
    memset(shapes, 0, sizeof(*shapes));
    for (uint32_t i = 0; i < TN_BODY_MAX_PORTS; i++) {
        shapes->tensors[i].size = sizeof(tn_tensor);
        shapes->tensors[i].shape = shapes->extents[i];
        shapes->tensors[i].strides = shapes->extents[i];
        shapes->pointers[i] = &shapes->tensors[i];
    }
}

void tn_control_shapes_set(tn_control_shapes *shapes, uint32_t index, const tn_tensor *tensor) {
    tn_tensor *to = &shapes->tensors[index];
    to->type = tensor->type;
    to->kind = tensor->kind;
    to->reserved = tensor->reserved;
    to->rank = tensor->kind ? 0 : tn_control_rank(tensor);
    to->bytes = tensor->bytes;
    for (uint32_t axis = 0; axis < to->rank; axis++)
        to->shape[axis] = tensor->shape[axis];
}

tn_status tn_control_ask(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                         tn_control_shapes *made) {
    tn_control_shapes_init(made);
    for (uint32_t i = 0; i < body->output_count; i++)
        made->tensors[i].rank = TN_RANK_UNKNOWN;
    const tn_status status = tn_control_bodies(call)->infer(call, body, inputs, made->pointers);
    for (uint32_t i = 0; i < body->output_count; i++)
        if (made->tensors[i].rank == TN_RANK_UNKNOWN) made->tensors[i].rank = TN_CONTROL_NO_RANK;
    return status;
}

void tn_control_join(tn_tensor *into, const tn_tensor *other) {
    const uint32_t rank = tn_control_rank(into);
    if (into->rank != other->rank) {
        if (into->rank == TN_CONTROL_NO_RANK) { /* the other is the better example */
            for (uint32_t axis = 0; axis < tn_control_rank(other); axis++)
                into->shape[axis] = other->shape[axis];
            into->rank = other->rank;
        }
        into->rank |= TN_RANK_OPEN;
        return;
    }
    for (uint32_t axis = 0; axis < rank; axis++)
        if (into->shape[axis] != other->shape[axis]) into->shape[axis] = TN_UNBOUNDED;
}

bool tn_control_is_same(const tn_tensor *a, const tn_tensor *b) {
    bool is_same = a->rank == b->rank && a->rank <= TN_MAX_RANK;
    for (uint32_t axis = 0; is_same && axis < a->rank; axis++)
        is_same = a->shape[axis] == b->shape[axis] && a->shape[axis] >= 0;
    return is_same;
}

tn_status tn_control_write(tn_call *call, uint32_t output, const tn_tensor *result, uint32_t axis,
                           int64_t length) {
    const uint32_t rank = tn_control_rank(result), more = length != TN_CONTROL_NO_LENGTH;
    tn_tensor *to = tn_infer_output(call, output);
    if (!to) return TN_OK;
    if (result->kind) { /* what its items have in common the run finds */
        to->type = result->type;
        tn_map_set_key_type(to, tn_map_key_type(result));
        to->rank = TN_RANK_UNKNOWN;
        return TN_OK;
    }
    if (rank + more > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "output %u has rank %u: at most %d is possible", output,
                                rank + more, TN_MAX_RANK);
    to->type = result->type;
    to->rank = (rank + more) | (result->rank & TN_RANK_OPEN);
    for (uint32_t i = 0; i < rank; i++)
        to->shape[i + (more && i >= axis)] = result->shape[i];
    if (more) to->shape[axis] = length;
    return TN_OK;
}

const char *tn_control_type(tn_type type) {
    static const char *const names[TN_TYPE_COUNT] = {
        "none",   "f64",    "f32", "f16", "bf16", "i64",    "i32",        "i16",    "i8",
        "u64",    "u32",    "u16", "u8",  "bool", "f8e4m3", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz",
        "f8e8m0", "f4e2m1", "i4",  "u4",  "i2",   "u2",     "string"};
    return type < TN_TYPE_COUNT ? names[type] : "a type that is not known";
}

tn_status tn_control_check_type(tn_call *call, const char *what, uint32_t index,
                                const tn_tensor *like, const tn_tensor *result) {
    if (like->type == result->type) return TN_OK;
    return call->host->fail(call, TN_ERROR_TYPE, "%s %u of the body is %s: expected %s", what,
                            index, tn_control_type(result->type), tn_control_type(like->type));
}

tn_status tn_control_require_one(tn_call *call, uint32_t input) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    if (!tensor) return TN_OK;
    TN_TRY(tn_infer_require_rank(call, input, 0, 1));
    if (tn_element_count(tensor) == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one element",
                            tn_infer_input_name(call, input));
}
