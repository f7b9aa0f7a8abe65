/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of matches-reference, of which what it finds is the rule environment: in a program that
 * has set a locale with decimal commas a layer reads and writes numbers as it does in one that has
 * none. See rules.h.
 */
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "rules/rules.h"
#include "worker/process/commas.h"

#include <stdio.h>
#include <string.h>

/* Whether the node has anything that numbers are read from, or written to. */
static bool has_texts(const tn_operator *op) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        const uint32_t type = tn_fields_at(op, i)->type;
        if (type == TN_FIELD_STRING || type == TN_FIELD_STRINGS || type == TN_FIELD_BYTES)
            return true;
    }
    for (uint32_t i = 0; i < op->input_count; i++)
        if (strstr(op->inputs[i].types, "string")) return true;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (strstr(op->outputs[i].types, "string")) return true;
    return false;
}

static void blame(tn_verdict *verdict, const char *what, const char *why) {
    tn_verdict_fail(verdict,
                    "%s otherwise where the process has set a locale with decimal commas: %.300s",
                    what, why);
    snprintf(verdict->rule, sizeof(verdict->rule), "environment");
}

/* Under the locale: the case as the operator has it then, and the run. */
static void run(const tn_test *test, const tn_outcome *expected, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict refused = {0};
    tn_outcome found = {0};
    char why[300];
    if (!tn_test_subject(test, NULL, &subject, &refused)) {
        blame(verdict, "the case is refused", refused.why);
        return;
    }
    const tn_status status = tn_probe_once(&subject.probe, true, false, 0xFF, &found);
    if (!tn_results_equal(expected, &subject.expected, false, why, sizeof(why)))
        blame(verdict, "the reference computes", why);
    else if (status != TN_OK && subject.probe.rule[0])
        tn_verdict_error(verdict, &subject.probe, "");
    else if (status != TN_OK)
        blame(verdict, "it fails", tn_last_error()->message);
    else if (!tn_results_equal(expected, &found, false, why, sizeof(why)))
        blame(verdict, "it computes", why);
    tn_outcome_free(&found);
    tn_subject_destroy(&subject);
}

void tn_rule_run_with_commas(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_verdict none = {0};
    if (!has_texts(test->op) && test->text != test->op->cases[0]) return;
    if (!tn_test_subject(test, NULL, &subject, &none)) return;
    if (tn_commas_begin()) {
        run(test, &subject.expected, verdict);
        tn_commas_end();
    }
    tn_subject_destroy(&subject);
}
