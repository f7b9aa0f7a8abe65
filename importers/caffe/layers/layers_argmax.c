/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax: places of the largest elements as floats, or the elements, or both. Of equal elements
 * Caffe takes the last first: ArgMax can be told so, TopK cannot, so it is given the elements
 * backwards.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>

/* What is searched: a tensor along one axis. */
typedef struct search {
    tn_import_tensor tensor;
    int64_t axis, top_k;
    int64_t extent; /* along the axis; -1: not known yet */
} search;

static tn_status emit_float(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                            tn_import_tensor from, tn_import_tensor *out_tensor) {
    tn_caffe_attributes cast = {0};
    tn_caffe_add_text(&cast, "to", "f32");
    return tn_caffe_inner(reader, layer, part, "", "Cast", &cast, 1, &from, out_tensor);
}

static tn_status emit_place(tn_caffe_reader *reader, const tn_caffe_layer *layer, const search *s,
                            tn_import_tensor *out_tensor) {
    tn_caffe_attributes attributes = {0};
    tn_import_tensor place;
    tn_caffe_add_integer(&attributes, "axis", s->axis);
    tn_caffe_add_integer(&attributes, "keepdims", 1);
    tn_caffe_add_integer(&attributes, "select_last_index", 1);
    TN_TRY(
        tn_caffe_inner(reader, layer, "place", "", "ArgMax", &attributes, 1, &s->tensor, &place));
    return emit_float(reader, layer, "number", place, out_tensor);
}

static tn_status emit_largest(tn_caffe_reader *reader, const tn_caffe_layer *layer, const search *s,
                              tn_import_tensor *out_tensor) {
    tn_caffe_attributes attributes = {0};
    tn_caffe_add_integers(&attributes, "axes", 1, &s->axis);
    tn_caffe_add_integer(&attributes, "keepdims", 1);
    return tn_caffe_inner(reader, layer, "largest", "", "ReduceMax", &attributes, 1, &s->tensor,
                          out_tensor);
}

/* ----------------------------------------------------------------------------------------------
 * several */

static tn_status emit_backwards(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                                const search *s, tn_import_tensor *out_tensor) {
    static const int64_t begin = -1, end = INT64_MIN + 1, step = -1;
    tn_import_tensor inputs[5] = {s->tensor};
    TN_TRY(tn_caffe_index_list(reader, layer, "begin", 1, &begin, &inputs[1]));
    TN_TRY(tn_caffe_index_list(reader, layer, "end", 1, &end, &inputs[2]));
    TN_TRY(tn_caffe_index_list(reader, layer, "axis", 1, &s->axis, &inputs[3]));
    TN_TRY(tn_caffe_index_list(reader, layer, "step", 1, &step, &inputs[4]));
    return tn_caffe_inner(reader, layer, "backwards", "", "Slice", NULL, 5, inputs, out_tensor);
}

/* The last place, as a float that is broadcast. */
static tn_status emit_last(tn_caffe_reader *reader, const tn_caffe_layer *layer, const search *s,
                           tn_import_tensor *out_tensor) {
    tn_import_tensor inputs[2], extent;
    if (s->extent >= 0)
        return tn_caffe_scalar(reader, layer, "last", (double)(s->extent - 1), out_tensor);
    TN_TRY(tn_caffe_inner(reader, layer, "shape", "", "Shape", NULL, 1, &s->tensor, &inputs[0]));
    TN_TRY(tn_caffe_index_list(reader, layer, "searched", 1, &s->axis, &inputs[1]));
    TN_TRY(tn_caffe_inner(reader, layer, "extent", "", "Gather", NULL, 2, inputs, &extent));
    TN_TRY(emit_float(reader, layer, "extent_number", extent, &inputs[0]));
    TN_TRY(tn_caffe_scalar(reader, layer, "one", 1, &inputs[1]));
    return tn_caffe_inner(reader, layer, "last", "", "Sub", NULL, 2, inputs, out_tensor);
}

/* Values and places of the `top_k` largest, the largest first. */
static tn_status emit_several(tn_caffe_reader *reader, const tn_caffe_layer *layer, const search *s,
                              tn_import_tensor *out_values, tn_import_tensor *out_places) {
    tn_caffe_attributes attributes = {0};
    tn_import_tensor inputs[2], outputs[2], difference[2];
    const char *name = tn_arena_format(reader->arena, "%s/top", layer->name), *names[2];
    const char *places = tn_arena_format(reader->arena, "%s/top_places", layer->name);
    if (!name || !places) return tn_fail_memory("a node's name");
    names[0] = tn_caffe_make_name(reader, name);
    names[1] = tn_caffe_make_name(reader, places);
    if (!names[0] || !names[1]) return tn_fail_memory("a node's name");
    TN_TRY(emit_backwards(reader, layer, s, &inputs[0]));
    TN_TRY(tn_caffe_index_list(reader, layer, "k", 1, &s->top_k, &inputs[1]));
    tn_caffe_add_integer(&attributes, "axis", s->axis);
    TN_TRY(tn_caffe_node(reader, name, "", "TopK", &attributes, 2, inputs, 2, names, outputs));
    TN_TRY(emit_last(reader, layer, s, &difference[0]));
    TN_TRY(emit_float(reader, layer, "number", outputs[1], &difference[1]));
    TN_TRY(tn_caffe_inner(reader, layer, "place", "", "Sub", NULL, 2, difference, out_places));
    *out_values = outputs[0];
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the layer */

/* Places, and values where they are asked for (null: they are not). */
static tn_status emit_search(tn_caffe_reader *reader, const tn_caffe_layer *layer, const search *s,
                             tn_import_tensor *out_places, tn_import_tensor *out_values) {
    tn_import_tensor values, places;
    if (s->top_k > 1) {
        TN_TRY(emit_several(reader, layer, s, &values, &places));
        if (out_places) *out_places = places;
        if (out_values) *out_values = values;
        return TN_OK;
    }
    if (out_values) TN_TRY(emit_largest(reader, layer, s, out_values));
    return out_places ? emit_place(reader, layer, s, out_places) : TN_OK;
}

/* Over all of an item: [N, 1, k], or [N, 2, k] with the values after the places. */
static tn_status emit_whole(tn_caffe_reader *reader, tn_caffe_layer *layer, search *s,
                            bool with_values) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const int64_t rows[] = {0, 1, s->top_k};
    tn_caffe_value shape = {.rank = 3,
                            .extents = {x->rank == UINT32_MAX ? -1 : x->extents[0], 1, s->top_k}};
    tn_caffe_attributes flat = {0}, join = {0};
    tn_import_tensor pair[2], parts[2] = {TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    tn_caffe_add_integer(&flat, "axis", 1);
    TN_TRY(tn_caffe_inner(reader, layer, "flat", "", "Flatten", &flat, 1, &x->tensor, &s->tensor));
    TN_TRY(emit_search(reader, layer, s, &pair[0], with_values ? &parts[1] : NULL));
    TN_TRY(tn_caffe_index_list(reader, layer, "rows", 3, rows, &pair[1]));
    if (!with_values) return tn_caffe_top(reader, layer, 0, "", "Reshape", NULL, 2, pair, &shape);
    TN_TRY(tn_caffe_inner(reader, layer, "places", "", "Reshape", NULL, 2, pair, &parts[0]));
    pair[0] = parts[1];
    TN_TRY(tn_caffe_inner(reader, layer, "values", "", "Reshape", NULL, 2, pair, &parts[1]));
    shape.extents[1] = 2;
    tn_caffe_add_integer(&join, "axis", 1);
    return tn_caffe_top(reader, layer, 0, "", "Concat", &join, 2, parts, &shape);
}

static tn_status check_top_k(const search *s) {
    if (s->top_k >= 1 && (s->extent < 0 || s->top_k <= s->extent)) return TN_OK;
    if (s->extent < 0)
        return tn_fail(TN_ERROR_RANGE, "top_k is %" PRId64 "; it is 1 or more", s->top_k);
    return tn_fail(TN_ERROR_RANGE,
                   "top_k is %" PRId64 "; of %" PRId64 " elements it goes from 1 to %" PRId64,
                   s->top_k, s->extent, s->extent);
}

tn_status tn_caffe_read_argmax(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const bool with_values = tn_prototext_bool(layer->params, "out_max_val", false);
    search s = {.tensor = x->tensor,
                .axis = 1,
                .top_k = tn_prototext_integer(layer->params, "top_k", 1),
                .extent = x->rank == UINT32_MAX ? -1 : 1};
    tn_caffe_value shape = *x;
    tn_import_tensor found;
    uint32_t axis;
    if (!tn_prototext_has(layer->params, "axis")) {
        for (uint32_t i = 1; x->rank != UINT32_MAX && i < x->rank; i++)
            s.extent = tn_caffe_multiply(s.extent, x->extents[i]);
        TN_TRY(check_top_k(&s));
        return emit_whole(reader, layer, &s, with_values);
    }
    TN_TRY(tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 0), &axis));
    s.axis = axis;
    if (x->rank != UINT32_MAX) s.extent = x->extents[axis];
    TN_TRY(check_top_k(&s));
    if (x->rank != UINT32_MAX) shape.extents[axis] = s.top_k;
    TN_TRY(
        emit_search(reader, layer, &s, with_values ? NULL : &found, with_values ? &found : NULL));
    return tn_caffe_top(reader, layer, 0, "", "Identity", NULL, 1, &found, &shape);
}
