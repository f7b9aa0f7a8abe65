/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two parameter structs of an operator say the same, by its table: numbers by their bits,
 * lists and texts by content, tensors by type, shape and elements. Its companion field_output.c
 * makes the hashes that find candidates. Contract: fields.h.
 */
#include "tensor/quantization.h"
#include "plugin/fields/fields_private.h"

#include <string.h>

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_memory(const void *a, const void *b, size_t bytes) {
    return a == b || bytes == 0 || (a && b && memcmp(a, b, bytes) == 0);
}

static bool is_same_tensor(const tn_tensor *a, const tn_tensor *b) {
    if (!a || !b) return a == b;
    return a->type == b->type && a->kind == b->kind && a->format == b->format &&
           a->rank == b->rank && a->bytes == b->bytes &&
           is_same_memory(a->shape, b->shape, a->rank * sizeof *a->shape) &&
           tn_quantization_equal(a->quantization, b->quantization, a->type) &&
           is_same_memory(a->data, b->data, (size_t)a->bytes);
}

static bool is_same_list(uint32_t type, uint64_t count, const void *a, const void *b) {
    if (type != TN_FIELD_STRINGS) {
        const size_t bytes = type == TN_FIELD_BYTES || type == 0 ? 1
                             : type == TN_FIELD_F32S             ? 4
                                                                 : 8;
        return is_same_memory(a, b, (size_t)count * bytes);
    }
    for (uint64_t i = 0; i < count; i++)
        if (!is_same_text(((const char *const *)a)[i], ((const char *const *)b)[i])) return false;
    return true;
}

/* What was given for a field that takes any value. */
static bool is_same_attribute(const tn_attribute *a, const tn_attribute *b) {
    if (!a || !b) return a == b;
    if (a->type != b->type) return false;
    switch (a->type) {
    case TN_FIELD_BOOL:
    case TN_FIELD_I32:
    case TN_FIELD_I64:
        return a->i == b->i;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return is_same_memory(&a->f, &b->f, sizeof a->f);
    case TN_FIELD_STRING:
        return is_same_text(a->s, b->s);
    case TN_FIELD_TENSOR:
        return is_same_tensor(a->tensor, b->tensor);
    case TN_FIELD_GRAPH:
        return a->graph == b->graph;
    default:
        return a->count == b->count && is_same_list(a->type, a->count, a->items, b->items);
    }
}

static bool is_same_member(const tn_field *field, const char *a, const char *b) {
    switch (field->type) {
    case TN_FIELD_STRING:
        return is_same_text(*(const char *const *)(const void *)a,
                            *(const char *const *)(const void *)b);
    case TN_FIELD_TENSOR:
        return is_same_tensor(*(const tn_tensor *const *)(const void *)a,
                              *(const tn_tensor *const *)(const void *)b);
    case TN_FIELD_ANY:
        return is_same_attribute(*(const tn_attribute *const *)(const void *)a,
                                 *(const tn_attribute *const *)(const void *)b);
    case TN_FIELD_BYTES:
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
    case TN_FIELD_STRINGS: {
        tn_i64s one, other; /* all lists are a count and a pointer */
        memcpy(&one, a, sizeof one);
        memcpy(&other, b, sizeof other);
        return one.count == other.count &&
               is_same_list(field->type, one.count, one.items, other.items);
    }
    default:
        return memcmp(a, b, field->bytes) == 0;
    }
}

bool tn_fields_equal(const tn_operator *op, const void *a, const void *b) {
    if (a == b || op->field_count == 0) return true;
    if (memcmp(a, b, sizeof(uint64_t)) != 0) return false; /* which ones were given */
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        if (!is_same_member(field, (const char *)a + field->offset,
                            (const char *)b + field->offset))
            return false;
    }
    return true;
}
