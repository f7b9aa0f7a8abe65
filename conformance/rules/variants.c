/* SPDX-License-Identifier: Apache-2.0 */
/* Other fields for a case; see variants.h. */
#include "plugin/fields/fields.h"
#include "variants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the text of a case */

const char *tn_variant_given(const char *text, const char *name) {
    char given[128];
    snprintf(given, sizeof(given), "%s=", name);
    const char *at = strstr(text, given), *bar = strchr(text, '|');
    while (at && at != text && at[-1] != ' ') /* the end of another field's name */
        at = strstr(at + 1, given);
    return at && (!bar || at < bar) ? at : NULL;
}

/* The end of a field's value: a space outside of a list. */
static const char *end_of_value(const char *at) {
    size_t depth = 0;
    for (; *at && (depth || (*at != ' ' && *at != '|')); at++)
        depth = depth + (*at == '[') - (*at == ']' && depth);
    return at;
}

void tn_variant_without(const char *text, const char *name, char *out) {
    const char *at = tn_variant_given(text, name);
    const char *end = at ? end_of_value(at) : text;
    snprintf(out, TN_VARIANT_TEXT, "%.*s%s", at ? (int)(at - text) : 0, text,
             end + (at && *end == ' '));
}

bool tn_variant_with(const char *text, const char *name, const char *value, char *out) {
    char rest[TN_VARIANT_TEXT];
    tn_variant_without(text, name, rest);
    const int length = snprintf(out, TN_VARIANT_TEXT, "%s=%s %s", name, value, rest);
    return length > 0 && length < TN_VARIANT_TEXT;
}

/* ----------------------------------------------------------------------------------------------
 * values */

static void add(tn_variant_values *v, const char *text) {
    if (v->count < sizeof(v->texts) / sizeof(v->texts[0]))
        snprintf(v->texts[v->count++], TN_VARIANT_VALUE, "%s", text);
}

static void add_all(tn_variant_values *v, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        add(v, texts[i]);
}

/* How many inputs the case gives. */
static uint32_t count_inputs(const char *text) {
    const char *at = strchr(text, '|');
    uint32_t count = 0;
    for (at = at ? at + 1 : ""; *at && *at != '|'; at += strcspn(at, " |")) {
        at += strspn(at, " ");
        count += *at && *at != '|';
    }
    return count;
}

/* How many items a list has: by the case, the default, or the table's bounds. */
static uint32_t list_length(const tn_test *test, const tn_field *field) {
    const char *given = tn_variant_given(test->text, field->name);
    const char *text = given ? given : field->fallback, *end = given ? end_of_value(given) : NULL;
    uint32_t count = 1;
    if (!text && field->minimum_count) return field->minimum_count;
    for (; text && *text && text != end; text++)
        count += *text == ',';
    return count;
}

static void add_list(tn_variant_values *v, const char *number, uint32_t count) {
    char text[TN_VARIANT_VALUE];
    size_t at = 0;
    for (uint32_t i = 0; i < count && at + 24 < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%c%s", i == 0 ? '[' : ',', number);
    snprintf(text + at, sizeof(text) - at, "]");
    add(v, text);
}

/* Each number another one. */
static void add_varied(tn_variant_values *v, uint32_t count) {
    char text[TN_VARIANT_VALUE];
    size_t at = 0;
    for (uint32_t i = 0; i < count && at + 24 < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%c%g", i == 0 ? '[' : ',',
                               0.5 + 0.75 * i);
    snprintf(text + at, sizeof(text) - at, "]");
    if (count > 1) add(v, text);
}

static void add_choices(tn_variant_values *v, const char *choices) {
    for (const char *at = choices; at && *at;) {
        char text[TN_VARIANT_VALUE];
        const size_t length = strcspn(at, "|");
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "=|"), at);
        add(v, text);
        at += length + (at[length] == '|');
    }
}

enum { SMALL = 16 }; /* what a loop over a field's value, or over its square, ends with in time */

/* The ends of a field's range, and numbers between them: those with a small or a large magnitude.
 */
static void add_bounds(tn_variant_values *v, const tn_field *field, bool is_large,
                       bool is_integer) {
    const double low = field->minimum, high = field->maximum;
    const double between = low + 0.31830988618379067 * (high - low);
    const double near_high = low + 0.95492965855137202 * (high - low);
    const double bounds[] = {low, high, is_integer ? floor(between) : between, near_high};
    char text[40];
    for (size_t i = 0; i < (is_integer ? 3u : 4u) && low != high; i++) {
        if ((fabs(bounds[i]) > SMALL) != is_large || !(fabs(bounds[i]) < 1e9)) continue;
        snprintf(text, sizeof(text), "%.17g", bounds[i]);
        add(v, text);
    }
}

enum { MANY = 40 }; /* items of a list, or letters of a text: more than a fixed buffer has */

/* Several axes alike, by the same and by another number, whatever the list's length is here. */
static void add_repeated(tn_variant_values *v, const tn_test *test, const tn_field *field,
                         uint32_t count) {
    const char *first = strchr(test->text, '|'), *open = first ? strchr(first, '[') : NULL;
    char text[TN_VARIANT_VALUE];
    int rank = 0;
    for (const char *at = open; at && *at && *at != ']'; at++)
        rank += (at == open && at[1] != ']') || *at == ',';
    if (field->maximum_count == 1) return;
    add(v, "[1,0]"); /* axes in another order than their own */
    add(v, "[-1,0]");
    if (count != 2) add(v, "[0,0]");
    snprintf(text, sizeof(text), "[0,%d]", -rank);
    add(v, "[1,1]");
    if (rank > 0) add(v, text);
}

/* What the case gives, twice. */
static void add_doubled(tn_variant_values *v, const tn_test *test, const tn_field *field) {
    const char *given = tn_variant_given(test->text, field->name);
    const char *open = given ? strchr(given, '[') : NULL, *end = given ? end_of_value(given) : NULL;
    char text[TN_VARIANT_VALUE];
    if (!open || open >= end || end - open < 3) return;
    const int length = (int)(end - open) - 2;
    if (snprintf(text, sizeof(text), "[%.*s,%.*s]", length, open + 1, length, open + 1) <
        TN_VARIANT_VALUE)
        add(v, text);
}

enum { MOST_APART = 8 };

/* The items that the case gives, or the default's, or 1 each. */
static void read_items(const tn_test *test, const tn_field *field, uint32_t count, double *items) {
    const char *given = tn_variant_given(test->text, field->name);
    const char *at = given ? given + strlen(field->name) + 1 : field->fallback;
    at = at && *at == '[' ? at + 1 : NULL;
    for (uint32_t i = 0; i < count; i++) {
        char *end = NULL;
        const double item = at ? strtod(at, &end) : 1;
        items[i] = end == at ? 1 : item;
        at = at && (*end == ',') ? end + 1 : NULL;
    }
}

static void add_items(tn_variant_values *v, const double *items, uint32_t count) {
    char text[TN_VARIANT_VALUE];
    size_t at = 0;
    for (uint32_t i = 0; i < count && at + 32 < sizeof(text); i++)
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, "%c%.17g", i == 0 ? '[' : ',', items[i]);
    snprintf(text + at, sizeof(text) - at, "]");
    add(v, text);
}

/* Each item alone one more, and each another one: what reads one item in place of another shows. */
static void add_apart(tn_variant_values *v, const tn_test *test, const tn_field *field,
                      uint32_t count) {
    double items[MOST_APART], apart[MOST_APART];
    if (count < 2 || count > MOST_APART) return;
    read_items(test, field, count, items);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(apart, items, sizeof(apart));
        apart[i]++;
        add_items(v, apart, count);
        apart[i] = 0;
        add_items(v, apart, count);
    }
    for (uint32_t i = 0; i < count; i++)
        apart[i] = items[i] + i;
    add_items(v, apart, count);
}

static void list_lists(const tn_test *test, const tn_field *field, bool is_large,
                       tn_variant_values *v) {
    static const char *const listed[] = {"0", "-1", "2", "7"};
    const uint32_t count = list_length(test, field);
    if (is_large) {
        add_list(v, "300", count);
        if (field->type == TN_FIELD_I64S) add_list(v, "4294967297", count);
        return;
    }
    for (size_t i = 0; i < TN_COUNT(listed); i++)
        add_list(v, listed[i], count);
    add_apart(v, test, field, count);
    add_list(v, "1", count + 1);
    if (count > 1) add_list(v, "1", count - 1);
    if (field->maximum_count == 0 || field->maximum_count > MANY) add_list(v, "1", MANY);
    if (field->type == TN_FIELD_I64S) add_repeated(v, test, field, count);
    if (field->type != TN_FIELD_I64S) add_list(v, "0.12345678901234567", count);
    if (field->type != TN_FIELD_I64S) add_varied(v, count);
    if (field->type != TN_FIELD_I64S && count_inputs(test->text) != count)
        add_varied(v, count_inputs(test->text)); /* one for each tensor */
    add(v, "[]");
}

/* All types; what has no numbers of one is refused. */
static void add_types(tn_variant_values *v) {
    static const char *const types[] = {"f32", "f64", "f16", "bf16", "i8",   "i16", "i32",
                                        "i64", "u8",  "u16", "u32",  "bool", "u64"};
    add_all(v, types, TN_COUNT(types));
}

/* The case's own with elements of other types, and others. */
static void add_tensors(tn_variant_values *v, const tn_test *test, const tn_field *field) {
    static const char *const types[] = {"f64", "i64", "i32", "f16", "u8", "f32"};
    static const char *const others[] = {"f32[1]{2}", "f32[]{2}", "f32[3]{1,2,3}",
                                         "f32[2,2]{1,2,3,4}", "i64[2]{0,1}"};
    const char *given = tn_variant_given(test->text, field->name);
    const char *open = given ? strchr(given, '[') : NULL, *end = given ? end_of_value(given) : NULL;
    char text[TN_VARIANT_VALUE];
    for (size_t i = 0; open && open < end && i < TN_COUNT(types); i++)
        if (snprintf(text, sizeof(text), "%s%.*s", types[i], (int)(end - open), open) <
            TN_VARIANT_VALUE)
            add(v, text);
    add_all(v, others, TN_COUNT(others));
}

/* What the case or the default gives, with a letter more, and without the last one. */
static void add_nearly(tn_variant_values *v, const tn_test *test, const tn_field *field) {
    const char *given = tn_variant_given(test->text, field->name);
    const char *own = given ? given + strlen(field->name) + 1 : field->fallback;
    const size_t length = given ? (size_t)(end_of_value(given) - own) : own ? strlen(own) : 0;
    char text[TN_VARIANT_VALUE];
    if (length < 2 || length + 2 > sizeof(text)) return;
    snprintf(text, sizeof(text), "%.*sx", (int)length, own);
    add(v, text);
    snprintf(text, sizeof(text), "%.*s", (int)length - 1, own);
    add(v, text);
}

/* What other cases give, and the case's own with other digits: of a text that has a grammar most
 * others are refused. */
static void add_related(tn_variant_values *v, const tn_test *test, const tn_field *field) {
    enum { MOST_CASES = 12 };
    const char *given = tn_variant_given(test->text, field->name);
    const char *own = given ? given + strlen(field->name) + 1 : field->fallback;
    const size_t length = given ? (size_t)(end_of_value(given) - own) : own ? strlen(own) : 0;
    char text[TN_VARIANT_VALUE];
    for (uint64_t i = 0; i < test->op->case_count && i < MOST_CASES; i++) {
        const char *other = tn_variant_given(test->op->cases[i], field->name);
        if (!other || test->op->cases[i] == test->text) continue;
        const char *value = other + strlen(field->name) + 1;
        if (snprintf(text, sizeof(text), "%.*s", (int)(end_of_value(other) - value), value) <
            TN_VARIANT_VALUE)
            add(v, text);
    }
    if (length == 0 || length + 1 > sizeof(text) || !memchr(own, '.', length) ||
        memchr(own, ' ', length))
        return;
    snprintf(text, sizeof(text), "%.*s", (int)length, own);
    for (char *at = text; *at; at++)
        if (*at >= '0' && *at <= '8') ++*at;
    add(v, text);
}

/* Short ones and long ones, or lists of them. */
static void add_texts(tn_variant_values *v, bool is_list) {
    static const size_t lengths[] = {1, MANY + 1, TN_VARIANT_VALUE - 8};
    char text[TN_VARIANT_VALUE];
    for (size_t i = 0; i < TN_COUNT(lengths); i++) {
        memset(text, 'a', sizeof(text));
        text[0] = is_list ? '[' : 'a';
        snprintf(text + lengths[i] + is_list, 2, "%s", is_list ? "]" : "");
        add(v, text);
    }
    if (is_list) add_list(v, "b", MANY);
}

void tn_variant_list(const tn_test *test, const tn_field *field, bool is_large,
                     tn_variant_values *v) {
    static const char
        *const integers[] = {"0", "-1", "-2", "1", "7", "2"},
               *const floats[] =
                   {"0", "-1", "2.5", "1", "2", "0.12345678901234567", "-0.31830988618379067"},
               *const large[] = {"65537", "-65537"}, *const wide[] = {"4294967298", "-4294967293"};
    const uint32_t type = field->type;
    const bool is_integer = type == TN_FIELD_I64 || type == TN_FIELD_I32;
    const bool is_float = type == TN_FIELD_F32 || type == TN_FIELD_F64;
    v->count = 0;
    if (is_integer || is_float) add_bounds(v, field, is_large, is_integer);
    if (is_integer && is_large) add_all(v, large, TN_COUNT(large));
    if (type == TN_FIELD_I64 && is_large) add_all(v, wide, TN_COUNT(wide));
    if (type == TN_FIELD_F64 && is_large) add(v, "123456789.123");
    if (is_integer && !is_large) add_all(v, integers, TN_COUNT(integers));
    if (is_float && !is_large) add_all(v, floats, TN_COUNT(floats));
    if (type == TN_FIELD_I64S || type == TN_FIELD_F32S || type == TN_FIELD_F64S)
        list_lists(test, field, is_large, v);
    if (type >= TN_FIELD_I64S && type <= TN_FIELD_STRINGS && !is_large) add_doubled(v, test, field);
    if (type == TN_FIELD_TYPE && !is_large) add_types(v);
    if (type == TN_FIELD_TENSOR && !is_large) add_tensors(v, test, field);
    if (type == TN_FIELD_BOOL && !is_large) add_choices(v, "true|false");
    if ((type == TN_FIELD_ENUM || type == TN_FIELD_STRING) && !is_large)
        add_choices(v, field->choices);
    if ((type == TN_FIELD_STRING || type == TN_FIELD_STRINGS) && !field->choices && !is_large)
        add_texts(v, type == TN_FIELD_STRINGS);
    if (type == TN_FIELD_STRING && !field->choices && !is_large) add_nearly(v, test, field);
    if ((type == TN_FIELD_STRING || type == TN_FIELD_STRINGS) && !field->choices && !is_large)
        add_related(v, test, field);
}

/* ----------------------------------------------------------------------------------------------
 * nodes of them */

/* Whether the case has the value, by its text or by default. */
static bool is_own_value(const tn_test *test, const tn_field *field, const char *value) {
    const char *given = tn_variant_given(test->text, field->name);
    const char *own = given ? given + strlen(field->name) + 1 : field->fallback;
    const size_t length = strlen(value);
    return own && strncmp(own, value, length) == 0 &&
           (own[length] == 0 || own[length] == ' ' || own[length] == '|');
}

void tn_variant_try_fields(const tn_test *test, tn_variant_try try_node, tn_subject *first,
                           tn_verdict *verdict) {
    enum { NODES_OF_A_FIELD = 2 };
    const tn_change copy = {.axis = -1};
    for (uint32_t i = 0; i < test->op->field_count; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        char text[TN_VARIANT_TEXT];
        tn_variant_values v;
        uint32_t tried = 0;
        tn_variant_list(test, field, false, &v);
        for (size_t k = 0; k < v.count && tried < NODES_OF_A_FIELD; k++) {
            tn_test other = *test;
            other.text = text;
            if (!is_own_value(test, field, v.texts[k]) &&
                tn_variant_with(test->text, field->name, v.texts[k], text))
                tried += try_node(&other, &copy, first, verdict);
        }
    }
}
