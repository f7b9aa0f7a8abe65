/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding to the graph: nodes of ONNX's own operators, constants beside them, and their names.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <string.h>

/* The opset that the reader's nodes mean, unless they say another: the last one in which axes of
 * reductions and of Squeeze are fields. */
#define OPSET 12

static tn_attribute *add_attribute(tn_uff_attributes *attributes, const char *name, uint32_t type) {
    tn_attribute *attribute = &attributes->items[attributes->count];
    *attribute = (tn_attribute){.size = sizeof(*attribute), .name = name, .type = type};
    attributes->pointers[attributes->count++] = attribute;
    return attribute;
}

void tn_uff_attribute_i64(tn_uff_attributes *attributes, const char *name, int64_t value) {
    add_attribute(attributes, name, TN_FIELD_I64)->i = value;
}

void tn_uff_attribute_f64(tn_uff_attributes *attributes, const char *name, double value) {
    add_attribute(attributes, name, TN_FIELD_F64)->f = value;
}

void tn_uff_attribute_text(tn_uff_attributes *attributes, const char *name, const char *value) {
    add_attribute(attributes, name, TN_FIELD_STRING)->s = value;
}

void tn_uff_attribute_i64s(tn_uff_attributes *attributes, const char *name, size_t count,
                           const int64_t *items) {
    tn_attribute *attribute = add_attribute(attributes, name, TN_FIELD_I64S);
    attribute->count = count;
    attribute->items = items;
}

const char *tn_uff_side_name(tn_uff_reader *reader, const char *name, const char *what) {
    const char *side = tn_arena_format(reader->arena, "%s/%s", name, what);
    while (side && (tn_import_has_tensor(reader->graph, side) ||
                    tn_map_get(reader->nodes, side, &(uint64_t){0})))
        side = tn_import_make_name(reader->graph, side);
    return side;
}

tn_status tn_uff_add_tensor(tn_uff_reader *reader, const char *name, tn_import_tensor *out_tensor) {
    if (tn_import_has_tensor(reader->graph, name)) {
        name = tn_import_make_name(reader->graph, name);
        if (!name) return tn_fail_memory("a tensor's name");
    }
    return tn_import_add_tensor(reader->graph, name, out_tensor);
}

tn_status tn_uff_emit(tn_uff_reader *reader, const char *op, uint32_t version, const char *name,
                      const tn_uff_attributes *attributes, uint32_t input_count,
                      const tn_import_tensor *inputs, tn_import_tensor *out_tensor) {
    const tn_operator *found;
    tn_import_tensor output;
    if (!name) return tn_fail_memory("a node's name");
    TN_TRY(tn_import_find_operator(reader->graph, "", op, version ? version : OPSET, &found));
    tn_status status = tn_uff_add_tensor(reader, name, &output);
    if (status == TN_OK)
        status = tn_import_add_node(reader->graph, name, found, attributes ? attributes->count : 0,
                                    attributes ? attributes->pointers : NULL, input_count, inputs,
                                    1, &output);
    if (status == TN_OK) *out_tensor = output;
    return status;
}

tn_status tn_uff_add_constant(tn_uff_reader *reader, const char *name, tn_type type, uint32_t rank,
                              const int64_t *extents, const void *data,
                              tn_import_tensor *out_tensor) {
    tn_shape shape;
    size_t bytes;
    if (!name) return tn_fail_memory("a tensor's name");
    TN_TRY(tn_shape_set(&shape, rank, extents));
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &shape, &bytes));
    void *copy = tn_import_room(reader->graph, bytes);
    if (!copy) return tn_fail_memory("a constant");
    if (bytes > 0) memcpy(copy, data, bytes);
    return tn_import_add_constant(reader->graph, name, type, &shape, copy, bytes, out_tensor);
}

tn_status tn_uff_add_i64s(tn_uff_reader *reader, const char *name, uint32_t count,
                          const int64_t *items, tn_import_tensor *out_tensor) {
    return tn_uff_add_constant(reader, name, TN_I64, 1, (const int64_t[]){count}, items,
                               out_tensor);
}

tn_status tn_uff_add_f32(tn_uff_reader *reader, const char *name, float value,
                         tn_import_tensor *out_tensor) {
    return tn_uff_add_constant(reader, name, TN_F32, 0, NULL, &value, out_tensor);
}

/* Extents as Reshape takes them: 0 copies the extent at the same place, -1 is what is left. */
static tn_status write_target(uint32_t from_rank, const int64_t *from, uint32_t rank,
                              const int64_t *extents, int64_t *out_target) {
    bool is_left = false;
    for (uint32_t i = 0; i < rank; i++) {
        out_target[i] = extents[i];
        if (extents[i] == 0 && !(i < from_rank && from[i] == 0))
            return tn_fail(TN_ERROR_UNSUPPORTED, "tensors without elements cannot be reshaped");
        if (!tn_uff_is_open(extents[i])) continue;
        if (i < from_rank && from[i] == extents[i]) {
            out_target[i] = 0;
        } else if (!is_left) {
            out_target[i] = -1;
            is_left = true;
        } else {
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "more than one extent of the shape is not known; give the input's shape "
                           "(--shape NAME=1x3x224x224)");
        }
    }
    return TN_OK;
}

tn_status tn_uff_emit_reshape(tn_uff_reader *reader, const char *name, tn_import_tensor tensor,
                              uint32_t from_rank, const int64_t *from, uint32_t rank,
                              const int64_t *extents, tn_import_tensor *out_tensor) {
    int64_t target[TN_MAX_RANK];
    tn_import_tensor inputs[2] = {tensor, TN_IMPORT_NO_TENSOR};
    if (!name) return tn_fail_memory("a node's name");
    TN_TRY(write_target(from_rank, from, rank, extents, target));
    TN_TRY(tn_uff_add_i64s(reader, tn_uff_side_name(reader, name, "extents"), rank, target,
                           &inputs[1]));
    return tn_uff_emit(reader, "Reshape", 0, name, NULL, 2, inputs, out_tensor);
}
