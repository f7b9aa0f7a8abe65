/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of day as callbacks of the library under test see it: each next callback's lies at
 * another day of the past, so that what depends on it differs from run to run however fast they
 * follow. Within a callback it goes on as usual, on all threads. A moment that somebody waits for
 * has passed then: nobody waits longer than without. Clocks that measure (CLOCK_MONOTONIC) stay as
 * they are.
 */
#ifndef TN_CONFORMANCE_WORKER_LIBC_DAY_H
#define TN_CONFORMANCE_WORKER_LIBC_DAY_H

/* The next callback begins. */
void tn_day_next(void);

#endif
