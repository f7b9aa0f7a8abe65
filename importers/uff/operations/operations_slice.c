/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StridedSlice: bounds and strides with masks, as the framework has them. Along axes of the file,
 * mapped to where they lie; of a short list of integers the numbers are followed. Bounds may come
 * at run time (slice_bounds.c), strides may not.
 */
#include "base/status.h"
#include "importers/uff/operations/slice.h"

#include <inttypes.h>
#include <string.h>

static tn_status read_mask(const tn_uff_call *call, const char *name, uint32_t *out_mask) {
    int64_t mask;
    TN_TRY(tn_uff_field_i64(call, name, 0, &mask));
    *out_mask = (uint32_t)(mask & ((1 << TN_MAX_RANK) - 1));
    return TN_OK;
}

/* The numbers of a list of bounds; those that are not known are open. */
static tn_status read_list(tn_uff_reader *reader, const tn_uff_value *list, const char *what,
                           size_t *out_count, const int64_t **out_integers) {
    const int64_t *values = tn_uff_integers(list, out_count);
    if (!values) {
        *out_count = list->rank == 0 ? 1 : (size_t)list->extents[0];
        if (list->rank > 1 || !tn_type_is_integer(list->type) ||
            (list->rank == 1 && (list->extents[0] < 0 || list->extents[0] > TN_MAX_RANK)))
            return tn_fail(
                TN_ERROR_UNSUPPORTED,
                "%s ('%s') must be a list of integers, as many as there are axes at most", what,
                list->name);
        int64_t *open = tn_arena_allocate(reader->arena, *out_count, sizeof(*open));
        if (!open) return tn_fail_memory("a list");
        for (size_t i = 0; i < *out_count; i++)
            open[i] = tn_uff_open(reader);
        values = open;
    }
    *out_integers = values;
    return TN_OK;
}

/* What is open of the bounds that are looked at; it must not be taken for a number. */
static void note_open(tn_uff_bounds *b, uint32_t axis, bool is_begin_masked, bool is_end_masked) {
    const uint32_t bit = 1u << axis;
    if (!is_begin_masked && tn_uff_is_open(b->begin[axis])) {
        b->open_begin |= bit;
        b->begin[axis] = 0;
    }
    if (!is_end_masked && !(b->shrink & bit) && tn_uff_is_open(b->end[axis])) {
        b->open_end |= bit;
        b->end[axis] = 0;
    }
}

static tn_status read_bounds(const tn_uff_call *call, tn_uff_bounds *b) {
    size_t counts[3];
    const int64_t *lists[3];
    uint32_t begin_mask, end_mask;
    TN_TRY(read_list(call->reader, call->inputs[1], "the begin", &counts[0], &lists[0]));
    TN_TRY(read_list(call->reader, call->inputs[2], "the end", &counts[1], &lists[1]));
    TN_TRY(tn_uff_integers_require(call->inputs[3], "the strides", &counts[2], &lists[2]));
    TN_TRY(read_mask(call, "begin_mask", &begin_mask));
    TN_TRY(read_mask(call, "end_mask", &end_mask));
    TN_TRY(read_mask(call, "shrink_axis_mask", &b->shrink));
    if (counts[0] != counts[1] || counts[0] != counts[2] || counts[0] > call->inputs[0]->rank)
        return tn_fail(TN_ERROR_SHAPE, "%zu begins, %zu ends and %zu strides for %" PRIu32 " axes",
                       counts[0], counts[1], counts[2], call->inputs[0]->rank);
    b->count = (uint32_t)counts[0];
    for (uint32_t i = 0; i < b->count; i++) {
        const bool is_shrunk = b->shrink >> i & 1;
        b->step[i] = is_shrunk ? 1 : lists[2][i];
        if (b->step[i] == 0 || b->step[i] == INT64_MIN)
            return tn_fail(TN_ERROR_FORMAT, "the stride of axis %" PRIu32 " is 0", i);
        const bool is_upward = b->step[i] > 0;
        const bool is_whole_begin = !is_shrunk && (begin_mask >> i & 1);
        const bool is_whole_end = end_mask >> i & 1;
        b->begin[i] = is_whole_begin ? (is_upward ? 0 : INT64_MAX) : lists[0][i];
        b->end[i] = is_whole_end ? (is_upward ? INT64_MAX : INT64_MIN + 1) : lists[1][i];
        note_open(b, i, is_whole_begin, is_whole_end);
        if (is_shrunk && (b->begin[i] == -1 || !tn_add_i64(b->begin[i], 1, &b->end[i])))
            b->end[i] = INT64_MAX;
    }
    b->shrink &= (1u << b->count) - 1;
    return TN_OK;
}

/* A bound within an extent, as the operator cuts it. */
static int64_t clamp_bound(int64_t bound, int64_t extent, bool is_upward) {
    if (bound < 0) bound = bound < -extent ? -1 : bound + extent;
    if (bound < 0) bound = is_upward ? 0 : -1;
    const int64_t last = is_upward ? extent : extent - 1;
    return bound > last ? last : bound;
}

static int64_t sliced_extent(tn_uff_reader *reader, const tn_uff_bounds *b, uint32_t axis,
                             int64_t extent) {
    const bool is_open = (b->open_begin | b->open_end) >> axis & 1;
    const bool is_whole = b->begin[axis] == 0 && b->end[axis] == INT64_MAX && b->step[axis] == 1;
    if (is_whole && !is_open) return extent;
    if (is_open || tn_uff_is_open(extent)) return b->shrink >> axis & 1 ? 1 : tn_uff_open(reader);
    const bool is_upward = b->step[axis] > 0;
    const int64_t begin = clamp_bound(b->begin[axis], extent, is_upward);
    const int64_t end = clamp_bound(b->end[axis], extent, is_upward);
    const int64_t range = is_upward ? end - begin : begin - end;
    const int64_t step = is_upward ? b->step[axis] : -b->step[axis];
    return range <= 0 ? 0 : (range - 1) / step + 1;
}

/* A slice of a list of numbers. */
static tn_status slice_integers(const tn_uff_call *call, const tn_uff_bounds *b) {
    tn_uff_reader *reader = call->reader;
    size_t count = 0, taken = 0;
    const int64_t *values = tn_uff_integers(call->inputs[0], &count);
    if (!values || call->inputs[0]->rank != 1 || b->count != 1 || b->open_begin || b->open_end)
        return TN_OK;
    int64_t *results = tn_arena_allocate(reader->arena, count, sizeof(*results));
    if (!results) return tn_fail_memory("a list");
    const int64_t extent = sliced_extent(reader, b, 0, (int64_t)count);
    const int64_t begin = clamp_bound(b->begin[0], (int64_t)count, b->step[0] > 0);
    for (int64_t i = 0; i < extent; i++)
        results[taken++] = values[begin + i * b->step[0]];
    if (b->shrink && taken != 1)
        return tn_fail(TN_ERROR_SHAPE, "element %" PRId64 " is not among %zu", b->begin[0], count);
    call->output->type = call->inputs[0]->type;
    return tn_uff_integers_set(reader, call->output, b->shrink ? 0 : 1, taken, results);
}

static tn_emit_tensors slice_inputs(const tn_uff_call *call, const tn_uff_bounds *b,
                                    tn_import_tensor *inputs) {
    tn_emitter *emit = &call->reader->emit;
    tn_uff_value *x = call->inputs[0];
    int64_t positions[TN_MAX_RANK];
    for (uint32_t i = 0; i < b->count; i++)
        positions[i] = tn_uff_order_find(&x->storage, i);
    inputs[0] = tn_uff_stored(call->reader, x);
    tn_uff_bounds_emit(call, b, &inputs[1], &inputs[2]);
    inputs[3] = tn_emit_list(emit, "axes", b->count, positions);
    inputs[4] = tn_emit_list(emit, "step", b->count, b->step);
    return (tn_emit_tensors){5, inputs};
}

tn_status tn_uff_read_strided_slice(tn_uff_call *call) {
    const tn_uff_value *x = call->inputs[0];
    tn_uff_value *y = call->output;
    tn_uff_bounds b = {0};
    tn_import_tensor inputs[5];
    int64_t positions[TN_MAX_RANK];
    TN_TRY(read_bounds(call, &b));
    TN_TRY(slice_integers(call, &b));
    if (y->data) return TN_OK;
    if (b.count == 0) {
        call->output = call->inputs[0];
        return TN_OK;
    }
    tn_uff_value sliced = {.storage = x->storage};
    tn_uff_value_like(&sliced, x);
    for (uint32_t i = 0; i < b.count; i++) {
        sliced.extents[i] = sliced_extent(call->reader, &b, i, x->extents[i]);
        if ((b.shrink >> i & 1) && sliced.extents[i] != 1)
            return tn_fail(TN_ERROR_SHAPE, "element %" PRId64 " of axis %" PRIu32 " is not there",
                           b.begin[i], i);
    }
    const tn_emit_tensors list = slice_inputs(call, &b, inputs);
    tn_uff_value_drop_axes(&sliced, b.shrink, y);
    if (!b.shrink) return tn_uff_emit(call, "Slice", NULL, list);
    const size_t count = tn_uff_value_positions(&sliced, b.shrink, positions);
    const tn_import_tensor whole = tn_emit(&call->reader->emit, "slice", "Slice", NULL, list);
    return tn_uff_emit(call, "Squeeze", TN_EMIT(tn_emit_i64s("axes", count, positions)),
                       TN_TENSORS(whole));
}
