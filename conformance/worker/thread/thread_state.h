/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to one thread and outlives the function that changes it: how it computes with
 * floats, its locale, its signals, where and how it is scheduled. A callback, and each range of a
 * parallel_for, leaves it as it was: the thread is the program's, or the runtime's, which lends it
 * to the next library.
 */
#ifndef TN_CONFORMANCE_WORKER_THREAD_STATE_H
#define TN_CONFORMANCE_WORKER_THREAD_STATE_H

#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_THREAD_NUMBERS = 10 }; /* as many as thread_state.c has a table of */
typedef struct tn_thread_state {
    uint32_t arithmetic, long_arithmetic;
    locale_t locale;
    bool is_whole; /* what follows is known, which the system was asked for */
    sigset_t blocked;
    cpu_set_t processors;
    stack_t handlers_stack;
    int numbers[TN_THREAD_NUMBERS];
    char name[16];
} tn_thread_state;

/* How the calling thread is; `is_whole`: also what takes some calls of the system. */
void tn_thread_state_note(bool is_whole, tn_thread_state *out_state);
/* What is different now, of what was noted, as a phrase ("another rounding mode"), and puts it back
 * as far as that is allowed; false: nothing is. */
bool tn_thread_state_changed(const tn_thread_state *before, char *what, size_t bytes);

#endif
