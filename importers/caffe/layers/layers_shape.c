/* SPDX-License-Identifier: Apache-2.0 */
/* Flatten, Reshape, Permute, Crop, Tile. Semantics: Caffe's layers of these names; Permute: the SSD
 * branch's. */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

/* What one axis of a new shape is. */
typedef struct new_shape {
    uint32_t rank;
    int64_t extents[TN_MAX_RANK]; /* -1: not known */
    bool is_copied[TN_MAX_RANK];  /* as the bottom's axis of the same number */
    bool is_inferred[TN_MAX_RANK];
} new_shape;

static tn_status add_axis(new_shape *shape, int64_t extent, bool is_copied, bool is_inferred) {
    if (shape->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "its top has a rank above %d", TN_MAX_RANK);
    shape->extents[shape->rank] = extent;
    shape->is_copied[shape->rank] = is_copied;
    shape->is_inferred[shape->rank++] = is_inferred;
    return TN_OK;
}

/* An axis of the bottom that stays, maybe at another position. */
static tn_status add_kept(new_shape *shape, const tn_caffe_value *x, uint32_t axis) {
    return add_axis(shape, x->extents[axis], shape->rank == axis, false);
}

/* By ONNX's Reshape: 0 copies, -1 (one alone) is worked out. */
static tn_status emit_shape(const tn_caffe_layer *layer, const new_shape *shape) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t list[TN_MAX_RANK];
    uint32_t inferred = 0;
    tn_caffe_value value = {.rank = shape->rank};
    for (uint32_t i = 0; i < shape->rank; i++) {
        bool is_open = shape->is_inferred[i] || (!shape->is_copied[i] && shape->extents[i] < 0);
        inferred += is_open;
        list[i] = is_open ? -1 : shape->is_copied[i] ? 0 : shape->extents[i];
        value.extents[i] = shape->extents[i];
    }
    if (inferred > 1)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "more than one extent of its top depends on what is not known: only one can "
                       "be worked out");
    const tn_import_tensor target = tn_emit_list(layer->emit, "shape", shape->rank, list);
    return tn_caffe_top(layer, 0, "Reshape", NULL, TN_TENSORS(x->tensor, target), &value);
}

tn_status tn_caffe_read_flatten(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t first = tn_prototext_integer(layer->params, "axis", 1);
    int64_t last = tn_prototext_integer(layer->params, "end_axis", -1), product = 1;
    uint32_t from, to;
    new_shape shape = {0};
    if (!tn_caffe_has_rank(x) && first == 1 && last == -1)
        return tn_caffe_top(layer, 0, "Flatten", TN_EMIT(tn_emit_i64("axis", 1)),
                            TN_TENSORS(x->tensor),
                            &(const tn_caffe_value){.rank = 2, .extents = {-1, -1}});
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis(layer, "axis", first, &from));
    TN_TRY(tn_caffe_axis(layer, "end_axis", last, &to));
    if (to < from)
        return tn_fail(TN_ERROR_RANGE, "end_axis %" PRIu32 " is before axis %" PRIu32, to, from);
    for (uint32_t i = 0; i < from; i++)
        TN_TRY(add_kept(&shape, x, i));
    for (uint32_t i = from; i <= to; i++)
        product = tn_caffe_multiply(product, x->extents[i]);
    TN_TRY(add_axis(&shape, product, false, false));
    for (uint32_t i = to + 1; i < x->rank; i++)
        TN_TRY(add_kept(&shape, x, i));
    return emit_shape(layer, &shape);
}

/* The given dimensions: 0 is the bottom's, -1 what is left. */
static tn_status add_given(new_shape *shape, const tn_caffe_value *x,
                           const tn_prototext_message *given) {
    const tn_prototext_field *field = NULL;
    while ((field = tn_prototext_message_next(given, "dim", field))) {
        if (field->integer < -1)
            return tn_fail(TN_ERROR_SHAPE, "a dim is %" PRId64 "; -1, 0 or more is expected",
                           field->integer);
        if (field->integer == 0 && shape->rank >= x->rank)
            return tn_fail(TN_ERROR_SHAPE,
                           "dim 0 stands where its bottom, of rank %" PRIu32 ", has no axis",
                           x->rank);
        TN_TRY(field->integer == 0 ? add_kept(shape, x, shape->rank)
                                   : add_axis(shape, field->integer, false, field->integer < 0));
    }
    return TN_OK;
}

/* What the bottom's elements leave for the dimension -1, where all else is known. */
static void work_out(new_shape *shape, const tn_caffe_value *x) {
    int64_t all = 1, others = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!(i < shape->rank && shape->is_copied[i])) all = tn_caffe_multiply(all, x->extents[i]);
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!shape->is_inferred[i] && !shape->is_copied[i])
            others = tn_caffe_multiply(others, shape->extents[i]);
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->is_inferred[i] && all >= 0 && others > 0) shape->extents[i] = all / others;
}

tn_status tn_caffe_read_reshape(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t axis = tn_prototext_integer(layer->params, "axis", 0);
    int64_t count = tn_prototext_integer(layer->params, "num_axes", -1);
    new_shape shape = {0};
    TN_TRY(tn_caffe_require_rank(x));
    int64_t rank = x->rank;
    int64_t from = axis < 0 ? rank + 1 + axis : axis;
    if (from < 0 || from > rank)
        return tn_fail(TN_ERROR_RANGE, "axis is %" PRId64 "; the bottom has rank %" PRId64, axis,
                       rank);
    if (count < -1 || count > rank - from)
        return tn_fail(TN_ERROR_RANGE,
                       "num_axes is %" PRId64 "; there are %" PRId64 " axes from "
                       "axis %" PRId64 " on",
                       count, rank - from, from);
    int64_t to = count < 0 ? rank : from + count;
    for (uint32_t i = 0; i < (uint32_t)from; i++)
        TN_TRY(add_kept(&shape, x, i));
    TN_TRY(add_given(&shape, x, tn_prototext_child(layer->params, "shape")));
    for (uint32_t i = (uint32_t)to; i < x->rank; i++)
        TN_TRY(add_kept(&shape, x, i));
    work_out(&shape, x);
    return emit_shape(layer, &shape);
}

/* Axes that are not listed follow in their order. */
tn_status tn_caffe_read_permute(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t order[TN_MAX_RANK];
    bool is_listed[TN_MAX_RANK] = {false};
    tn_caffe_value shape = *x;
    TN_TRY(tn_caffe_require_rank(x));
    size_t count = tn_prototext_integers(layer->params, "order", TN_MAX_RANK, order);
    if (count > x->rank)
        return tn_fail(TN_ERROR_RANGE, "order has %zu axes; its bottom has rank %" PRIu32, count,
                       x->rank);
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= x->rank || is_listed[order[i]])
            return tn_fail(TN_ERROR_RANGE, "order has axis %" PRId64 ", which is %s", order[i],
                           order[i] >= x->rank ? "beyond its bottom's rank" : "there twice");
        is_listed[order[i]] = true;
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (!is_listed[i]) order[count++] = i;
    for (uint32_t i = 0; i < x->rank; i++)
        shape.extents[i] = x->extents[order[i]];
    return tn_caffe_top(layer, 0, "Transpose", TN_EMIT(tn_emit_i64s("perm", x->rank, order)),
                        TN_TENSORS(x->tensor), &shape);
}

/* The axes from `axis` on get the second bottom's extents. */
tn_status tn_caffe_read_crop(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0], *y = &layer->bottoms[1];
    int64_t offsets[TN_MAX_RANK];
    size_t count = tn_prototext_integers(layer->params, "offset", TN_MAX_RANK, offsets);
    uint32_t axis;
    tn_caffe_value shape = *x;
    TN_TRY(tn_caffe_axis_read(layer, 2, &axis));
    if (tn_caffe_has_rank(x) && count > 1 && count != x->rank - axis)
        return tn_fail(TN_ERROR_FORMAT, "offset has %zu numbers for %" PRIu32 " axes", count,
                       x->rank - axis);
    if (count > TN_MAX_RANK) return tn_fail(TN_ERROR_FORMAT, "offset has %zu numbers", count);
    for (uint32_t i = axis; tn_caffe_has_rank(x) && i < x->rank; i++)
        shape.extents[i] = y->rank == x->rank ? y->extents[i] : -1;
    const tn_emit_fields fields = {
        .domain = "Caffe",
        .items = {tn_emit_i64("axis", axis),
                  count > 0 ? tn_emit_i64s("offset", count, offsets) : tn_emit_no_field()}};
    return tn_caffe_top(layer, 0, "Crop", &fields, layer->bottom_tensors, &shape);
}

tn_status tn_caffe_read_tile(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t tiles = tn_prototext_integer(layer->params, "tiles", 0), repeats[TN_MAX_RANK];
    uint32_t axis;
    tn_caffe_value shape = *x;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    if (tiles < 1)
        return tn_fail(TN_ERROR_RANGE, "tiles is %" PRId64 "; at least 1 is expected", tiles);
    for (uint32_t i = 0; i < x->rank; i++)
        repeats[i] = i == axis ? tiles : 1;
    shape.extents[axis] = tn_caffe_multiply(x->extents[axis], tiles);
    const tn_import_tensor list = tn_emit_list(layer->emit, "repeats", x->rank, repeats);
    return tn_caffe_top(layer, 0, "Tile", NULL, TN_TENSORS(x->tensor, list), &shape);
}
