/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock for tests of choices by measured time: it moves on by what kernels say that they take,
 * and by a little with each look at it, so that a busy machine changes no choice. A test can make
 * the machine busy: by what a run takes in place of what it would, and by how long threads waited.
 */
#ifndef TN_TESTS_TEST_CLOCK_H
#define TN_TESTS_TEST_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TEST_CLOCK_LOOK_NS 100

static uint64_t test_clock_ns = 1; /* 0 would say that a time was not taken yet */

static inline double test_clock_now(void) {
    test_clock_ns += TEST_CLOCK_LOOK_NS;
    return (double)test_clock_ns;
}

static uint64_t (*test_clock_disturb)(uint64_t ns); /* null: a run takes what it would */
static double test_clock_waited_ns;

static inline double test_clock_waited(void) {
    return test_clock_waited_ns;
}

/* Takes so long on this clock, and on the real one at least so long: builds through the public
 * interface look at that one. */
static inline void test_clock_take(uint64_t ns) {
    struct timespec begin, now;
    if (test_clock_disturb) {
        test_clock_ns += test_clock_disturb(ns);
        return;
    }
    test_clock_ns += ns;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec) <
             ns);
}

#endif
