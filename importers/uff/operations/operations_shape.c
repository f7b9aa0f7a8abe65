/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on shapes: Reshape, Flatten, Transpose, Squeeze, ExpandDims and Shape. A Transpose
 * moves nothing while the tensor may stay as it lies: the value remembers its new axes.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * Reshape, Flatten */

static bool is_plain(const tn_uff_value *value) {
    const tn_uff_order plain = tn_uff_order_plain();
    return tn_uff_order_equal(&value->storage, &plain, value->rank);
}

/* Whether the output is [N, all else] of an input that lies in another order: then nothing is
 * moved until somebody needs the elements in file order. */
static bool is_flattening(tn_uff_reader *reader, const tn_uff_value *x, const tn_uff_value *y) {
    if (is_plain(x) || x->data || x->storage.axes[0] != 0 || y->rank != 2) return false;
    const int64_t rest = tn_uff_product(reader, x->rank - 1, &x->extents[1]);
    return x->extents[0] == y->extents[0] && !tn_uff_is_open(rest) && rest == y->extents[1];
}

static tn_status reshape_to(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    tn_import_tensor input;
    y->type = x->type;
    if (is_flattening(reader, x, y)) {
        y->flattened = x;
        return TN_OK;
    }
    TN_TRY(tn_uff_value_plain(reader, x, &input));
    return tn_uff_emit_reshape(reader, y->name, input, x->rank, x->extents, y->rank, y->extents,
                               &y->tensor);
}

/* The extents that a list of numbers means; the one that is -1 is what is left. */
static tn_status resolve_extents(tn_uff_reader *reader, const tn_uff_value *x, size_t count,
                                 const int64_t *numbers, tn_uff_value *y) {
    uint32_t left = UINT32_MAX;
    int64_t others[TN_MAX_RANK];
    uint32_t other_count = 0;
    if (count > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", count, TN_MAX_RANK);
    y->rank = (uint32_t)count;
    for (uint32_t i = 0; i < y->rank; i++) {
        y->extents[i] = numbers[i];
        if (numbers[i] >= 0 || tn_uff_is_open(numbers[i])) {
            others[other_count++] = numbers[i];
            continue;
        }
        if (numbers[i] != -1 || left != UINT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "extent %" PRIu32 " of the new shape is %" PRId64, i,
                           numbers[i]);
        left = i;
    }
    if (left == UINT32_MAX) return TN_OK;
    return tn_uff_quotient(reader, x->rank, x->extents, other_count, others, &y->extents[left]);
}

/* A shape that is known only at run time; its length is known. */
static tn_status reshape_by_tensor(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *shape = call->inputs[1], *y = call->output;
    tn_uff_attributes attributes = {0};
    tn_import_tensor inputs[2], numbers;
    if (shape->rank != 1 || tn_uff_is_open(shape->extents[0]) || shape->extents[0] > TN_MAX_RANK)
        return tn_fail(TN_ERROR_UNSUPPORTED, "the new shape ('%s') is no list of known length",
                       shape->name);
    y->type = x->type;
    y->rank = (uint32_t)shape->extents[0];
    for (uint32_t i = 0; i < y->rank; i++)
        y->extents[i] = shape->known && !tn_uff_is_open(shape->known[i]) && shape->known[i] >= 0
                            ? shape->known[i]
                            : tn_uff_open(reader);
    TN_TRY(tn_uff_value_plain(reader, x, &inputs[0]));
    TN_TRY(tn_uff_value_plain(reader, shape, &numbers));
    tn_uff_attribute_text(&attributes, "to", "i64");
    TN_TRY(tn_uff_emit(reader, "Cast", 0, tn_uff_side_name(reader, y->name, "extents"), &attributes,
                       1, &numbers, &inputs[1]));
    return tn_uff_emit(reader, "Reshape", 0, y->name, NULL, 2, inputs, &y->tensor);
}

/* Whether Reshape's constant shape can say these extents: one open extent, and those that stay. */
static bool is_sayable(const tn_uff_value *x, const tn_uff_value *y) {
    uint32_t moved = 0;
    for (uint32_t i = 0; i < y->rank; i++)
        if (tn_uff_is_open(y->extents[i]) && !(i < x->rank && x->extents[i] == y->extents[i]))
            moved++;
    return moved <= 1;
}

static bool is_same_shape(const tn_uff_value *a, const tn_uff_value *b) {
    return a->rank == b->rank && memcmp(a->extents, b->extents, a->rank * sizeof(int64_t)) == 0;
}

tn_status tn_uff_read_reshape(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    size_t count = 0;
    const int64_t *numbers = tn_uff_numbers(call->inputs[1], &count);
    if (!numbers || call->inputs[1]->rank != 1) return reshape_by_tensor(reader, call);
    TN_TRY(resolve_extents(reader, x, count, numbers, y));
    if (is_same_shape(x, y)) {
        call->output = x;
        return TN_OK;
    }
    return is_sayable(x, y) ? reshape_to(reader, call) : reshape_by_tensor(reader, call);
}

tn_status tn_uff_read_flatten(tn_uff_reader *reader, tn_uff_call *call) {
    const tn_uff_value *x = call->inputs[0];
    if (x->rank == 0) return tn_fail(TN_ERROR_SHAPE, "input '%s' has no axes", x->name);
    call->output->rank = 2;
    call->output->extents[0] = x->extents[0];
    call->output->extents[1] = tn_uff_product(reader, x->rank - 1, &x->extents[1]);
    return reshape_to(reader, call);
}

/* ----------------------------------------------------------------------------------------------
 * Transpose, Squeeze, ExpandDims */

static tn_status read_permutation(const tn_uff_reader *reader, const tn_uff_call *call,
                                  tn_uff_order *out_order) {
    const uint32_t rank = call->inputs[0]->rank;
    size_t count = 0;
    const int64_t *items;
    uint32_t seen = 0;
    TN_TRY(tn_uff_field_require(reader, call->node, "permutation"));
    TN_TRY(tn_uff_field_i64s(reader, call->node, "permutation", &count, &items));
    bool is_good = count == rank;
    *out_order = tn_uff_order_plain();
    for (uint32_t i = 0; is_good && i < rank; i++) {
        is_good = items[i] >= 0 && items[i] < rank && !(seen >> items[i] & 1);
        if (!is_good) break;
        seen |= 1u << items[i];
        out_order->axes[i] = (uint8_t)items[i];
    }
    if (is_good) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT,
                   "field 'permutation' does not name each of %" PRIu32 " axes once", rank);
}

tn_status tn_uff_read_transpose(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    tn_uff_order permutation;
    TN_TRY(read_permutation(reader, call, &permutation));
    TN_TRY(tn_uff_value_stored(reader, x, &y->tensor));
    y->type = x->type;
    y->rank = x->rank;
    for (uint32_t i = 0; i < y->rank; i++) {
        y->extents[i] = x->extents[permutation.axes[i]];
        y->storage.axes[i] = (uint8_t)tn_uff_order_place(&permutation, x->storage.axes[i]);
    }
    return TN_OK;
}

static tn_status read_squeezed(const tn_uff_reader *reader, const tn_uff_call *call,
                               uint32_t *out_axes) {
    const tn_uff_value *x = call->inputs[0];
    size_t count = 0;
    const int64_t *items;
    uint32_t axes = 0, axis;
    TN_TRY(tn_uff_field_i64s(reader, call->node, "axes", &count, &items));
    for (size_t i = 0; i < count; i++) {
        TN_TRY(tn_uff_axis(items[i], x->rank, &axis));
        axes |= 1u << axis;
    }
    for (axis = 0; axis < x->rank && count == 0; axis++)
        if (x->extents[axis] == 1) axes |= 1u << axis;
    *out_axes = axes;
    return TN_OK;
}

tn_status tn_uff_read_squeeze(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    uint32_t axes;
    int64_t places[TN_MAX_RANK];
    size_t count = 0;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    TN_TRY(read_squeezed(reader, call, &axes));
    if (axes == 0) {
        call->output = x;
        return TN_OK;
    }
    tn_uff_value_drop_axes(x, axes, y);
    size_t number_count = 0;
    const int64_t *numbers = tn_uff_numbers(x, &number_count);
    if (numbers && y->rank == 0) {
        TN_TRY(tn_uff_numbers_set(reader, y, 0, 1, numbers));
        if (y->data) return TN_OK;
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> x->storage.axes[i] & 1) places[count++] = i;
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    tn_uff_attribute_i64s(&attributes, "axes", count, places);
    return tn_uff_emit(reader, "Squeeze", 0, y->name, &attributes, 1, &input, &y->tensor);
}

tn_status tn_uff_read_expand_dims(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    int64_t field, place;
    uint32_t axis;
    size_t number_count = 0;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    if (x->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %d is the highest there is", TN_MAX_RANK);
    TN_TRY(tn_uff_field_require(reader, call->node, "axis"));
    TN_TRY(tn_uff_field_i64(reader, call->node, "axis", 0, &field));
    TN_TRY(tn_uff_axis(field, x->rank + 1, &axis));
    const int64_t *numbers = x->rank == 0 ? tn_uff_numbers(x, &number_count) : NULL;
    y->type = x->type;
    if (numbers) TN_TRY(tn_uff_numbers_set(reader, y, 1, 1, numbers));
    if (y->data) return TN_OK;
    y->rank = x->rank + 1;
    const bool is_plain_x = is_plain(x);
    place = is_plain_x ? axis : 0; /* an axis of one element lies anywhere: in front is simplest */
    for (uint32_t i = 0; i < y->rank; i++)
        y->extents[i] = i == axis ? 1 : x->extents[i < axis ? i : i - 1];
    for (uint32_t i = 0; !is_plain_x && i < y->rank; i++) {
        const uint32_t old = i == 0 ? axis : x->storage.axes[i - 1];
        y->storage.axes[i] = (uint8_t)(i > 0 && old >= axis ? old + 1 : old);
    }
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    tn_uff_attribute_i64s(&attributes, "axes", 1, &place);
    return tn_uff_emit(reader, "Unsqueeze", 0, y->name, &attributes, 1, &input, &y->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * Shape */

tn_status tn_uff_read_shape(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    int64_t places[TN_MAX_RANK];
    tn_uff_attributes attributes = {0};
    tn_import_tensor input, extents, inputs[2];
    y->type = TN_I32;
    TN_TRY(tn_uff_numbers_set(reader, y, 1, x->rank, x->extents));
    if (y->data) return TN_OK;
    for (uint32_t i = 0; i < x->rank; i++)
        places[i] = tn_uff_order_place(&x->storage, i);
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    TN_TRY(tn_uff_emit(reader, "Shape", 0, tn_uff_side_name(reader, y->name, "stored"), NULL, 1,
                       &input, &inputs[0]));
    TN_TRY(tn_uff_add_i64s(reader, tn_uff_side_name(reader, y->name, "places"), x->rank, places,
                           &inputs[1]));
    TN_TRY(tn_uff_emit(reader, "Gather", 0, tn_uff_side_name(reader, y->name, "extents"), NULL, 2,
                       inputs, &extents));
    tn_uff_attribute_text(&attributes, "to", "i32");
    return tn_uff_emit(reader, "Cast", 0, y->name, &attributes, 1, &extents, &y->tensor);
}
