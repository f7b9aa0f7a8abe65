/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on shapes: Reshape, Flatten, Transpose, Squeeze, ExpandDims and Shape. A Transpose
 * moves nothing while the tensor may keep its layout: the value remembers its new axes.
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

static tn_status reshape_to(tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *x = call->inputs[0], *y = call->output;
    y->type = x->type;
    if (is_flattening(reader, x, y)) {
        y->flattened = x;
        return TN_OK;
    }
    y->tensor = tn_uff_emit_reshape(reader, y->name, tn_uff_plain(reader, x), x->rank, x->extents,
                                    y->rank, y->extents);
    return reader->emit.status;
}

/* The extents that a list of numbers means; the one that is -1 is what is left. */
static tn_status resolve_extents(tn_uff_reader *reader, const tn_uff_value *x, size_t count,
                                 const int64_t *values, tn_uff_value *y) {
    uint32_t left = UINT32_MAX;
    int64_t others[TN_MAX_RANK];
    uint32_t other_count = 0;
    if (count > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %zu; at most %d is possible", count, TN_MAX_RANK);
    y->rank = (uint32_t)count;
    for (uint32_t i = 0; i < y->rank; i++) {
        y->extents[i] = values[i];
        if (values[i] >= 0 || tn_uff_is_open(values[i])) {
            others[other_count++] = values[i];
            continue;
        }
        if (values[i] != -1 || left != UINT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "extent %" PRIu32 " of the new shape is %" PRId64, i,
                           values[i]);
        left = i;
    }
    if (left == UINT32_MAX) return TN_OK;
    return tn_uff_quotient(reader, x->rank, x->extents, other_count, others, &y->extents[left]);
}

/* A shape that is known only at run time; its length is known. */
static tn_status reshape_by_tensor(tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *shape = call->inputs[1], *y = call->output;
    if (shape->rank != 1 || tn_uff_is_open(shape->extents[0]) || shape->extents[0] > TN_MAX_RANK)
        return tn_fail(TN_ERROR_UNSUPPORTED, "the new shape ('%s') is no list of known length",
                       shape->name);
    y->type = call->inputs[0]->type;
    y->rank = (uint32_t)shape->extents[0];
    for (uint32_t i = 0; i < y->rank; i++)
        y->extents[i] = shape->known && !tn_uff_is_open(shape->known[i]) && shape->known[i] >= 0
                            ? shape->known[i]
                            : tn_uff_open(reader);
    const tn_import_tensor x = tn_uff_plain(reader, call->inputs[0]);
    const tn_import_tensor values = tn_uff_plain(reader, shape);
    const tn_import_tensor extents = tn_emit_cast(&reader->emit, "extents", "i64", values);
    return tn_uff_emit(call, "Reshape", NULL, TN_TENSORS(x, extents));
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

tn_status tn_uff_read_reshape(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    size_t count = 0;
    const int64_t *values = tn_uff_integers(call->inputs[1], &count);
    if (!values || call->inputs[1]->rank != 1) return reshape_by_tensor(call);
    TN_TRY(resolve_extents(call->reader, x, count, values, y));
    if (is_same_shape(x, y)) {
        call->output = x;
        return TN_OK;
    }
    return is_sayable(x, y) ? reshape_to(call) : reshape_by_tensor(call);
}

tn_status tn_uff_read_flatten(tn_uff_call *call) {
    const tn_uff_value *x = call->inputs[0];
    if (x->rank == 0) return tn_fail(TN_ERROR_SHAPE, "input '%s' has no axes", x->name);
    call->output->rank = 2;
    call->output->extents[0] = x->extents[0];
    call->output->extents[1] = tn_uff_product(call->reader, x->rank - 1, &x->extents[1]);
    return reshape_to(call);
}

/* ----------------------------------------------------------------------------------------------
 * Transpose, Squeeze, ExpandDims */

static tn_status read_permutation(const tn_uff_call *call, tn_uff_order *out_order) {
    const uint32_t rank = call->inputs[0]->rank;
    size_t count = 0;
    const int64_t *items;
    uint32_t seen = 0;
    TN_TRY(tn_uff_field_require(call, "permutation"));
    TN_TRY(tn_uff_field_i64s(call, "permutation", &count, &items));
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

tn_status tn_uff_read_transpose(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    tn_uff_order permutation;
    TN_TRY(read_permutation(call, &permutation));
    y->tensor = tn_uff_stored(call->reader, x);
    TN_TRY(call->reader->emit.status);
    y->type = x->type;
    y->rank = x->rank;
    for (uint32_t i = 0; i < y->rank; i++) {
        y->extents[i] = x->extents[permutation.axes[i]];
        y->storage.axes[i] = (uint8_t)tn_uff_order_find(&permutation, x->storage.axes[i]);
    }
    return TN_OK;
}

tn_status tn_uff_read_squeeze(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    uint32_t axes;
    int64_t positions[TN_MAX_RANK];
    size_t count = 0;
    TN_TRY(tn_uff_field_axes(call, &count, &axes));
    for (uint32_t i = 0; i < x->rank && count == 0; i++)
        if (x->extents[i] == 1) axes |= 1u << i;
    if (axes == 0) {
        call->output = x;
        return TN_OK;
    }
    tn_uff_value_drop_axes(x, axes, y);
    const int64_t *values = tn_uff_integers(x, &count);
    if (values && y->rank == 0) TN_TRY(tn_uff_integers_set(call->reader, y, 0, 1, values));
    if (y->data) return TN_OK;
    count = tn_uff_value_positions(x, axes, positions);
    return tn_uff_emit(call, "Squeeze", TN_EMIT(tn_emit_i64s("axes", count, positions)),
                       TN_TENSORS(tn_uff_stored(call->reader, x)));
}

tn_status tn_uff_read_expand_dims(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    uint32_t axis;
    size_t count = 0;
    if (x->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %d is the highest there is", TN_MAX_RANK);
    TN_TRY(tn_uff_field_axis(call, true, x->rank + 1, &axis));
    const int64_t *values = x->rank == 0 ? tn_uff_integers(x, &count) : NULL;
    y->type = x->type;
    if (values) TN_TRY(tn_uff_integers_set(call->reader, y, 1, 1, values));
    if (y->data) return TN_OK;
    tn_uff_value_insert_axis(x, axis, 1, y);
    const bool is_plain_x = is_plain(x);
    /* an axis of one element lies anywhere: in front is simplest */
    const int64_t position = is_plain_x ? axis : 0;
    for (uint32_t i = 0; !is_plain_x && i < y->rank; i++) {
        const uint32_t old = i == 0 ? axis : x->storage.axes[i - 1];
        y->storage.axes[i] = (uint8_t)(i > 0 && old >= axis ? old + 1 : old);
    }
    return tn_uff_emit(call, "Unsqueeze", TN_EMIT(tn_emit_i64s("axes", 1, &position)),
                       TN_TENSORS(tn_uff_stored(call->reader, x)));
}

/* ----------------------------------------------------------------------------------------------
 * Shape */

tn_status tn_uff_read_shape(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    tn_emitter *emit = &call->reader->emit;
    int64_t positions[TN_MAX_RANK];
    y->type = TN_I32;
    TN_TRY(tn_uff_integers_set(call->reader, y, 1, x->rank, x->extents));
    if (y->data) return TN_OK;
    for (uint32_t i = 0; i < x->rank; i++)
        positions[i] = tn_uff_order_find(&x->storage, i);
    const tn_import_tensor stored =
        tn_emit_unary(emit, "stored", "Shape", tn_uff_stored(call->reader, x));
    const tn_import_tensor extents = tn_emit_binary(
        emit, "extents", "Gather", stored, tn_emit_list(emit, "positions", x->rank, positions));
    return tn_uff_emit(call, "Cast", TN_EMIT(tn_emit_text("to", "i32")), TN_TENSORS(extents));
}
