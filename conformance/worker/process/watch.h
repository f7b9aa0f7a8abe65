/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library must leave as it finds it, beside memory: the calling thread's own state
 * (thread_state.h), the process' locale, folder, umask, variables and signal handlers, and the
 * standard output and error, which belong to the program.
 */
#ifndef TN_CONFORMANCE_WORKER_PROCESS_WATCH_H
#define TN_CONFORMANCE_WORKER_PROCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on the standard output and error go nowhere, but are looked into; answers a descriptor
 * of what the output was before, or -1. */
int tn_watch_output(void);
/* What was printed to the standard error since the last look, as one line. Safe in a signal
 * handler. */
void tn_watch_error_text(char *text, size_t bytes);
/* Notes how things are and forgets what was printed; to be called before what is watched. The
 * calling thread is the one that is watched. */
void tn_watch_begin(void);
/* The program itself has changed its folder, variables or locale, or its own thread: those are
 * known anew. */
void tn_watch_moved(void);
/* Says what changed since, and puts it back as it was; false: nothing did. */
bool tn_watch_changed(char *what, size_t bytes);
/* A test begins: its callbacks are counted anew. */
void tn_watch_begin_test(void);
/* The same as tn_watch_changed but for what takes long to look at (handlers, what was printed):
 * after each callback, of which `callback` is the name, a literal. What only the system knows is
 * looked at after a callback's first calls, and then after some. Nothing on other threads. */
bool tn_watch_changed_by_callback(const char *callback, char *what, size_t bytes);
/* What was used that is not to be: functions of the C library with a state of the process, files.
 * *out_rule is the rule that forbids it. False: nothing. */
bool tn_watch_used(const char **out_rule, char *what, size_t bytes);

#endif
