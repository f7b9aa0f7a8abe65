/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a node: found by name, references into the file's shared data followed, and taken
 * as the type that the reader wants. Dimension orders are orders.c.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* A reference may lead to a reference, but not for ever. */
#define REFERENCES_AT_MOST 16

tn_type tn_uff_type(int64_t number) {
    switch (number) {
    case 0x10008:
        return TN_I8;
    case 0x10010:
        return TN_I16;
    case 0x10020:
        return TN_I32;
    case 0x10040:
        return TN_I64;
    case 0x20010:
        return TN_F16;
    case 0x20020:
        return TN_F32;
    default:
        return TN_NONE;
    }
}

static uint32_t count_members(const tn_uff_data *data) {
    const bool members[] = {
        data->s,         data->s_list,     data->has_d,      data->d_list,         data->has_b,
        data->b_list,    data->has_i,      data->i_list,     data->has_blob,       data->ref,
        data->has_dtype, data->dtype_list, data->dim_orders, data->dim_orders_list};
    uint32_t count = 0;
    for (size_t i = 0; i < TN_COUNT(members); i++)
        count += members[i];
    return count;
}

tn_status tn_uff_data_resolve(const tn_uff_reader *reader, const tn_uff_data *data,
                              const tn_uff_data **out_data, uint32_t *out_entry) {
    uint32_t entry = UINT32_MAX;
    for (uint32_t step = 0; data && data->ref; step++) {
        uint64_t index;
        if (count_members(data) > 1)
            return tn_fail(TN_ERROR_FORMAT, "it holds more than one value");
        if (step == REFERENCES_AT_MOST)
            return tn_fail(TN_ERROR_FORMAT, "the references that begin at '%s' do not end",
                           data->ref);
        if (!tn_map_get(reader->data, data->ref, &index))
            return tn_fail(TN_ERROR_FORMAT, "it refers to '%s', which the file does not hold",
                           data->ref);
        entry = (uint32_t)index;
        data = reader->file->referenced_data[index]->value;
    }
    const uint32_t members = data ? count_members(data) : 0;
    if (members > 1) return tn_fail(TN_ERROR_FORMAT, "it holds more than one value");
    *out_data = members ? data : NULL;
    if (out_entry) *out_entry = entry;
    return TN_OK;
}

tn_status tn_uff_field_find(const tn_uff_call *call, const char *name,
                            const tn_uff_data **out_data) {
    *out_data = NULL;
    for (size_t i = call->node->n_fields; i-- > 0;) { /* of a key given twice the last one counts */
        const tn_uff_entry *entry = call->node->fields[i];
        if (!entry->key || strcmp(entry->key, name) != 0) continue;
        return tn_error_at(tn_uff_data_resolve(call->reader, entry->value, out_data, NULL),
                           "field '%s'", name);
    }
    return TN_OK;
}

static tn_status fail_type(const char *name, const char *expected) {
    return tn_fail(TN_ERROR_FORMAT, "field '%s' is not %s", name, expected);
}

tn_status tn_uff_field_require(const tn_uff_call *call, const char *name) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    return data ? TN_OK : tn_fail(TN_ERROR_FORMAT, "field '%s' is missing", name);
}

tn_status tn_uff_field_i64(const tn_uff_call *call, const char *name, int64_t fallback,
                           int64_t *out_value) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    if (data && !data->has_i && !data->has_b) return fail_type(name, "an integer");
    *out_value = !data ? fallback : data->has_i ? data->i : data->b != 0;
    return TN_OK;
}

tn_status tn_uff_field_f64(const tn_uff_call *call, const char *name, double fallback,
                           double *out_value) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    if (data && !data->has_d && !data->has_i) return fail_type(name, "a number");
    *out_value = !data ? fallback : data->has_d ? data->d : (double)data->i;
    return TN_OK;
}

const char *tn_uff_text(tn_arena *arena, const char *text) {
    const size_t length = strlen(text);
    if (length < 3 || text[0] != 'b' || (text[1] != '\'' && text[1] != '"') ||
        text[length - 1] != text[1])
        return text;
    char *inside = tn_arena_allocate(arena, length - 2, 1);
    if (inside) memcpy(inside, text + 2, length - 3);
    return inside;
}

tn_status tn_uff_field_text(const tn_uff_call *call, const char *name, const char **out_text) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    if (data && !data->s) return fail_type(name, "a text");
    *out_text = data ? tn_uff_text(call->reader->arena, data->s) : NULL;
    return data && !*out_text ? tn_fail_memory("a text") : TN_OK;
}

tn_status tn_uff_field_i64s(const tn_uff_call *call, const char *name, size_t *out_count,
                            const int64_t **out_items) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    if (data && !data->i_list) return fail_type(name, "a list of integers");
    *out_count = data ? data->i_list->n_val : 0;
    *out_items = data ? data->i_list->val : NULL;
    return TN_OK;
}

tn_status tn_uff_field_axis(const tn_uff_call *call, bool is_required, uint32_t rank,
                            uint32_t *out_axis) {
    int64_t axis;
    if (is_required) TN_TRY(tn_uff_field_require(call, "axis"));
    TN_TRY(tn_uff_field_i64(call, "axis", 0, &axis));
    return tn_uff_axis(axis, rank, out_axis);
}

tn_status tn_uff_field_axes(const tn_uff_call *call, size_t *out_count, uint32_t *out_axes) {
    const int64_t *items;
    uint32_t axis;
    TN_TRY(tn_uff_field_i64s(call, "axes", out_count, &items));
    *out_axes = 0;
    for (size_t i = 0; i < *out_count; i++) {
        TN_TRY(tn_uff_axis(items[i], call->inputs[0]->rank, &axis));
        *out_axes |= 1u << axis;
    }
    return TN_OK;
}

tn_status tn_uff_field_function(const tn_uff_call *call, size_t count, const tn_uff_function *rows,
                                const tn_uff_function **out_row) {
    const char *name;
    char names[256];
    size_t length = 0;
    TN_TRY(tn_uff_field_require(call, "func"));
    TN_TRY(tn_uff_field_text(call, "func", &name));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *out_row = &rows[i];
            return TN_OK;
        }
        const size_t piece = strlen(rows[i].name);
        if (length + piece + 2 > sizeof(names)) continue;
        names[length++] = ' ';
        memcpy(names + length, rows[i].name, piece);
        length += piece;
    }
    names[length] = 0;
    return tn_fail(TN_ERROR_UNSUPPORTED, "function '%s' is not known; there are%s", name, names);
}

tn_status tn_uff_field_type(const tn_uff_call *call, const char *name, tn_type fallback,
                            tn_type *out_type) {
    const tn_uff_data *data;
    TN_TRY(tn_uff_field_find(call, name, &data));
    if (data && !data->has_dtype) return fail_type(name, "an element type");
    *out_type = data ? tn_uff_type(data->dtype) : fallback;
    if (*out_type != TN_NONE) return TN_OK;
    return tn_fail(
        data && data->dtype == 0 ? TN_ERROR_FORMAT : TN_ERROR_UNSUPPORTED,
        "field '%s' is UFF's element type %" PRId64 "; there are integers of 8 to 64 "
        "bits (65544, 65552, 65568, 65600) and floats of 16 and 32 bits (131088, 131104)",
        name, (int64_t)(data ? data->dtype : 0));
}
