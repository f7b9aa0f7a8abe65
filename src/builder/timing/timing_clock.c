/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of timings on the processor, and what disturbs them; see timing_private.h. On several
 * threads a run waits for the thread that the system put aside last, by milliseconds: such a sample
 * says nothing of the kernel. How long threads waited for a core is in /proc where the kernel
 * counts it; elsewhere the number of forced switches stands in.
 */
#include "builder/timing/timing_policy.h"
#include "base/clock.h"
#include "builder/timing/timing_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double tn_timing_now_ns(const tn_lowering *lowering) {
    return lowering->options->now_ns ? lowering->options->now_ns() : (double)tn_now_ns();
}

static bool is_alone(const tn_lowering *lowering) {
    return !lowering->options->now_ns && lowering->options->threads == 1;
}

static void count_switches(int who, long *out_own, long *out_forced) {
    struct rusage usage = {0};
    getrusage(who, &usage);
    *out_own = usage.ru_nvcsw;
    *out_forced = usage.ru_nivcsw;
}

static void follow_thread(struct tn_timing_threads *threads, const char *name) {
    char path[64] = "/proc/self/task/";
    size_t length = strlen(path);
    const int32_t id = (int32_t)strtol(name, NULL, 10);
    for (uint32_t i = 0; i < threads->count; i++)
        if (threads->ids[i] == id) return;
    if (id <= 0 || strlen(name) > 20 || threads->count == TN_TIMING_THREADS) return;
    memcpy(path + length, name, strlen(name));
    length += strlen(name);
    memcpy(path + length, "/schedstat", sizeof "/schedstat");
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    threads->ids[threads->count] = id;
    threads->descriptors[threads->count++] = descriptor;
}

/* Threads of a team are started when they are first needed, so that this is asked again. */
void tn_timing_follow_threads(tn_lowering *lowering) {
    if (is_alone(lowering) || lowering->options->now_ns) return;
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        follow_thread(&lowering->timing->threads, entry->d_name);
    closedir(folder);
}

void tn_timing_leave_threads(struct tn_timing_threads *threads) {
    while (threads->count > 0)
        close(threads->descriptors[--threads->count]);
}

/* The second number of a thread's file: nanoseconds that it was ready and had no core. */
static double wait_of(int descriptor) {
    char text[96];
    const ssize_t bytes = pread(descriptor, text, sizeof text - 1, 0);
    char *end = text;
    if (bytes <= 0) return 0; /* the thread ended */
    text[bytes] = '\0';
    (void)strtoull(text, &end, 10);
    return (double)strtoull(end, NULL, 10);
}

static double waited_ns(const tn_lowering *lowering) {
    const struct tn_timing_threads *threads = &lowering->timing->threads;
    double sum = 0;
    if (lowering->options->waited_ns) return lowering->options->waited_ns();
    if (lowering->options->now_ns) return 0;
    for (uint32_t i = 0; i < threads->count; i++)
        sum += wait_of(threads->descriptors[i]);
    return sum;
}

void tn_timing_watch_start(const tn_lowering *lowering, tn_timing_watch *watch) {
    if (is_alone(lowering)) {
        count_switches(RUSAGE_THREAD, &watch->own_switches, &watch->forced_switches);
        watch->begin_thread_ns = (double)tn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    } else {
        count_switches(RUSAGE_SELF, &watch->own_switches, &watch->forced_switches);
        watch->waited_ns = waited_ns(lowering);
    }
    watch->begin_ns = tn_timing_now_ns(lowering);
}

/* On one thread. */
static tn_timing_sample stop_alone(const tn_timing_watch *watch, double ns) {
    const double thread_ns = (double)tn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - watch->begin_thread_ns;
    long own = 0, forced = 0;
    count_switches(RUSAGE_THREAD, &own, &forced);
    const bool was_displaced =
        own == watch->own_switches && forced != watch->forced_switches && thread_ns < ns;
    return (tn_timing_sample){.ns = was_displaced ? thread_ns : ns};
}

tn_timing_sample tn_timing_watch_stop(const tn_lowering *lowering, const tn_timing_watch *watch) {
    const double ns = tn_timing_now_ns(lowering) - watch->begin_ns;
    long own = 0, forced = 0;
    if (is_alone(lowering)) return stop_alone(watch, ns);
    if (lowering->options->waited_ns || lowering->timing->threads.count > 0) {
        const double waited = waited_ns(lowering) - watch->waited_ns;
        return (tn_timing_sample){ns, waited > tn_timing_policy.wait_share * ns, waited};
    }
    count_switches(RUSAGE_SELF, &own, &forced);
    const bool is_disturbed = !lowering->options->now_ns && forced != watch->forced_switches;
    return (tn_timing_sample){ns, is_disturbed, is_disturbed ? ns : 0};
}

/* ----------------------------------------------------------------------------------------------
 * how fast the machine is: a virtual one may lend the two halves of one core as two for seconds,
 * where all that computes takes up to twice as long, and no clock of the system tells. A short loop
 * of products, on all threads of the build, beside each sample. */

/* Sums that are independent of each other, enough to keep all units busy: a chain of additions
 * alone is as fast on half a core. */
enum { SUMS = 64, STEPS = 128, PARTS = 2 /* a thread */ };

static tn_status compute(void *user, int64_t begin, int64_t end, uint32_t thread) {
    float sums[SUMS];
    (void)user;
    (void)thread;
    for (int i = 0; i < SUMS; i++)
        sums[i] = (float)i;
    for (int64_t step = begin * STEPS; step < end * STEPS; step++)
        for (int i = 0; i < SUMS; i++)
            sums[i] = sums[i] * 0.5f + 1;
    for (int i = 1; i < SUMS; i++)
        sums[0] += sums[i];
    volatile const float kept = sums[0]; /* or it would not be computed */
    (void)kept;
    return TN_OK;
}

static double compute_ns(const tn_thread_pool *pool) {
    const double before = (double)tn_now_ns();
    if (pool && pool->threads > 1)
        pool->parallel_for(pool, PARTS * (int64_t)pool->threads, 1, compute, NULL);
    else
        compute(NULL, 0, PARTS, 0);
    return (double)tn_now_ns() - before;
}

double tn_timing_pace(const tn_lowering *lowering) {
    struct tn_timing *timing = lowering->timing;
    if (lowering->options->now_ns) return 1; /* nothing is known of the machine of that clock */
    double ns = compute_ns(lowering->options->pool);
    if (ns > tn_timing_policy.slow_pace * timing->least_pace_ns) /* threads slept, it may be */
        ns = fmin(ns, compute_ns(lowering->options->pool));
    if (timing->least_pace_ns == 0 || ns < timing->least_pace_ns) timing->least_pace_ns = ns;
    return timing->least_pace_ns > 0 ? ns / timing->least_pace_ns : 1;
}
