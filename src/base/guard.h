/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded memory: one buffer between pages that cannot be accessed, its end as near to them as an
 * alignment of 64 bytes lets it be, and a known pattern in what is left between. What to do about a
 * fault in such a page is plugin/fault.h's matter; what the data means, plugin/checked_call.h's.
 */
#ifndef TN_BASE_GUARD_H
#define TN_BASE_GUARD_H

#include "base/memory.h"

/* Bytes without access at each end. */
#define TN_GUARD_BYTES ((size_t)1 << 20)

enum { TN_GUARD_READ = 1, TN_GUARD_WRITE = 2 };

typedef struct tn_guard {
    char *map; /* the guards at both ends included; null: nothing is mapped */
    size_t map_bytes;
    char *data; /* 64-byte aligned */
    size_t bytes;
    uint64_t slack; /* eight bytes, repeated by address, around the data */
    uint32_t access;
} tn_guard;

/* Makes `bytes` of readable and writable memory there, contents undefined; takes the pages that the
 * guard has from before where they are enough. TN_ERROR_MEMORY. */
tn_status tn_guard_place(tn_guard *guard, size_t bytes, uint64_t slack);
void tn_guard_unmap(tn_guard *guard); /* a zeroed one is fine */
/* TN_GUARD_READ or TN_GUARD_WRITE: of the data and the slack around it. */
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
