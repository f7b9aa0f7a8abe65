/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in plugins' code as answers: while a guarded call is under way, SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL and SIGABRT of the threads that do its work are caught. A fault in a guarded buffer's map
 * is noted, the map is opened, and the code goes on; any other one ends the call (or the body of a
 * parallel_for) there and then. Faults of other threads are handed on to whoever had the signals
 * before. Used by checked_call.c; what guards are is guard/guard.h's matter.
 */
#ifndef TN_GUARD_FAULT_H
#define TN_GUARD_FAULT_H

#include "base/process/fault_signals.h"
#include "guard/guard.h"

#include <stdatomic.h>
#include <tenon/plugin.h>

/* One call under watch; its own thread and those of its parallel_for may fault at once. The first
 * fault is noted. */
typedef struct tn_fault_watch {
    tn_guard *const *guards; /* null items are skipped */
    size_t guard_count;
    atomic_int state;    /* 0: nothing; 1: being noted; 2: noted */
    const tn_guard *hit; /* the guard whose map was hit; null: no guard's */
    const char *address; /* of the fault */
    int signal;
    bool is_write;
} tn_fault_watch;

/* Installs the handlers, counted; the last tn_fault_give_back restores what was there.
 * TN_ERROR_STATE when the system refuses. [thread: any] */
tn_status tn_fault_take(void);
void tn_fault_give_back(void);

/* Calls `run`; false: a fault ended it, and *out_status is untouched. */
bool tn_fault_call(tn_fault_watch *watch, tn_callback run, tn_call *call, tn_status *out_status);
/* The same for a body of parallel_for, on whatever thread: TN_ERROR_PLUGIN when a fault ended it.
 */
tn_status tn_fault_body(tn_fault_watch *watch, tn_body body, void *user, int64_t begin, int64_t end,
                        uint32_t thread);
/* Whether a fault was noted. */
bool tn_fault_is_noted(const tn_fault_watch *watch);

#endif
