/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about kernels that are prepared before their shapes are known; see rules.h. */
#include "base/status.h"
#include "rules/rules.h"

#include <stdio.h>

/* Whether it may be, and is, prepared without extents. */
static bool prepare_open(tn_probe_life *life, tn_probe *probe, tn_verdict *verdict) {
    probe->is_open = true;
    const bool is_accepted = tn_probe_accepts(probe);
    if (is_accepted && tn_probe_prepare(life, probe) != TN_OK)
        tn_verdict_error(verdict, probe, "prepared before the shapes are known");
    probe->is_open = false;
    return is_accepted && verdict->outcome == TN_PASSED;
}

/* What reshape does not support is the reference's. */
static void run_at(tn_probe_context *context, tn_subject *subject, const char *during,
                   tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    tn_probe_memory memory = {0};
    tn_outcome found = {0};
    char why[300];
    tn_status status = tn_probe_reshape(context, probe);
    if (status == TN_ERROR_UNSUPPORTED && !probe->rule[0]) return;
    if (status == TN_OK) status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(probe, &memory, &found);
    if (status != TN_OK)
        tn_verdict_error(verdict, probe, during);
    else if (!tn_subject_agrees(subject, &found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
    tn_probe_memory_destroy(&memory);
}

static void run_both(tn_subject *first, tn_subject *second, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    char during[80];
    if (prepare_open(&life, &first->probe, verdict)) {
        if (tn_probe_open(&context, &life) != TN_OK) tn_verdict_error(verdict, &first->probe, "");
        for (int round = 0; round < 4 && verdict->outcome == TN_PASSED; round++) {
            tn_subject *now = round % 2 && second ? second : first;
            snprintf(during, sizeof(during), "prepared without extents, shape %d, turn %d",
                     now == first ? 1 : 2, round);
            run_at(&context, now, during, verdict);
        }
        tn_probe_close(&context);
        tn_probe_release(&life);
    }
}

static bool run_changed(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subjects[2];
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &subjects[0], verdict)) return false;
    const bool has_second = tn_test_subject(test, change, &subjects[1], &none);
    const bool is_second = has_second && tn_subject_shares_constants(&subjects[0], &subjects[1]);
    run_both(&subjects[0], is_second ? &subjects[1] : NULL, verdict);
    tn_subject_destroy(&subjects[0]);
    if (has_second) tn_subject_destroy(&subjects[1]);
    return verdict->outcome == TN_PASSED;
}

void tn_rule_any_shape(const tn_test *test, tn_verdict *verdict) {
    static const int64_t extents[] = {7, 1, 33};
    for (int32_t axis = 0; axis < 4; axis++)
        for (int i = 0; i < 3; i++) {
            const tn_change change = {.axis = axis, .extent = extents[i]};
            if (!run_changed(test, &change, verdict)) return;
        }
}
