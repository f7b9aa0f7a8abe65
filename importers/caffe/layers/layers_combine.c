/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that put tensors together or take them apart: Eltwise, Concat, Slice, Reduction, ArgMax.
 * Semantics: Caffe's layers of these names.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * Eltwise */

/* Caffe spreads nothing: shapes that are known to differ are an error. */
static tn_status check_same_shape(const tn_caffe_layer *layer) {
    const tn_caffe_value *first = &layer->bottoms[0];
    char a[TN_SHAPE_TEXT_BYTES], b[TN_SHAPE_TEXT_BYTES];
    for (uint32_t i = 1; i < layer->bottom_count; i++) {
        const tn_caffe_value *other = &layer->bottoms[i];
        if (first->rank == UINT32_MAX || other->rank == UINT32_MAX) continue;
        bool is_same = first->rank == other->rank;
        for (uint32_t axis = 0; is_same && axis < first->rank; axis++)
            is_same = first->extents[axis] < 0 || other->extents[axis] < 0 ||
                      first->extents[axis] == other->extents[axis];
        if (!is_same)
            return tn_fail(
                TN_ERROR_SHAPE,
                "its bottoms '%.200s' and '%.200s' have the shapes %s and %s: the same is "
                "expected",
                layer->bottom_names[0], layer->bottom_names[i],
                tn_shape_print(first->rank, first->extents, a, sizeof(a)),
                tn_shape_print(other->rank, other->extents, b, sizeof(b)));
    }
    return TN_OK;
}

/* A bottom times its coefficient. */
static tn_status weigh(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                       double coefficient, tn_import_tensor *out_tensor) {
    tn_import_tensor inputs[2] = {layer->bottoms[index].tensor, TN_IMPORT_NO_TENSOR};
    const char *part = tn_arena_format(reader->arena, "coeff[%" PRIu32 "]", index);
    if (!part) return tn_fail_memory("a layer");
    if (coefficient == 1) {
        *out_tensor = inputs[0];
        return TN_OK;
    }
    TN_TRY(tn_caffe_scalar(reader, layer, part, coefficient, &inputs[1]));
    return tn_caffe_inner(reader, layer, part, "", "Mul", NULL, 2, inputs, out_tensor);
}

/* op(op(b0, b1), b2) ...; a coefficient of -1 after the first becomes a subtraction. */
static tn_status emit_row(tn_caffe_reader *reader, tn_caffe_layer *layer, const char *op,
                          const double *coefficients) {
    tn_import_tensor pair[2];
    TN_TRY(weigh(reader, layer, 0, coefficients[0], &pair[0]));
    for (uint32_t i = 1; i < layer->bottom_count; i++) {
        bool is_minus = coefficients[i] == -1;
        const char *step = is_minus ? "Sub" : op;
        TN_TRY(weigh(reader, layer, i, is_minus ? 1 : coefficients[i], &pair[1]));
        if (i + 1 == layer->bottom_count)
            return tn_caffe_top(reader, layer, 0, "", step, NULL, 2, pair, &layer->bottoms[0]);
        TN_TRY(tn_caffe_inner(reader, layer, "sum", "", step, NULL, 2, pair, &pair[0]));
    }
    return tn_fail(TN_ERROR_INTERNAL, "a row of one");
}

tn_status tn_caffe_read_eltwise(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const char *operation = tn_prototext_text(layer->params, "operation", "SUM");
    bool is_sum = strcmp(operation, "SUM") == 0;
    size_t count = tn_prototext_count(layer->params, "coeff");
    double *coefficients =
        tn_arena_allocate(reader->arena, layer->bottom_count, sizeof(*coefficients));
    const tn_prototext_field *field = NULL;
    if (!coefficients) return tn_fail_memory("a layer");
    if (count > 0 && !is_sum)
        return tn_fail(TN_ERROR_FORMAT, "coeff goes with operation: SUM alone");
    if (count > 0 && count != layer->bottom_count)
        return tn_fail(TN_ERROR_FORMAT, "coeff has %zu numbers for %" PRIu32 " bottoms", count,
                       layer->bottom_count);
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        coefficients[i] = 1;
        if (count == 0) continue;
        field = tn_prototext_message_next(layer->params, "coeff", field);
        (void)tn_prototext_field_number(field, &coefficients[i]);
    }
    TN_TRY(check_same_shape(layer));
    if (strcmp(operation, "MAX") == 0) {
        tn_import_tensor *inputs =
            tn_arena_allocate(reader->arena, layer->bottom_count, sizeof(*inputs));
        if (!inputs) return tn_fail_memory("a layer");
        for (uint32_t i = 0; i < layer->bottom_count; i++)
            inputs[i] = layer->bottoms[i].tensor;
        return tn_caffe_top(reader, layer, 0, "", "Max", NULL, layer->bottom_count, inputs,
                            &layer->bottoms[0]);
    }
    return emit_row(reader, layer, is_sum ? "Add" : "Mul", coefficients);
}

/* ----------------------------------------------------------------------------------------------
 * Concat and Slice */

/* `axis`, or its older name, which has another default's meaning nowhere. */
static tn_status read_axis(const tn_caffe_layer *layer, const char *old_name, uint32_t *out_axis) {
    bool is_old = tn_prototext_has(layer->params, old_name);
    if (is_old && tn_prototext_has(layer->params, "axis"))
        return tn_fail(TN_ERROR_FORMAT, "both axis and %s are given", old_name);
    return tn_caffe_axis(&layer->bottoms[0], "axis",
                         tn_prototext_integer(layer->params, is_old ? old_name : "axis", 1),
                         out_axis);
}

static tn_status check_concat(const tn_caffe_layer *layer, uint32_t axis, int64_t *out_extent) {
    const tn_caffe_value *first = &layer->bottoms[0];
    int64_t sum = 0;
    char a[TN_SHAPE_TEXT_BYTES], b[TN_SHAPE_TEXT_BYTES];
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value *other = &layer->bottoms[i];
        if (first->rank == UINT32_MAX || other->rank == UINT32_MAX) {
            *out_extent = -1;
            return TN_OK;
        }
        bool fits = other->rank == first->rank;
        for (uint32_t j = 0; fits && j < first->rank; j++)
            fits = j == axis || first->extents[j] < 0 || other->extents[j] < 0 ||
                   first->extents[j] == other->extents[j];
        if (!fits)
            return tn_fail(TN_ERROR_SHAPE,
                           "its bottoms '%.200s' and '%.200s' have the shapes %s and %s: they may "
                           "differ at axis %" PRIu32 " alone",
                           layer->bottom_names[0], layer->bottom_names[i],
                           tn_shape_print(first->rank, first->extents, a, sizeof(a)),
                           tn_shape_print(other->rank, other->extents, b, sizeof(b)), axis);
        int64_t extent = other->extents[axis];
        if (sum < 0 || extent < 0 || !tn_add_i64(sum, extent, &sum)) sum = -1;
    }
    *out_extent = sum;
    return TN_OK;
}

tn_status tn_caffe_read_concat(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    tn_caffe_value shape = layer->bottoms[0];
    tn_caffe_attributes attributes = {0};
    uint32_t axis;
    int64_t extent;
    tn_import_tensor *inputs =
        tn_arena_allocate(reader->arena, layer->bottom_count, sizeof(*inputs));
    if (!inputs) return tn_fail_memory("a layer");
    TN_TRY(read_axis(layer, "concat_dim", &axis));
    TN_TRY(check_concat(layer, axis, &extent));
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        inputs[i] = layer->bottoms[i].tensor;
        if (layer->bottoms[i].rank == UINT32_MAX) shape.rank = UINT32_MAX;
    }
    shape.extents[axis] = extent;
    tn_caffe_add_integer(&attributes, "axis", axis);
    return tn_caffe_top(reader, layer, 0, "", "Concat", &attributes, layer->bottom_count, inputs,
                        &shape);
}

static tn_status emit_part(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t top,
                           uint32_t axis, int64_t from, int64_t to) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_value shape = *x;
    int64_t where = axis;
    tn_import_tensor inputs[4] = {x->tensor, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR,
                                  TN_IMPORT_NO_TENSOR};
    if (x->rank != UINT32_MAX) {
        int64_t end = to == INT64_MAX ? x->extents[axis] : to;
        if (x->extents[axis] >= 0 && end > x->extents[axis])
            return tn_fail(TN_ERROR_RANGE,
                           "slice_point %" PRId64 " is beyond its bottom's extent %" PRId64, end,
                           x->extents[axis]);
        shape.extents[axis] = end < 0 ? -1 : end - from;
    }
    TN_TRY(tn_caffe_index_list(reader, layer, "from", 1, &from, &inputs[1]));
    TN_TRY(tn_caffe_index_list(reader, layer, "to", 1, &to, &inputs[2]));
    TN_TRY(tn_caffe_index_list(reader, layer, "axis", 1, &where, &inputs[3]));
    return tn_caffe_top(reader, layer, top, "", "Slice", NULL, 4, inputs, &shape);
}

static tn_status emit_equal_parts(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t axis) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_attributes attributes = {0};
    tn_caffe_value *shapes = tn_arena_allocate(reader->arena, layer->top_count, sizeof(*shapes));
    int64_t extent = x->rank == UINT32_MAX ? -1 : x->extents[axis];
    if (!shapes) return tn_fail_memory("a layer");
    if (extent >= 0 && extent % layer->top_count != 0)
        return tn_fail(TN_ERROR_SHAPE,
                       "%" PRIu32 " tops cannot have equal parts of an extent of %" PRId64,
                       layer->top_count, extent);
    for (uint32_t i = 0; i < layer->top_count; i++) {
        shapes[i] = *x;
        if (x->rank != UINT32_MAX)
            shapes[i].extents[axis] = extent < 0 ? -1 : extent / layer->top_count;
    }
    tn_caffe_add_integer(&attributes, "axis", axis);
    return tn_caffe_tops(reader, layer, "", "Split", &attributes, 1, &x->tensor, shapes);
}

tn_status tn_caffe_read_slice(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    uint32_t axis;
    size_t count = tn_prototext_count(layer->params, "slice_point");
    const tn_prototext_field *point = NULL;
    int64_t from = 0;
    TN_TRY(read_axis(layer, "slice_dim", &axis));
    if (count == 0) return emit_equal_parts(reader, layer, axis);
    if (count + 1 != layer->top_count)
        return tn_fail(TN_ERROR_FORMAT, "%zu slice_points make %zu tops, but there are %" PRIu32,
                       count, count + 1, layer->top_count);
    for (uint32_t i = 0; i < layer->top_count; i++) {
        point = tn_prototext_message_next(layer->params, "slice_point", point);
        int64_t to = point ? point->integer : INT64_MAX;
        if (to <= from)
            return tn_fail(TN_ERROR_RANGE, "slice_point %" PRId64 " is not above the one before it",
                           to);
        TN_TRY(emit_part(reader, layer, i, axis, from, to));
        from = to;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * Reduction and ArgMax */

static tn_status emit_sum(tn_caffe_reader *reader, tn_caffe_layer *layer, tn_import_tensor from,
                          uint32_t count, const int64_t *axes, tn_import_tensor *out_tensor) {
    tn_caffe_attributes attributes = {0};
    tn_import_tensor inputs[2] = {from, TN_IMPORT_NO_TENSOR};
    tn_caffe_add_integer(&attributes, "keepdims", 0);
    TN_TRY(tn_caffe_index_list(reader, layer, "axes", count, axes, &inputs[1]));
    return tn_caffe_inner(reader, layer, "sum", "", "ReduceSum", &attributes, 2, inputs,
                          out_tensor);
}

static tn_status emit_reduced(tn_caffe_reader *reader, tn_caffe_layer *layer, const char *operation,
                              uint32_t count, const int64_t *axes, tn_import_tensor *out_tensor) {
    tn_import_tensor x = layer->bottoms[0].tensor, pair[2] = {x, x};
    tn_caffe_attributes attributes = {0};
    if (strcmp(operation, "MEAN") == 0) {
        tn_caffe_add_integers(&attributes, "axes", count, axes);
        tn_caffe_add_integer(&attributes, "keepdims", 0);
        return tn_caffe_inner(reader, layer, "mean", "", "ReduceMean", &attributes, 1, &x,
                              out_tensor);
    }
    if (strcmp(operation, "ASUM") == 0)
        TN_TRY(tn_caffe_inner(reader, layer, "absolute", "", "Abs", NULL, 1, &x, &x));
    if (strcmp(operation, "SUMSQ") == 0)
        TN_TRY(tn_caffe_inner(reader, layer, "squares", "", "Mul", NULL, 2, pair, &x));
    return emit_sum(reader, layer, x, count, axes, out_tensor);
}

/* The axes from `axis` on are summed up and removed. */
tn_status tn_caffe_read_reduction(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    double coefficient = tn_prototext_number(layer->params, "coeff", 1);
    int64_t axes[TN_MAX_RANK];
    uint32_t axis, count = 0;
    tn_caffe_chain chain = {0};
    tn_caffe_value shape = *x;
    tn_import_tensor reduced, factor;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 0), &axis));
    for (uint32_t i = axis; i < x->rank; i++)
        axes[count++] = i;
    shape.rank = axis;
    TN_TRY(emit_reduced(reader, layer, tn_prototext_text(layer->params, "operation", "SUM"), count,
                        axes, &reduced));
    if (coefficient != 1) {
        TN_TRY(tn_caffe_scalar(reader, layer, "coeff", coefficient, &factor));
        tn_caffe_chain_add(&chain, "Mul", "scaled", factor);
    }
    return tn_caffe_chain_emit(reader, layer, &chain, reduced, &shape);
}
