/* SPDX-License-Identifier: Apache-2.0 */
/* From parameter structs outwards: attributes for saving, hashes for timing keys, text for reports.
 * Contract: fields.h. */
#include "base/status.h"
#include "plugin/fields/fields_private.h"

#include <string.h>
#include <tenon/plugin/body.h>

static void read_list(const tn_field *field, const char *member, tn_attribute *out) {
    tn_i64s list;
    memcpy(&list, member, sizeof(list));
    out->type = field->type;
    out->count = list.count;
    out->items = list.items;
}

static tn_status read_choice(tn_arena *arena, const tn_field *field, uint32_t number,
                             tn_attribute *out) {
    char buffer[64];
    const char *name = tn_field_choice_name(field->choices, number, buffer, sizeof(buffer));
    if (!name) return tn_fail(TN_ERROR_INTERNAL, "field '%s' holds no choice", field->name);
    out->type = TN_FIELD_STRING;
    out->s = tn_arena_text(arena, name);
    return out->s ? TN_OK : tn_fail_memory("a field");
}

tn_status tn_field_read(tn_arena *arena, const tn_field *field, const void *params,
                        tn_attribute *out) {
    const char *member = (const char *)params + field->offset;
    *out = (tn_attribute){.size = sizeof(*out), .name = field->name, .type = TN_FIELD_I64};
    switch (field->type) {
    case TN_FIELD_BOOL:
        out->i = *(const bool *)member;
        break;
    case TN_FIELD_I32:
        out->i = *(const int32_t *)(const void *)member;
        break;
    case TN_FIELD_I64:
        out->i = *(const int64_t *)(const void *)member;
        break;
    case TN_FIELD_F32:
        out->type = TN_FIELD_F32;
        out->f = (double)*(const float *)(const void *)member;
        break;
    case TN_FIELD_F64:
        out->type = TN_FIELD_F64;
        out->f = *(const double *)(const void *)member;
        break;
    case TN_FIELD_STRING:
        out->type = TN_FIELD_STRING;
        out->s = *(const char *const *)(const void *)member;
        break;
    case TN_FIELD_TYPE:
        out->type = TN_FIELD_STRING;
        out->s = tn_type_name(*(const tn_type *)(const void *)member);
        break;
    case TN_FIELD_ENUM:
        return read_choice(arena, field, *(const uint32_t *)(const void *)member, out);
    case TN_FIELD_TENSOR:
        out->type = TN_FIELD_TENSOR;
        out->tensor = *(const tn_tensor *const *)(const void *)member;
        break;
    case TN_FIELD_GRAPH:
        out->type = TN_FIELD_GRAPH;
        out->graph = *(const void *const *)(const void *)member;
        break;
    case TN_FIELD_ANY: {
        const tn_attribute *any = *(const tn_attribute *const *)(const void *)member;
        if (any) *out = *any;
        out->name = field->name;
        break;
    }
    default:
        read_list(field, member, out);
        break;
    }
    return TN_OK;
}

tn_status tn_fields_to_attributes(tn_arena *arena, const tn_operator *op, const void *params,
                                  uint64_t *out_count, const tn_attribute *const **out_attributes) {
    uint64_t present = 0, count = 0;
    if (op->field_count) memcpy(&present, params, sizeof(present));
    tn_attribute *attributes = tn_arena_allocate(arena, op->field_count, sizeof(*attributes));
    const tn_attribute **pointers = tn_arena_allocate(arena, op->field_count, sizeof(*pointers));
    if (!attributes || !pointers) return tn_fail_memory("a node's attributes");
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (!(present >> i & 1)) continue;
        TN_TRY(tn_field_read(arena, tn_fields_at(op, i), params, &attributes[count]));
        pointers[count] = &attributes[count];
        count++;
    }
    *out_count = count;
    *out_attributes = pointers;
    return TN_OK;
}

static uint64_t hash_tensor(uint64_t hash, const tn_tensor *tensor) {
    if (!tensor) return tn_hash_add_u64(hash, 0);
    hash = tn_hash_add_u64(hash, tensor->type);
    hash = tn_hash_add(hash, tensor->shape, tensor->rank * sizeof(int64_t));
    return tensor->data ? tn_hash_add(hash, tensor->data, (size_t)tensor->bytes) : hash;
}

static uint64_t hash_graph(uint64_t hash, const tn_body_graph *graph) {
    return tn_hash_add_u64(hash, graph ? graph->hash : 0);
}

static uint64_t hash_list(uint64_t hash, const tn_field *field, const char *member) {
    tn_i64s list;
    memcpy(&list, member, sizeof(list));
    hash = tn_hash_add_u64(hash, list.count);
    if (field->type == TN_FIELD_STRINGS) {
        for (uint64_t i = 0; i < list.count; i++)
            hash = tn_hash_add_text(hash, ((const char *const *)(const void *)list.items)[i]);
        return hash;
    }
    const size_t bytes = field->type == TN_FIELD_BYTES ? 1 : field->type == TN_FIELD_F32S ? 4 : 8;
    return list.count ? tn_hash_add(hash, list.items, (size_t)list.count * bytes) : hash;
}

uint64_t tn_fields_hash(const tn_operator *op, const void *params) {
    uint64_t hash = op->field_count;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        const char *member = (const char *)params + field->offset;
        switch (field->type) {
        case TN_FIELD_STRING:
            hash = tn_hash_add_text(hash, *(const char *const *)(const void *)member);
            break;
        case TN_FIELD_TENSOR:
            hash = hash_tensor(hash, *(const tn_tensor *const *)(const void *)member);
            break;
        case TN_FIELD_I64S:
        case TN_FIELD_F32S:
        case TN_FIELD_F64S:
        case TN_FIELD_STRINGS:
        case TN_FIELD_BYTES:
            hash = hash_list(hash, field, member);
            break;
        case TN_FIELD_GRAPH:
            hash = hash_graph(hash, *(const tn_body_graph *const *)(const void *)member);
            break;
        case TN_FIELD_ANY:
            break;
        default:
            hash = tn_hash_add(hash, member, field->bytes);
            break;
        }
    }
    return hash;
}

static void print_list(const tn_attribute *a, tn_text *out) {
    tn_text_add(out, "[");
    for (uint64_t i = 0; i < a->count && i < 16; i++) {
        if (i) tn_text_add(out, ", ");
        if (a->type == TN_FIELD_I64S)
            tn_text_add_format(out, "%lld", (long long)((const int64_t *)a->items)[i]);
        else if (a->type == TN_FIELD_F32S)
            tn_text_add_format(out, "%g", (double)((const float *)a->items)[i]);
        else if (a->type == TN_FIELD_F64S)
            tn_text_add_format(out, "%g", ((const double *)a->items)[i]);
        else if (a->type == TN_FIELD_STRINGS)
            tn_text_add_format(out, "\"%s\"", ((const char *const *)a->items)[i]);
        else
            tn_text_add_format(out, "%02x", ((const uint8_t *)a->items)[i]);
    }
    tn_text_add(out, a->count > 16 ? ", ...]" : "]");
}

static void print_value(const tn_attribute *a, tn_text *out) {
    char shape[TN_SHAPE_TEXT_BYTES];
    switch (a->type) {
    case TN_FIELD_I64:
        tn_text_add_format(out, "%lld", (long long)a->i);
        break;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        tn_text_add_format(out, "%g", a->f);
        break;
    case TN_FIELD_STRING:
        tn_text_add(out, a->s ? a->s : "");
        break;
    case TN_FIELD_TENSOR:
        tn_text_add_format(out, "%s%s", tn_type_name(a->tensor->type),
                           tn_shape_print(a->tensor->rank, a->tensor->shape, shape, sizeof(shape)));
        break;
    case TN_FIELD_GRAPH: {
        const tn_body_graph *graph = a->graph;
        tn_text_add_format(out, "graph '%s' (%u inputs, %u captured, %u outputs)", graph->name,
                           graph->input_count, graph->capture_count, graph->output_count);
        break;
    }
    default:
        print_list(a, out);
        break;
    }
}

void tn_fields_print(const tn_operator *op, const void *params, tn_text *out_text) {
    tn_arena *arena;
    uint64_t count;
    const tn_attribute *const *attributes;
    if (tn_arena_create(out_text->allocator, &arena) != TN_OK) {
        out_text->is_failed = true;
        return;
    }
    if (tn_fields_to_attributes(arena, op, params, &count, &attributes) == TN_OK) {
        for (uint64_t i = 0; i < count; i++) {
            tn_text_add_format(out_text, i ? " %s=" : "%s=", attributes[i]->name);
            print_value(attributes[i], out_text);
        }
    }
    tn_arena_destroy(arena);
}
