/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded memory; see guard.h. Pages come from the system, not from the allocator: their access is
 * changed, which no allocator would like. */
#include "base/status.h"
#include "guard/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGNMENT = 64, ZONE = 4096 /* most slack before the data */ };

/* Once opened, the guards must be closed again. */
enum { ACCESS_OPENED = 4 };

static char *data_start(const tn_guard *guard) {
    return guard->map + TN_GUARD_BYTES;
}

static char *end_of(const tn_guard *guard) {
    return guard->map + guard->map_bytes - TN_GUARD_BYTES;
}

static char *zone_of(const tn_guard *guard) {
    char *start = data_start(guard);
    return guard->data - start > ZONE ? guard->data - ZONE : start;
}

static uint8_t slack_at(const tn_guard *guard, const char *address) {
    return (uint8_t)(guard->slack >> (8 * ((uintptr_t)address & 7)));
}

static void fill_slack(const tn_guard *guard, char *from, const char *to) {
    for (; from < to && ((uintptr_t)from & 7); from++)
        *from = (char)slack_at(guard, from);
    for (; to - from >= 8; from += 8)
        memcpy(from, &guard->slack, 8);
    for (; from < to; from++)
        *from = (char)slack_at(guard, from);
}

static tn_status map_data(tn_guard *guard, size_t data_bytes) {
    size_t map_bytes = 0;
    if (!tn_add_size(data_bytes, 2 * TN_GUARD_BYTES, &map_bytes))
        return tn_fail_memory("a guarded buffer");
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    /* cppcheck-suppress invalidFunctionArg ; -1: no file */
    char *map = mmap(NULL, map_bytes, PROT_NONE, flags, -1, 0);
    if (map == MAP_FAILED) return tn_fail_memory("a guarded buffer");
    guard->map = map;
    guard->map_bytes = map_bytes;
    return TN_OK;
}

/* The pages there are do, when they are enough and not far too many. */
static bool is_enough(const tn_guard *guard, size_t data_bytes) {
    if (!guard->map) return false;
    const size_t there = (size_t)(end_of(guard) - data_start(guard));
    return there >= data_bytes && there / 4 <= data_bytes;
}

tn_status tn_guard_place(tn_guard *guard, size_t bytes, uint32_t at, uint64_t slack) {
    size_t data_bytes = bytes ? bytes : 1;
    if (!tn_align_size(data_bytes, PAGE, &data_bytes)) return tn_fail_memory("a guarded buffer");
    if (!is_enough(guard, data_bytes)) {
        tn_guard_unmap(guard);
        TN_TRY(map_data(guard, data_bytes));
    } else if (guard->access == ACCESS_OPENED) {
        mprotect(guard->map, guard->map_bytes, PROT_NONE);
        guard->access = 0;
    }
    char *end = end_of(guard);
    tn_guard_allow(guard, TN_GUARD_WRITE);
    if (guard->access != TN_GUARD_WRITE) {
        tn_guard_unmap(guard);
        return tn_fail_memory("a guarded buffer");
    }
    guard->data = at == TN_GUARD_AT_START ? data_start(guard)
                  : at == TN_GUARD_FLUSH  ? end - bytes
                                          : end - (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    guard->bytes = bytes;
    guard->slack = slack;
    fill_slack(guard, zone_of(guard), guard->data);
    fill_slack(guard, guard->data + bytes, end);
    return TN_OK;
}

tn_status tn_guard_place_between(tn_guard *guard, size_t bytes, size_t zone, uint64_t slack) {
    size_t all = 0;
    if (!tn_mul_size(zone, 2, &all) || !tn_add_size(all, bytes, &all))
        return tn_fail_memory("a guarded buffer");
    TN_TRY(tn_guard_place(guard, all, TN_GUARD_AT_END, slack));
    guard->data += zone;
    guard->bytes = bytes;
    fill_slack(guard, zone_of(guard), guard->data);
    fill_slack(guard, guard->data + bytes, end_of(guard));
    return TN_OK;
}

void tn_guard_unmap(tn_guard *guard) {
    if (guard->map) munmap(guard->map, guard->map_bytes);
    *guard = (tn_guard){0};
}

void tn_guard_allow(tn_guard *guard, uint32_t access) {
    if (guard->access == access || guard->access == ACCESS_OPENED) return;
    static const int rights[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE};
    if (mprotect(data_start(guard), guard->map_bytes - 2 * TN_GUARD_BYTES, rights[access & 3]) == 0)
        guard->access = access;
}

void tn_guard_open(tn_guard *guard) {
    const int before = errno;
    mprotect(guard->map, guard->map_bytes, PROT_READ | PROT_WRITE);
    guard->access = ACCESS_OPENED;
    errno = before;
}

bool tn_guard_holds(const tn_guard *guard, const void *address) {
    const char *at = address;
    return guard->map && at >= guard->map && at < guard->map + guard->map_bytes;
}

bool tn_guard_is_damaged(const tn_guard *guard, ptrdiff_t *out_offset) {
    const char *end = end_of(guard), *zone = zone_of(guard);
    for (const char *at = guard->data + guard->bytes; at < end; at++) {
        if ((uint8_t)*at == slack_at(guard, at)) continue;
        *out_offset = at - guard->data;
        return true;
    }
    for (const char *at = guard->data; at-- > zone;) {
        if ((uint8_t)*at == slack_at(guard, at)) continue;
        *out_offset = at - guard->data;
        return true;
    }
    return false;
}
