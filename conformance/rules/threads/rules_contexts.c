/* SPDX-License-Identifier: Apache-2.0 */
/* The rule about two contexts of an engine, in turn and on two threads; see rules.h. */
#include "rules/threads/often.h"

#include <pthread.h>

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
    const tn_often how = {.seconds = w->seconds};
    tn_often_run(&w->context, &w->subject->probe, &w->subject->expected, &how, "on two threads",
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
            tn_often_compare(probe, &memory, &w->subject->expected, false, during, verdict);
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
        check_contexts(subjects, tn_often_seconds(test), verdict);
        tn_subject_destroy(&subjects[1]);
    } else {
        tn_verdict_skip(verdict, none.why);
    }
    if (verdict->outcome == TN_PASSED) check_other_shapes(test, subjects, verdict);
    tn_subject_destroy(&subjects[0]);
}
