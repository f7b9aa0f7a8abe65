/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals of faults and their handlers, which belong to the process: for guarded calls
 * (guard/fault.c) and for reports of crashes (plugin/crash.c).
 */
#ifndef TN_BASE_PROCESS_FAULT_SIGNALS_H
#define TN_BASE_PROCESS_FAULT_SIGNALS_H

#include "base/memory.h"

#include <signal.h>

/* The signals of faults: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT. */
enum { TN_FAULT_SIGNALS = 5 };
typedef struct tn_fault_handlers {
    struct sigaction actions[TN_FAULT_SIGNALS];
} tn_fault_handlers;
/* Makes `handler` theirs, on a stack of its own where the thread has one. TN_ERROR_STATE. */
tn_status tn_fault_install(tn_fault_handlers *out_before,
                           void (*handler)(int, siginfo_t *, void *));
/* Puts back what was there, of those that `handler` still is. */
void tn_fault_uninstall(const tn_fault_handlers *before, void (*handler)(int, siginfo_t *, void *));
/* In a handler: as if it were not there; by default the process ends by the signal. */
void tn_fault_hand_on(const tn_fault_handlers *handlers, int number, siginfo_t *info,
                      void *context);

/* The stack that handlers run on, so that a stack overflow is caught too: of the calling thread,
 * until it is put back. */
#define TN_FAULT_STACK_BYTES ((size_t)65536)
typedef struct tn_fault_stack {
    void *before;
    size_t before_bytes;
    int before_flags;
    bool is_set;
} tn_fault_stack;
void tn_fault_set_stack(void *memory, tn_fault_stack *out_before);
void tn_fault_restore_stack(const tn_fault_stack *before);

#endif
