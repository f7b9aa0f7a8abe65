/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about what comes out of one run; see rules.h. */
#include "base/status.h"
#include "contents.h"
#include "rules.h"
#include "tensor/type.h"

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
    if (!is_equal &&
        (is_in_place || !blame_unwritten(probe, expected, &found, is_at_end, poison, verdict)))
        tn_verdict_fail(verdict, "%s%s%s", during, during[0] ? ": " : "", why);
    tn_outcome_free(&found);
    return is_equal;
}

void tn_rule_matches_reference(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    if (run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, "", verdict))
        run_and_compare(&subject.probe, &subject.expected, false, false, 0xFF, "", verdict);
    tn_subject_destroy(&subject);
}

/* What a case says of its outputs itself: the reference computes so, and the shape rule says so. */
void tn_rule_case_results(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_outcome *found = &subject.expected;
    if (subject.c.expected_count == 0)
        tn_verdict_skip(verdict, "the case does not say what comes out");
    for (uint32_t i = 0; i < subject.c.expected_count && verdict->outcome == TN_PASSED; i++) {
        const tn_case_input *said = &subject.c.expected[i];
        const uint32_t at = said->port;
        char why[300];
        if (at >= found->count) continue;
        const tn_outcome wanted = {.count = 1,
                                   .types = {said->type},
                                   .shapes = {said->shape},
                                   .data = {said->data},
                                   .bytes = {said->has_values ? said->bytes : 0}};
        const tn_outcome one = {.count = 1,
                                .types = {found->types[at]},
                                .shapes = {found->shapes[at]},
                                .data = {found->data[at]},
                                .bytes = {found->bytes[at]}};
        if (!tn_results_equal(&wanted, &one, false, why, sizeof(why)))
            tn_verdict_fail(verdict, "the case says otherwise of output '%s': %s",
                            test->op->outputs[at].name, why);
    }
    tn_subject_destroy(&subject);
}

/* What only this test leaves unwritten is its own matter. */
static void keep_own_rule(tn_verdict *verdict) {
    if (strcmp(verdict->rule, "writes-all") == 0) verdict->rule[0] = 0;
}

/* Each output may be one that nobody asked for: null then. */
void tn_rule_unasked_outputs(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    tn_probe *probe = &subject.probe;
    uint32_t tried = 0;
    for (uint32_t i = 0; i < probe->output_count && verdict->outcome == TN_PASSED; i++) {
        tn_outcome wanted = {0};
        char during[64];
        if (!probe->outputs[i].is_given || subject.expected.count < 2) continue;
        probe->outputs[i].is_given = false;
        for (uint32_t k = 0, from = 0; k < probe->output_count && from < subject.expected.count;
             k++) {
            if (k != i && !probe->outputs[k].is_given) continue;
            const uint32_t slot = from++;
            if (k == i) continue;
            wanted.types[wanted.count] = subject.expected.types[slot];
            wanted.shapes[wanted.count] = subject.expected.shapes[slot];
            wanted.data[wanted.count] = subject.expected.data[slot];
            wanted.bytes[wanted.count++] = subject.expected.bytes[slot];
        }
        snprintf(during, sizeof(during), "when nobody asks for output %u", i);
        if (tn_probe_accepts(probe)) {
            if (!run_and_compare(probe, &wanted, true, false, 0xFF, during, verdict))
                keep_own_rule(verdict);
            tried++;
        }
        probe->outputs[i].is_given = true;
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, subject.expected.count < 2
                                     ? "the node has one output"
                                     : "the kernel accepts no node with an output unasked for");
    tn_subject_destroy(&subject);
}

void tn_rule_writes_all(const tn_test *test, tn_verdict *verdict) {
    static const uint8_t poisons[] = {0x00, 0xFF, 0x3C};
    tn_subject subject;
    tn_outcome first = {0};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    for (size_t i = 0; i < sizeof(poisons) && verdict->outcome == TN_PASSED; i++) {
        tn_outcome found = {0};
        char why[300];
        if (tn_probe_once(&subject.probe, true, false, poisons[i], i == 0 ? &first : &found) !=
            TN_OK)
            tn_verdict_error(verdict, &subject.probe, "");
        else if (i > 0 &&
                 !tn_results_equal(&first, &found, is_deterministic(test), why, sizeof(why)) &&
                 !blame_unwritten(&subject.probe, &subject.expected, &found, true, poisons[i],
                                  verdict))
            tn_verdict_fail(verdict, "with outputs and workspace full of 0x%02x before: %s",
                            poisons[i], why);
        tn_outcome_free(&found);
    }
    tn_outcome_free(&first);
    tn_subject_destroy(&subject);
}

void tn_rule_other_shapes(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_shape shape = subject.c.input_count ? subject.c.inputs[0].shape : (tn_shape){0};
    tn_subject_destroy(&subject);
    uint32_t tried = 0;
    for (uint32_t axis = 0; axis < shape.rank && verdict->outcome == TN_PASSED; axis++) {
        const int64_t extents[] = {shape.extents[axis] + 1, 1, 0, 2 * shape.extents[axis] + 3, 33};
        for (size_t i = 0; i < 5 && verdict->outcome == TN_PASSED; i++) {
            const tn_change change = {.axis = (int32_t)axis, .extent = extents[i]};
            tn_verdict none = {0};
            char during[80];
            if (extents[i] > 4096 || !tn_test_subject(test, &change, &subject, &none)) continue;
            snprintf(during, sizeof(during), "axis %u of the inputs with %lld elements", axis,
                     (long long)extents[i]);
            run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, during, verdict);
            tn_subject_destroy(&subject);
            tried++;
        }
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no other extents of input 0 are taken");
}

/* Puts special numbers at every fourth place of the float inputs that are not needed values. */
static bool make_special(tn_subject *subject) {
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    bool is_any = false;
    for (uint32_t i = 0; i < subject->c.input_count; i++) {
        tn_case_input *input = &subject->c.inputs[i];
        size_t count = 0;
        if (!tn_type_is_float(input->type) || input->has_values) continue;
        if (tn_shape_count(&input->shape, &count) != TN_OK) continue;
        for (size_t k = i; k < count; k += 4) {
            tn_element_set_f64(input->data, input->type, k, special[k / 4 % 6]);
            is_any = true;
        }
    }
    return is_any;
}

void tn_rule_special_values(const tn_test *test, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    const tn_way reference = {.is_reference = true, .threads = 1};
    tn_subject subject;
    /* elsewhere the order of additions decides between NaN and infinity */
    if (!(test->op->traits & TN_OPERATOR_ELEMENTWISE) || test->are_constant) {
        tn_verdict_skip(verdict, test->are_constant ? "constants are not special here"
                                                    : "the operator is not elementwise");
        return;
    }
    if (!tn_test_subject(test, &copy, &subject, verdict)) return;
    tn_outcome_free(&subject.expected);
    tn_verdict_skip(verdict, "the case has no floats without values of its own");
    if (make_special(&subject) &&
        tn_case_run(test->runtime, test->op, &subject.c, &reference, &subject.expected) == TN_OK) {
        verdict->outcome = TN_PASSED;
        run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, "", verdict);
    }
    tn_subject_destroy(&subject);
}

void tn_rule_in_place(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    tn_verdict_skip(verdict, "output 0 has other bytes than input 0, or that is a constant");
    const tn_probe_port *x = &subject.probe.inputs[0], *y = &subject.probe.outputs[0];
    size_t in = 0, out = 1;
    if (x->is_given && !x->is_constant && !x->is_shape_only && y->is_given &&
        tn_format_bytes(x->format, x->type, &x->shape, &in) == TN_OK &&
        tn_format_bytes(y->format, y->type, &y->shape, &out) == TN_OK && in == out) {
        verdict->outcome = TN_PASSED;
        run_and_compare(&subject.probe, &subject.expected, true, true, 0xFF, "", verdict);
    }
    tn_subject_destroy(&subject);
}

void tn_rule_tactics(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const uint32_t count = tn_probe_tactics(&subject.probe);
    for (uint32_t i = 1; i < count && i < 64 && verdict->outcome == TN_PASSED; i++) {
        char during[40];
        subject.probe.tactic = i;
        snprintf(during, sizeof(during), "tactic %u of %u", i, count);
        if (!run_and_compare(&subject.probe, &subject.expected, true, false, 0xFF, during, verdict))
            keep_own_rule(verdict);
    }
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
    const tn_way way = {.pin = pin, .are_constant = test->are_constant, .threads = 1};
    if (tn_case_run(test->runtime, test->op, &subject.c, &way, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, tn_last_error()->where);
    else if (!tn_results_equal(&subject.expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s", why);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
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
