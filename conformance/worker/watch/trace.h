/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is under way, for a process that may end at any moment: the test, the case as it was
 * changed, and the callback. What is told to whoever reads the process' lines stands in worker.c.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_TRACE_H
#define TN_CONFORMANCE_WORKER_WATCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/plugin.h>

/* A test begins: lines go to the descriptor `lines`; `text` is its case. */
void tn_trace_begin(int lines, size_t number, const char *text);
/* The case that is tried now; where it is another one than before, a line "now NUMBER CASE" says
 * so. */
void tn_trace_case(const char *text);

/* Around a callback; `name` is a literal. Answers what was under way before, for leave. */
const char *tn_trace_enter(const char *name);
void tn_trace_leave(const char *before);
/* Its name, or null where none is under way. */
const char *tn_trace_callback(void);
/* The functions by which a callback is recognised that the engine calls. Null: none. */
void tn_trace_functions(const tn_operator *op, const tn_kernel *kernel);
/* "in run", "after close", or "" where it is not known. Safe in a signal handler. */
void tn_trace_where(char *where, size_t bytes);

/* Until null is given, what takes longer than that is given up: the test has passed as far as it
 * came, and the process ends. `what` is said then; it is valid so long. */
void tn_trace_limit(double seconds, const char *what);
/* The `what` of now, or null. Safe in a signal handler. */
const char *tn_trace_limited(void);

/* What a callback broke that has no status to say so by; the first one of a test stays. */
void tn_trace_broken(const char *rule, const char *format, ...) TN_PRINTF(2, 3);
/* False: nothing. Texts are valid until the next test begins. */
bool tn_trace_is_broken(const char **out_rule, const char **out_text);

#endif
