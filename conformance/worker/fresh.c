/* SPDX-License-Identifier: Apache-2.0 */
/* New memory; see fresh.h. */
#include "fresh.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Before each block that is given: where it begins, a mark that no other block has, and how long it
 * is. Behind it lie bytes that nobody writes. */
typedef struct prefix {
    void *begin;
    uint64_t mark, bytes, reserved;
} prefix;
static const uint64_t MARK = UINT64_C(0x74656E6F6E206F6B), GONE = UINT64_C(0x74656E6F6E206E6F);
enum { MOST_FILLED = 1 << 20, BEHIND = 16, BEHIND_FILLER = 0x5C };

static prefix *prefix_of(void *memory) {
    return (prefix *)((char *)memory - sizeof(prefix));
}

static void *counted_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    tn_counter *counter = user;
    if (__atomic_add_fetch(&counter->allocations, 1, __ATOMIC_RELAXED) == counter->fail_at ||
        bytes > (uint64_t)4 << 30)
        return NULL;
    if (alignment < BEHIND) alignment = BEHIND;
    const uint64_t before = alignment < sizeof(prefix) ? sizeof(prefix) : alignment;
    const size_t whole =
        (size_t)((before + bytes + BEHIND + alignment - 1) / alignment * alignment);
    char *begin = aligned_alloc((size_t)alignment, whole);
    if (!begin) return NULL;
    char *memory = begin + before;
    memset(memory, counter->filler, bytes < MOST_FILLED ? (size_t)bytes : MOST_FILLED);
    memset(memory + bytes, BEHIND_FILLER, BEHIND);
    *prefix_of(memory) = (prefix){begin, MARK, bytes, 0};
    __atomic_add_fetch(&counter->live, 1, __ATOMIC_RELAXED);
    tn_heap_note(begin, (size_t)(bytes + before));
    return memory;
}

static bool is_whole(const prefix *before) {
    const unsigned char *behind = (const unsigned char *)(before + 1) + before->bytes;
    for (size_t i = 0; i < BEHIND; i++)
        if (behind[i] != BEHIND_FILLER) return false;
    return true;
}

static void counted_deallocate(void *user, void *memory) {
    if (!memory) return;
    prefix *before = prefix_of(memory);
    if (before->mark != MARK) {
        tn_trace_broken("crash", "gives host->deallocate memory that %s",
                        before->mark == GONE ? "was freed already"
                                             : "is not host->allocate's, or was freed already");
        return;
    }
    if (!is_whole(before))
        tn_trace_broken("writes-inside", "writes past the end of %llu bytes of host->allocate",
                        (unsigned long long)before->bytes);
    before->mark = GONE;
    __atomic_sub_fetch(&((tn_counter *)user)->live, 1, __ATOMIC_RELAXED);
    free(before->begin);
}

void tn_counter_init(tn_counter *counter) {
    *counter = (tn_counter){.functions = {.size = sizeof(tn_allocator),
                                          .user = counter,
                                          .allocate = counted_allocate,
                                          .deallocate = counted_deallocate},
                            .filler = TN_FRESH_FILLER};
}

/* What later calls find on the stack. */
static __attribute__((noinline)) void fill_stack(uint8_t filler) {
    volatile uint8_t buffer[1 << 15];
    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = filler;
}

void tn_fresh_memory(tn_counter *counter, uint8_t filler) {
    counter->filler = filler;
    mallopt(M_PERTURB, filler ^ 0xFF);
    fill_stack(filler);
}
