/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of a StridedSlice that are known only at run time, as lists of 64-bit integers: what the
 * file's tensors give, with what is known, masked or shrunk put in its place.
 */
#include "base/status.h"
#include "importers/uff/operations/slice.h"

/* The bounds as the file's node computes them. */
static tn_status emit_given(tn_uff_reader *reader, const char *name, tn_uff_value *list,
                            uint32_t count, tn_import_tensor *out_tensor) {
    tn_import_tensor tensor;
    tn_uff_attributes attributes = {0};
    const int64_t extents[] = {count};
    TN_TRY(tn_uff_value_plain(reader, list, &tensor));
    if (list->rank == 0)
        TN_TRY(tn_uff_emit_reshape(reader, tn_uff_side_name(reader, name, "list"), tensor, 0, NULL,
                                   1, extents, &tensor));
    tn_uff_attribute_text(&attributes, "to", "i64");
    return tn_uff_emit(reader, "Cast", 0, tn_uff_side_name(reader, name, "given"), &attributes, 1,
                       &tensor, out_tensor);
}

/* Of `first` where the axis is among `axes`, else of `second`. */
static tn_status emit_choice(tn_uff_reader *reader, const char *name, uint32_t count, uint32_t axes,
                             tn_import_tensor first, tn_import_tensor second,
                             tn_import_tensor *out_tensor) {
    bool mask[TN_MAX_RANK];
    tn_import_tensor inputs[3] = {TN_IMPORT_NO_TENSOR, first, second};
    for (uint32_t i = 0; i < count; i++)
        mask[i] = axes >> i & 1;
    TN_TRY(tn_uff_add_constant(reader, tn_uff_side_name(reader, name, "mask"), TN_BOOL, 1,
                               (const int64_t[]){count}, mask, &inputs[0]));
    return tn_uff_emit(reader, "Where", 0, tn_uff_side_name(reader, name, "chosen"), NULL, 3,
                       inputs, out_tensor);
}

/* Known bounds, and those of `list` for the axes `open`. */
static tn_status emit_list(tn_uff_reader *reader, const char *name, tn_uff_value *list,
                           uint32_t count, uint32_t open, const int64_t *known,
                           tn_import_tensor *out_tensor) {
    tn_import_tensor given, constant;
    if (open == 0) return tn_uff_add_i64s(reader, name, count, known, out_tensor);
    TN_TRY(emit_given(reader, name, list, count, &given));
    TN_TRY(
        tn_uff_add_i64s(reader, tn_uff_side_name(reader, name, "known"), count, known, &constant));
    return emit_choice(reader, name, count, open, given, constant, out_tensor);
}

/* The element after `begin`; after the last one, -1, whatever end there is. */
static tn_status emit_next(tn_uff_reader *reader, const char *name, tn_import_tensor begin,
                           tn_import_tensor *out_tensor) {
    static const int64_t one = 1, zero = 0, last = INT64_MAX;
    tn_import_tensor sum[2] = {begin, TN_IMPORT_NO_TENSOR}, compared[2], chosen[3];
    TN_TRY(tn_uff_add_i64s(reader, tn_uff_side_name(reader, name, "one"), 1, &one, &sum[1]));
    TN_TRY(tn_uff_emit(reader, "Add", 0, tn_uff_side_name(reader, name, "next"), NULL, 2, sum,
                       &compared[0]));
    TN_TRY(tn_uff_add_i64s(reader, tn_uff_side_name(reader, name, "zero"), 1, &zero, &compared[1]));
    TN_TRY(tn_uff_emit(reader, "Equal", 0, tn_uff_side_name(reader, name, "is_last"), NULL, 2,
                       compared, &chosen[0]));
    TN_TRY(tn_uff_add_i64s(reader, tn_uff_side_name(reader, name, "last"), 1, &last, &chosen[1]));
    chosen[2] = compared[0];
    return tn_uff_emit(reader, "Where", 0, tn_uff_side_name(reader, name, "after"), NULL, 3, chosen,
                       out_tensor);
}

tn_status tn_uff_bounds_emit(tn_uff_reader *reader, const tn_uff_call *call,
                             const tn_uff_bounds *bounds, tn_import_tensor *out_begin,
                             tn_import_tensor *out_end) {
    const char *begin_name = tn_uff_side_name(reader, call->output->name, "begin");
    const char *end_name = tn_uff_side_name(reader, call->output->name, "end");
    const uint32_t computed = bounds->open_begin & bounds->shrink;
    tn_import_tensor begin, end, next;
    if (!begin_name || !end_name) return tn_fail_memory("a tensor's name");
    TN_TRY(emit_list(reader, begin_name, call->inputs[1], bounds->count, bounds->open_begin,
                     bounds->begin, &begin));
    TN_TRY(emit_list(reader, end_name, call->inputs[2], bounds->count, bounds->open_end,
                     bounds->end, &end));
    if (computed) {
        TN_TRY(emit_next(reader, end_name, begin, &next));
        TN_TRY(emit_choice(reader, tn_uff_side_name(reader, end_name, "shrunk"), bounds->count,
                           computed, next, end, &end));
    }
    *out_begin = begin;
    *out_end = end;
    return TN_OK;
}
