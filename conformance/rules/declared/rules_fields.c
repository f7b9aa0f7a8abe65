/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about an operator's fields: what they mean when they are absent or given, in every position
 * of the table, and values that nobody expects. A kernel agrees with the reference on all of them;
 * see rules.h.
 */
#include "base/hash.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "rules/variants.h"
#include "tensor/type.h"
#include "worker/slack.h"
#include "worker/watch/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_default(const tn_field *field) {
    return field->fallback && field->fallback[0] && !strpbrk(field->fallback, " |");
}

/* ----------------------------------------------------------------------------------------------
 * a case with other fields */

/* Where the reference has no number, like for a division by a field's 0, another rule asks what the
 * kernel has. */
static void leave_out_special(const tn_outcome *found, tn_outcome *expected) {
    for (uint32_t i = 0; i < expected->count && i < found->count; i++) {
        const tn_type type = expected->types[i];
        const size_t bytes =
            found->bytes[i] < expected->bytes[i] ? found->bytes[i] : expected->bytes[i];
        if (!tn_type_is_float(type) || found->types[i] != type) continue;
        for (size_t k = 0; k < tn_case_elements(type, &expected->shapes[i], bytes); k++)
            if (!isfinite(tn_element_get_f64(expected->data[i], type, k)) &&
                !tn_slack_is_cut(type, tn_element_get_f64(expected->data[i], type, k),
                                 tn_element_get_f64(found->data[i], type, k)))
                tn_element_set_f64(expected->data[i], type, k,
                                   tn_element_get_f64(found->data[i], type, k));
    }
}

/* The node is computed as the reference does, or refused with a reason; false: nothing was tried,
 * the operator or the kernel refuses it. `wanted` null: what the reference computes of it. */
static bool try_changed(const tn_test *test, const char *text, const tn_change *changed,
                        const tn_outcome *wanted, tn_verdict *verdict) {
    tn_test other = *test;
    tn_subject subject;
    tn_outcome found = {0};
    tn_verdict refused = {0};
    const tn_change change = *changed;
    char why[300];
    other.text = text;
    if (!tn_test_subject(&other, &change, &subject, &refused)) {
        if (refused.outcome == TN_FAILED) *verdict = refused;
        return refused.outcome == TN_FAILED;
    }
    tn_probe_ask_timing_key(&subject.probe);
    const tn_status status = tn_probe_once(&subject.probe, true, false, 0xFF, &found);
    if (change.plants_fields && status == TN_OK) leave_out_special(&found, &subject.expected);
    if (status != TN_OK && subject.probe.rule[0])
        tn_verdict_error(verdict, &subject.probe, "");
    else if (status == TN_OK && !tn_results_equal(wanted ? wanted : &subject.expected, &found,
                                                  false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    else if (status != TN_OK)
        tn_rule_check_refused(test, &subject, "with these fields", verdict);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
    return true;
}

/* With the fields' numbers among the inputs', where nothing is wanted. */
static bool try_text(const tn_test *test, const char *text, const tn_outcome *wanted,
                     tn_verdict *verdict) {
    const tn_change change = {.axis = -1, .plants_fields = !wanted};
    return try_changed(test, text, &change, wanted, verdict);
}

bool tn_rule_try_text(const tn_test *test, const char *text, tn_verdict *verdict) {
    return try_text(test, text, NULL, verdict);
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
    char text[TN_VARIANT_TEXT], all[TN_VARIANT_TEXT];
    uint32_t tried = 0;
    snprintf(all, sizeof(all), "%s", test->text);
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        if (tn_variant_given(test->text, field->name)) {
            if (field->flags & TN_REQUIRED) continue;
            tn_variant_without(test->text, field->name, text);
            tried += try_text(test, text, NULL, verdict);
        } else if (has_default(field) &&
                   tn_variant_with(test->text, field->name, field->fallback, text)) {
            tried += try_text(test, text, expected, verdict);
            blame_default(field, verdict);
            if (tn_variant_with(all, field->name, field->fallback, text))
                memcpy(all, text, TN_VARIANT_TEXT);
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

/* Large values may ask for more work than there is time for. */
static const double LARGE_SECONDS = 0.3;

static uint32_t try_values(const tn_test *test, const tn_field *field, bool is_large,
                           tn_verdict *verdict) {
    char text[TN_VARIANT_TEXT];
    uint32_t tried = 0;
    tn_variant_values v;
    tn_variant_list(test, field, is_large, &v);
    for (size_t k = 0; k < v.count && verdict->outcome == TN_PASSED; k++) {
        if (!tn_variant_with(test->text, field->name, v.texts[k], text)) continue;
        if (is_large) tn_trace_limit(LARGE_SECONDS, text);
        tried += try_text(test, text, NULL, verdict);
        if (is_large) tn_trace_limit(0, NULL);
    }
    return tried;
}

/* A number and extents that are both more than 8 bits count, and more than a fixed buffer holds. */
static uint32_t try_with_extents(const tn_test *test, const tn_field *field, uint32_t rank,
                                 tn_verdict *verdict) {
    enum { EXTENT = 733 };
    char text[TN_VARIANT_TEXT];
    uint32_t tried = 0;
    if ((field->type != TN_FIELD_I64 && field->type != TN_FIELD_I32) ||
        !tn_variant_with(test->text, field->name, "301", text))
        return 0;
    for (uint32_t axis = 0; axis < rank && verdict->outcome == TN_PASSED; axis++) {
        const tn_change change = {.axis = (int32_t)axis, .extent = EXTENT};
        tn_trace_limit(LARGE_SECONDS, text);
        tried += try_changed(test, text, &change, NULL, verdict);
        tn_trace_limit(0, NULL);
    }
    return tried;
}

static uint32_t try_all_with_extents(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t tried = 0, count = 0;
    if (!test->kernel || !tn_test_shapes(test, shapes, &count, &none) || count == 0) return 0;
    for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++)
        tried += try_with_extents(test, tn_fields_at(test->op, i), shapes[0].rank, verdict);
    return tried;
}

/* Each value of a field that may be an axis where the other inputs fit any. */
static uint32_t try_in_cube(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    const tn_change change = {.axis = -1, .shapes = shapes};
    uint32_t tried = 0;
    if (!test->kernel || !tn_variant_cube(test, shapes)) return 0;
    for (uint32_t i = 0; i < test->op->field_count; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        char text[TN_VARIANT_TEXT];
        tn_variant_values v;
        if (field->type == TN_FIELD_I64 || field->type == TN_FIELD_I32)
            tn_variant_list(test, field, false, &v);
        else
            v.count = 0;
        for (size_t k = 0; k < v.count && verdict->outcome == TN_PASSED; k++)
            if (tn_variant_with(test->text, field->name, v.texts[k], text))
                tried += try_changed(test, text, &change, NULL, verdict);
    }
    return tried;
}

/* Several fields at a time, and in other shapes: a mistake may need two. */
static uint32_t try_several(const tn_test *test, tn_verdict *verdict) {
    enum { SEVERAL = 10 };
    static const int64_t extents[] = {1, 3, 5, 8, 10, 17};
    uint64_t random = tn_hash_add_text(test->seed + 1, test->text);
    char text[TN_VARIANT_TEXT];
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t tried = 0, count = 0;
    if (test->op->field_count == 0 || !tn_test_shapes(test, shapes, &count, &none)) return 0;
    const uint32_t rank = count > 0 ? shapes[0].rank : 0;
    for (uint32_t i = 0; i < SEVERAL * test->effort && verdict->outcome == TN_PASSED; i++) {
        tn_change change = {.axis = -1};
        tn_variant_draw(test, false, &random, text);
        if (rank > 0 && i % 2) change.axis = (int32_t)tn_random_below(&random, rank);
        change.extent = extents[tn_random_below(&random, TN_COUNT(extents))];
        tried += try_changed(test, text, &change, NULL, verdict);
    }
    return tried;
}

void tn_rule_run_planted(const tn_test *test, tn_verdict *verdict) {
    if (test->op->field_count > 0) try_text(test, test->text, NULL, verdict);
}

void tn_rule_fields_hostile(const tn_test *test, tn_verdict *verdict) {
    uint32_t tried = 0;
    for (int is_large = 0; is_large < 2; is_large++)
        for (uint32_t i = 0; i < test->op->field_count && verdict->outcome == TN_PASSED; i++)
            tried += try_values(test, tn_fields_at(test->op, i), is_large, verdict);
    tried += try_several(test, verdict);
    tried += try_in_cube(test, verdict);
    tried += try_all_with_extents(test, verdict);
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no other values of the fields are accepted");
}
