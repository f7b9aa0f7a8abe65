/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread's state for its last error, without thread-local storage: a host that opens the
 * library late (Python, a Java virtual machine, a server's backend) has no static TLS left to give,
 * and dynamic TLS ends the process where there is no memory for it. The first threads that fail
 * use slots of a static table, so that recording an error needs no memory; only threads beyond
 * those allocate. A thread's state is given back when the thread ends. What an error is: status.h.
 */
#ifndef TN_BASE_ERROR_STORE_H
#define TN_BASE_ERROR_STORE_H

#include "base/error_copy.h"

typedef struct tn_error_state {
    tn_error_copy error;
    tn_error view; /* what tn_last_error returned */
} tn_error_state;

/* Threads with an error at the same time that need no allocation. */
#define TN_ERROR_SLOT_COUNT 64

/* The calling thread's state; null while it has none. [thread: any] */
tn_error_state *tn_error_store_find(void);
/* The same, made at the first call. Null: all slots are other threads', and there is no memory.
 * [thread: any] */
tn_error_state *tn_error_store_get(void);

#endif
