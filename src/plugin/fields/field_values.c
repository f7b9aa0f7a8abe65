/* SPDX-License-Identifier: Apache-2.0 */
/* One field's value: from an attribute into the member, with all checks. Declared in
 * fields_private.h. */
#include "base/status.h"
#include "plugin/fields/fields_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct type_row {
    size_t bytes;
    const char *name;
} type_row;
static const type_row types[] = {
    [TN_FIELD_BOOL] = {sizeof(bool), "true or false"},
    [TN_FIELD_I32] = {sizeof(int32_t), "an integer of 32 bits"},
    [TN_FIELD_I64] = {sizeof(int64_t), "an integer"},
    [TN_FIELD_F32] = {sizeof(float), "a number"},
    [TN_FIELD_F64] = {sizeof(double), "a number"},
    [TN_FIELD_STRING] = {sizeof(char *), "a string"},
    [TN_FIELD_BYTES] = {sizeof(tn_bytes), "bytes"},
    [TN_FIELD_TYPE] = {sizeof(tn_type), "an element type"},
    [TN_FIELD_ENUM] = {sizeof(uint32_t), "a choice"},
    [TN_FIELD_TENSOR] = {sizeof(tn_tensor *), "a tensor"},
    [TN_FIELD_I64S] = {sizeof(tn_i64s), "a list of integers"},
    [TN_FIELD_F32S] = {sizeof(tn_f32s), "a list of numbers"},
    [TN_FIELD_F64S] = {sizeof(tn_f64s), "a list of numbers"},
    [TN_FIELD_STRINGS] = {sizeof(tn_strings), "a list of strings"},
    [TN_FIELD_GRAPH] = {sizeof(void *), "a graph"},
    [TN_FIELD_ANY] = {sizeof(tn_attribute *), "any value"},
};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

size_t tn_field_member_bytes(uint32_t type) {
    return type < TYPE_COUNT ? types[type].bytes : 0;
}
const char *tn_field_type_name(uint32_t type) {
    return type < TYPE_COUNT && types[type].name ? types[type].name : "an unknown type";
}

static tn_status fail_type(const tn_field *field, const tn_attribute *attribute) {
    return tn_fail(TN_ERROR_TYPE, "field '%s' takes %s, not %s", field->name,
                   tn_field_type_name(field->type),
                   attribute->type ? tn_field_type_name(attribute->type) : "untyped bytes");
}

static tn_status check_range(const tn_field *field, double value) {
    if ((field->minimum != 0 || field->maximum != 0) &&
        !(value >= field->minimum && value <= field->maximum))
        return tn_fail(TN_ERROR_RANGE, "field '%s' is %g: expected %g to %g", field->name, value,
                       field->minimum, field->maximum);
    return TN_OK;
}

static tn_status check_count(const tn_field *field, uint64_t count) {
    const uint32_t low = field->minimum_count, high = field->maximum_count;
    if ((low || high) && (count < low || (high && count > high)))
        return tn_fail(TN_ERROR_RANGE, "field '%s' has %llu values: expected %u to %u", field->name,
                       (unsigned long long)count, low, high ? high : UINT32_MAX);
    return TN_OK;
}

static bool read_integer(const tn_attribute *a, int64_t *out) {
    if (a->type == TN_FIELD_I64 || a->type == TN_FIELD_I32 || a->type == TN_FIELD_BOOL) {
        *out = a->i;
        return true;
    }
    return false;
}

static bool read_number(const tn_attribute *a, double *out) {
    int64_t integer;
    if (a->type == TN_FIELD_F32 || a->type == TN_FIELD_F64) {
        *out = a->f;
        return true;
    }
    if (!read_integer(a, &integer)) return false;
    *out = (double)integer;
    return true;
}

static tn_status set_integer(const tn_field *field, const tn_attribute *attribute, void *member) {
    int64_t value;
    if (!read_integer(attribute, &value)) return fail_type(field, attribute);
    TN_TRY(check_range(field, (double)value));
    if (field->type == TN_FIELD_BOOL) {
        if (value != 0 && value != 1)
            return tn_fail(TN_ERROR_RANGE, "field '%s' is %lld: expected 0 or 1", field->name,
                           (long long)value);
        *(bool *)member = value != 0;
    } else if (field->type == TN_FIELD_I32) {
        if (value < INT32_MIN || value > INT32_MAX)
            return tn_fail(TN_ERROR_RANGE, "field '%s' is %lld, which does not fit 32 bits",
                           field->name, (long long)value);
        *(int32_t *)member = (int32_t)value;
    } else {
        *(int64_t *)member = value;
    }
    return TN_OK;
}

static tn_status set_number(const tn_field *field, const tn_attribute *attribute, void *member) {
    double value;
    if (!read_number(attribute, &value)) return fail_type(field, attribute);
    TN_TRY(check_range(field, value));
    if (field->type == TN_FIELD_F32)
        *(float *)member = (float)value;
    else
        *(double *)member = value;
    return TN_OK;
}

static tn_status set_string(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                            void *member) {
    if (attribute->type != TN_FIELD_STRING || !attribute->s) return fail_type(field, attribute);
    if (field->choices && tn_field_choice_number(field->choices, attribute->s) < 0)
        return tn_fail(TN_ERROR_RANGE, "field '%s' is '%s': expected one of %s", field->name,
                       attribute->s, field->choices);
    char *copy = tn_arena_text(arena, attribute->s);
    if (!copy) return tn_fail_memory("a field");
    *(const char **)member = copy;
    return TN_OK;
}

static tn_status set_type(const tn_field *field, const tn_attribute *attribute, void *member) {
    int64_t number = 0;
    if (attribute->type == TN_FIELD_STRING && attribute->s)
        number = tn_type_parse(attribute->s, strlen(attribute->s));
    else if (!read_integer(attribute, &number))
        return fail_type(field, attribute);
    if (number < 0 || number > UINT32_MAX || !tn_type_is_valid((tn_type)number))
        return tn_fail(TN_ERROR_RANGE,
                       "field '%s' is not an element type (f64, f32, f16, bf16, i64 ... u8, bool)",
                       field->name);
    *(tn_type *)member = (tn_type)number;
    return TN_OK;
}

static tn_status set_choice(const tn_field *field, const tn_attribute *attribute, void *member) {
    int64_t number;
    char buffer[64];
    if (attribute->type == TN_FIELD_STRING && attribute->s) {
        number = tn_field_choice_number(field->choices, attribute->s);
        if (number < 0) {
            return tn_fail(TN_ERROR_RANGE, "field '%s' is '%s': expected one of %s", field->name,
                           attribute->s, field->choices);
        }
    } else if (!read_integer(attribute, &number)) {
        return fail_type(field, attribute);
    }
    if (!tn_field_choice_name(field->choices, number, buffer, sizeof(buffer)))
        return tn_fail(TN_ERROR_RANGE, "field '%s' is %lld: expected one of %s", field->name,
                       (long long)number, field->choices);
    *(uint32_t *)member = (uint32_t)number;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * lists */

/* A list of integers or numbers, or one of them, as doubles one by one. */
static bool list_shape(const tn_attribute *a, bool allow_floats, uint64_t *out_count) {
    if (a->type == TN_FIELD_I64S ||
        (allow_floats && (a->type == TN_FIELD_F32S || a->type == TN_FIELD_F64S))) {
        *out_count = a->count;
        return a->count == 0 || a->items;
    }
    *out_count = 1;
    return a->type == TN_FIELD_I64 || a->type == TN_FIELD_I32 || a->type == TN_FIELD_BOOL ||
           (allow_floats && (a->type == TN_FIELD_F32 || a->type == TN_FIELD_F64));
}

static double list_number(const tn_attribute *a, uint64_t i) {
    switch (a->type) {
    case TN_FIELD_I64S:
        return (double)((const int64_t *)a->items)[i];
    case TN_FIELD_F32S:
        return (double)((const float *)a->items)[i];
    case TN_FIELD_F64S:
        return ((const double *)a->items)[i];
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return a->f;
    default:
        return (double)a->i;
    }
}

static tn_status set_numbers(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                             void *member) {
    uint64_t count;
    if (!list_shape(attribute, field->type != TN_FIELD_I64S, &count))
        return fail_type(field, attribute);
    TN_TRY(check_count(field, count));
    const size_t bytes = field->type == TN_FIELD_F32S ? sizeof(float) : 8;
    void *items = tn_arena_allocate(arena, (size_t)count, bytes);
    if (!items) return tn_fail_memory("a field's list");
    for (uint64_t i = 0; i < count; i++) {
        TN_TRY(check_range(field, list_number(attribute, i)));
        if (field->type == TN_FIELD_F32S)
            ((float *)items)[i] = (float)list_number(attribute, i);
        else if (field->type == TN_FIELD_F64S)
            ((double *)items)[i] = list_number(attribute, i);
        else
            ((int64_t *)items)[i] = attribute->type == TN_FIELD_I64S
                                        ? ((const int64_t *)attribute->items)[i]
                                        : attribute->i;
    }
    *(tn_i64s *)member = (tn_i64s){count, items}; /* all lists are a count and a pointer */
    return TN_OK;
}

static tn_status set_strings(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                             void *member) {
    const bool is_one = attribute->type == TN_FIELD_STRING;
    if (!is_one && attribute->type != TN_FIELD_STRINGS) return fail_type(field, attribute);
    const uint64_t count = is_one ? 1 : attribute->count;
    TN_TRY(check_count(field, count));
    const char **items = tn_arena_allocate(arena, (size_t)count, sizeof(*items));
    if (!items) return tn_fail_memory("a field's list");
    for (uint64_t i = 0; i < count; i++) {
        const char *text = is_one ? attribute->s : ((const char *const *)attribute->items)[i];
        items[i] = tn_arena_text(arena, text ? text : "");
        if (!items[i]) return tn_fail_memory("a field's list");
    }
    *(tn_strings *)member = (tn_strings){count, items};
    return TN_OK;
}

static tn_status set_bytes(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                           void *member) {
    const bool is_string = attribute->type == TN_FIELD_STRING && attribute->s;
    if (!is_string && attribute->type != TN_FIELD_BYTES && attribute->type != 0)
        return fail_type(field, attribute);
    const uint64_t count = is_string ? strlen(attribute->s) : attribute->count;
    TN_TRY(check_count(field, count));
    const uint8_t *items = tn_arena_copy(
        arena, is_string ? (const void *)attribute->s : attribute->items, (size_t)count);
    if (!items) return tn_fail_memory("a field's bytes");
    *(tn_bytes *)member = (tn_bytes){count, items};
    return TN_OK;
}

static tn_status set_tensor(const tn_field *field, const tn_attribute *attribute, void *member) {
    if (attribute->type != TN_FIELD_TENSOR || !attribute->tensor)
        return fail_type(field, attribute);
    *(const tn_tensor **)member = attribute->tensor;
    return TN_OK;
}

static tn_status set_graph(const tn_field *field, const tn_attribute *attribute, void *member) {
    if (attribute->type != TN_FIELD_GRAPH || !attribute->graph) return fail_type(field, attribute);
    *(const void **)member = attribute->graph;
    return TN_OK;
}

static tn_status set_any(tn_arena *arena, const tn_attribute *attribute, void *member) {
    if (attribute->type == TN_FIELD_GRAPH)
        return tn_fail(TN_ERROR_TYPE, "a field of any value holds no graph");
    tn_attribute *copy = tn_arena_copy(arena, attribute, sizeof(*attribute));
    if (!copy) return tn_fail_memory("a field");
    copy->size = sizeof(*copy);
    *(const tn_attribute **)member = copy;
    return TN_OK;
}

tn_status tn_field_set(tn_arena *arena, const tn_field *field, const tn_attribute *attribute,
                       char *params) {
    void *member = params + field->offset;
    switch (field->type) {
    case TN_FIELD_BOOL:
    case TN_FIELD_I32:
    case TN_FIELD_I64:
        return set_integer(field, attribute, member);
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return set_number(field, attribute, member);
    case TN_FIELD_STRING:
        return set_string(arena, field, attribute, member);
    case TN_FIELD_BYTES:
        return set_bytes(arena, field, attribute, member);
    case TN_FIELD_TYPE:
        return set_type(field, attribute, member);
    case TN_FIELD_ENUM:
        return set_choice(field, attribute, member);
    case TN_FIELD_TENSOR:
        return set_tensor(field, attribute, member);
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
        return set_numbers(arena, field, attribute, member);
    case TN_FIELD_STRINGS:
        return set_strings(arena, field, attribute, member);
    case TN_FIELD_ANY:
        return set_any(arena, attribute, member);
    default:
        return set_graph(field, attribute, member);
    }
}
