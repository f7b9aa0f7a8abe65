/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of matches-reference about reads within 64 bytes past a tensor's end. Tensors are
 * aligned to 64 bytes, so that a guard page begins behind them only where their bytes are a
 * multiple of it. Here, in a process of its own, inputs end exactly where their pages do, aligned
 * to their elements alone. A kernel may rely on the alignment that it does not get there: what it
 * computes, and any fault but one at a guard page behind an input, says nothing. See rules.h.
 */
#include "rules.h"
#include "rules/shrink.h"
#include "worker/watch/guarded.h"
#include "worker/watch/trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Written by the child before it ends, read by its parent. */
typedef struct found {
    const tn_test *test;
    char text[256], case_text[256];
    bool is_broken;
} found;

/* In the child. */
static found *shared;
enum { IS_FOUND = 17 /* what tn_shrink_fails takes for a failure */ };

static void report(const char *rule, const char *text) {
    if (strcmp(rule, "reads-inside") != 0 || !strstr(text, " past the end of ")) _exit(0);
    snprintf(shared->text, sizeof(shared->text), "%s", text);
    shared->is_broken = true;
    _exit(IS_FOUND);
}

static bool run_flush(const tn_test *test, const tn_change *change) {
    tn_subject subject;
    tn_verdict none = {0};
    tn_outcome outcome = {0};
    if (!tn_test_subject(test, change, &subject, &none)) return false;
    snprintf(shared->case_text, sizeof(shared->case_text), "%s", subject.probe.text);
    subject.probe.is_flush = true;
    (void)tn_probe_once(&subject.probe, true, false, 0xFF, &outcome);
    tn_outcome_free(&outcome);
    tn_subject_destroy(&subject);
    return false;
}

/* The case's own shapes; each axis one longer, where whole vectors have a rest, and short. */
static bool run_all(void *user) {
    const tn_test *test = ((const found *)user)->test;
    tn_shape shapes[TN_PROBE_PORTS];
    tn_verdict none = {0};
    uint32_t count = 0;
    tn_guarded_catch_faults(report);
    run_flush(test, NULL);
    if (!tn_test_shapes(test, shapes, &count, &none) || count == 0) return false;
    for (uint32_t axis = 0; axis < shapes[0].rank; axis++) {
        const int64_t extents[] = {shapes[0].extents[axis] + 1, 3, 13};
        for (size_t i = 0; i < TN_COUNT(extents); i++) {
            const tn_change change = {.axis = (int32_t)axis, .extent = extents[i]};
            run_flush(test, &change);
        }
    }
    return false;
}

void tn_rule_run_flush(const tn_test *test, tn_verdict *verdict) {
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return;
    shared->test = test;
    if (tn_shrink_fails(test, run_all, shared) && shared->is_broken) {
        tn_trace_case(shared->case_text);
        tn_verdict_fail(verdict, "%s, which shows where the tensor ends with its page",
                        shared->text);
        snprintf(verdict->rule, sizeof(verdict->rule), "reads-inside");
    }
    munmap(shared, sizeof(*shared));
}
