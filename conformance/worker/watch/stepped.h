/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a function uses atomic instructions, its own or those of a lock: it is executed one
 * instruction at a time.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_STEPPED_H
#define TN_CONFORMANCE_WORKER_WATCH_STEPPED_H

#include <stdbool.h>

enum {
    TN_STEPPED_PLAIN,   /* it ended, and there was none */
    TN_STEPPED_ATOMIC,  /* there was one */
    TN_STEPPED_UNKNOWN, /* too many instructions, or a processor that cannot be asked */
};

/* Calls function(user) on this thread, to its end whatever is found. [thread: one at a time] */
int tn_stepped_call(void (*function)(void *user), void *user);
/* Whether such a call is under way. */
bool tn_stepped_is_on(void);

#endif
