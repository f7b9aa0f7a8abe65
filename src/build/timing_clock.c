/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of timings on the processor; see timing_private.h. */
#include "build/timing_private.h"

#include <sys/resource.h>
#include <time.h>

static double now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

double tn_timing_now_ns(const tn_lowering *lowering) {
    return lowering->options->now_ns ? lowering->options->now_ns() : now_ns(CLOCK_MONOTONIC);
}

static bool is_alone(const tn_lowering *lowering) {
    return !lowering->options->now_ns && lowering->options->threads == 1;
}

static void count_switches(long *out_own, long *out_forced) {
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    *out_own = usage.ru_nvcsw;
    *out_forced = usage.ru_nivcsw;
}

void tn_timing_watch_start(const tn_lowering *lowering, tn_timing_watch *watch) {
    if (is_alone(lowering)) {
        count_switches(&watch->own_switches, &watch->forced_switches);
        watch->begin_thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    watch->begin_ns = tn_timing_now_ns(lowering);
}

double tn_timing_watch_stop(const tn_lowering *lowering, const tn_timing_watch *watch) {
    const double ns = tn_timing_now_ns(lowering) - watch->begin_ns;
    long own = 0, forced = 0;
    if (!is_alone(lowering)) return ns;
    const double thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - watch->begin_thread_ns;
    count_switches(&own, &forced);
    const bool was_displaced =
        own == watch->own_switches && forced != watch->forced_switches && thread_ns < ns;
    return was_displaced ? thread_ns : ns;
}
