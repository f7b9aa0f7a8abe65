/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about the C library's heap: each allocation of a life fails in turn. What the host is
 * asked for is the matter of no-memory, in rules_leaks.c. See rules.h. */
#include "worker/probe/frame.h"
#include "base/status.h"
#include "rules/rules.h"
#include "worker/watch/heap.h"

#include <stdio.h>
#include <string.h>

enum { ALLOCATIONS = 64, REPEATS = 3 };

/* One life in which an allocation fails; false when there are fewer. A life that ends well all the
 * same has the right results. */
static bool live_without(const tn_test *test, tn_subject *subject, uint64_t at,
                         tn_verdict *verdict) {
    (void)test;
    tn_outcome found = {0};
    char why[300], during[64];
    tn_heap_begin(at);
    const tn_status status = tn_probe_once(&subject->probe, true, false, 0xFF, &found);
    const bool has_failed = tn_heap_end() >= at;
    snprintf(during, sizeof(during), "allocation %llu of malloc failing", (unsigned long long)at);
    if (has_failed && status != TN_OK && subject->probe.rule[0])
        tn_verdict_error(verdict, &subject->probe, during);
    else if (has_failed && status == TN_OK &&
             !tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: success is returned, but %s", during, why);
    tn_outcome_free(&found);
    return has_failed;
}

/* The same for what the operator does while a node is made: shape rule, saved state, reference. */
static bool make_without(const tn_test *test, tn_subject *subject, uint64_t at,
                         tn_verdict *verdict) {
    tn_subject made;
    tn_verdict none = {0};
    char why[300];
    tn_heap_begin(at);
    tn_heap_enter();
    const bool is_made = tn_test_subject(test, NULL, &made, &none);
    tn_heap_leave();
    const bool has_failed = tn_heap_end() >= at;
    if (!is_made) return has_failed;
    if (has_failed &&
        !tn_results_equal(&subject->expected, &made.expected, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "allocation %llu of malloc failing: success is returned, but %s",
                        (unsigned long long)at, why);
    tn_subject_destroy(&made);
    return has_failed;
}

typedef bool (*attempt)(const tn_test *test, tn_subject *subject, uint64_t at, tn_verdict *verdict);

static size_t measure(void) {
    tn_probe_forget_frames();
    return tn_heap_live_bytes();
}

/* What is lost each time is a leak; what is lost once may be made once. */
static void check_leak(const tn_test *test, tn_subject *subject, attempt without, uint64_t at,
                       tn_verdict *verdict) {
    size_t last = measure(), lost = 0, growing = 0;
    for (int i = 0; i < REPEATS && verdict->outcome == TN_PASSED; i++) {
        without(test, subject, at, verdict);
        const size_t now = measure();
        growing += now > last;
        lost += now > last ? now - last : 0;
        last = now;
    }
    if (verdict->outcome == TN_PASSED && growing == REPEATS)
        tn_verdict_fail(verdict,
                        "allocation %llu of malloc failing leaves about %zu bytes of heap behind",
                        (unsigned long long)at, lost / REPEATS);
}

static void try_each(const tn_test *test, tn_subject *subject, attempt without,
                     tn_verdict *verdict) {
    for (uint64_t at = 1; at < ALLOCATIONS && verdict->outcome == TN_PASSED; at++) {
        if (!without(test, subject, at, verdict)) break;
        check_leak(test, subject, without, at, verdict);
    }
}

void tn_rule_no_heap(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (test->whole) {
        tn_rule_load_no_heap(test, verdict);
        return;
    }
    if (!tn_heap_is_watched()) {
        tn_verdict_skip(verdict, "a sanitizer has the heap");
        return;
    }
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    try_each(test, &subject, live_without, verdict);
    const bool is_linked_in = strcmp(test->library, "builtin") == 0; /* and so is the engine */
    if (!test->kernel && !is_linked_in && verdict->outcome == TN_PASSED)
        try_each(test, &subject, make_without, verdict);
    tn_subject_destroy(&subject);
}
