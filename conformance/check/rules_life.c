/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the lives of nodes and contexts: order, sharing, memory; see rules.h. */
#include "base/status.h"
#include "rules.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* Two sets of numbers in the same shapes. */
typedef struct pair {
    tn_subject subjects[2];
    bool has_second;
} pair;

static bool make_pair(const tn_test *test, const tn_change *change, pair *p, tn_verdict *verdict) {
    tn_verdict none = {0};
    if (!tn_test_subject(test, NULL, &p->subjects[0], verdict)) return false;
    p->has_second = tn_test_subject(test, change, &p->subjects[1], &none);
    return true;
}

static void free_pair(pair *p) {
    tn_subject_destroy(&p->subjects[0]);
    if (p->has_second) tn_subject_destroy(&p->subjects[1]);
}

/* Runs in an open context and compares with what the reference says. */
static bool run_in(tn_probe_context *context, tn_subject *subject, const tn_outcome *expected,
                   bool is_exact, const char *during, tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    tn_outcome found = {0};
    char why[300];
    tn_status status = tn_probe_memory_create(&memory, &subject->probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, &subject->probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(&subject->probe, &memory, &found);
    if (status != TN_OK)
        tn_verdict_error(verdict, &subject->probe, during);
    else if (!tn_results_equal(expected, &found, is_exact, why, sizeof(why)))
        tn_verdict_fail(verdict, "%s: %s", during, why);
    tn_outcome_free(&found);
    tn_probe_memory_destroy(&memory);
    return verdict->outcome == TN_PASSED;
}

/* What one run gives, to compare later ones with bit by bit. */
static bool first_run(tn_probe_context *context, tn_subject *subject, tn_outcome *out,
                      tn_verdict *verdict) {
    tn_probe_memory memory = {0};
    tn_status status = tn_probe_memory_create(&memory, &subject->probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(context, &subject->probe, &memory, 0xFF);
    if (status == TN_OK) status = tn_probe_results(&subject->probe, &memory, out);
    if (status != TN_OK) tn_verdict_error(verdict, &subject->probe, "the first run");
    tn_probe_memory_destroy(&memory);
    return status == TN_OK;
}

static bool start(tn_probe_life *life, tn_probe_context *context, tn_probe *probe,
                  tn_verdict *verdict) {
    tn_status status = tn_probe_prepare(life, probe);
    if (status == TN_OK) status = tn_probe_open(context, life);
    if (status == TN_OK) status = tn_probe_reshape(context, probe);
    if (status != TN_OK) tn_verdict_error(verdict, probe, "");
    return status == TN_OK;
}

static const tn_change other_numbers = {.seed = 99, .axis = -1};

void tn_rule_repeatable(const tn_test *test, tn_verdict *verdict) {
    const bool is_exact = !test->kernel || (test->kernel->traits & TN_KERNEL_DETERMINISTIC);
    /* a constant's numbers do not change between runs */
    const tn_change *change = test->are_constant ? NULL : &other_numbers;
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_outcome first = {0};
    pair p;
    if (!make_pair(test, change, &p, verdict)) return;
    tn_subject *a = &p.subjects[0], *b = &p.subjects[1];
    if (start(&life, &context, &a->probe, verdict) && first_run(&context, a, &first, verdict)) {
        if (p.has_second) run_in(&context, b, &b->expected, false, "other inputs", verdict);
        for (int i = 0; i < 3 && verdict->outcome == TN_PASSED; i++)
            run_in(&context, a, &first, is_exact, "the first inputs again", verdict);
    }
    tn_outcome_free(&first);
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
    free_pair(&p);
}

/* What is constant in an engine has one shape. */
static bool share_constants(const pair *p) {
    for (uint32_t i = 0; i < p->subjects[0].probe.input_count; i++) {
        const tn_probe_port *a = &p->subjects[0].probe.inputs[i],
                            *b = &p->subjects[1].probe.inputs[i];
        if (a->is_given && a->is_constant && !tn_shape_equal(&a->shape, &b->shape)) return false;
    }
    return true;
}

/* One engine for two shapes: the profile holds both. */
static void alternate(pair *p, int32_t axis, tn_verdict *verdict) {
    tn_probe_life life = {0};
    tn_probe_context context = {0};
    tn_subject *a = &p->subjects[0], *b = &p->subjects[1];
    char during[64];
    a->probe.other = &b->probe;
    if (start(&life, &context, &a->probe, verdict)) {
        for (int turn = 0; turn < 5 && verdict->outcome == TN_PASSED; turn++) {
            tn_subject *now = turn % 2 ? b : a;
            snprintf(during, sizeof(during), "shape %d of 2, axis %d, turn %d", turn % 2 + 1, axis,
                     turn);
            if (turn > 0 && tn_probe_reshape(&context, &now->probe) != TN_OK)
                tn_verdict_error(verdict, &now->probe, during);
            else
                run_in(&context, now, &now->expected, false, during, verdict);
        }
    }
    a->probe.other = NULL;
    tn_probe_close(&context);
    if (life.probe) tn_probe_release(&life);
}

void tn_rule_reshape(const tn_test *test, tn_verdict *verdict) {
    tn_subject probe;
    uint32_t tried = 0;
    if (!tn_test_subject(test, NULL, &probe, verdict)) return;
    const tn_shape shape = probe.c.input_count ? probe.c.inputs[0].shape : (tn_shape){0};
    tn_subject_destroy(&probe);
    for (uint32_t axis = 0; axis < shape.rank; axis++) {
        const int64_t extents[] = {2 * shape.extents[axis] + 1, 1};
        for (int i = 0; i < 2 && verdict->outcome == TN_PASSED; i++) {
            const tn_change change = {.axis = (int32_t)axis, .extent = extents[i]};
            pair p;
            if (extents[i] == shape.extents[axis] || extents[i] > 4096) continue;
            if (!make_pair(test, &change, &p, verdict)) return;
            if (p.has_second && share_constants(&p)) {
                alternate(&p, (int32_t)axis, verdict);
                tried++;
            }
            free_pair(&p);
        }
    }
    if (tried == 0 && verdict->outcome == TN_PASSED)
        tn_verdict_skip(verdict, "no other extents of input 0 are taken");
}

/* ----------------------------------------------------------------------------------------------
 * memory */

static size_t entries_of(const char *path) {
    DIR *folder = opendir(path);
    size_t count = 0;
    while (folder && readdir(folder))
        count++;
    if (folder) closedir(folder);
    return count;
}

/* One life with two contexts, the second of which is never run. */
static tn_status live_once(tn_probe *probe) {
    tn_probe_life life = {0};
    tn_probe_context first = {0}, second = {0};
    tn_probe_memory memory = {0};
    tn_status status = tn_probe_prepare(&life, probe);
    if (status != TN_OK) return status;
    status = tn_probe_open(&first, &life);
    if (status == TN_OK) status = tn_probe_open(&second, &life);
    if (status == TN_OK) status = tn_probe_reshape(&first, probe);
    if (status == TN_OK) status = tn_probe_memory_create(&memory, probe, true, false, 0xFF);
    if (status == TN_OK) status = tn_probe_run(&first, probe, &memory, 0xFF);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&first);
    tn_probe_close(&second);
    tn_probe_release(&life);
    return status;
}

typedef struct footprint {
    size_t heap, files, threads;
    uint64_t host;
} footprint;

static footprint measure(const tn_test *test) {
    tn_probe_forget_frames();
    return (footprint){mallinfo2().uordblks + mallinfo2().hblkhd, entries_of("/proc/self/fd"),
                       entries_of("/proc/self/task"), test->counter->live};
}

enum { LIVES = 8 };

/* One life of what is tested; without a kernel, also of a node: shape rule and saved state. */
static bool live(const tn_test *test, tn_subject *subject, tn_verdict *verdict) {
    tn_subject node;
    if (live_once(&subject->probe) != TN_OK) {
        tn_verdict_error(verdict, &subject->probe, "");
        return false;
    }
    if (!test->kernel && tn_test_subject(test, NULL, &node, verdict)) tn_subject_destroy(&node);
    return verdict->outcome == TN_PASSED;
}

void tn_rule_leaks(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    for (int i = 0; i < 2 && verdict->outcome == TN_PASSED; i++) /* what is made once is made now */
        live(test, &subject, verdict);
    footprint last = measure(test);
    size_t growing = 0, host = 0, files = 0, threads = 0, bytes = 0;
    for (int i = 0; i < LIVES && verdict->outcome == TN_PASSED; i++) {
        if (!live(test, &subject, verdict)) break;
        const footprint now = measure(test);
        growing += now.heap > last.heap;
        bytes += now.heap > last.heap ? now.heap - last.heap : 0;
        host += now.host > last.host;
        files += now.files > last.files;
        threads += now.threads > last.threads;
        last = now;
    }
    if (verdict->outcome == TN_PASSED && host == LIVES)
        tn_verdict_fail(verdict, "each life leaves memory of host->allocate behind");
    else if (verdict->outcome == TN_PASSED && growing == LIVES)
        tn_verdict_fail(verdict, "each life leaves about %zu bytes of heap behind", bytes / LIVES);
    else if (verdict->outcome == TN_PASSED && files == LIVES)
        tn_verdict_fail(verdict, "each life leaves an open file behind");
    else if (verdict->outcome == TN_PASSED && threads == LIVES)
        tn_verdict_fail(verdict, "each life leaves a thread behind");
    tn_subject_destroy(&subject);
}

void tn_rule_no_memory(const tn_test *test, tn_verdict *verdict) {
    tn_subject subject;
    tn_counter *counter = test->counter;
    if (!tn_test_subject(test, NULL, &subject, verdict)) return;
    bool is_done = false;
    for (uint64_t at = 1; !is_done && at < 64 && verdict->outcome == TN_PASSED; at++) {
        const uint64_t live = counter->live;
        counter->allocations = 0;
        counter->fail_at = at;
        const tn_status status = live_once(&subject.probe);
        is_done = counter->allocations < at;
        counter->fail_at = 0;
        if (is_done && at == 1) tn_verdict_skip(verdict, "no callback asks the host for memory");
        if (status != TN_OK && subject.probe.rule[0]) {
            tn_verdict_error(verdict, &subject.probe, "without memory");
        } else if (counter->live > live) {
            tn_verdict_fail(verdict, "allocation %llu failing leaves %llu blocks behind",
                            (unsigned long long)at, (unsigned long long)(counter->live - live));
        }
    }
    tn_subject_destroy(&subject);
}
