/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of a StridedSlice that are known only at run time, as lists of 64-bit integers: what the
 * file's tensors give, with what is known, masked or shrunk replaced.
 */
#include "base/status.h"
#include "importers/uff/operations/slice.h"

/* The bounds as the file's node computes them. */
static tn_import_tensor emit_given(tn_uff_reader *reader, tn_uff_value *list, uint32_t count) {
    const int64_t extents[] = {count};
    tn_import_tensor tensor = tn_uff_plain(reader, list);
    if (list->rank == 0)
        tensor = tn_uff_emit_reshape(reader, tn_emit_name(&reader->emit, "list"), tensor, 0, NULL,
                                     1, extents);
    return tn_emit_cast(&reader->emit, "given", "i64", tensor);
}

/* Of `first` where the axis is among `axes`, else of `second`. */
static tn_import_tensor emit_choice(tn_emitter *emit, uint32_t count, uint32_t axes,
                                    tn_import_tensor first, tn_import_tensor second) {
    bool mask[TN_MAX_RANK];
    const int64_t extent = count;
    for (uint32_t i = 0; i < count; i++)
        mask[i] = axes >> i & 1;
    const tn_import_tensor chooser = tn_emit_constant(emit, "mask", TN_BOOL, 1, &extent, mask);
    return tn_emit(emit, "chosen", "Where", NULL, TN_TENSORS(chooser, first, second));
}

/* Known bounds, and those of `list` for the axes `open`. */
static tn_import_tensor emit_list(tn_uff_reader *reader, const char *part, tn_uff_value *list,
                                  uint32_t count, uint32_t open, const int64_t *known) {
    tn_emitter *emit = &reader->emit;
    if (open == 0) return tn_emit_list(emit, part, count, known);
    const char *outer = tn_emit_enter(emit, tn_emit_name(emit, part));
    const tn_import_tensor given = emit_given(reader, list, count);
    const tn_import_tensor constant = tn_emit_list(emit, "known", count, known);
    const tn_import_tensor chosen = emit_choice(emit, count, open, given, constant);
    emit->name = outer;
    return chosen;
}

/* The element after `begin`; after the last one, -1, whatever end there is. */
static tn_import_tensor emit_next(tn_emitter *emit, tn_import_tensor begin) {
    static const int64_t one = 1, zero = 0, last = INT64_MAX;
    const tn_import_tensor step = tn_emit_list(emit, "one", 1, &one);
    const tn_import_tensor next = tn_emit_binary(emit, "next", "Add", begin, step);
    const tn_import_tensor nothing = tn_emit_list(emit, "zero", 1, &zero);
    const tn_import_tensor is_last = tn_emit_binary(emit, "is_last", "Equal", next, nothing);
    const tn_import_tensor end = tn_emit_list(emit, "last", 1, &last);
    return tn_emit(emit, "after", "Where", NULL, TN_TENSORS(is_last, end, next));
}

void tn_uff_bounds_emit(const tn_uff_call *call, const tn_uff_bounds *b,
                        tn_import_tensor *out_begin, tn_import_tensor *out_end) {
    tn_uff_reader *reader = call->reader;
    tn_emitter *emit = &reader->emit;
    const uint32_t computed = b->open_begin & b->shrink;
    const char *end_name = computed ? tn_emit_name(emit, "end") : NULL;
    *out_begin = emit_list(reader, "begin", call->inputs[1], b->count, b->open_begin, b->begin);
    *out_end = emit_list(reader, "end", call->inputs[2], b->count, b->open_end, b->end);
    if (!computed) return;
    const char *outer = tn_emit_enter(emit, end_name);
    const tn_import_tensor next = emit_next(emit, *out_begin);
    (void)tn_emit_enter(emit, tn_emit_name(emit, "shrunk"));
    *out_end = emit_choice(emit, b->count, computed, next, *out_end);
    emit->name = outer;
}
