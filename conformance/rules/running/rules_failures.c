/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about services of the host that fail: allocate, with packed, which needs it, parallel_for,
 * and the memory of outputs without a bound. One call after another fails; see rules.h. */
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "rules/rules.h"

#include <stdio.h>

enum { MOST_CALLS = 64 };

/* A service that counts its calls and fails at one of them. */
typedef struct service {
    const char *call, *during; /* in messages */
    uint64_t *calls, *fail_at; /* from 1; 0: never */
} service;

/* A life in which a call fails, and which ends well all the same, has the right results. */
static void compare_without(tn_subject *subject, const service *s, uint64_t at,
                            tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    *s->calls = 0;
    *s->fail_at = at;
    const tn_status status = tn_probe_once(&subject->probe, true, false, 0xFF, &found);
    const bool has_failed = *s->calls >= at;
    *s->fail_at = 0;
    if (has_failed && status == TN_OK &&
        !tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s %llu failing: success is returned, but %s", s->call,
                        (unsigned long long)at, why);
    tn_outcome_free(&found);
}

/* True: there is no such call. */
static bool fail_at(const tn_test *test, tn_subject *subject, const service *s, uint64_t at,
                    tn_verdict *verdict) {
    const uint64_t live = test->counter->live;
    *s->calls = 0;
    *s->fail_at = at;
    const tn_status status = tn_rule_live_once(&subject->probe);
    const bool is_done = *s->calls < at;
    *s->fail_at = 0;
    if (status != TN_OK && subject->probe.rule[0])
        tn_verdict_error(verdict, &subject->probe, s->during);
    else if (test->counter->live > live)
        tn_verdict_fail(verdict, "%s %llu failing leaves %llu blocks behind", s->call,
                        (unsigned long long)at, (unsigned long long)(test->counter->live - live));
    else if (!is_done) /* that life has two contexts: its calls are others */
        compare_without(subject, s, at, verdict);
    return is_done;
}

static void fail_each(const tn_test *test, tn_subject *subject, const service *s,
                      tn_verdict *verdict) {
    bool is_done = false;
    for (uint64_t at = 1; !is_done && at < MOST_CALLS && verdict->outcome == TN_PASSED; at++)
        is_done = fail_at(test, subject, s, at, verdict);
}

/* What is wrong without a failure before is another rule's matter. */
static void forgive_wrong(tn_subject *subject, tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (!verdict->rule[0] && tn_probe_once(&subject->probe, true, false, 0xFF, &found) == TN_OK &&
        !tn_results_equal(&subject->expected, &found, false, why, sizeof(why)))
        *verdict = (tn_verdict){0};
    tn_outcome_free(&found);
}

/* A reshape that failed says nothing of the context: the next one makes it ready. True: there is no
 * such allocation. */
static bool reshape_again(const tn_test *test, tn_subject *subject, uint64_t at,
                          tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    bool is_done = true;
    tn_status status = tn_probe_prepare(&life, probe);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) {
        test->counter->allocations = 0;
        test->counter->fail_at = at;
        status = tn_probe_reshape(&context, probe);
        is_done = test->counter->allocations < at;
        test->counter->fail_at = 0;
    }
    if (!is_done && status != TN_OK && !probe->rule[0]) {
        if (tn_probe_reshape(&context, probe) != TN_OK)
            tn_verdict_error(verdict, probe, "reshape again after it had no memory");
        else
            tn_rule_run_open(&context, subject, &subject->expected, false, false,
                             "after a reshape that had no memory, and another one", verdict);
    }
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    return is_done;
}

/* A run that failed leaves the context as it was: the next one is right. True: there is no such
 * call in a run. */
static bool run_again(tn_subject *subject, const service *s, uint64_t at, tn_verdict *verdict) {
    tn_probe *probe = &subject->probe;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    char during[80];
    bool is_done = true;
    tn_status status = tn_probe_prepare(&life, probe);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) status = tn_probe_reshape(&context, probe);
    if (status == TN_OK) status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) {
        *s->calls = 0;
        *s->fail_at = at;
        status = tn_probe_run(&context, probe, &memory, 0xFF);
        is_done = *s->calls < at;
        *s->fail_at = 0;
    }
    snprintf(during, sizeof(during), "after a run with %s %llu failing", s->call,
             (unsigned long long)at);
    if (!is_done && status != TN_OK && !probe->rule[0] &&
        !tn_rule_run_open(&context, subject, &subject->expected, false, false, during, verdict))
        forgive_wrong(subject, verdict);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    return is_done;
}

static void run_each_again(tn_subject *subject, const service *s, tn_verdict *verdict) {
    bool is_done = false;
    for (uint64_t at = 1; !is_done && at < MOST_CALLS && verdict->outcome == TN_PASSED; at++)
        is_done = run_again(subject, s, at, verdict);
}

void tn_rule_no_memory(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    const service memory = {"allocation", "without memory", &test->counter->allocations,
                            &test->counter->fail_at};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    tn_subject grown;
    fail_each(test, &subject, &memory, verdict);
    if (verdict->outcome == TN_PASSED && tn_rule_grow(test, &subject, &grown)) {
        fail_each(test, &subject, &memory, verdict);
        subject.probe.grown = NULL;
        subject.probe.other = NULL;
        tn_subject_destroy(&grown);
    }
    bool is_done = !test->kernel || !test->kernel->reshape;
    for (uint64_t at = 1; !is_done && at < MOST_CALLS && verdict->outcome == TN_PASSED; at++)
        is_done = reshape_again(test, &subject, at, verdict);
    if (test->kernel && verdict->outcome == TN_PASSED) run_each_again(&subject, &memory, verdict);
    tn_subject_destroy(&subject);
}

/* ----------------------------------------------------------------------------------------------
 * threads */

typedef struct failing_pool {
    tn_thread_pool pool, inner; /* the first is what the host has */
    uint64_t calls, fail_at;
} failing_pool;

static tn_status failing_parallel_for(const tn_thread_pool *pool, int64_t count, int64_t grain,
                                      tn_body body, void *user) {
    failing_pool *failing = (failing_pool *)(uintptr_t)pool;
    if (++failing->calls == failing->fail_at)
        return tn_fail(TN_ERROR_UNSUPPORTED, "parallel_for failed, as the check has it");
    return failing->inner.parallel_for(&failing->inner, count, grain, body, user);
}

void tn_rule_host_failures(const tn_test *test, tn_verdict *verdict) {
    enum { THREADS = 2 };
    tn_subject subject;
    failing_pool failing = {.pool = {.threads = THREADS, .parallel_for = failing_parallel_for}};
    const service threads = {"parallel_for", "parallel_for failing", &failing.calls,
                             &failing.fail_at};
    tn_probe_asking asking = {0};
    const service outputs = {"memory for an output", "without memory for an output", &asking.calls,
                             &asking.fail_at};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    tn_cpu_pool_init(&failing.inner, THREADS, tn_runtime_workers(subject.probe.runtime), false);
    subject.probe.threads = THREADS;
    subject.probe.pool = &failing.pool;
    fail_each(test, &subject, &threads, verdict);
    if (verdict->outcome == TN_PASSED) run_each_again(&subject, &threads, verdict);
    subject.probe.pool = NULL;
    subject.probe.asking = &asking;
    if (tn_probe_is_unbounded(&subject.probe)) {
        fail_each(test, &subject, &outputs, verdict);
        if (verdict->outcome == TN_PASSED) run_each_again(&subject, &outputs, verdict);
    }
    tn_subject_destroy(&subject);
}
