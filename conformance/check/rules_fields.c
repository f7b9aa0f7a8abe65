/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about an operator's fields: what they mean when they are absent or given, in every position
 * of the table, and values that nobody expects. A kernel agrees with the reference on all of them;
 * see rules.h.
 */
#include "base/status.h"
#include "plugin/fields_private.h"
#include "rules.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096, VALUE = 256 };

/* ----------------------------------------------------------------------------------------------
 * the text of a case */

/* Where the case gives the field, or null. */
static const char *find_given(const char *text, const char *name) {
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

static void without_field(const char *text, const char *name, char *out) {
    const char *at = find_given(text, name);
    const char *end = at ? end_of_value(at) : text;
    snprintf(out, TEXT, "%.*s%s", at ? (int)(at - text) : 0, text, end + (at && *end == ' '));
}

/* The case with "name=value" in front, in place of what it gives. */
static bool with_field(const char *text, const char *name, const char *value, char *out) {
    char rest[TEXT];
    without_field(text, name, rest);
    const int length = snprintf(out, TEXT, "%s=%s %s", name, value, rest);
    return length > 0 && length < TEXT;
}

static bool has_default(const tn_field *field) {
    return field->fallback && field->fallback[0] && !strpbrk(field->fallback, " |");
}

/* ----------------------------------------------------------------------------------------------
 * a case with other fields */

/* The node is computed as the reference does, or refused with a reason; false: nothing was tried,
 * the operator or the kernel refuses it. `wanted` null: what the reference computes of it. */
static bool try_text(const tn_test *test, const char *text, const tn_outcome *wanted,
                     tn_verdict *verdict) {
    tn_test other = *test;
    tn_subject subject;
    tn_outcome found = {0};
    tn_verdict none = {0};
    char why[300];
    other.text = text;
    if (!tn_test_subject(&other, NULL, &subject, &none)) return false;
    const tn_status status = tn_probe_once(&subject.probe, true, false, 0xFF, &found);
    if (status != TN_OK && subject.probe.rule[0])
        tn_verdict_error(verdict, &subject.probe, "");
    else if (status == TN_OK && !tn_results_equal(wanted ? wanted : &subject.expected, &found,
                                                  false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * defaults */

static void blame_default(const tn_field *field, tn_verdict *verdict) {
    char why[400];
    if (verdict->outcome != TN_FAILED || verdict->rule[0]) return;
    snprintf(why, sizeof(why), "%.399s", verdict->why);
    tn_verdict_fail(verdict,
                    "field '%s' given as its default (%s) means something else than "
                    "absent: %s",
                    field->name, field->fallback, why);
}

/* A field that the case leaves out is given, one that it gives is left out; all at a time then. */
static uint32_t try_presence(const tn_test *test, const tn_outcome *expected, tn_verdict *verdict) {
    char text[TEXT], all[TEXT];
    uint32_t tried = 0;
    snprintf(all, sizeof(all), "%s", test->text);
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        if (find_given(test->text, field->name)) {
            if (field->flags & TN_REQUIRED) continue;
            without_field(test->text, field->name, text);
            tried += try_text(test, text, NULL, verdict);
        } else if (has_default(field) &&
                   with_field(test->text, field->name, field->fallback, text)) {
            tried += try_text(test, text, expected, verdict);
            blame_default(field, verdict);
            if (with_field(all, field->name, field->fallback, text)) memcpy(all, text, TEXT);
        }
    }
    if (tried > 1 && verdict->outcome == TN_PASSED && strcmp(all, test->text) != 0)
        try_text(test, all, expected, verdict);
    return tried;
}

void tn_rule_fields_default(const tn_test *test, tn_verdict *verdict) {
    tn_subject plain;
    if (!tn_test_subject(test, NULL, &plain, verdict)) return;
    if (try_presence(test, &plain.expected, verdict) == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "the case gives all fields that have a default");
    tn_subject_destroy(&plain);
}

/* ----------------------------------------------------------------------------------------------
 * values that nobody expects */

typedef struct values {
    char texts[24][VALUE];
    size_t count;
} values;

static void add(values *v, const char *text) {
    if (v->count < sizeof(v->texts) / sizeof(v->texts[0]))
        snprintf(v->texts[v->count++], VALUE, "%s", text);
}

/* How many items a list has: by the case, the default, or the table's bounds. */
static uint32_t list_length(const tn_test *test, const tn_field *field) {
    const char *given = find_given(test->text, field->name);
    const char *text = given ? given : field->fallback, *end = given ? end_of_value(given) : NULL;
    uint32_t count = 1;
    if (!text && field->minimum_count) return field->minimum_count;
    for (; text && *text && text != end; text++)
        count += *text == ',';
    return count;
}

static void add_list(values *v, const char *number, uint32_t count) {
    char text[VALUE];
    size_t at = 0;
    for (uint32_t i = 0; i < count && at + 24 < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%c%s", i == 0 ? '[' : ',', number);
    snprintf(text + at, sizeof(text) - at, "]");
    add(v, text);
}

static void add_choices(values *v, const char *choices) {
    for (const char *at = choices; at && *at;) {
        char text[VALUE];
        const size_t length = strcspn(at, "|");
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "=|"), at);
        add(v, text);
        at += length + (at[length] == '|');
    }
}

enum { SMALL = 16 }; /* what a loop over a field's value, or over its square, ends with in time */

/* The ends of a field's range, those with a small or those with a large magnitude. */
static void add_bounds(values *v, const tn_field *field, bool is_large) {
    const double bounds[] = {field->minimum, field->maximum};
    char text[40];
    for (size_t i = 0; i < 2 && field->minimum != field->maximum; i++) {
        if ((fabs(bounds[i]) > SMALL) != is_large || !(fabs(bounds[i]) < 1e9)) continue;
        snprintf(text, sizeof(text), "%.9g", bounds[i]);
        add(v, text);
    }
}

static void add_all(values *v, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        add(v, texts[i]);
}

static void list_values(const tn_test *test, const tn_field *field, bool is_large, values *v) {
    static const char *const integers[] = {"0", "-1", "-2", "1", "7"},
                             *const floats[] = {"0", "-1", "2.5"},
                             *const large[] = {"65537", "-65537"},
                             *const listed[] = {"0", "-1", "7"};
    const uint32_t type = field->type;
    const bool is_integer = type == TN_FIELD_I64 || type == TN_FIELD_I32;
    const bool is_float = type == TN_FIELD_F32 || type == TN_FIELD_F64;
    v->count = 0;
    if (is_integer || is_float) add_bounds(v, field, is_large);
    if (is_integer && is_large) add_all(v, large, TN_COUNT(large));
    if (is_integer && !is_large) add_all(v, integers, TN_COUNT(integers));
    if (is_float && !is_large) add_all(v, floats, TN_COUNT(floats));
    if (type == TN_FIELD_I64S || type == TN_FIELD_F32S || type == TN_FIELD_F64S) {
        const uint32_t count = list_length(test, field);
        for (size_t i = 0; i < TN_COUNT(listed) && !is_large; i++)
            add_list(v, listed[i], count);
        if (is_large)
            add_list(v, "300", count);
        else
            add(v, "[]");
    }
    if (type == TN_FIELD_BOOL && !is_large) add_choices(v, "true|false");
    if ((type == TN_FIELD_ENUM || type == TN_FIELD_STRING) && !is_large)
        add_choices(v, field->choices);
}

/* Large values may ask for more work than there is time for. */
static const double LARGE_SECONDS = 0.3;

static uint32_t try_values(const tn_test *test, const tn_field *field, bool is_large,
                           tn_verdict *verdict) {
    char text[TEXT];
    uint32_t tried = 0;
    values v;
    list_values(test, field, is_large, &v);
    for (size_t k = 0; k < v.count && verdict->outcome == TN_PASSED; k++) {
        if (!with_field(test->text, field->name, v.texts[k], text)) continue;
        if (is_large) tn_trace_limit(LARGE_SECONDS, text);
        tried += try_text(test, text, NULL, verdict);
        if (is_large) tn_trace_limit(0, NULL);
    }
    return tried;
}

void tn_rule_fields_hostile(const tn_test *test, tn_verdict *verdict) {
    uint32_t tried = 0;
    for (int is_large = 0; is_large < 2; is_large++)
        for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++)
            tried += try_values(test, tn_fields_at(test->op, i), is_large, verdict);
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no other values of the fields are accepted");
}
