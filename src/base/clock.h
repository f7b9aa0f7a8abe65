/* SPDX-License-Identifier: Apache-2.0 */
/* Time, and the wait of a thread that looks at a word again and again. Any thread. */
#ifndef TN_BASE_CLOCK_H
#define TN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds that a clock of the system's says. */
static inline uint64_t tn_clock_ns(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Nanoseconds since some moment; they only grow. */
static inline uint64_t tn_now_ns(void) {
    return tn_clock_ns(CLOCK_MONOTONIC);
}

/* Leaves the core to its other hardware thread for a moment. */
static inline void tn_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
