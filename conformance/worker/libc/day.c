/* SPDX-License-Identifier: Apache-2.0 */
/* The time of day in callbacks; see day.h. */
#include "worker/libc/day.h"
#include "worker/watch/heap.h"
#include "worker/watch/next.h"

#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static atomic_uint callbacks;

void tn_day_next(void) {
    atomic_fetch_add_explicit(&callbacks, 1, memory_order_relaxed);
}

#if !TN_IS_SANITIZED

/* Odd, so that no number of days hides behind a remainder of a usual one. */
enum { STEP_SECONDS = 86400 + 7919, STEPS = 101 };

static long seconds_back(const void *caller) {
    if (!tn_heap_is_within() || !tn_heap_is_of_library(caller)) return 0;
    return (long)(atomic_load_explicit(&callbacks, memory_order_relaxed) % STEPS) * STEP_SECONDS;
}

#pragma GCC visibility push(default)
time_t time(time_t *out_time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const time_t seen = now.tv_sec - seconds_back(TN_CALLER);
    if (out_time) *out_time = seen;
    return seen;
}

int gettimeofday(struct timeval *restrict out_time, void *restrict zone) {
    int (*next)(struct timeval *restrict, void *restrict);
    TN_NEXT(next, "gettimeofday");
    const int error = next(out_time, zone);
    if (error == 0) out_time->tv_sec -= seconds_back(TN_CALLER);
    return error;
}

int clock_gettime(clockid_t clock, struct timespec *out_time) {
    int (*next)(clockid_t, struct timespec *);
    TN_NEXT(next, "clock_gettime");
    const int error = next(clock, out_time);
    if (error == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out_time->tv_sec -= seconds_back(TN_CALLER);
    return error;
}
#pragma GCC visibility pop

#endif
