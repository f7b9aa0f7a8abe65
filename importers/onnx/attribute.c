/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's attributes in our terms: references to a function's attributes followed, numbers, texts,
 * lists and tensors mapped by type. The operator's field table is looked at only where ONNX writes
 * the same thing differently: element types are numbers there, bytes are strings.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <string.h>

#define ATTRIBUTES_AT_MOST 256

enum {
    ONNX_FLOAT = 1,
    ONNX_INT = 2,
    ONNX_STRING = 3,
    ONNX_TENSOR = 4,
    ONNX_GRAPH = 5,
    ONNX_FLOATS = 6,
    ONNX_INTS = 7,
    ONNX_STRINGS = 8,
    ONNX_TENSORS = 9,
    ONNX_GRAPHS = 10,
    ONNX_SPARSE_TENSOR = 11,
    ONNX_TYPE = 13
};

tn_status tn_onnx_attribute_resolve(const tn_onnx_scope *scope, tn_onnx_attribute *attribute,
                                    tn_onnx_binding *out_binding) {
    const char *wanted = attribute->ref_attr_name;
    *out_binding = (tn_onnx_binding){.name = attribute->name ? attribute->name : ""};
    if (!wanted || !*wanted) {
        out_binding->value = attribute;
        return TN_OK;
    }
    if (!scope->function)
        return tn_fail(TN_ERROR_FORMAT,
                       "attribute '%s' refers to '%s' of a function, but its node is in none",
                       out_binding->name, wanted);
    for (size_t i = 0; i < scope->binding_count && !out_binding->value; i++)
        if (strcmp(scope->bindings[i].name, wanted) == 0)
            out_binding->value = scope->bindings[i].value;
    return TN_OK;
}

/* The type, also of attributes from before it was written into the file. */
static int attribute_type(const tn_onnx_attribute *attribute) {
    if ((int)attribute->type != 0) return (int)attribute->type;
    if (attribute->has_f) return ONNX_FLOAT;
    if (attribute->has_i) return ONNX_INT;
    if (attribute->has_s) return ONNX_STRING;
    if (attribute->t) return ONNX_TENSOR;
    if (attribute->g) return ONNX_GRAPH;
    if (attribute->tp) return ONNX_TYPE;
    if (attribute->sparse_tensor) return ONNX_SPARSE_TENSOR;
    if (attribute->n_floats > 0) return ONNX_FLOATS;
    if (attribute->n_ints > 0) return ONNX_INTS;
    if (attribute->n_strings > 0) return ONNX_STRINGS;
    return 0;
}

/* A terminated copy; null with *out_status set when there is no memory or a NUL inside. */
static const char *copy_text(tn_arena *arena, const ProtobufCBinaryData *bytes,
                             tn_status *out_status) {
    if (bytes->len > 0 && memchr(bytes->data, 0, bytes->len)) {
        *out_status = tn_fail(TN_ERROR_FORMAT, "the text contains a NUL");
        return NULL;
    }
    char *copy = tn_arena_allocate(arena, bytes->len + 1, 1);
    if (!copy) *out_status = tn_fail_memory("an attribute");
    if (copy && bytes->len > 0) memcpy(copy, bytes->data, bytes->len);
    return copy;
}

static tn_status set_type(int64_t number, tn_attribute *to) {
    const tn_type type = tn_onnx_type(number);
    if (type == TN_NONE)
        return tn_fail(TN_ERROR_UNSUPPORTED, "ONNX's element type %lld (%s) is not supported",
                       (long long)number, tn_onnx_type_name(number));
    to->type = TN_FIELD_STRING;
    to->s = tn_type_name(type);
    return TN_OK;
}

static tn_status read_int(const tn_onnx_attribute *from, const tn_field *field, tn_attribute *to) {
    to->type = TN_FIELD_I64;
    to->i = from->i;
    return field && field->type == TN_FIELD_TYPE ? set_type(from->i, to) : TN_OK;
}

/* That of the elements of a tensor, or of a sequence's, which is all that an operator's field can
 * have. */
static tn_status read_type(const tn_onnx_attribute *from, tn_attribute *to) {
    const Tenon__Onnx__TypeProto *type = from->tp;
    if (type && type->sequence_type) type = type->sequence_type->elem_type;
    if (type && type->tensor_type) return set_type(type->tensor_type->elem_type, to);
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "types are supported of tensors and of sequences of tensors alone");
}

static tn_status read_string(tn_arena *arena, const tn_onnx_attribute *from, const tn_field *field,
                             tn_attribute *to) {
    tn_status status = TN_OK;
    if (field && field->type == TN_FIELD_BYTES) {
        tn_import_set_list(to, TN_FIELD_BYTES, from->s.len, from->s.data);
        return TN_OK;
    }
    to->type = TN_FIELD_STRING;
    to->s = copy_text(arena, &from->s, &status);
    return status;
}

static tn_status read_strings(tn_arena *arena, size_t count, const ProtobufCBinaryData *items,
                              tn_attribute *to) {
    tn_status status = TN_OK;
    const char **texts = tn_arena_allocate(arena, count, sizeof(*texts));
    if (!texts) return tn_fail_memory("an attribute");
    for (size_t i = 0; i < count && status == TN_OK; i++)
        texts[i] = copy_text(arena, &items[i], &status);
    tn_import_set_list(to, TN_FIELD_STRINGS, count, texts);
    return status;
}

static tn_status read_tensor(tn_onnx_reader *reader, const tn_onnx_scope *scope, tn_arena *arena,
                             const tn_onnx_attribute *from, tn_attribute *to) {
    tn_onnx_data data;
    if (attribute_type(from) == ONNX_SPARSE_TENSOR) {
        TN_TRY(tn_onnx_sparse_read(reader, scope, from->sparse_tensor, &data));
    } else {
        if (!from->t) return tn_fail(TN_ERROR_FORMAT, "the tensor is missing");
        TN_TRY(tn_onnx_tensor_read(reader, scope, from->t, &data));
    }
    if (data.type == TN_STRING &&
        from->t) /* fields hold no tensors of strings, but lists of them */
        return read_strings(arena, from->t->n_string_data, from->t->string_data, to);
    tn_tensor_storage *storage = tn_arena_allocate(arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("an attribute");
    TN_TRY(tn_tensor_init(storage, data.type, TN_LINEAR, &data.shape));
    storage->tensor.data = (void *)(uintptr_t)data.data;
    to->type = TN_FIELD_TENSOR;
    to->tensor = &storage->tensor;
    return TN_OK;
}

static tn_status read_body(tn_onnx_reader *reader, tn_onnx_scope *scope,
                           const tn_onnx_attribute *from, const tn_field *field, tn_attribute *to) {
    if (!from->g) return tn_fail(TN_ERROR_FORMAT, "the graph is missing");
    if (!field || field->type != TN_FIELD_GRAPH)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "it is a body (a graph), which this operator does not have there");
    return tn_onnx_body_read(reader, scope, from->g, to);
}

static tn_status read_value(tn_onnx_reader *reader, tn_onnx_scope *scope, tn_arena *arena,
                            const tn_onnx_attribute *from, const tn_field *field,
                            tn_attribute *to) {
    switch (attribute_type(from)) {
    case ONNX_FLOAT:
        to->type = TN_FIELD_F32;
        to->f = (double)from->f;
        return TN_OK;
    case ONNX_INT:
        return read_int(from, field, to);
    case ONNX_STRING:
        return read_string(arena, from, field, to);
    case ONNX_TYPE:
        return read_type(from, to);
    case ONNX_TENSOR:
    case ONNX_SPARSE_TENSOR:
        return read_tensor(reader, scope, arena, from, to);
    case ONNX_FLOATS:
        tn_import_set_list(to, TN_FIELD_F32S, from->n_floats, from->floats);
        return TN_OK;
    case ONNX_INTS:
        tn_import_set_list(to, TN_FIELD_I64S, from->n_ints, from->ints);
        return TN_OK;
    case ONNX_STRINGS:
        return read_strings(arena, from->n_strings, from->strings, to);
    case ONNX_GRAPH:
        return read_body(reader, scope, from, field, to);
    case ONNX_GRAPHS:
        return tn_fail(TN_ERROR_UNSUPPORTED, "lists of bodies are not supported");
    case 0:
        return tn_fail(TN_ERROR_FORMAT, "it has neither type nor value");
    default:
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "attributes of ONNX's type %d (lists of tensors or of types) are not "
                       "supported",
                       attribute_type(from));
    }
}

/* What ONNX gives two names is one field where both are the same to an operator: the sparse value
 * of a Constant is dense once it is read. */
static const char *field_name(const tn_operator *op, const char *name) {
    const bool is_sparse = op && strcmp(name, "sparse_value") == 0 &&
                           !tn_import_find_field(op, name) && tn_import_find_field(op, "value");
    return is_sparse ? "value" : name;
}

/* An element type of 0, UNDEFINED, where one may be left out: onnxruntime writes all attributes
 * into the files that it saves, and this is their value where it was given none. */
static bool is_no_type(const tn_onnx_attribute *from, const tn_field *field) {
    return field && field->type == TN_FIELD_TYPE && !(field->flags & TN_REQUIRED) &&
           attribute_type(from) == ONNX_INT && from->i == 0;
}

tn_status tn_onnx_attributes_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                  const tn_onnx_node *node, const tn_operator *op, tn_arena *arena,
                                  uint64_t *out_count, const tn_attribute *const **out_attributes) {
    if (node->n_attribute > ATTRIBUTES_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "%zu attributes; at most %d are read", node->n_attribute,
                       ATTRIBUTES_AT_MOST);
    const tn_attribute **list = tn_arena_allocate(arena, node->n_attribute, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(arena, node->n_attribute, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a node's attributes");
    uint64_t count = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        tn_onnx_binding binding;
        TN_TRY(tn_onnx_attribute_resolve(scope, node->attribute[i], &binding));
        if (!binding.value) continue;
        tn_attribute *value = &values[count];
        const char *name = field_name(op, binding.name);
        *value = (tn_attribute){.size = sizeof(*value), .name = name};
        const tn_field *field = tn_import_find_field(op, name);
        if (is_no_type(binding.value, field)) continue;
        TN_TRY(tn_error_at(read_value(reader, scope, arena, binding.value, field, value),
                           "attribute '%s'", binding.name));
        list[count++] = value;
    }
    *out_count = count;
    *out_attributes = list;
    return TN_OK;
}
