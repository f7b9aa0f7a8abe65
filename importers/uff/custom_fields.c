/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a node whose operator is a library's, as importers/common/custom.h takes them:
 * names without what a script hung to them, texts without Python's marks.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <string.h>

#define FIELDS_AT_MOST 256

/* Names end so where a script made the node; the operator's own name is what stands before. */
static const char *strip_suffix(tn_arena *arena, const char *name) {
    static const char *const suffixes[] = {"_u_int", "_u_float", "_u_bool",
                                           "_u_str", "_u_ilist", "_u_flist"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < TN_COUNT(suffixes); i++) {
        const size_t suffix = strlen(suffixes[i]);
        if (length <= suffix || strcmp(name + length - suffix, suffixes[i]) != 0) continue;
        return tn_arena_format(arena, "%.*s", (int)(length - suffix), name);
    }
    return name;
}

/* What an operator that has no such field needs not know: the layout of the data, which is always
 * N, C, H, W here, orders of axes, and what the framework noted for itself. */
static bool may_drop(const char *name) {
    static const char *const names[] = {"data_format", "inputs_orders", "outputs_orders"};
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) return true;
    return name[0] == '_';
}

/* Lists of texts, or of names of element types. */
static tn_status read_texts(tn_arena *arena, const tn_uff_data *data, tn_attribute *attribute) {
    const size_t count = data->s_list ? data->s_list->n_val : data->dtype_list->n_val;
    const char **texts = tn_arena_allocate(arena, count, sizeof(*texts));
    if (!texts) return tn_fail_memory("a field");
    for (size_t i = 0; i < count; i++) {
        texts[i] = data->s_list ? tn_uff_text(arena, data->s_list->val[i])
                                : tn_type_name(tn_uff_type(data->dtype_list->val[i]));
        if (!texts[i]) return tn_fail_memory("a field");
    }
    tn_import_set_list(attribute, TN_FIELD_STRINGS, count, texts);
    return TN_OK;
}

static tn_status read_bools(tn_arena *arena, const Tenon__Uff__ListBool *from,
                            tn_attribute *attribute) {
    int64_t *values = tn_arena_allocate(arena, from->n_val, sizeof(*values));
    if (!values) return tn_fail_memory("a field");
    for (size_t i = 0; i < from->n_val; i++)
        values[i] = from->val[i] != 0;
    tn_import_set_list(attribute, TN_FIELD_I64S, from->n_val, values);
    return TN_OK;
}

static tn_status read_value(tn_arena *arena, const tn_uff_data *data, tn_custom_field *field) {
    tn_attribute *value = &field->value;
    if (data->s) {
        value->type = TN_FIELD_STRING;
        value->s = tn_uff_text(arena, data->s);
        return value->s ? TN_OK : tn_fail_memory("a field");
    }
    if (data->b_list) return read_bools(arena, data->b_list, value);
    if (data->dtype_list) field->may_be_dropped = true;
    if (data->s_list || data->dtype_list) return read_texts(arena, data, value);
    if (data->has_d) {
        value->type = TN_FIELD_F64;
        value->f = data->d;
    } else if (data->d_list) {
        tn_import_set_list(value, TN_FIELD_F64S, data->d_list->n_val, data->d_list->val);
    } else if (data->has_b || data->has_i) {
        value->type = data->has_b ? TN_FIELD_BOOL : TN_FIELD_I64;
        value->i = data->has_b ? data->b != 0 : data->i;
    } else if (data->i_list) {
        tn_import_set_list(value, TN_FIELD_I64S, data->i_list->n_val, data->i_list->val);
    } else if (data->has_blob) {
        tn_import_set_list(value, TN_FIELD_BYTES, data->blob.len, data->blob.data);
    } else if (data->has_dtype) {
        value->type = TN_FIELD_TYPE;
        value->i = tn_uff_type(data->dtype);
        field->may_be_dropped = true;
    } else { /* orders of axes */
        tn_import_set_list(value, TN_FIELD_BYTES, 0, NULL);
        field->may_be_dropped = true;
    }
    return TN_OK;
}

tn_status tn_uff_custom_fields_read(const tn_uff_call *call, size_t *out_count,
                                    tn_custom_field **out_fields) {
    const tn_uff_node *node = call->node;
    tn_arena *arena = call->reader->arena;
    if (node->n_fields > FIELDS_AT_MOST)
        return tn_fail(TN_ERROR_FORMAT, "%zu fields; at most %d are read", node->n_fields,
                       FIELDS_AT_MOST);
    tn_custom_field *fields = tn_arena_allocate(arena, node->n_fields, sizeof(*fields));
    if (!fields) return tn_fail_memory("a node's fields");
    size_t count = 0;
    for (size_t i = 0; i < node->n_fields; i++) {
        const tn_uff_entry *entry = node->fields[i];
        const tn_uff_data *data;
        const char *key = entry->key ? entry->key : "";
        tn_status status = tn_uff_data_resolve(call->reader, entry->value, &data, NULL);
        if (status == TN_OK && !data) continue;
        tn_custom_field *field = &fields[count++];
        field->value =
            (tn_attribute){.size = sizeof(field->value), .name = strip_suffix(arena, key)};
        if (!field->value.name) return tn_fail_memory("a field's name");
        field->may_be_dropped = may_drop(key);
        if (status == TN_OK) status = read_value(arena, data, field);
        if (status != TN_OK) return tn_error_at(status, "field '%s'", key);
    }
    *out_count = count;
    *out_fields = fields;
    return TN_OK;
}
