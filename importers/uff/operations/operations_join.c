/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that join tensors or pick from them: Concat, Stack, Pad, Gather. Where they work on
 * short lists of integers the numbers are followed, since shapes are computed so. StridedSlice is
 * operations_slice.c.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * Concat, Stack */

/* The order in which several inputs are joined: that of the first one that is no constant. */
static tn_uff_order common_order(const tn_uff_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (!call->inputs[i]->data) return call->inputs[i]->storage;
    return tn_uff_order_plain();
}

static tn_status check_ranks(const tn_uff_call *call) {
    const tn_uff_value *first = call->inputs[0];
    for (uint32_t i = 1; i < call->input_count; i++)
        if (call->inputs[i]->rank != first->rank)
            return tn_fail(TN_ERROR_SHAPE, "'%s' has rank %" PRIu32 " and '%s' %" PRIu32,
                           first->name, first->rank, call->inputs[i]->name, call->inputs[i]->rank);
    return TN_OK;
}

/* The numbers of all inputs one after the other; null when some are not known. */
static tn_status join_integers(const tn_uff_call *call, uint32_t rank, const int64_t **out_integers,
                               size_t *out_count) {
    size_t total = 0, count = 0;
    *out_integers = NULL;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (call->inputs[i]->rank != rank || !tn_uff_integers(call->inputs[i], &count))
            return TN_OK;
        total += count;
        if (total > TN_UFF_INTEGERS_AT_MOST) return TN_OK;
    }
    int64_t *values = tn_arena_allocate(call->reader->arena, total, sizeof(*values));
    if (!values) return tn_fail_memory("a list");
    *out_integers = values;
    *out_count = total;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const int64_t *from = tn_uff_integers(call->inputs[i], &count);
        memcpy(values, from, count * sizeof(*values));
        values += count;
    }
    return TN_OK;
}

/* Follows a list; what is known whole is a constant and needs no node. */
static tn_status follow_join(const tn_uff_call *call, uint32_t rank) {
    const int64_t *values;
    size_t count;
    TN_TRY(join_integers(call, rank, &values, &count));
    if (!values) return TN_OK;
    call->output->type = call->inputs[0]->type;
    return tn_uff_integers_set(call->reader, call->output, 1, count, values);
}

/* Nodes of several inputs take one type: a list of numbers serves for another's. */
static tn_import_tensor *gather_inputs(const tn_uff_call *call, const tn_uff_order *order) {
    tn_uff_reader *reader = call->reader;
    tn_import_tensor *inputs = tn_arena_allocate(reader->arena, call->input_count, sizeof(*inputs));
    if (!inputs) tn_emit_keep(&reader->emit, tn_fail_memory("a node's inputs"));
    for (uint32_t i = 0; inputs && i < call->input_count; i++)
        inputs[i] = tn_uff_ordered(reader, call->inputs[i], order);
    return inputs;
}

tn_status tn_uff_read_concat(tn_uff_call *call) {
    const tn_uff_value *first = call->inputs[0];
    tn_uff_value *y = call->output;
    uint32_t axis;
    TN_TRY(tn_uff_field_require(call, "axis"));
    TN_TRY(check_ranks(call));
    TN_TRY(tn_uff_field_axis(call, true, first->rank, &axis));
    if (first->rank == 1) TN_TRY(follow_join(call, 1));
    if (y->data) return TN_OK;
    tn_uff_value_like(y, first);
    y->storage = common_order(call);
    for (uint32_t i = 1; i < call->input_count; i++) {
        const int64_t more = call->inputs[i]->extents[axis];
        const bool is_open = tn_uff_is_open(more) || tn_uff_is_open(y->extents[axis]);
        if (is_open || !tn_add_i64(y->extents[axis], more, &y->extents[axis]))
            y->extents[axis] = tn_uff_open(call->reader);
    }
    const tn_emit_tensors inputs = {call->input_count, gather_inputs(call, &y->storage)};
    return tn_uff_emit(call, "Concat",
                       TN_EMIT(tn_emit_i64("axis", tn_uff_order_find(&y->storage, axis))), inputs);
}

/* Inputs get an axis of one element, and are joined along it. */
tn_status tn_uff_read_stack(tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    const tn_uff_value *first = call->inputs[0];
    const tn_uff_order plain = tn_uff_order_plain();
    tn_uff_value *y = call->output;
    uint32_t axis;
    TN_TRY(check_ranks(call));
    if (first->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %d is the highest there is", TN_MAX_RANK);
    TN_TRY(tn_uff_field_axis(call, false, first->rank + 1, &axis));
    if (first->rank == 0) TN_TRY(follow_join(call, 0));
    if (y->data) return TN_OK;
    y->type = first->type;
    tn_uff_value_insert_axis(first, axis, call->input_count, y);
    const int64_t position = axis;
    tn_import_tensor *inputs = gather_inputs(call, &plain);
    TN_TRY(reader->emit.status);
    for (uint32_t i = 0; i < call->input_count; i++)
        inputs[i] =
            tn_uff_emit_as(reader, tn_emit_name(&reader->emit, "part"), "Unsqueeze",
                           TN_EMIT(tn_emit_i64s("axes", 1, &position)), TN_TENSORS(inputs[i]));
    return tn_uff_emit(call, "Concat", TN_EMIT(tn_emit_i64("axis", position)),
                       (tn_emit_tensors){call->input_count, inputs});
}

/* ----------------------------------------------------------------------------------------------
 * Pad, Gather */

tn_status tn_uff_read_pad(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    const tn_uff_value *paddings = call->inputs[1];
    int64_t pads[2 * TN_MAX_RANK] = {0};
    if (!paddings->data || !tn_type_is_integer(paddings->type) || paddings->rank != 2 ||
        paddings->extents[0] != x->rank || paddings->extents[1] != 2)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the paddings ('%s') must be a constant of [%" PRIu32 ", 2] integers",
                       paddings->name, x->rank);
    tn_uff_value_like(y, x);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        const uint32_t position = tn_uff_order_find(&x->storage, axis);
        const int64_t before = tn_element_get_i64(paddings->data, paddings->type, 2 * (size_t)axis);
        const int64_t after =
            tn_element_get_i64(paddings->data, paddings->type, 2 * (size_t)axis + 1);
        if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX)
            return tn_fail(TN_ERROR_FORMAT,
                           "axis %" PRIu32 " is padded by %" PRId64 " and %" PRId64, axis, before,
                           after);
        pads[position] = before;
        pads[x->rank + position] = after;
        if (before + after == 0) continue;
        if (tn_uff_is_open(x->extents[axis]) ||
            !tn_add_i64(x->extents[axis], before + after, &y->extents[axis]))
            y->extents[axis] = tn_uff_open(call->reader);
    }
    const tn_import_tensor input = tn_uff_stored(call->reader, x);
    const tn_import_tensor list =
        tn_emit_list(&call->reader->emit, "pads", 2 * (size_t)x->rank, pads);
    return tn_uff_emit(call, "Pad", NULL, TN_TENSORS(input, list));
}

static tn_status gather_integers(const tn_uff_call *call) {
    const tn_uff_value *indices = call->inputs[1];
    size_t count = 0, index_count = 0;
    const int64_t *values = tn_uff_integers(call->inputs[0], &count);
    const int64_t *positions = tn_uff_integers(indices, &index_count);
    if (!values || !positions || call->inputs[0]->rank != 1) return TN_OK;
    int64_t *results = tn_arena_allocate(call->reader->arena, index_count, sizeof(*results));
    if (!results) return tn_fail_memory("a list");
    for (size_t i = 0; i < index_count; i++) {
        if (tn_uff_is_open(positions[i]) || positions[i] < 0 || positions[i] >= (int64_t)count)
            return TN_OK;
        results[i] = values[positions[i]];
    }
    call->output->type = call->inputs[0]->type;
    return tn_uff_integers_set(call->reader, call->output, indices->rank, index_count, results);
}

/* Along axis 0 (Gather), or the field's (GatherV2). */
tn_status tn_uff_read_gather(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *indices = call->inputs[1], *y = call->output;
    uint32_t axis;
    TN_TRY(tn_uff_field_axis(call, false, x->rank, &axis));
    if (x->rank - 1 + indices->rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE,
                       "the output would have rank %" PRIu32 "; at most %d is possible",
                       x->rank - 1 + indices->rank, TN_MAX_RANK);
    TN_TRY(gather_integers(call));
    if (y->data) return TN_OK;
    y->type = x->type;
    y->rank = x->rank - 1 + indices->rank;
    for (uint32_t i = 0; i < y->rank; i++)
        y->extents[i] = i < axis                   ? x->extents[i]
                        : i < axis + indices->rank ? indices->extents[i - axis]
                                                   : x->extents[i - indices->rank + 1];
    const tn_import_tensor data = tn_uff_plain(call->reader, x);
    const tn_import_tensor positions = tn_uff_plain(call->reader, indices);
    return tn_uff_emit(call, "Gather", TN_EMIT(tn_emit_i64("axis", axis)),
                       TN_TENSORS(data, positions));
}
