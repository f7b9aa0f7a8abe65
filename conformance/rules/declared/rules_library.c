/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about the library as a whole: what is left when it was used and unloaded, and what its load
 * does when there is no memory. They end the runtime that the tests before them used; see rules.h.
 */
#include "worker/probe/frame.h"
#include "plugin/sequences/kinds.h"
#include "base/status.h"
#include "rules/rules.h"
#include "worker/watch/heap.h"
#include "worker/watch/held.h"
#include "worker/watch/trace.h"
#include "worker/process/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALLOCATIONS = 64, REPEATS = 3 };

/* ----------------------------------------------------------------------------------------------
 * use and unload */

/* One whole life of the first case that is taken. */
static bool live_first(const tn_test *test, const tn_operator *op, const tn_kernel *kernel,
                       const char *combination) {
    tn_test attempt = *test;
    attempt.op = op;
    attempt.kernel = kernel;
    attempt.combination = combination;
    for (uint64_t i = 0; i < op->case_count; i++) {
        tn_subject subject;
        tn_verdict none = {0};
        tn_outcome out = {0};
        attempt.text = op->cases[i];
        if (tn_operator_has_kinds(op)) {
            if (tn_rule_runs_lists(&attempt)) return true;
            continue;
        }
        if (!tn_test_subject(&attempt, NULL, &subject, &none)) continue;
        const tn_status status = tn_probe_once(&subject.probe, true, false, 0xFF, &out);
        tn_outcome_free(&out);
        tn_subject_destroy(&subject);
        if (status == TN_OK) return true;
    }
    return false;
}

/* Every kernel and reference of the library once, so that what is made once is made. */
static void use(const tn_library_test *library, const tn_test *test) {
    for (size_t i = 0; i < library->operator_count; i++)
        if (library->is_own[i] && library->operators[i]->reference)
            live_first(test, library->operators[i], NULL, NULL);
    for (size_t i = 0; i < library->operator_count; i++)
        for (size_t k = 0; k < library->kernel_count; k++) {
            const tn_kernel *kernel = library->kernels[k];
            if (!tn_kernel_serves(kernel, library->operators[i])) continue;
            live_first(test, library->operators[i], kernel,
                       kernel->combination_count ? kernel->combinations[0] : NULL);
        }
}

static void unload(const tn_library_test *library) {
    const char *before = tn_trace_enter("unload");
    tn_runtime_release(*library->runtime);
    *library->runtime = NULL;
    tn_trace_leave(before);
}

/* The process ends, in a copy of it: functions that the library left for that run there. What takes
 * long is given up. */
static void check_end(tn_verdict *verdict) {
    enum { MOST_SECONDS = 2 };
    int status = 0;
    const pid_t child = tn_heap_is_sanitized() ? -1 : fork();
    if (child < 0) return;
    if (child == 0) {
        static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
            signal(signals[i], SIG_DFL); /* the parent says what comes of it */
        alarm(MOST_SECONDS);
        exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGALRM) return;
    tn_verdict_fail(verdict, "the process ends by signal %d after the library was unloaded",
                    WTERMSIG(status));
    snprintf(verdict->rule, sizeof(verdict->rule), "crash");
}

void tn_rule_unload(const tn_test *test, tn_verdict *verdict) {
    char what[300];
    use(test->whole, test);
    unload(test->whole);
    tn_probe_forget_frames();
    tn_guarded_forget_retired();
    if (tn_held_more(test->whole->before, what, sizeof(what)))
        tn_verdict_fail(verdict, "when the library is unloaded %s is left", what);
    else if (test->counter->live > 0)
        tn_verdict_fail(verdict,
                        "when the library is unloaded %llu blocks of host->allocate's "
                        "memory are left",
                        (unsigned long long)test->counter->live);
    else
        check_end(verdict);
}

/* ----------------------------------------------------------------------------------------------
 * load without memory */

/* Loads it into a runtime of its own; false: nothing failed, there are fewer allocations. */
static bool load_without(const tn_test *test, uint64_t at, tn_verdict *verdict) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->counter->functions};
    tn_runtime *runtime = NULL;
    if (tn_runtime_create(&options, &runtime) != TN_OK) return false;
    const char *before = tn_trace_enter("load");
    tn_heap_begin(at);
    tn_heap_enter();
    const tn_status status = tn_runtime_load_library(runtime, test->whole->path);
    tn_heap_leave();
    const bool has_failed = tn_heap_end() >= at;
    if (has_failed && status != TN_OK && strstr(tn_last_error()->message, "without a reason")) {
        tn_verdict_fail(verdict, "allocation %llu of malloc failing in load: %s",
                        (unsigned long long)at, tn_last_error()->message);
        snprintf(verdict->rule, sizeof(verdict->rule), "fails-honestly");
    }
    tn_runtime_release(runtime);
    tn_trace_leave(before);
    return has_failed;
}

static size_t measure(void) {
    return tn_heap_live_bytes();
}

static void check_leak(const tn_test *test, uint64_t at, tn_verdict *verdict) {
    size_t last = measure(), lost = 0, growing = 0;
    for (int i = 0; i < REPEATS && verdict->outcome == TN_PASSED; i++) {
        load_without(test, at, verdict);
        const size_t now = measure();
        growing += now > last;
        lost += now > last ? now - last : 0;
        last = now;
    }
    if (verdict->outcome == TN_PASSED && growing == REPEATS)
        tn_verdict_fail(verdict,
                        "allocation %llu of malloc failing in load leaves about %zu bytes of heap "
                        "behind",
                        (unsigned long long)at, lost / REPEATS);
}

void tn_rule_load_no_heap(const tn_test *test, tn_verdict *verdict) {
    if (!tn_heap_is_watched()) {
        tn_verdict_skip(verdict, "a sanitizer has the heap");
        return;
    }
    unload(test->whole);
    for (uint64_t at = 1; at < ALLOCATIONS && verdict->outcome == TN_PASSED; at++) {
        if (load_without(test, at, verdict)) {
            check_leak(test, at, verdict);
            continue;
        }
        break;
    }
}
