/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator for tests: counts what lives, and refuses one allocation when it is told to, so that
 * each can be made to fail in turn. Several threads may use it; fail_at is set while they do not.
 */
#ifndef TN_TESTS_FAILING_ALLOCATOR_H
#define TN_TESTS_FAILING_ALLOCATOR_H

#include <stdlib.h>
#include <tenon/runtime.h>

typedef struct failing_allocator {
    tn_allocator functions;
    _Atomic uint64_t allocations; /* asked for so far */
    _Atomic uint64_t fail_at;     /* the number of the one to refuse, from 1; 0: none */
    _Atomic int64_t live;         /* blocks not yet given back */
    _Atomic uint64_t largest;     /* bytes asked for at once, until a test forgets it */
} failing_allocator;

static inline void *failing_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    failing_allocator *allocator = user;
    if (++allocator->allocations == allocator->fail_at) return NULL;
    if (bytes > (uint64_t)1 << 32) return NULL;
    if (bytes > allocator->largest) allocator->largest = bytes;
    uint64_t padded_bytes = (bytes + alignment - 1) / alignment * alignment;
    void *memory =
        aligned_alloc((size_t)alignment, (size_t)(padded_bytes ? padded_bytes : alignment));
    allocator->live += memory != NULL;
    return memory;
}

static inline void failing_deallocate(void *user, void *memory) {
    if (memory) ((failing_allocator *)user)->live--;
    free(memory);
}

static inline void failing_allocator_init(failing_allocator *allocator) {
    *allocator = (failing_allocator){.functions = {.size = sizeof(tn_allocator),
                                                   .user = allocator,
                                                   .allocate = failing_allocate,
                                                   .deallocate = failing_deallocate}};
}

#endif
