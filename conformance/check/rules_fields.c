/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about an operator's fields: what they mean when they are absent, and values that nobody
 * expects; see rules.h. */
#include "plugin/fields_private.h"
#include "rules.h"

#include <stdio.h>
#include <string.h>

/* The case with "name=value" in front; a field that it gives already is left alone. */
static bool with_field(const tn_test *test, const char *name, const char *value, char *text,
                       size_t bytes) {
    char given[128];
    snprintf(given, sizeof(given), "%s=", name);
    const char *at = strstr(test->text, given), *bar = strchr(test->text, '|');
    while (at && at != test->text && at[-1] != ' ') /* the end of another field's name */
        at = strstr(at + 1, given);
    if (at && (!bar || at < bar)) return false;
    const int length = snprintf(text, bytes, "%s=%s %s", name, value, test->text);
    return length > 0 && (size_t)length < bytes;
}

void tn_rule_fields_default(const tn_test *test, tn_verdict *verdict) {
    tn_subject plain;
    uint32_t tried = 0;
    char text[4096];
    if (!tn_test_subject(test, NULL, &plain, verdict)) return;
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        tn_subject given;
        tn_test other = *test;
        tn_verdict none = {0};
        char why[300];
        if (!field->fallback || !field->fallback[0] || strpbrk(field->fallback, " |")) continue;
        if (!with_field(test, field->name, field->fallback, text, sizeof(text))) continue;
        other.text = text;
        if (!tn_test_subject(&other, NULL, &given, &none)) {
            if (none.outcome == TN_FAILED) tn_verdict_fail(verdict, "%s: %s", text, none.why);
            continue;
        }
        tried++;
        if (!tn_results_equal(&plain.expected, &given.expected, false, why, sizeof(why)))
            tn_verdict_fail(
                verdict,
                "field '%s' given as its default (%s) means something else than absent: %s",
                field->name, field->fallback, why);
        tn_subject_destroy(&given);
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, test->op->field_count
                                     ? "the case gives all fields that have a default"
                                     : "the operator has no fields");
    tn_subject_destroy(&plain);
}

/* A number, or as many of them as the field's default or its bounds say. */
static void hostile_text(const tn_field *field, const char *number, char *text, size_t bytes) {
    uint32_t count = field->minimum_count ? field->minimum_count : 1;
    size_t at = 0;
    if (field->fallback)
        for (const char *c = field->fallback; *c; c++)
            if (field->minimum_count == 0) count += *c == ',';
    if (field->type != TN_FIELD_I64S) {
        snprintf(text, bytes, "%s", number);
        return;
    }
    for (uint32_t i = 0; i < count && at + 24 < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%c%s", i == 0 ? '[' : ',', number);
    snprintf(text + at, bytes - at, "]");
}

/* Takes the field out of a case's text. */
static void without_field(const char *text, const char *name, char *out, size_t bytes) {
    char given[128];
    snprintf(given, sizeof(given), "%s=", name);
    const char *at = strstr(text, given), *bar = strchr(text, '|');
    while (at && at != text && at[-1] != ' ')
        at = strstr(at + 1, given);
    if (!at || (bar && at > bar)) {
        snprintf(out, bytes, "%s", text);
        return;
    }
    const char *end = at + strcspn(at, " ");
    snprintf(out, bytes, "%.*s%s", (int)(at - text), text, end + (*end == ' '));
}

void tn_rule_fields_hostile(const tn_test *test, tn_verdict *verdict) {
    static const char *const numbers[] = {"0", "-1", "7"};
    uint32_t tried = 0;
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome != TN_FAILED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        if (field->type != TN_FIELD_I64 && field->type != TN_FIELD_I32 &&
            field->type != TN_FIELD_I64S)
            continue;
        for (size_t k = 0; k < 3 && verdict->outcome != TN_FAILED; k++) {
            char rest[3000], text[4096], value[256];
            tn_test other = *test;
            tn_subject subject;
            tn_outcome found = {0};
            tn_verdict none = {0};
            hostile_text(field, numbers[k], value, sizeof(value));
            without_field(test->text, field->name, rest, sizeof(rest));
            snprintf(text, sizeof(text), "%s=%s %s", field->name, value, rest);
            other.text = text;
            tried++;
            if (!tn_test_subject(&other, NULL, &subject, &none)) continue; /* refused */
            if (tn_probe_once(&subject.probe, true, false, 0xFF, &found) != TN_OK &&
                subject.probe.rule[0])
                tn_verdict_error(verdict, &subject.probe, text);
            tn_outcome_free(&found);
            tn_subject_destroy(&subject);
        }
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, test->op->field_count ? "the operator has no field of integers"
                                                       : "the operator has no fields");
}
