/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From attributes to parameter structs: matching names, defaults, presence. Single values are
 * checked and stored in field_values.c, texts of defaults read in field_text.c, the other direction
 * is field_output.c. Contract: fields.h.
 */
#include "plugin/fields/fields.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"

#include <string.h>

const tn_field *tn_fields_at(const tn_operator *op, uint32_t index) {
    if (index >= op->field_count) return NULL;
    return (const tn_field *)(const void *)((const char *)op->fields +
                                            (size_t)index * op->field_size);
}

static tn_status check_member(const tn_operator *op, const tn_field *field) {
    const size_t bytes = tn_field_member_bytes(field->type);
    if (bytes == 0)
        return tn_fail(TN_ERROR_PLUGIN, "field '%s' has a type that is not known, %u", field->name,
                       field->type);
    if (field->bytes != bytes)
        return tn_fail(TN_ERROR_PLUGIN, "field '%s': its member has %u bytes, its type %s has %zu",
                       field->name, field->bytes, tn_field_type_name(field->type), bytes);
    if (field->offset < sizeof(uint64_t) || field->offset > op->params_bytes ||
        op->params_bytes - field->offset < bytes)
        return tn_fail(TN_ERROR_PLUGIN,
                       "field '%s' lies at %u, outside the %llu bytes of the parameters (the first "
                       "8 are 'present')",
                       field->name, field->offset, (unsigned long long)op->params_bytes);
    const size_t alignment = bytes >= 8 ? 8 : bytes;
    if (field->offset % alignment != 0)
        return tn_fail(TN_ERROR_PLUGIN, "field '%s' lies at %u, which is not aligned", field->name,
                       field->offset);
    return TN_OK;
}

/* Two fields that share memory would overwrite each other's pointers. */
static tn_status check_apart(const tn_field *one, const tn_field *other) {
    if (one->offset >= other->offset + other->bytes || other->offset >= one->offset + one->bytes)
        return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN, "fields '%s' and '%s' share memory: at %u and at %u",
                   other->name, one->name, other->offset, one->offset);
}

tn_status tn_fields_check_table(const tn_operator *op) {
    if (op->field_count && (op->params_bytes < sizeof(uint64_t) || op->params_bytes > (1u << 20)))
        return tn_fail(TN_ERROR_PLUGIN,
                       "parameters of %llu bytes: expected 8 (for 'present') to 1 MiB",
                       (unsigned long long)op->params_bytes);
    if (op->field_count > 64)
        return tn_fail(TN_ERROR_PLUGIN, "%u fields: there are at most 64", op->field_count);
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        if (!field->name || !field->name[0])
            return tn_fail(TN_ERROR_PLUGIN, "field %u has no name", i);
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(tn_fields_at(op, j)->name, field->name) == 0)
                return tn_fail(TN_ERROR_PLUGIN, "two fields are named '%s'", field->name);
        }
        TN_TRY(check_member(op, field));
        for (uint32_t j = 0; j < i; j++)
            TN_TRY(check_apart(field, tn_fields_at(op, j)));
        if (field->type == TN_FIELD_ENUM && (!field->choices || !field->choices[0]))
            return tn_fail(TN_ERROR_PLUGIN, "field '%s' is a choice without choices", field->name);
    }
    /* The defaults, by making the parameters of a node without attributes, required fields aside.
     */
    tn_arena *arena;
    TN_TRY(tn_arena_create(tn_allocator_default(), &arena));
    char *params = tn_arena_allocate(arena, 1, op->params_bytes ? op->params_bytes : 8);
    tn_status status = params ? TN_OK : tn_fail_memory("parameters");
    for (uint32_t i = 0; status == TN_OK && i < op->field_count; i++) {
        status = tn_field_set_default(arena, tn_fields_at(op, i), params);
        if (status != TN_OK)
            status = tn_error_at(
                tn_fail(TN_ERROR_PLUGIN, "its default does not fit: %s", tn_last_error()->message),
                "field '%s'", tn_fields_at(op, i)->name);
    }
    tn_arena_destroy(arena);
    return status;
}

static uint32_t find_field(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (strcmp(tn_fields_at(op, i)->name, name) == 0) return i;
    }
    return UINT32_MAX;
}

static tn_status fail_unknown(const tn_operator *op, const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < op->field_count; i++)
        tn_nearest_offer(&nearest, tn_fields_at(op, i)->name);
    return tn_error_mend_nearest(tn_fail(TN_ERROR_ARGUMENT, "operator %s has no field '%s'%s",
                                         op->name, name,
                                         op->field_count ? "" : ": it has no fields"),
                                 ": ", nearest.best);
}

/* A caller's attribute that says a value and has none. */
static tn_status check_value(const tn_attribute *attribute) {
    const bool is_list = attribute->type == TN_FIELD_BYTES || attribute->type == TN_FIELD_I64S ||
                         attribute->type == TN_FIELD_F32S || attribute->type == TN_FIELD_F64S ||
                         attribute->type == TN_FIELD_STRINGS || attribute->type == 0;
    bool is_there = !is_list || attribute->count == 0 || attribute->items;
    if (attribute->type == TN_FIELD_STRING) is_there = attribute->s != NULL;
    if (attribute->type == TN_FIELD_TENSOR) is_there = attribute->tensor != NULL;
    if (is_there && attribute->type == TN_FIELD_STRINGS)
        for (uint64_t i = 0; i < attribute->count; i++)
            is_there = is_there && ((const char *const *)attribute->items)[i];
    if (is_there) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "attribute '%s' says %s, but its value is null",
                   attribute->name,
                   attribute->type ? tn_field_type_name(attribute->type) : "untyped bytes");
}

static tn_status parse_given(tn_arena *arena, const tn_operator *op, uint64_t count,
                             const tn_attribute *const *attributes, char *params) {
    uint64_t present = 0;
    for (uint64_t i = 0; i < count; i++) {
        const tn_attribute *attribute = attributes[i];
        if (!attribute || !attribute->name)
            return tn_fail(TN_ERROR_ARGUMENT, "attribute %llu has no name", (unsigned long long)i);
        const uint32_t index = find_field(op, attribute->name);
        if (index == UINT32_MAX) return fail_unknown(op, attribute->name);
        if (present >> index & 1)
            return tn_fail(TN_ERROR_ARGUMENT, "field '%s' is given twice", attribute->name);
        tn_attribute whole = {0}; /* the attribute may be of an older, shorter struct */
        memcpy(&whole, attribute,
               attribute->size < sizeof(whole) ? attribute->size : sizeof(whole));
        TN_TRY(check_value(&whole));
        TN_TRY(tn_field_set(arena, tn_fields_at(op, index), &whole, params));
        present |= 1ull << index;
    }
    memcpy(params, &present, sizeof(present));
    return TN_OK;
}

tn_status tn_fields_parse(tn_arena *arena, const tn_operator *op, uint64_t count,
                          const tn_attribute *const *attributes, void **out_params) {
    const size_t bytes = op->params_bytes < 8 ? 8 : (size_t)op->params_bytes;
    char *params = tn_arena_allocate(arena, 1, bytes);
    if (!params) return tn_fail_memory("a node's parameters");
    TN_TRY(parse_given(arena, op, count, attributes, params));
    uint64_t present;
    memcpy(&present, params, sizeof(present));
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        if (present >> i & 1) continue;
        if (field->flags & TN_REQUIRED)
            return tn_fail(TN_ERROR_ARGUMENT, "operator %s needs field '%s' (%s)", op->name,
                           field->name, field->doc ? field->doc : tn_field_type_name(field->type));
        TN_TRY(tn_field_set_default(arena, field, params));
    }
    *out_params = params;
    return TN_OK;
}
