/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that tells who touches what he must not: each buffer lies between pages that cannot be
 * accessed, its end (or its start) at their edge, and the process' fault handler knows which buffer
 * a bad address belongs to. Any thread may make and free buffers, each its own.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_GUARDED_H
#define TN_CONFORMANCE_WORKER_WATCH_GUARDED_H

#include "guard/guard.h"
#include "tensor/shape.h"

enum {
    TN_GUARDED_INPUT = 1,
    TN_GUARDED_OUTPUT,
    TN_GUARDED_OPERAND,
    TN_GUARDED_WORKSPACE,
    TN_GUARDED_FRAME,
    TN_GUARDED_STATE,
    TN_GUARDED_FIELD,
    TN_GUARDED_TEXT
};

typedef struct tn_guarded {
    uint32_t kind, index; /* "input 0" */
    tn_guard guard;
    char *data; /* the guard's: 64-byte aligned; null: there is none */
    size_t bytes;
    bool is_live;
} tn_guarded;

/* At its end (`is_at_end`) as near to the guard page as an alignment of 64 bytes lets it be, else
 * at its start; every other byte of its pages is `slack`. TN_ERROR_MEMORY. */
tn_status tn_guarded_create(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                            bool is_at_end, uint8_t slack);
/* The same `shift` bytes before its pages' end: a multiple of 64. */
tn_status tn_guarded_create_before(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                                   size_t shift, uint8_t slack);
/* The same so that the last byte is the last one before the guard page, aligned to no more than
 * `bytes` lets it be. */
tn_status tn_guarded_create_flush(tn_guarded *buffer, uint32_t kind, uint32_t index, size_t bytes,
                                  uint8_t slack);
void tn_guarded_destroy(tn_guarded *buffer); /* a zeroed one is fine */
/* Frees it, but lets nobody have its addresses until many later ones were retired: who still uses
 * them is told so. */
void tn_guarded_retire(tn_guarded *buffer);
/* Gives back the addresses of all that were retired. */
void tn_guarded_forget_retired(void);
/* Hands the buffer over to another address. */
void tn_guarded_move(tn_guarded *from, tn_guarded *to);
/* Reading alone, everything, nothing (0, 1, 2). */
enum { TN_GUARDED_READ = 0, TN_GUARDED_WRITE = 1, TN_GUARDED_NONE = 2 };
void tn_guarded_protect(tn_guarded *buffer, int access);
/* Whether the bytes around the data are as they were. */
bool tn_guarded_is_whole(const tn_guarded *buffer);

/* What a fault is, as a rule's id and a text; called by the handler, before the process ends. */
typedef void (*tn_fault_report)(const char *rule, const char *text);
/* Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT: reports, and ends the process with 70. */
void tn_guarded_catch_faults(tn_fault_report report);

#endif
