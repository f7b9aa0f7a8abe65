/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about threads that share a node's work; see rules.h. */
#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "rules/threads/often.h"
#include "worker/ordered_pool.h"

#include <pthread.h>
#include <stdio.h>

/* How many calls of parallel_for there were, by a pool that counts them. */
static struct {
    atomic_uint count;
    tn_status (*of)(const tn_thread_pool *, int64_t, int64_t, tn_body, void *);
} shared;

static tn_status count_shared(const tn_thread_pool *pool, int64_t count, int64_t grain,
                              tn_body body, void *user) {
    atomic_fetch_add(&shared.count, 1);
    return shared.of(pool, count, grain, body, user);
}

/* A pool that keeps to the contract and to nothing else: one range a thread, the first range by the
 * highest one, also where there are fewer ranges than threads. */
typedef struct range {
    pthread_t thread;
    tn_body body;
    void *user;
    int64_t begin, end;
    uint32_t index;
    tn_status status;
    bool is_started;
} range;

static void *do_range(void *user) {
    range *r = user;
    r->status = r->body(r->user, r->begin, r->end, r->index);
    return NULL;
}

static tn_status backwards(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                           void *user) {
    range ranges[8] = {{0}};
    tn_status status = TN_OK;
    if (grain < 1) grain = 1;
    int64_t parts = count / grain < 1 ? 1 : count / grain;
    if (parts > pool->threads) parts = pool->threads;
    if (parts > 8) parts = 8;
    for (int64_t i = 0; i < parts; i++) {
        ranges[i] = (range){.body = body,
                            .user = user,
                            .begin = count / parts * i,
                            .end = i + 1 == parts ? count : count / parts * (i + 1),
                            .index = pool->threads - 1 - (uint32_t)i};
        ranges[i].is_started =
            i > 0 && pthread_create(&ranges[i].thread, NULL, do_range, &ranges[i]) == 0;
    }
    for (int64_t i = 0; i < parts; i++) {
        if (ranges[i].is_started)
            pthread_join(ranges[i].thread, NULL);
        else
            do_range(&ranges[i]);
        if (status == TN_OK) status = ranges[i].status;
    }
    return status;
}

static void check_threads(tn_subject *subject, uint32_t threads, bool is_backwards,
                          const tn_outcome *single, const tn_often *how, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    char during[64];
    subject->probe.threads = threads;
    snprintf(during, sizeof(during), "on %u threads, against one", threads);
    tn_status status = tn_probe_prepare(&life, &subject->probe);
    if (status == TN_OK) status = tn_probe_open(&context, &life);
    if (status == TN_OK) status = tn_probe_reshape(&context, &subject->probe);
    shared.count = 0;
    shared.of = is_backwards ? backwards : life.pool.parallel_for;
    if (status == TN_OK) life.pool.parallel_for = count_shared;
    if (status != TN_OK)
        tn_verdict_error(verdict, &subject->probe, during);
    else
        tn_often_run(&context, &subject->probe, single, how, during, verdict);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
}

/* One run, with more work than a piece for each; `pool` null: the engine's. */
static void check_once(tn_subject *subject, const tn_thread_pool *pool, uint32_t threads,
                       const char *during, tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300];
    if (verdict->outcome != TN_PASSED) return;
    subject->probe.threads = threads;
    subject->probe.pool = pool;
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &found) != TN_OK)
        tn_verdict_error(verdict, &subject->probe, during);
    else if (!tn_subject_agrees(subject, &found, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    subject->probe.pool = NULL;
    tn_outcome_free(&found);
}

/* More than a fixed table has, as on a large machine. */
static void check_many(tn_subject *subject, tn_verdict *verdict) {
    enum { MANY_THREADS = 131 };
    tn_ordered_pool pool;
    tn_ordered_pool_init(&pool, MANY_THREADS, false);
    check_once(subject, &pool.pool, MANY_THREADS, "with 131 threads", verdict);
}

static void check_shape(const tn_test *test, tn_subject *subject, double run_seconds,
                        tn_verdict *verdict) {
    const uint32_t traits = test->kernel->traits;
    const tn_often how = {.is_exact = traits & TN_KERNEL_DETERMINISTIC,
                          .shared_count = traits & TN_KERNEL_OPENMP ? NULL : &shared.count,
                          .seconds = run_seconds};
    tn_outcome single = {0};
    if (tn_probe_once(&subject->probe, true, false, 0xFF, &single) != TN_OK)
        tn_verdict_error(verdict, &subject->probe, "");
    for (uint32_t threads = 2; threads <= 3 && verdict->outcome == TN_PASSED; threads++)
        check_threads(subject, threads, threads == 3, &single, &how, verdict);
    check_many(subject, verdict);
    tn_outcome_free(&single);
}

static void check_orders(tn_subject *subject, tn_verdict *verdict) {
    tn_ordered_pool pool;
    check_once(subject, NULL, 3, "on 3 threads", verdict);
    tn_ordered_pool_init(&pool, 3, false);
    check_once(subject, &pool.pool, 3, "by 3 threads of which the last has the first range",
               verdict);
    tn_ordered_pool_init(&pool, 3, true);
    check_once(subject, &pool.pool, 3,
               "by 3 threads of which the first begins, with the last range", verdict);
}

static double thread_seconds(void) {
    return 1e-9 * (double)tn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Long rows, where a twelfth of them shows that there is time. */
static void check_long(const tn_test *test, const tn_shape *shape, tn_verdict *verdict) {
    static const int64_t extents[] = {1801, 21613};
    static const double MOST_SECONDS = 0.002;
    const bool is_repeated = tn_test_is_repeated(test);
    for (size_t i = 0; i < TN_COUNT(extents) && shape->rank > 0 && !is_repeated; i++) {
        tn_change change = {.seed = test->seed,
                            .values = TN_VALUES_EQUAL, /* sums of them are exact */
                            .axis = (int32_t)shape->rank - 1,
                            .extent = extents[i],
                            .asks_all = true};
        tn_subject subject;
        tn_verdict none = {0};
        const double begin = thread_seconds();
        const bool is_taken =
            verdict->outcome == TN_PASSED && tn_test_subject(test, &change, &subject, &none);
        change.asks_all = false;
        if (!is_taken &&
            (verdict->outcome != TN_PASSED || !tn_test_subject(test, &change, &subject, &none)))
            return;
        const bool has_time = thread_seconds() - begin < MOST_SECONDS;
        if (i > 0) check_orders(&subject, verdict);
        tn_subject_destroy(&subject);
        if (!has_time) return;
    }
}

void tn_rule_threads(const tn_test *test, tn_verdict *verdict) {
    enum { MANY = 139 };
    static const int64_t extents[] = {1, 40, MANY}; /* less work than threads, and more */
    tn_subject subject;
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    const tn_shape shape = subject.c.input_count > 0 ? subject.c.inputs[0].shape : (tn_shape){0};
    const bool has_axis = shape.rank > 0;
    tn_rule_check_races(&subject, verdict);
    check_shape(test, &subject, tn_often_seconds(test), verdict);
    tn_subject_destroy(&subject);
    for (size_t i = 0; i < TN_COUNT(extents) && has_axis; i++) {
        const tn_change change = {.axis = 0, .extent = extents[i]};
        if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &change, &subject, &none))
            continue;
        if (extents[i] > 1) tn_rule_check_races(&subject, verdict);
        if (extents[i] == MANY)
            check_many(&subject, verdict);
        else
            check_shape(test, &subject, TN_OFTEN_OTHER_SECONDS, verdict);
        tn_subject_destroy(&subject);
    }
    check_long(test, &shape, verdict);
}
