/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax: indices of the largest elements as floats, or the elements, or both. Of equal elements
 * Caffe takes the last first: ArgMax can be told so, TopK cannot, so it is given the elements
 * backwards.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>

/* What is searched: a tensor along one axis; and what is found, where it is wanted. */
typedef struct search {
    tn_import_tensor tensor;
    int64_t axis, top_k;
    int64_t extent; /* along the axis; -1: not known yet */
    bool wants_indices, wants_values;
    tn_import_tensor indices, values;
} search;

/* ----------------------------------------------------------------------------------------------
 * several */

static tn_import_tensor emit_backwards(tn_emitter *emit, const search *s) {
    static const char *const parts[] = {"begin", "end", "axis", "step"};
    const int64_t numbers[] = {-1, INT64_MIN + 1, s->axis, -1};
    tn_import_tensor inputs[5] = {s->tensor};
    for (uint32_t i = 0; i < 4; i++)
        inputs[1 + i] = tn_emit_list(emit, parts[i], 1, &numbers[i]);
    return tn_emit(emit, "backwards", "Slice", NULL, (tn_emit_tensors){5, inputs});
}

/* The last index, as a float that is broadcast. */
static tn_import_tensor emit_last(tn_emitter *emit, const search *s) {
    if (s->extent >= 0) return tn_emit_scalar(emit, "last", (double)(s->extent - 1));
    const tn_import_tensor shape = tn_emit_unary(emit, "shape", "Shape", s->tensor);
    const tn_import_tensor axis = tn_emit_list(emit, "searched", 1, &s->axis);
    const tn_import_tensor extent = tn_emit_binary(emit, "extent", "Gather", shape, axis);
    const tn_import_tensor number = tn_emit_cast(emit, "extent_number", "f32", extent);
    return tn_emit_binary(emit, "last", "Sub", number, tn_emit_scalar(emit, "one", 1));
}

/* Values and indices of the `top_k` largest, the largest first. */
static tn_status emit_several(tn_emitter *emit, search *s) {
    const char *name = tn_arena_format(emit->arena, "%s/top", emit->name);
    const char *names[2] = {tn_emit_name(emit, "top"), NULL};
    tn_import_tensor outputs[2];
    names[1] = tn_emit_name(emit, "top_indices");
    const tn_import_tensor backwards = emit_backwards(emit, s);
    const tn_import_tensor k = tn_emit_list(emit, "k", 1, &s->top_k);
    TN_TRY(tn_emit_node(emit, name, "TopK", TN_EMIT(tn_emit_i64("axis", s->axis)),
                        TN_TENSORS(backwards, k), 2, names, outputs));
    const tn_import_tensor last = emit_last(emit, s);
    const tn_import_tensor number = tn_emit_cast(emit, "number", "f32", outputs[1]);
    s->indices = tn_emit_binary(emit, "index", "Sub", last, number);
    s->values = outputs[0];
    return emit->status;
}

/* ----------------------------------------------------------------------------------------------
 * the layer */

static tn_status emit_search(tn_emitter *emit, search *s) {
    if (s->top_k > 1) return emit_several(emit, s);
    const tn_attribute kept = tn_emit_i64("keepdims", 1);
    if (s->wants_values)
        s->values =
            tn_emit(emit, "largest", "ReduceMax", TN_EMIT(tn_emit_i64s("axes", 1, &s->axis), kept),
                    TN_TENSORS(s->tensor));
    if (!s->wants_indices) return emit->status;
    const tn_import_tensor index =
        tn_emit(emit, "index", "ArgMax",
                TN_EMIT(tn_emit_i64("axis", s->axis), kept, tn_emit_i64("select_last_index", 1)),
                TN_TENSORS(s->tensor));
    s->indices = tn_emit_cast(emit, "number", "f32", index);
    return emit->status;
}

/* Over all of an item: [N, 1, k], or [N, 2, k] with the values after the indices. */
static tn_status emit_whole(const tn_caffe_layer *layer, search *s) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const tn_emit_fields *axis = TN_EMIT(tn_emit_i64("axis", 1));
    const int64_t list[] = {0, 1, s->top_k};
    tn_caffe_value shape = {.rank = 3, .extents = {tn_caffe_extent(x, 0), 1, s->top_k}};
    tn_emitter *emit = layer->emit;
    s->wants_indices = true;
    s->tensor = tn_emit(emit, "flat", "Flatten", axis, TN_TENSORS(x->tensor));
    TN_TRY(emit_search(emit, s));
    const tn_import_tensor rows = tn_emit_list(emit, "rows", 3, list);
    if (!s->wants_values)
        return tn_caffe_top(layer, 0, "Reshape", NULL, TN_TENSORS(s->indices, rows), &shape);
    const tn_import_tensor indices = tn_emit_binary(emit, "indices", "Reshape", s->indices, rows);
    const tn_import_tensor values = tn_emit_binary(emit, "values", "Reshape", s->values, rows);
    shape.extents[1] = 2;
    return tn_caffe_top(layer, 0, "Concat", axis, TN_TENSORS(indices, values), &shape);
}

static tn_status check_top_k(const search *s) {
    if (s->top_k >= 1 && (s->extent < 0 || s->top_k <= s->extent)) return TN_OK;
    if (s->extent < 0)
        return tn_fail(TN_ERROR_RANGE, "top_k is %" PRId64 "; it is 1 or more", s->top_k);
    return tn_fail(TN_ERROR_RANGE,
                   "top_k is %" PRId64 "; of %" PRId64 " elements it goes from 1 to %" PRId64,
                   s->top_k, s->extent, s->extent);
}

tn_status tn_caffe_read_argmax(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    search s = {.tensor = x->tensor,
                .axis = 1,
                .top_k = tn_prototext_integer(layer->params, "top_k", 1),
                .wants_values = tn_prototext_bool(layer->params, "out_max_val", false)};
    tn_caffe_value shape = *x;
    uint32_t axis;
    if (!tn_prototext_has(layer->params, "axis")) {
        s.extent = tn_caffe_inner_extent(x, 1);
        TN_TRY(check_top_k(&s));
        return emit_whole(layer, &s);
    }
    TN_TRY(tn_caffe_axis_read(layer, 0, &axis));
    s.axis = axis;
    s.extent = tn_caffe_extent(x, axis);
    s.wants_indices = !s.wants_values;
    TN_TRY(check_top_k(&s));
    shape.extents[axis] = s.top_k;
    TN_TRY(emit_search(layer->emit, &s));
    const tn_import_tensor found = s.wants_values ? s.values : s.indices;
    return tn_caffe_top(layer, 0, "Identity", NULL, TN_TENSORS(found), &shape);
}
