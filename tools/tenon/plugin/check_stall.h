/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process still gets anywhere, seen from outside: one whose threads all wait for one
 * another never ends, and its time limit need not be waited for. What cannot be known (another
 * process that may wake it, a timer) counts as going on.
 */
#ifndef TENON_TOOL_PLUGIN_CHECK_STALL_H
#define TENON_TOOL_PLUGIN_CHECK_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct check_stall {
    pid_t process;
    double stalled_since, asleep_since; /* seconds of the monotonic clock; 0: it is not */
    double alone_since, asked;          /* its first thread is alone at work; how long it was so
                                           when it was asked the last time, 0: never */
    double processor;                   /* seconds that it had at the last look */
    char what[128];                     /* what its first thread waits for */
} check_stall;

/* Looks at the process once more; `now` is the time, `processor` what all its threads have used. */
void check_stall_look(check_stall *stall, double now, double processor);
/* Every thread has waited without an end for long enough to be sure. */
bool check_stall_is_sure(const check_stall *stall, double now);
/* Its first thread has been alone at work for a while, and for twice as long as the last time: it
 * is to be asked whether it gets anywhere, which holds it up. */
bool check_stall_asks(check_stall *stall, double now);
/* None of its threads has run for a while, whatever they wait for. */
bool check_stall_is_asleep(const check_stall *stall, double now);

#endif
