/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what comes out of one run; see rules.h. */
#include "base/status.h"
#include "cases/rounding.h"
#include "rules/rules.h"
#include "rules/shrink.h"
#include "tensor/type.h"
#include "worker/probe/contents.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_deterministic(const tn_test *test) {
    return !test->kernel || (test->kernel->traits & TN_KERNEL_DETERMINISTIC);
}

/* Wrong values may be what lay in the output before: another run, which finds something else there,
 * shows it. */
static bool blame_unwritten(tn_probe *probe, const tn_outcome *expected, const tn_outcome *found,
                            bool is_at_end, uint8_t poison, tn_verdict *verdict) {
    const uint8_t other = (uint8_t)(poison ^ 0x5A);
    tn_outcome again = {0};
    char why[200];
    const bool is_unwritten =
        tn_probe_once(probe, is_at_end, false, other, &again) == TN_OK &&
        tn_contents_unwritten(expected, found, poison, &again, other, why, sizeof(why));
    tn_outcome_free(&again);
    if (!is_unwritten) return false;
    tn_verdict_fail(verdict, "%s", why);
    snprintf(verdict->rule, sizeof(verdict->rule), "writes-all");
    return true;
}

/* Numbers that are near enough one by one may all be cut off. */
static bool is_rounded(const tn_outcome *expected, const tn_outcome *found, char *why,
                       size_t bytes) {
    for (uint32_t i = 0; i < found->count; i++) {
        const tn_type type = found->types[i];
        tn_rounding rounding = {0};
        for (size_t k = 0; k < tn_outcome_elements(found, i); k++)
            tn_rounding_add(&rounding, type, tn_element_get_f64(expected->data[i], type, k),
                            tn_element_get_f64(found->data[i], type, k));
        const char *bias = tn_rounding_bias(&rounding);
        if (!bias || expected->is_random) continue;
        snprintf(why, bytes, "output %u: its numbers are rounded %s, expected to the nearest", i,
                 bias);
        return false;
    }
    return true;
}

/* One whole life, compared with `expected`; false after a failure. */
static bool run_and_compare(tn_probe *probe, const tn_outcome *expected, bool is_at_end,
                            bool is_in_place, uint8_t poison, const char *during,
                            tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (tn_probe_once(probe, is_at_end, is_in_place, poison, &found) != TN_OK) {
        tn_verdict_error(verdict, probe, during);
        return false;
    }
    const bool is_equal = tn_results_equal(expected, &found, false, why, sizeof(why));
    const bool is_cut = is_equal && !is_rounded(expected, &found, why, sizeof(why));
    if (is_cut || (!is_equal && (is_in_place || !blame_unwritten(probe, expected, &found, is_at_end,
                                                                 poison, verdict))))
        tn_verdict_fail(verdict, "%s%s%s", during, during[0] ? ": " : "", why);
    if (is_cut) snprintf(verdict->rule, sizeof(verdict->rule), "matches-reference");
    tn_outcome_free(&found);
    return is_equal && !is_cut;
}

/* What only such a test leaves unwritten is its own matter. */
static void keep_own_rule(tn_verdict *verdict) {
    if (strcmp(verdict->rule, "writes-all") == 0) verdict->rule[0] = 0;
}

void tn_rule_run_ports(tn_probe *probe, const tn_outcome *expected, const char *during,
                       tn_verdict *verdict) {
    if (!run_and_compare(probe, expected, true, false, 0xFF, during, verdict))
        keep_own_rule(verdict);
}

void tn_rule_run(tn_subject *subject, const char *during, tn_verdict *verdict) {
    run_and_compare(&subject->probe, &subject->expected, true, false, 0xFF, during, verdict);
}

void tn_rule_run_in_place(tn_subject *subject, const char *during, tn_verdict *verdict) {
    run_and_compare(&subject->probe, &subject->expected, true, true, 0xFF, during, verdict);
}

/* The first zero that has another sign, or the count. */
static size_t find_other_zero(const void *wanted, const void *found, tn_type type, size_t count) {
    for (size_t k = 0; k < count; k++) {
        const double a = tn_element_get_f64(wanted, type, k);
        const double b = tn_element_get_f64(found, type, k);
        if (a == 0 && b == 0 && signbit(a) != signbit(b)) return k;
    }
    return count;
}

/* Minus zero equals zero, but what an operator only selects, as it declares, keeps its sign. */
static bool keeps_signs(const tn_subject *subject, const tn_outcome *found, char *why,
                        size_t bytes) {
    for (uint32_t i = 0; i < found->count; i++) {
        const tn_type type = found->types[i];
        const size_t count = tn_outcome_elements(found, i);
        if (!tn_type_is_float(type)) continue;
        const void *wanted = subject->expected.data[i];
        const size_t at = find_other_zero(wanted, found->data[i], type, count);
        if (at == count || !tn_slack_is_selected(&subject->c, &subject->expected, i)) continue;
        snprintf(why, bytes, "output %u, element %zu is %g, expected %g", i, at,
                 tn_element_get_f64(found->data[i], type, at),
                 tn_element_get_f64(wanted, type, at));
        return false;
    }
    return true;
}

static bool is_of_texts(const tn_test *test) {
    return strncmp(tn_test_first_type(test->text), "string", 6) == 0;
}

bool tn_rule_run_on_values(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    tn_outcome found = {0};
    char why[300], during[80];
    if (!tn_test_subject(test, change, &subject, &none)) return false;
    snprintf(during, sizeof(during), "on %s values (seed %u)", tn_values_name(change->values),
             change->seed);
    if (tn_probe_once(&subject.probe, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, &subject.probe, during);
    else if (!tn_subject_agrees(&subject, &found, why, sizeof(why)) ||
             (change->values == TN_VALUES_ZEROS && (test->op->traits & TN_OPERATOR_SELECTS) &&
              !keeps_signs(&subject, &found, why, sizeof(why))) ||
             !is_rounded(&subject.expected, &found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    else if (is_of_texts(test)) /* which lie otherwise at the other end of their pages */
        run_and_compare(&subject.probe, &subject.expected, false, false, 0xFF, during, verdict);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
    return true;
}

/* The failure on the smallest shapes that have it. */
static void shrink_values(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t count = 0;
    if (!tn_test_shapes(test, shapes, &count, &none)) return;
    tn_change smaller = *change;
    smaller.axis = -1;
    smaller.shapes = shapes;
    tn_shrink_shapes(test, &smaller, shapes, count, tn_rule_run_on_values, verdict);
}

/* Of the first input; 0 also where the case is not taken. */
static uint32_t first_rank(const tn_test *test, tn_verdict *verdict) {
    tn_shape shapes[TN_PROBE_PORTS];
    uint32_t count = 0;
    return tn_test_shapes(test, shapes, &count, verdict) && count > 0 ? shapes[0].rank : 0;
}

/* Cases of many elements are there for their shapes: they do not meet all kinds of values. */
static bool is_large_case(const tn_test *test) {
    enum { LARGE = 1 << 15 };
    tn_subject subject;
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &subject, &none)) return true;
    size_t bytes = 0;
    for (uint32_t i = 0; i < subject.c.input_count; i++)
        bytes += subject.c.inputs[i].bytes;
    tn_subject_destroy(&subject);
    return bytes / sizeof(float) > LARGE;
}

/* As asked for; or with the case's own outputs and shapes, where there are no others. */
static bool try_values(const tn_test *test, tn_change change, tn_verdict *verdict) {
    if (tn_rule_run_on_values(test, &change, verdict)) return true;
    change.asks_all = false;
    change.axis = -1;
    return tn_rule_run_on_values(test, &change, verdict);
}

/* The kinds of values that a case meets, and how many. */
static size_t list_kinds(const tn_test *test, const uint32_t **out_kinds) {
    static const uint32_t all[] = {TN_VALUES_WIDE,  TN_VALUES_LARGE, TN_VALUES_ENDS,
                                   TN_VALUES_EQUAL, TN_VALUES_ZEROS, TN_VALUES_BELOW,
                                   TN_VALUES_ABOVE, TN_VALUES_HIGH,  TN_VALUES_TIES,
                                   TN_VALUES_TINY},
                          elementwise[] = {TN_VALUES_WIDE,  TN_VALUES_LARGE, TN_VALUES_ENDS,
                                           TN_VALUES_EQUAL, TN_VALUES_ZEROS, TN_VALUES_BELOW,
                                           TN_VALUES_ABOVE, TN_VALUES_HIGH,  TN_VALUES_HUGE};
    enum { OF_LARGE_CASES = 3 };
    const bool is_elementwise = (test->op->traits & TN_OPERATOR_ELEMENTWISE) && !is_of_texts(test);
    *out_kinds = is_elementwise ? elementwise : all;
    if (is_large_case(test)) return OF_LARGE_CASES;
    return is_elementwise ? TN_COUNT(elementwise) : TN_COUNT(all);
}

static void check_values(const tn_test *test, tn_verdict *verdict) {
    const bool is_elementwise = (test->op->traits & TN_OPERATOR_ELEMENTWISE) || is_of_texts(test);
    enum { ROW = 67 }; /* enough elements for all kinds of pairs, and of texts */
    const uint32_t rank = first_rank(test, verdict);
    const uint32_t *kinds = NULL;
    const size_t count = list_kinds(test, &kinds);
    for (size_t i = 0; i < test->effort * count && verdict->outcome == TN_PASSED; i++) {
        tn_change change = {.seed = test->seed + (uint32_t)(i / count),
                            .values = kinds[i % count],
                            .axis = is_elementwise ? (int32_t)rank - 1 : -1,
                            .extent = ROW,
                            .asks_all = true};
        if (!try_values(test, change, verdict)) {
            change.is_first_alone = true; /* where the others are not to be so */
            try_values(test, change, verdict);
        }
        if (verdict->outcome == TN_FAILED && !verdict->rule[0])
            shrink_values(test, &change, verdict);
    }
}

void tn_rule_matches_reference(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, "", verdict))
        run_and_compare(&subject.probe, &subject.expected, false, false, 0xFF, "", verdict);
    tn_subject_destroy(&subject);
    if (verdict->outcome == TN_PASSED) check_values(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_planted(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_without_optional(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_with_indices(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_types(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_other_inputs(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_flush(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_with_commas(test, verdict);
}

/* What a case says of its outputs itself: the reference computes so, and the shape rule says so. */
void tn_rule_case_results(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_outcome *found = &subject.expected;
    if (subject.c.expected_count == 0)
        tn_verdict_skip(verdict, "the case does not say what comes out");
    char why[400];
    if (!tn_case_agrees(test->op, &subject.c, found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    tn_subject_destroy(&subject);
}

void tn_rule_writes_all(const tn_test *test, tn_verdict *verdict) {
    static const uint8_t poisons[] = {0x00, 0xFF, 0x3C}, fresh[] = {0x01, 0xFE, 0x3C};
    tn_subject subject;
    tn_outcome first = {0};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    for (size_t i = 0; i < sizeof(poisons) && verdict->outcome == TN_PASSED; i++) {
        tn_outcome found = {0};
        char why[300];
        subject.probe.packed_filler = poisons[i];
        tn_fresh_memory(test->counter, fresh[i]);
        if (tn_probe_once(&subject.probe, true, false, poisons[i], i == 0 ? &first : &found) !=
            TN_OK)
            tn_verdict_error(verdict, &subject.probe, "");
        else if (i > 0 &&
                 !tn_results_equal(&first, &found, is_deterministic(test), why, sizeof(why)) &&
                 !blame_unwritten(&subject.probe, &subject.expected, &found, true, poisons[i],
                                  verdict))
            tn_verdict_fail(verdict,
                            "with outputs, workspace, packed weights and new memory full of 0x%02x "
                            "before: %s",
                            poisons[i], why);
        tn_outcome_free(&found);
    }
    tn_fresh_memory(test->counter, TN_FRESH_FILLER);
    tn_outcome_free(&first);
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * through the engine */

void tn_rule_plan(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_outcome found = {0};
    char pin[256], why[300];
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    snprintf(pin, sizeof(pin), "%s%s%s=%s", test->op->domain, test->op->domain[0] ? "::" : "",
             test->op->name, test->kernel->name);
    const tn_case_options options = {.pin = pin, .are_constant = test->are_constant, .threads = 1};
    if (tn_case_run(test->runtime, test->op, &subject.c, &options, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, tn_last_error()->where);
    else if (!tn_results_equal(&subject.expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
    if (verdict->outcome == TN_PASSED) tn_rule_run_sharing(test, verdict);
    if (verdict->outcome == TN_PASSED) tn_rule_run_in_stead(test, verdict);
}

/* The suite for narrow types prints its failures: the first one is the verdict. */
void tn_rule_stored_types(const tn_test *test, tn_verdict *verdict) {
    size_t passed = 0, failed = 0;
    char line[560] = "";
    fflush(stdout);
    FILE *file = tmpfile();
    const int kept = dup(STDOUT_FILENO);
    if (!file || kept < 0) {
        tn_verdict_skip(verdict, "no file for what is printed");
        return;
    }
    dup2(fileno(file), STDOUT_FILENO);
    tn_stored_check(test->runtime, test->op, test->text, &passed, &failed);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(file);
    if (failed > 0 && fgets(line, sizeof(line), file)) line[strcspn(line, "\n")] = 0;
    fclose(file);
    if (failed > 0)
        tn_verdict_fail(verdict, "%s", line);
    else if (passed == 0)
        tn_verdict_skip(verdict, "no kernel has a combination of lower types for the case");
}
