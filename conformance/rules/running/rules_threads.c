/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about threads: those that share a node's work, and those of two contexts. What goes wrong
 * seldom is run often, in one frame, as close together as can be; see rules.h.
 */
#include "base/hash.h"
#include "base/clock.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "rules/rules.h"
#include "worker/probe/frame.h"
#include "worker/ordered_pool.h"
#include "worker/watch/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of the thread's own time: two that have one processor between them take turns several times. */
static const double SECONDS = 0.01, OTHER_CASES_SECONDS = 0.003, WALL_SECONDS = 0.5;
enum { LEAST_RUNS = 12, UNSHARED_RUNS = 64, CHUNK = 16 };

/* Longest on the first case of each type. */
static double seconds_for(const tn_test *test) {
    const char *own = tn_test_first_type(test->text);
    for (uint64_t i = 0; i < test->op->case_count; i++) {
        const char *other = test->op->cases[i];
        if (other == test->text) break;
        if (strncmp(own, tn_test_first_type(other), strcspn(own, "[") + 1) == 0)
            return OTHER_CASES_SECONDS;
    }
    return SECONDS;
}

static double seconds(clockid_t clock) {
    return 1e-9 * (double)tn_clock_ns(clock);
}

static uint64_t hash_outputs(const tn_probe *probe, const tn_probe_memory *memory) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].is_given)
            hash = tn_hash_add(hash, memory->outputs[i].data, memory->outputs[i].bytes);
    return hash;
}

/* A kernel finds its outputs as the first run found them, but for what they hold. */
static void restore_shapes(const tn_frame *frame, const tn_probe *probe) {
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (frame->outputs[i])
            memcpy(frame->outputs[i]->shape, probe->outputs[i].shape.extents,
                   probe->outputs[i].shape.rank * sizeof(int64_t));
}

static bool compare(const tn_probe *probe, const tn_probe_memory *memory,
                    const tn_outcome *expected, bool is_exact, const char *during,
                    tn_verdict *verdict) {
    tn_outcome found = {0};
    char why[300] = "";
    if (tn_probe_results(probe, memory, &found) != TN_OK)
        tn_verdict_error(verdict, NULL, during);
    else if (!tn_results_equal(expected, &found, is_exact, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
    return verdict->outcome == TN_PASSED;
}

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

typedef struct often {
    bool is_exact, is_shared; /* that threads share the work is asked */
    double seconds;
} often;

/* One ordinary run, which is compared; then the same again and again, compared whenever the outputs
 * are not as they were. What is not shared is not run so often where it should be. */
static void run_often(tn_probe_context *context, tn_probe *probe, const tn_outcome *expected,
                      const often *how, const char *during, tn_verdict *verdict) {
    const bool is_exact = how->is_exact;
    const tn_callback run = probe->kernel ? probe->kernel->run : probe->op->reference;
    tn_probe_memory memory = {0};
    tn_frame frame = {0};
    tn_status status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    for (uint32_t i = 0; status == TN_OK && i < (tn_probe_is_unbounded(probe) ? LEAST_RUNS : 1);
         i++)
        status = tn_probe_run(context, probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_frame_open(&frame, probe, context->life, &memory, TN_SEES_ALL);
    if (status != TN_OK)
        tn_verdict_error(verdict, probe, during);
    else if (compare(probe, &memory, expected, is_exact, during, verdict)) {
        frame.call->context = context->context;
        frame.call->workspace = context->workspace.data;
        frame.call->workspace_bytes = context->workspace_bytes;
        frame.scope.packed = NULL;
        uint64_t known = hash_outputs(probe, &memory);
        const uint32_t most = how->is_shared && shared.count == 0 ? UNSHARED_RUNS : UINT32_MAX;
        const double until = seconds(CLOCK_THREAD_CPUTIME_ID) + how->seconds,
                     latest = seconds(CLOCK_MONOTONIC) + WALL_SECONDS;
        for (uint32_t i = 0;
             i < most && verdict->outcome == TN_PASSED && !tn_probe_is_unbounded(probe); i++) {
            if (i >= LEAST_RUNS && i % CHUNK == 0 &&
                (seconds(CLOCK_THREAD_CPUTIME_ID) > until || seconds(CLOCK_MONOTONIC) > latest))
                break;
            restore_shapes(&frame, probe);
            tn_probe_empty_heaps(&memory);
            const char *before = tn_trace_enter(probe->kernel ? "run" : "reference");
            if (run(frame.call) != TN_OK ||
                tn_probe_take_strings(probe, &frame, &memory, 0xFF) != TN_OK)
                tn_verdict_error(verdict, probe, during);
            tn_trace_leave(before);
            const uint64_t hash = hash_outputs(probe, &memory);
            if (hash == known || verdict->outcome != TN_PASSED) continue;
            compare(probe, &memory, expected, is_exact, during, verdict);
            known = hash;
        }
    }
    tn_frame_close(&frame);
    tn_probe_memory_destroy(&memory);
}

/* ----------------------------------------------------------------------------------------------
 * threads that share the work */

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
                          const tn_outcome *single, const often *how, tn_verdict *verdict) {
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
        run_often(&context, &subject->probe, single, how, during, verdict);
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
    const often how = {.is_exact = traits & TN_KERNEL_DETERMINISTIC,
                       .is_shared = !(traits & TN_KERNEL_OPENMP),
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
        const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        const bool is_taken =
            verdict->outcome == TN_PASSED && tn_test_subject(test, &change, &subject, &none);
        change.asks_all = false;
        if (!is_taken &&
            (verdict->outcome != TN_PASSED || !tn_test_subject(test, &change, &subject, &none)))
            return;
        const bool has_time = seconds(CLOCK_THREAD_CPUTIME_ID) - begin < MOST_SECONDS;
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
    check_shape(test, &subject, seconds_for(test), verdict);
    tn_subject_destroy(&subject);
    for (size_t i = 0; i < TN_COUNT(extents) && has_axis; i++) {
        const tn_change change = {.axis = 0, .extent = extents[i]};
        if (verdict->outcome != TN_PASSED || !tn_test_subject(test, &change, &subject, &none))
            continue;
        if (extents[i] > 1) tn_rule_check_races(&subject, verdict);
        if (extents[i] == MANY)
            check_many(&subject, verdict);
        else
            check_shape(test, &subject, OTHER_CASES_SECONDS, verdict);
        tn_subject_destroy(&subject);
    }
    check_long(test, &shape, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * two contexts */

typedef struct worker {
    tn_probe_context context;
    tn_subject *subject;
    pthread_barrier_t *start;
    double seconds; /* that it runs */
    tn_verdict verdict;
} worker;

static void *work(void *user) {
    worker *w = user;
    pthread_barrier_wait(w->start);
    const often how = {.seconds = w->seconds};
    run_often(&w->context, &w->subject->probe, &w->subject->expected, &how, "on two threads",
              &w->verdict);
    return NULL;
}

static void run_on_threads(worker *workers, tn_verdict *verdict) {
    pthread_t thread;
    pthread_barrier_t start;
    if (pthread_barrier_init(&start, NULL, 2) != 0) return;
    workers[0].start = workers[1].start = &start;
    if (pthread_create(&thread, NULL, work, &workers[1]) == 0) {
        work(&workers[0]);
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&start);
    for (int i = 0; i < 2; i++)
        if (workers[i].verdict.outcome == TN_FAILED) *verdict = workers[i].verdict;
}

/* So many runs in turn; a context that is closed is left out. */
static void alternate(worker *workers, int runs, const char *during, tn_verdict *verdict) {
    for (int i = 0; i < runs && verdict->outcome == TN_PASSED; i++) {
        if (!workers[i % 2].context.is_open) continue;
        const worker *w = &workers[i % 2];
        tn_probe *probe = &w->subject->probe;
        tn_probe_memory memory = {0};
        tn_status status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
        if (status == TN_OK) status = tn_probe_run(&workers[i % 2].context, probe, &memory, 0xFF);
        if (status != TN_OK)
            tn_verdict_error(verdict, probe, during);
        else
            compare(probe, &memory, &w->subject->expected, false, during, verdict);
        tn_probe_memory_destroy(&memory);
    }
}

/* One engine, a context for each of both subjects; `run_seconds` 0: of another shape. */
static void check_contexts(tn_subject *subjects, double run_seconds, tn_verdict *verdict) {
    const bool are_alike = run_seconds > 0;
    tn_probe_life life = {0};
    worker workers[2] = {0};
    if (!are_alike) subjects[0].probe.other = &subjects[1].probe;
    tn_status status = tn_probe_prepare(&life, &subjects[0].probe);
    for (int i = 0; i < 2 && status == TN_OK; i++) {
        workers[i].subject = &subjects[i];
        workers[i].seconds = run_seconds;
        status = tn_probe_open(&workers[i].context, &life);
    }
    for (int i = 0; i < 2 && status == TN_OK; i++)
        status = tn_probe_reshape(&workers[i].context, &subjects[i].probe);
    if (status != TN_OK)
        tn_verdict_error(verdict, &subjects[0].probe, "");
    else
        alternate(workers, 6,
                  are_alike ? "in turn with another context"
                            : "in turn with another context of another shape",
                  verdict);
    if (verdict->outcome == TN_PASSED && are_alike) {
        tn_probe_context *const contexts[] = {&workers[0].context, &workers[1].context};
        tn_subject *const of[] = {&subjects[0], &subjects[1]};
        tn_rule_check_statics(contexts, of, verdict);
        if (verdict->outcome == TN_PASSED) run_on_threads(workers, verdict);
    }
    tn_probe_close(&workers[0].context);
    if (status == TN_OK) alternate(workers, 2, "after another context was closed", verdict);
    for (int i = 0; i < 2; i++)
        tn_probe_close(&workers[i].context);
    if (life.probe) tn_probe_release(&life);
    subjects[0].probe.other = NULL;
}

/* The second context has another extent along each axis in turn. */
static void check_other_shapes(const tn_test *test, tn_subject *subjects, tn_verdict *verdict) {
    const tn_shape *shape = subjects[0].c.input_count ? &subjects[0].c.inputs[0].shape : NULL;
    for (uint32_t axis = 0; shape && axis < shape->rank && verdict->outcome == TN_PASSED; axis++) {
        const tn_change change = {.axis = (int32_t)axis, .extent = 2 * shape->extents[axis] + 1};
        tn_verdict none = {0};
        if (!tn_test_subject(test, &change, &subjects[1], &none)) continue;
        if (tn_subject_shares_constants(&subjects[0], &subjects[1]))
            check_contexts(subjects, 0, verdict);
        tn_subject_destroy(&subjects[1]);
    }
}

void tn_rule_contexts(const tn_test *test, tn_verdict *verdict) {
    /* a constant's numbers are an engine's, which has both contexts */
    const tn_change other_numbers = {.seed = test->are_constant ? 0 : 99,
                                     .values = TN_VALUES_SMALL,
                                     .axis = -1,
                                     .moves_values = !test->are_constant};
    tn_subject subjects[2];
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &subjects[0], verdict)) return;
    const bool is_there = tn_test_subject(test, &other_numbers, &subjects[1], &none);
    if (is_there) {
        check_contexts(subjects, seconds_for(test), verdict);
        tn_subject_destroy(&subjects[1]);
    } else {
        tn_verdict_skip(verdict, none.why);
    }
    if (verdict->outcome == TN_PASSED) check_other_shapes(test, subjects, verdict);
    tn_subject_destroy(&subjects[0]);
}
