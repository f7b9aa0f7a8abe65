/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the rule state: what a kernel saves of its preparation, which comes back from a plan that
 * anybody may have damaged; see rules.h. */
#include "base/status.h"
#include "rules/variants.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DAMAGED = 64 }; /* truncations, and changed bytes */

/* Loads a copy that is gone, and read-only until then, before anything runs. */
static tn_status load_copy(tn_probe_life *life, tn_probe *probe, const char *data, size_t bytes) {
    tn_guarded copy;
    TN_TRY(tn_guarded_create(&copy, TN_GUARDED_STATE, 0, bytes, true, 0x7F));
    if (bytes) memcpy(copy.data, data, bytes);
    tn_guarded_protect(&copy, TN_GUARDED_READ);
    const tn_status status = tn_probe_load(life, probe, copy.data, bytes);
    tn_guarded_destroy(&copy);
    return status;
}

/* Damaged bytes are refused with a reason, or make a kernel that computes something. */
static void load_damaged(tn_probe *probe, const char *data, size_t bytes, const char *during,
                         tn_verdict *verdict) {
    tn_probe_life life;
    tn_outcome found = {0};
    tn_status status = load_copy(&life, probe, data, bytes);
    const bool is_loaded = status == TN_OK;
    if (is_loaded) {
        status = tn_probe_run_life(&life, true, false, 0xFF, &found);
        tn_probe_release(&life);
    }
    if (status != TN_OK && probe->rule[0]) tn_verdict_error(verdict, probe, during);
    tn_outcome_free(&found);
}

typedef struct saved_probe {
    tn_probe *probe;
    const tn_guarded *saved;
} saved_probe;

/* With more bytes behind it, which are its own again. */
static void load_longer(tn_probe *probe, const tn_guarded *saved, tn_verdict *verdict) {
    const size_t bytes = saved->bytes, more[] = {1, 8, bytes, 4096};
    for (size_t i = 0; i < TN_COUNT(more) && verdict->outcome == TN_PASSED; i++) {
        char *longer = malloc(bytes + more[i]);
        for (size_t at = 0; longer && at < bytes + more[i]; at++)
            longer[at] = saved->data[at % bytes];
        if (longer)
            load_damaged(probe, longer, bytes + more[i], "load of a state with more bytes",
                         verdict);
        free(longer);
    }
}

static void damage(void *user, tn_verdict *verdict) {
    const saved_probe *given = user;
    tn_probe *probe = given->probe;
    const tn_guarded *saved = given->saved;
    const size_t bytes = saved->bytes, step = bytes / MOST_DAMAGED + 1;
    char *damaged = malloc(bytes + 1);
    for (size_t at = 0; damaged && at < bytes && verdict->outcome == TN_PASSED; at += step) {
        load_damaged(probe, saved->data, at, "load of a state cut short", verdict);
        memcpy(damaged, saved->data, bytes);
        damaged[at] = (char)(damaged[at] ^ (at % 2 ? 0x80 : 0x7F));
        load_damaged(probe, damaged, bytes, "load of a state with a byte changed", verdict);
    }
    free(damaged);
    load_longer(probe, saved, verdict);
}

/* What was loaded computes the same bits as what was prepared, and saves the same bytes. */
static void compare_loaded(tn_probe *probe, const tn_guarded *saved, const tn_outcome *expected,
                           tn_verdict *verdict) {
    tn_probe_life life;
    tn_outcome found = {0};
    tn_guarded again = {0};
    char why[300];
    if (load_copy(&life, probe, saved->data, saved->bytes) != TN_OK) {
        tn_verdict_error(verdict, probe, "load of what save wrote");
        return;
    }
    if (tn_probe_run_life(&life, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, probe, "after save and load");
    else if (!tn_results_equal(expected, &found, true, why, sizeof(why)))
        tn_verdict_fail(verdict, "after save and load of the kernel's state: %s", why);
    else if (tn_probe_save(&life, &again) != TN_OK)
        tn_verdict_error(verdict, probe, "save of what was loaded");
    else if (again.bytes != saved->bytes || memcmp(again.data, saved->data, saved->bytes) != 0)
        tn_verdict_fail(verdict, "save writes other bytes of a state that was loaded");
    tn_guarded_destroy(&again);
    tn_outcome_free(&found);
    tn_probe_release(&life);
}

/* Prepares, saves and runs; what is saved is the same each time. */
static bool save_and_run(tn_probe *probe, tn_guarded *saved, tn_outcome *expected,
                         tn_verdict *verdict) {
    tn_probe_life life;
    if (tn_probe_prepare(&life, probe) != TN_OK) {
        tn_verdict_error(verdict, probe, "prepare");
        return false;
    }
    if (tn_probe_save(&life, saved) != TN_OK)
        tn_verdict_error(verdict, probe, "save");
    else if (expected && tn_probe_run_life(&life, true, false, 0xFF, expected) != TN_OK)
        tn_verdict_error(verdict, probe, "after save");
    tn_probe_release(&life);
    return verdict->outcome == TN_PASSED;
}

static void check_saved(const tn_test *test, const tn_change *change, tn_verdict *verdict) {
    tn_subject subject;
    tn_guarded saved = {0}, again = {0};
    tn_outcome expected = {0};
    if (!tn_test_subject(test, change, &subject, verdict)) return;
    bool is_saved = save_and_run(&subject.probe, &saved, &expected, verdict);
    tn_fresh_memory(test->counter, TN_FRESH_OTHER);
    is_saved = is_saved && save_and_run(&subject.probe, &again, NULL, verdict);
    tn_fresh_memory(test->counter, TN_FRESH_FILLER);
    if (is_saved) {
        if (again.bytes != saved.bytes || memcmp(again.data, saved.data, saved.bytes) != 0)
            tn_verdict_fail(verdict, "save writes other bytes when the node is prepared again: "
                                     "plans of one network are the same, byte by byte");
        else
            compare_loaded(&subject.probe, &saved, &expected, verdict);
        if (verdict->outcome == TN_PASSED && saved.bytes > 0 && change->axis < 0 && !change->shapes)
            tn_rule_check_refusals(damage, &(saved_probe){&subject.probe, &saved}, saved.bytes,
                                   verdict);
    }
    tn_guarded_destroy(&saved);
    tn_guarded_destroy(&again);
    tn_outcome_free(&expected);
    tn_subject_destroy(&subject);
}

void tn_rule_kernel_state(const tn_test *test, tn_verdict *verdict) {
    tn_claim_check(test, check_saved, verdict);
}
