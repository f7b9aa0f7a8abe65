/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded memory: one buffer between pages that cannot be accessed, its end (or its start) as near
 * to them as an alignment of 64 bytes lets it be, and a known pattern in what is left between. For
 * guarded runs, where guard/fault.h says what becomes of a fault in such a page and
 * guard/checked_call.h what the data means; and for the conformance suite.
 */
#ifndef TN_GUARD_GUARD_H
#define TN_GUARD_GUARD_H

#include "base/memory.h"

/* Bytes without access at each end. */
#define TN_GUARD_BYTES ((size_t)1 << 20)

enum { TN_GUARD_READ = 1, TN_GUARD_WRITE = 2, TN_GUARD_NONE = 3 };
/* TN_GUARD_FLUSH: the last byte is the pages' last one, whatever alignment is left. */
enum { TN_GUARD_AT_END, TN_GUARD_AT_START, TN_GUARD_FLUSH };

typedef struct tn_guard {
    char *map; /* the guards at both ends included; null: nothing is mapped */
    size_t map_bytes;
    char *data; /* 64-byte aligned, unless it is flush with its end */
    size_t bytes;
    uint64_t slack; /* eight bytes, repeated by address, around the data */
    uint32_t access;
} tn_guard;

/* Makes `bytes`, at an end of its pages (TN_GUARD_AT_...), of readable and writable memory there,
 * contents undefined; takes the pages that the guard has from before where they are enough.
 * TN_ERROR_MEMORY. */
tn_status tn_guard_place(tn_guard *guard, size_t bytes, uint32_t at, uint64_t slack);
/* The same with `zone` bytes of slack at least before the data and behind it; a multiple of 64. */
tn_status tn_guard_place_between(tn_guard *guard, size_t bytes, size_t zone, uint64_t slack);
void tn_guard_unmap(tn_guard *guard); /* a zeroed one is fine */
/* TN_GUARD_READ, TN_GUARD_WRITE or TN_GUARD_NONE: of the data and the slack around it. */
void tn_guard_allow(tn_guard *guard, uint32_t access);
/* Lets everything be read and written, the guards too: for going on behind a fault that was noted.
 * Safe in a signal handler; the next tn_guard_place closes it again. */
void tn_guard_open(tn_guard *guard);
/* Whether the address lies in the map of the guard. Safe in a signal handler. */
bool tn_guard_holds(const tn_guard *guard, const void *address);
/* Whether a byte of slack was changed; *out_offset, counted from the data's first byte, is below 0
 * or at least `bytes`: that of the changed byte nearest to the data, those behind it first. */
bool tn_guard_is_damaged(const tn_guard *guard, ptrdiff_t *out_offset);

#endif
