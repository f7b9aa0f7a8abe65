/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values in the order that somebody needs: constants are permuted here and now, others get a
 * Transpose, or a Reshape where only axes of one element are swapped. What was made is kept.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <string.h>

void tn_uff_value_like(tn_uff_value *value, const tn_uff_value *other) {
    value->type = other->type;
    value->rank = other->rank;
    value->storage = other->storage;
    memcpy(value->extents, other->extents, sizeof(value->extents));
}

void tn_uff_value_drop_axes(const tn_uff_value *x, uint32_t axes, tn_uff_value *y) {
    uint8_t renumbered[TN_MAX_RANK] = {0};
    uint32_t rank = 0, position = 0;
    for (uint32_t i = 0; i < x->rank && i < TN_MAX_RANK; i++) {
        if (axes >> i & 1) continue;
        renumbered[i] = (uint8_t)rank;
        y->extents[rank++] = x->extents[i];
    }
    for (uint32_t i = 0; i < x->rank; i++)
        if (!(axes >> x->storage.axes[i] & 1))
            y->storage.axes[position++] = renumbered[x->storage.axes[i]];
    y->rank = rank;
    y->type = x->type;
}

void tn_uff_value_insert_axis(const tn_uff_value *x, uint32_t axis, int64_t extent,
                              tn_uff_value *y) {
    y->rank = x->rank + 1;
    for (uint32_t i = 0; i < y->rank; i++)
        y->extents[i] = i == axis ? extent : x->extents[i < axis ? i : i - 1];
}

uint32_t tn_uff_value_positions(const tn_uff_value *value, uint32_t axes, int64_t *out_positions) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < value->rank; i++)
        if (axes >> value->storage.axes[i] & 1) out_positions[count++] = i;
    return count;
}

/* Extents in an order. */
static void order_extents(const tn_uff_value *value, const tn_uff_order *order,
                          int64_t *out_extents) {
    for (uint32_t i = 0; i < value->rank; i++)
        out_extents[i] = value->extents[order->axes[i]];
}

/* ----------------------------------------------------------------------------------------------
 * constants */

static void copy_element(char *to, const char *from, size_t bytes) {
    switch (bytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

tn_status tn_uff_constant_permute(tn_uff_reader *reader, const tn_uff_value *value,
                                  const tn_uff_order *order, const void **out_data,
                                  int64_t *out_extents) {
    const size_t element = tn_type_bytes(value->type);
    size_t strides[TN_MAX_RANK] = {0}, steps[TN_MAX_RANK], count = 1;
    for (uint32_t i = value->rank; i-- > 0;) {
        strides[i] = count * element;
        count *= (size_t)value->extents[i];
    }
    order_extents(value, order, out_extents);
    for (uint32_t i = 0; i < value->rank; i++)
        steps[i] = strides[order->axes[i]];
    if (value->bytes > reader->permutable_bytes)
        return tn_fail(TN_ERROR_MEMORY, "the file asks for its constants in too many orders");
    reader->permutable_bytes -= value->bytes;
    char *to = tn_import_allocate(reader->graph, value->bytes);
    if (!to) return tn_fail_memory("a constant");
    *out_data = to;
    int64_t at[TN_MAX_RANK] = {0};
    const char *from = value->data;
    for (size_t i = 0; i < count; i++, to += element) {
        copy_element(to, from, element);
        for (uint32_t axis = value->rank; axis-- > 0;) {
            from += steps[axis];
            if (++at[axis] < out_extents[axis]) break;
            from -= steps[axis] * (size_t)out_extents[axis];
            at[axis] = 0;
        }
    }
    return TN_OK;
}

/* Data of the file's message becomes the graph's: large data is taken over, once. */
static tn_status own_blob(tn_uff_reader *reader, tn_uff_value *value) {
    const uint32_t entry = value->blob - 1;
    tn_uff_data *data = reader->file->referenced_data[entry]->value;
    const size_t bytes = value->bytes;
    value->data = reader->blobs[entry];
    value->blob = 0;
    if (value->data) return TN_OK;
    TN_TRY(tn_import_take(reader->graph, (void **)&data->blob.data, bytes, "a constant",
                          &value->data));
    if (data->blob.data) return TN_OK;
    data->blob.len = 0;
    reader->blobs[entry] = value->data;
    reader->blob_bytes[entry] = bytes;
    return TN_OK;
}

static tn_status make_constant(tn_uff_reader *reader, tn_uff_value *value) {
    if (value->blob > 0 && value->bytes > 0) TN_TRY(own_blob(reader, value));
    tn_shape shape;
    TN_TRY(tn_shape_set(&shape, value->rank, value->extents));
    const char *name = tn_import_free_name(reader->graph, value->name);
    if (!name) return tn_fail_memory("a constant's name");
    return tn_import_add_constant(reader->graph, name, value->type, &shape, value->data,
                                  value->bytes, &value->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * orders */

/* Whether elements lie the same in both orders: all axes but those of one element keep their
 * sequence. */
static bool is_same_sequence(const tn_uff_value *value, const tn_uff_order *a,
                             const tn_uff_order *b) {
    uint32_t i = 0, j = 0;
    for (;;) {
        while (i < value->rank && value->extents[a->axes[i]] == 1)
            i++;
        while (j < value->rank && value->extents[b->axes[j]] == 1)
            j++;
        if (i == value->rank || j == value->rank) return i == value->rank && j == value->rank;
        if (a->axes[i++] != b->axes[j++]) return false;
    }
}

static uint32_t count_open(const tn_uff_value *value) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < value->rank; i++)
        count += tn_uff_is_open(value->extents[i]);
    return count;
}

/* "conv1/nchw", or "conv1/0321" for orders without a name. */
static const char *order_name(tn_uff_reader *reader, const tn_uff_value *value,
                              const tn_uff_order *order) {
    char text[TN_MAX_RANK + 1] = {0};
    for (uint32_t i = 0; i < value->rank; i++)
        text[i] = (char)('0' + order->axes[i]);
    const char *part = strcmp(text, "0312") == 0   ? "nchw"
                       : strcmp(text, "0123") == 0 ? "nhwc"
                                                   : text;
    const char *outer = tn_emit_enter(&reader->emit, value->name);
    const char *name = tn_emit_name(&reader->emit, part);
    reader->emit.name = outer;
    return name;
}

static tn_import_tensor emit_transpose(tn_uff_reader *reader, tn_uff_value *value,
                                       const tn_uff_order *order) {
    const char *name = order_name(reader, value, order);
    int64_t permutation[TN_MAX_RANK];
    if (is_same_sequence(value, &value->storage, order) && count_open(value) <= 1) {
        int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
        order_extents(value, &value->storage, from);
        order_extents(value, order, to);
        return tn_uff_emit_reshape(reader, name, value->tensor, value->rank, from, value->rank, to);
    }
    for (uint32_t i = 0; i < value->rank; i++)
        permutation[i] = tn_uff_order_find(&value->storage, order->axes[i]);
    return tn_uff_emit_as(reader, name, "Transpose",
                          TN_EMIT(tn_emit_i64s("perm", value->rank, permutation)),
                          TN_TENSORS(value->tensor));
}

static tn_status permute_constant(tn_uff_reader *reader, const tn_uff_value *value,
                                  const tn_uff_order *order, tn_import_tensor *out_tensor) {
    const void *data;
    tn_shape shape = {.rank = value->rank};
    const char *name = order_name(reader, value, order);
    if (!name) return tn_fail_memory("a constant's name");
    TN_TRY(tn_uff_constant_permute(reader, value, order, &data, shape.extents));
    return tn_import_add_constant(reader->graph, name, value->type, &shape, data, value->bytes,
                                  out_tensor);
}

/* A flattened value that somebody needs in file order. */
static tn_import_tensor unfold_flattened(tn_uff_reader *reader, tn_uff_value *value) {
    tn_uff_value *source = value->flattened;
    value->flattened = NULL;
    return tn_uff_emit_reshape(reader, value->name, tn_uff_plain(reader, source), source->rank,
                               source->extents, value->rank, value->extents);
}

tn_import_tensor tn_uff_stored(tn_uff_reader *reader, tn_uff_value *value) {
    tn_emitter *emit = &reader->emit;
    if (value->tensor != TN_IMPORT_NO_TENSOR || emit->status != TN_OK) return value->tensor;
    if (value->flattened)
        value->tensor = unfold_flattened(reader, value);
    else if (value->data)
        emit->status = make_constant(reader, value);
    else
        emit->status = tn_fail(TN_ERROR_INTERNAL, "value '%s' has no tensor", value->name);
    return value->tensor;
}

tn_import_tensor tn_uff_ordered(tn_uff_reader *reader, tn_uff_value *value,
                                const tn_uff_order *order) {
    tn_emitter *emit = &reader->emit;
    tn_import_tensor tensor = TN_IMPORT_NO_TENSOR;
    if (tn_uff_order_equal(order, &value->storage, value->rank))
        return tn_uff_stored(reader, value);
    for (uint32_t i = 0; i < value->copy_count; i++)
        if (tn_uff_order_equal(order, &value->copies[i].order, value->rank))
            return value->copies[i].tensor;
    if (!value->data) (void)tn_uff_stored(reader, value);
    if (emit->status != TN_OK) return tensor;
    if (value->data)
        emit->status = permute_constant(reader, value, order, &tensor);
    else
        tensor = emit_transpose(reader, value, order);
    if (value->copy_count < TN_COUNT(value->copies))
        value->copies[value->copy_count++] = (tn_uff_copy){*order, tensor};
    return tensor;
}

tn_import_tensor tn_uff_plain(tn_uff_reader *reader, tn_uff_value *value) {
    const tn_uff_order plain = tn_uff_order_plain();
    return tn_uff_ordered(reader, value, &plain);
}
