/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of fields' values: defaults, test cases, and the choices of enums. Declared in
 * fields_private.h. */
#include "base/decimal.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One "name" or "name=number" of a list of choices; false at the end. */
typedef struct choice {
    const char *name;
    size_t length;
    int64_t number;
} choice;

static bool next_choice(const char **at, choice *out, int64_t *next_number) {
    if (!**at) return false;
    const size_t whole = strcspn(*at, "|");
    const char *equals = memchr(*at, '=', whole);
    *out = (choice){*at, equals ? (size_t)(equals - *at) : whole, *next_number};
    if (equals) out->number = strtoll(equals + 1, NULL, 10);
    *next_number = out->number + 1;
    *at += whole;
    if (**at == '|') ++*at;
    return true;
}

int64_t tn_field_choice_number(const char *choices, const char *name) {
    choice c;
    int64_t next = 0;
    for (const char *at = choices; next_choice(&at, &c, &next);) {
        if (strlen(name) == c.length && memcmp(name, c.name, c.length) == 0) return c.number;
    }
    return -1;
}

const char *tn_field_choice_name(const char *choices, int64_t number, char *buffer, size_t bytes) {
    choice c;
    int64_t next = 0;
    for (const char *at = choices; next_choice(&at, &c, &next);) {
        if (c.number == number) {
            snprintf(buffer, bytes, "%.*s", (int)c.length, c.name);
            return buffer;
        }
    }
    return NULL;
}

static tn_status fail_text(const tn_field *field, const char *text) {
    return tn_fail(TN_ERROR_ARGUMENT, "field '%s': \"%s\" is not %s", field->name, text,
                   tn_field_type_name(field->type));
}

static bool only_spaces(const char *at) {
    return at[strspn(at, " ")] == 0;
}

static bool read_i64(const char *text, int64_t *out, const char **end) {
    char *stop;
    errno = 0;
    const long long value = strtoll(text, &stop, 10);
    *end = stop;
    *out = value;
    return stop != text && errno == 0;
}

static bool read_f64(const char *text, double *out, const char **end) {
    char *stop;
    *out = tn_decimal_read(text, &stop);
    *end = stop;
    return stop != text;
}

static tn_status read_list(tn_arena *arena, const tn_field *field, const char *text,
                           tn_attribute *out) {
    const char *at = text + strspn(text, " ");
    const bool has_bracket = *at == '[';
    size_t most = 1, count = 0;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    const bool is_integers = field->type == TN_FIELD_I64S;
    int64_t *integers = tn_arena_allocate(arena, most, sizeof(int64_t));
    double *values = tn_arena_allocate(arena, most, sizeof(double));
    if (!integers || !values) return tn_fail_memory("a field's list");
    at += has_bracket;
    at += strspn(at, " ");
    while (*at && *at != ']') {
        const bool is_read =
            is_integers ? read_i64(at, &integers[count], &at) : read_f64(at, &values[count], &at);
        at += strspn(at, " ");
        if (!is_read || (*at && *at != ',' && *at != ']')) return fail_text(field, text);
        count++;
        if (*at == ',') at++;
    }
    if (has_bracket ? *at != ']' || !only_spaces(at + 1) : *at != 0) return fail_text(field, text);
    out->type = is_integers ? TN_FIELD_I64S : TN_FIELD_F64S;
    out->count = count;
    out->items = is_integers ? (const void *)integers : values;
    return TN_OK;
}

/* "a, b" or ["a", "b"] without escapes. */
static tn_status read_strings(tn_arena *arena, const char *text, tn_attribute *out) {
    size_t most = 1, count = 0;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    const char **items = tn_arena_allocate(arena, most, sizeof(*items));
    char *copy = tn_arena_text(arena, text);
    if (!items || !copy) return tn_fail_memory("a field's list");
    for (char *at = copy; *at;) {
        at += strspn(at, " ,[]\"");
        const size_t length = strcspn(at, ",]\"");
        if (!length) break;
        items[count++] = at;
        at += length;
        if (*at) *at++ = 0;
    }
    out->type = TN_FIELD_STRINGS;
    out->count = count;
    out->items = items;
    return TN_OK;
}

/* Of a field of any value: a list of integers, of other numbers, or of texts. */
static tn_status read_any(tn_arena *arena, const tn_field *field, const char *text,
                          tn_attribute *out) {
    tn_field list = *field;
    const bool is_whole = text[strspn(text, "[]0123456789-, ")] == '\0';
    list.type = is_whole ? TN_FIELD_I64S : TN_FIELD_F64S;
    const tn_status status = read_list(arena, &list, text, out);
    return status == TN_ERROR_ARGUMENT ? read_strings(arena, text, out) : status;
}

tn_status tn_field_read_text(tn_arena *arena, const tn_field *field, const char *text,
                             tn_attribute *out_attribute) {
    tn_attribute a = {.size = sizeof(a), .name = field->name};
    const char *end = text;
    switch (field->type) {
    case TN_FIELD_BOOL:
        a.type = TN_FIELD_BOOL;
        a.i = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        if (!a.i && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
            return fail_text(field, text);
        break;
    case TN_FIELD_I32:
    case TN_FIELD_I64:
        a.type = TN_FIELD_I64;
        if (!read_i64(text, &a.i, &end) || !only_spaces(end)) return fail_text(field, text);
        break;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        a.type = TN_FIELD_F64;
        if (!read_f64(text, &a.f, &end) || !only_spaces(end)) return fail_text(field, text);
        break;
    case TN_FIELD_STRING:
    case TN_FIELD_TYPE:
    case TN_FIELD_ENUM:
    case TN_FIELD_BYTES:
        a.type = TN_FIELD_STRING;
        a.s = text;
        break;
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
        TN_TRY(read_list(arena, field, text, &a));
        break;
    case TN_FIELD_STRINGS:
        TN_TRY(read_strings(arena, text, &a));
        break;
    case TN_FIELD_ANY:
        TN_TRY(read_any(arena, field, text, &a));
        break;
    default:
        return tn_fail(TN_ERROR_ARGUMENT, "field '%s' is %s, which has no text", field->name,
                       tn_field_type_name(field->type));
    }
    *out_attribute = a;
    return TN_OK;
}

tn_status tn_field_set_default(tn_arena *arena, const tn_field *field, char *params) {
    tn_attribute attribute;
    if (!field->fallback) return TN_OK;
    TN_TRY(tn_field_read_text(arena, field, field->fallback, &attribute));
    return tn_field_set(arena, field, &attribute, params);
}
