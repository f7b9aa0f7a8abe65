/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that put tensors together or take them apart: Eltwise, Concat, Slice, Reduction.
 * Semantics: Caffe's layers of these names.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Caffe spreads nothing: shapes of bottoms that are known to differ are an error, other than along
 * `axis` (UINT32_MAX: there is none). */
static tn_status check_shapes(const tn_caffe_layer *layer, uint32_t index, uint32_t axis) {
    const tn_caffe_value *first = &layer->bottoms[0], *other = &layer->bottoms[index];
    char a[TN_SHAPE_TEXT_BYTES], b[TN_SHAPE_TEXT_BYTES], expected[60] = "the same is expected";
    if (!tn_caffe_has_rank(first) || !tn_caffe_has_rank(other)) return TN_OK;
    bool fits = first->rank == other->rank;
    for (uint32_t i = 0; fits && i < first->rank; i++)
        fits = i == axis || first->extents[i] < 0 || other->extents[i] < 0 ||
               first->extents[i] == other->extents[i];
    if (fits) return TN_OK;
    if (axis != UINT32_MAX)
        snprintf(expected, sizeof(expected), "they may differ at axis %" PRIu32 " alone", axis);
    return tn_fail(TN_ERROR_SHAPE,
                   "its bottoms '%.200s' and '%.200s' have the shapes %s and %s: %s",
                   layer->bottom_names[0], layer->bottom_names[index],
                   tn_shape_print(first->rank, first->extents, a, sizeof(a)),
                   tn_shape_print(other->rank, other->extents, b, sizeof(b)), expected);
}

/* ----------------------------------------------------------------------------------------------
 * Eltwise */

/* A bottom times its coefficient. */
static tn_status weigh(const tn_caffe_layer *layer, uint32_t index, double coefficient,
                       tn_import_tensor *out_tensor) {
    const char *part = tn_arena_format(layer->reader->arena, "coeff[%" PRIu32 "]", index);
    *out_tensor = layer->bottoms[index].tensor;
    if (!part) return tn_fail_memory("a layer");
    if (coefficient == 1) return TN_OK;
    *out_tensor = tn_emit_binary(layer->emit, part, "Mul", *out_tensor,
                                 tn_emit_scalar(layer->emit, part, coefficient));
    return layer->emit->status;
}

/* op(op(b0, b1), b2) ...; a coefficient of -1 after the first becomes a subtraction. */
static tn_status emit_row(const tn_caffe_layer *layer, const char *op, const double *coefficients) {
    tn_import_tensor sum, next;
    TN_TRY(weigh(layer, 0, coefficients[0], &sum));
    for (uint32_t i = 1; i < layer->bottom_count; i++) {
        bool is_minus = coefficients[i] == -1;
        const char *step = is_minus ? "Sub" : op;
        TN_TRY(weigh(layer, i, is_minus ? 1 : coefficients[i], &next));
        if (i + 1 == layer->bottom_count)
            return tn_caffe_top(layer, 0, step, NULL, TN_TENSORS(sum, next), &layer->bottoms[0]);
        sum = tn_emit_binary(layer->emit, "sum", step, sum, next);
    }
    return tn_fail(TN_ERROR_INTERNAL, "a row of one");
}

tn_status tn_caffe_read_eltwise(tn_caffe_layer *layer) {
    const char *operation = tn_prototext_text(layer->params, "operation", "SUM");
    bool is_sum = strcmp(operation, "SUM") == 0;
    size_t count = tn_prototext_count(layer->params, "coeff");
    double *coefficients =
        tn_arena_allocate(layer->reader->arena, layer->bottom_count, sizeof(*coefficients));
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
    for (uint32_t i = 1; i < layer->bottom_count; i++)
        TN_TRY(check_shapes(layer, i, UINT32_MAX));
    if (strcmp(operation, "MAX") == 0)
        return tn_caffe_top(layer, 0, "Max", NULL, layer->bottom_tensors, &layer->bottoms[0]);
    return emit_row(layer, is_sum ? "Add" : "Mul", coefficients);
}

/* ----------------------------------------------------------------------------------------------
 * Concat and Slice */

/* `axis`, or its older name, which has another default's meaning nowhere. */
static tn_status read_axis(const tn_caffe_layer *layer, const char *old_name, uint32_t *out_axis) {
    if (!tn_prototext_has(layer->params, old_name)) return tn_caffe_axis_read(layer, 1, out_axis);
    if (tn_prototext_has(layer->params, "axis"))
        return tn_fail(TN_ERROR_FORMAT, "both axis and %s are given", old_name);
    return tn_caffe_axis(layer, "axis", tn_prototext_integer(layer->params, old_name, 1), out_axis);
}

tn_status tn_caffe_read_concat(tn_caffe_layer *layer) {
    tn_caffe_value shape = layer->bottoms[0];
    uint32_t axis;
    bool has_ranks = true;
    int64_t sum = 0;
    TN_TRY(read_axis(layer, "concat_dim", &axis));
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        has_ranks &= tn_caffe_has_rank(&layer->bottoms[i]);
        if (has_ranks) TN_TRY(check_shapes(layer, i, axis));
        const int64_t extent = tn_caffe_extent(&layer->bottoms[i], axis);
        if (sum < 0 || extent < 0 || !tn_add_i64(sum, extent, &sum)) sum = -1;
    }
    if (!has_ranks) shape.rank = UINT32_MAX;
    shape.extents[axis] = sum;
    return tn_caffe_top(layer, 0, "Concat", TN_EMIT(tn_emit_i64("axis", axis)),
                        layer->bottom_tensors, &shape);
}

static tn_status emit_part(const tn_caffe_layer *layer, uint32_t top, uint32_t axis, int64_t from,
                           int64_t to) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const int64_t bounds[] = {from, to, axis}, extent = tn_caffe_extent(x, axis);
    static const char *const parts[] = {"from", "to", "axis"};
    tn_caffe_value shape = *x;
    tn_import_tensor inputs[4] = {x->tensor};
    if (tn_caffe_has_rank(x)) {
        int64_t end = to == INT64_MAX ? extent : to;
        if (extent >= 0 && end > extent)
            return tn_fail(TN_ERROR_RANGE,
                           "slice_point %" PRId64 " is beyond its bottom's extent %" PRId64, end,
                           extent);
        shape.extents[axis] = end < 0 ? -1 : end - from;
    }
    for (uint32_t i = 0; i < 3; i++)
        inputs[1 + i] = tn_emit_list(layer->emit, parts[i], 1, &bounds[i]);
    return tn_caffe_top(layer, top, "Slice", NULL, (tn_emit_tensors){4, inputs}, &shape);
}

static tn_status emit_equal_parts(const tn_caffe_layer *layer, uint32_t axis) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_value *shapes =
        tn_arena_allocate(layer->reader->arena, layer->top_count, sizeof(*shapes));
    const int64_t extent = tn_caffe_extent(x, axis);
    if (!shapes) return tn_fail_memory("a layer");
    if (extent >= 0 && extent % layer->top_count != 0)
        return tn_fail(TN_ERROR_SHAPE,
                       "%" PRIu32 " tops cannot have equal parts of an extent of %" PRId64,
                       layer->top_count, extent);
    for (uint32_t i = 0; i < layer->top_count; i++) {
        shapes[i] = *x;
        shapes[i].extents[axis] = extent < 0 ? -1 : extent / layer->top_count;
    }
    return tn_caffe_tops(layer, layer->top_count, "Split", TN_EMIT(tn_emit_i64("axis", axis)),
                         TN_TENSORS(x->tensor), shapes, 0, NULL, NULL);
}

tn_status tn_caffe_read_slice(tn_caffe_layer *layer) {
    uint32_t axis;
    size_t count = tn_prototext_count(layer->params, "slice_point");
    const tn_prototext_field *point = NULL;
    int64_t from = 0;
    TN_TRY(read_axis(layer, "slice_dim", &axis));
    if (count == 0) return emit_equal_parts(layer, axis);
    if (count + 1 != layer->top_count)
        return tn_fail(TN_ERROR_FORMAT, "%zu slice_points make %zu tops, but there are %" PRIu32,
                       count, count + 1, layer->top_count);
    for (uint32_t i = 0; i < layer->top_count; i++) {
        point = tn_prototext_message_next(layer->params, "slice_point", point);
        int64_t to = point ? point->integer : INT64_MAX;
        if (to <= from)
            return tn_fail(TN_ERROR_RANGE, "slice_point %" PRId64 " is not above the one before it",
                           to);
        TN_TRY(emit_part(layer, i, axis, from, to));
        from = to;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * Reduction */

static tn_import_tensor emit_reduced(const tn_caffe_layer *layer, const char *operation,
                                     uint32_t count, const int64_t *axes) {
    tn_emitter *emit = layer->emit;
    const tn_attribute gone = tn_emit_i64("keepdims", 0);
    tn_import_tensor x = layer->bottoms[0].tensor;
    if (strcmp(operation, "MEAN") == 0)
        return tn_emit(emit, "mean", "ReduceMean", TN_EMIT(tn_emit_i64s("axes", count, axes), gone),
                       TN_TENSORS(x));
    if (strcmp(operation, "ASUM") == 0) x = tn_emit_unary(emit, "absolute", "Abs", x);
    if (strcmp(operation, "SUMSQ") == 0) x = tn_emit_binary(emit, "squares", "Mul", x, x);
    const tn_import_tensor list = tn_emit_list(emit, "axes", count, axes);
    return tn_emit(emit, "sum", "ReduceSum", TN_EMIT(gone), TN_TENSORS(x, list));
}

/* The axes from `axis` on are summed up and removed. */
tn_status tn_caffe_read_reduction(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const char *operation = tn_prototext_text(layer->params, "operation", "SUM");
    const double coefficient = tn_prototext_number(layer->params, "coeff", 1);
    int64_t axes[TN_MAX_RANK];
    uint32_t axis, count = 0;
    tn_caffe_chain chain = {0};
    tn_caffe_value shape = *x;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_axis_read(layer, 0, &axis));
    for (uint32_t i = axis; i < x->rank; i++)
        axes[count++] = i;
    shape.rank = axis;
    const tn_import_tensor reduced = emit_reduced(layer, operation, count, axes);
    if (coefficient != 1) tn_caffe_chain_scalar(layer, &chain, "Mul", "coeff", coefficient);
    return tn_caffe_chain_emit(layer, &chain, reduced, &shape);
}
