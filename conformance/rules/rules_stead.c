/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `plan` about networks one after the other: a node whose parameters, texts and
 * constants lie where those of another one lay that is gone (worker/stead.h). See rules.h.
 */
#include "base/status.h"
#include "plugin/fields/fields.h"
#include "rules/rules.h"
#include "rules/variants.h"
#include "worker/stead.h"

#include <stdio.h>
#include <string.h>

enum { OTHER_CASES = 3 };

/* A whole life at the stead's addresses, compared with `alone`. */
static void live(tn_stead *stead, tn_subject *subject, const tn_outcome *alone,
                 const tn_subject *before, tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (tn_stead_put(stead, subject) != TN_OK) return;
    const tn_status status = tn_probe_once(&subject->probe, true, false, 0xFF, &found);
    if (status != TN_OK)
        tn_verdict_error(verdict, &subject->probe, "where another node's parameters lay before");
    else if (!tn_results_equal(alone, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict,
                        "where the parameters, texts and constants of another node lay before, "
                        "\"%.120s\": %.250s (is something known by its address?)",
                        before->probe.text, why);
    tn_outcome_free(&found);
}

/* The case's node, the other one, and the case's again. */
static void live_in_turns(tn_subject *first, tn_subject *second, tn_verdict *verdict) {
    tn_outcome alone[2] = {0};
    tn_stead stead;
    tn_status status = tn_stead_create(&stead, first, second);
    if (status == TN_OK) status = tn_probe_once(&first->probe, true, false, 0xFF, &alone[0]);
    if (status == TN_OK) status = tn_probe_once(&second->probe, true, false, 0xFF, &alone[1]);
    for (int i = 0; i < 3 && status == TN_OK && verdict->outcome == TN_PASSED; i++)
        live(&stead, i % 2 ? second : first, &alone[i % 2], i % 2 ? first : second, verdict);
    tn_stead_destroy(&stead);
    tn_outcome_free(&alone[0]);
    tn_outcome_free(&alone[1]);
}

/* Whether there is such a node. */
static bool try_after(const tn_test *other, const tn_change *change, tn_subject *first,
                      tn_verdict *verdict) {
    tn_verdict none = {0};
    tn_subject second;
    if (verdict->outcome != TN_PASSED || !tn_test_subject(other, change, &second, &none))
        return false;
    live_in_turns(first, &second, verdict);
    tn_subject_destroy(&second);
    return true;
}

/* The operator's other cases, which have several fields otherwise. */
static void try_cases(const tn_test *test, tn_subject *first, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1};
    uint32_t tried = 0;
    for (uint64_t i = 0; i < test->op->case_count && tried < OTHER_CASES; i++) {
        tn_test other = *test;
        other.text = test->op->cases[i];
        if (other.text != test->text) tried += try_after(&other, &copy, first, verdict);
    }
}

/* What a library makes of parameters by itself may point into them. */
static bool is_of_fields(const tn_operator *op) {
    return !op->load && !op->destroy_params;
}

void tn_rule_run_in_stead(const tn_test *test, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1},
                    drawn = {.seed = test->seed + 1, .values = TN_VALUES_WIDE, .axis = -1};
    tn_subject first;
    if (!is_of_fields(test->op) || !tn_test_subject(test, &copy, &first, verdict)) return;
    tn_variant_try_fields(test, try_after, &first, verdict);
    if (test->op->field_count > 0) try_cases(test, &first, verdict);
    if (test->are_constant) try_after(test, &drawn, &first, verdict);
    tn_subject_destroy(&first);
}
