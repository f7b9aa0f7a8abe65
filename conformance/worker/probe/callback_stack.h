/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of exactly what the contract gives a callback (256 KiB), with nothing below it that could
 * be touched: what needs more ends there, on every machine, whatever the thread's own stack has.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_CALLBACK_STACK_H
#define TN_CONFORMANCE_WORKER_PROBE_CALLBACK_STACK_H

#include <tenon/plugin.h>

/* Calls it there. On the thread's own stack where another thread is there already, where a
 * sanitizer follows the stack, or the C library cannot change it. [thread: any] */
tn_status tn_callback_stack_call(tn_callback callback, tn_call *call);

/* The end of the stack where this thread is in a callback on it, else null: what lies between a
 * function's frame and this end are the callback's own variables. */
char *tn_callback_stack_end(void);

#endif
