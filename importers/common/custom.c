/* SPDX-License-Identifier: Apache-2.0 */
/* Operators for nodes without domain and version, and their fields; see custom.h. */
#include "importers/common/custom.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * fields */

static bool is_whole(double value) {
    return value == floor(value) && fabs(value) <= 9007199254740992.0;
}

/* Files that know but one kind of number, or promote a list to it, have integers as floats. */
static tn_status floats_to_integers(tn_arena *arena, tn_attribute *attribute) {
    const double *from = attribute->items;
    int64_t *to = tn_arena_allocate(arena, (size_t)attribute->count, sizeof(*to));
    if (!to) return tn_fail_memory("a field");
    for (uint64_t i = 0; i < attribute->count; i++) {
        if (!is_whole(from[i])) return TN_OK; /* as it is: the field's table says why not */
        to[i] = (int64_t)from[i];
    }
    attribute->type = TN_FIELD_I64S;
    attribute->items = to;
    return TN_OK;
}

static bool takes_integers(const tn_field *field) {
    return field->type == TN_FIELD_BOOL || field->type == TN_FIELD_I32 ||
           field->type == TN_FIELD_I64 || field->type == TN_FIELD_I64S ||
           field->type == TN_FIELD_ENUM;
}

/* Element types go by name. */
static tn_status name_type(tn_attribute *attribute) {
    if (attribute->i == TN_NONE)
        return tn_fail(TN_ERROR_UNSUPPORTED, "field '%s' is an element type that is not supported",
                       attribute->name);
    attribute->type = TN_FIELD_STRING;
    attribute->s = tn_type_name((tn_type)attribute->i);
    return TN_OK;
}

static tn_status fit_value(tn_arena *arena, const tn_field *field, tn_attribute *attribute) {
    if (attribute->type == TN_FIELD_TYPE) return name_type(attribute);
    if (!field || !takes_integers(field)) return TN_OK;
    if (attribute->type == TN_FIELD_F64 && is_whole(attribute->f)) {
        attribute->type = TN_FIELD_I64;
        attribute->i = (int64_t)attribute->f;
    }
    /* a list of one where one is asked for */
    if (attribute->type == TN_FIELD_I64S && attribute->count == 1 && field->type != TN_FIELD_I64S) {
        attribute->type = TN_FIELD_I64;
        attribute->i = *(const int64_t *)attribute->items;
    }
    return attribute->type == TN_FIELD_F64S ? floats_to_integers(arena, attribute) : TN_OK;
}

static tn_status fit_fields(tn_arena *arena, const tn_operator *op, size_t count,
                            const tn_custom_field *fields, uint64_t *out_count,
                            const tn_attribute *const **out_attributes) {
    const tn_attribute **list = tn_arena_allocate(arena, count, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(arena, count, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a node's fields");
    uint64_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const tn_field *field = tn_import_find_field(op, fields[i].value.name);
        if (!field && fields[i].may_be_dropped) continue;
        values[kept] = fields[i].value;
        TN_TRY(fit_value(arena, field, &values[kept]));
        list[kept] = &values[kept];
        kept++;
    }
    *out_count = kept;
    *out_attributes = list;
    return TN_OK;
}

/* The fields as they came, for the message. */
static tn_status describe(tn_import *import, tn_arena *arena, const char *name, tn_status status,
                          size_t count, const tn_custom_field *fields) {
    if (status != TN_ERROR_UNSUPPORTED) return status;
    const tn_attribute **list = tn_arena_allocate(arena, count, sizeof(*list));
    if (!list) return tn_fail_memory("a message");
    for (size_t i = 0; i < count; i++)
        list[i] = &fields[i].value;
    return import->services->describe_missing(import, name, count, list);
}

/* ONNX's own operator of that name does something else unless it takes the node's fields. */
static tn_status check_builtin(tn_import *import, tn_arena *arena, const tn_operator *op,
                               uint64_t count, const tn_attribute *const *attributes) {
    if (op->domain[0] || import->services->check_fields(import, op, count, attributes) == TN_OK)
        return TN_OK;
    const char *reason = tn_arena_text(arena, tn_last_error()->message);
    if (!reason) return tn_fail_memory("a message");
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "no library has an operator '%s' for this node, and ONNX's own takes other "
                   "fields (%s)",
                   op->name, reason);
}

tn_status tn_custom_find(tn_import *import, tn_arena *arena, const char *name, size_t field_count,
                         const tn_custom_field *fields, tn_custom_node *out_node) {
    tn_custom_node node = {0};
    tn_status status = import->services->find_operator(import, NULL, name, 0, &node.op);
    if (status == TN_OK) {
        TN_TRY(fit_fields(arena, node.op, field_count, fields, &node.attribute_count,
                          &node.attributes));
        status = check_builtin(import, arena, node.op, node.attribute_count, node.attributes);
    }
    if (status != TN_OK) return describe(import, arena, name, status, field_count, fields);
    *out_node = node;
    return TN_OK;
}

int64_t tn_custom_stand_in(uint32_t axis, bool is_second) {
    if (axis == 0) return is_second ? 2 : 1;
    return is_second ? 320 : 256;
}

/* NOLINTBEGIN(readability-non-const-parameter): out_types is written through the question */
tn_status tn_custom_infer(tn_import *import, tn_arena *arena, const char *name,
                          const tn_custom_node *node, bool is_second, uint32_t input_count,
                          const tn_custom_input *inputs, uint32_t output_count, tn_type *out_types,
                          tn_shape *out_shapes) {
    /* NOLINTEND(readability-non-const-parameter) */
    tn_tensor_storage *storage = tn_arena_allocate(arena, input_count, sizeof(*storage));
    const tn_tensor **tensors = tn_arena_allocate(arena, input_count, sizeof(*tensors));
    uint32_t *ranks = tn_arena_allocate(arena, output_count, sizeof(*ranks));
    int64_t(*extents)[TN_MAX_RANK] = tn_arena_allocate(arena, output_count, sizeof(*extents));
    if (!storage || !tensors || !ranks || !extents) return tn_fail_memory("a node");
    for (uint32_t i = 0; i < input_count; i++) {
        tn_shape shape = inputs[i].shape;
        for (uint32_t axis = 0; axis < shape.rank; axis++)
            if (shape.extents[axis] < 0) shape.extents[axis] = tn_custom_stand_in(axis, is_second);
        TN_TRY(tn_tensor_init(&storage[i], inputs[i].type, TN_LINEAR, &shape));
        storage[i].tensor.name = inputs[i].name;
        storage[i].tensor.data = (void *)(uintptr_t)inputs[i].data;
        tensors[i] = &storage[i].tensor;
    }
    const tn_import_question question = {.size = sizeof(question),
                                         .input_count = input_count,
                                         .output_count = output_count,
                                         .name = name,
                                         .op = node->op,
                                         .attribute_count = node->attribute_count,
                                         .attributes = node->attributes,
                                         .inputs = tensors,
                                         .out_types = out_types,
                                         .out_ranks = ranks,
                                         .out_extents = extents};
    TN_TRY(import->services->ask(import, &question));
    for (uint32_t i = 0; i < output_count; i++) {
        out_shapes[i].rank = ranks[i];
        memcpy(out_shapes[i].extents, extents[i], sizeof(extents[i]));
    }
    return TN_OK;
}
