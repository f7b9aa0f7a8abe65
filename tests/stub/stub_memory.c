/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub's memory: its own, which the host cannot touch but while the device works, and the
 * host's that the device reads when it comes to it (pinned).
 */
#include "stub_private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BLOCK_LIMIT = 4096 };

typedef struct stub_block {
    char *memory;
    size_t bytes;
} stub_block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the blocks, and what is in them */
static stub_block blocks[BLOCK_LIMIT], pinned[BLOCK_LIMIT];
static size_t block_count, pinned_count;

static void protect_all(int how) {
    for (size_t i = 0; i < block_count; i++)
        if (mprotect(blocks[i].memory, blocks[i].bytes, how) != 0) abort();
}

void stub_memory_open(void) {
    pthread_mutex_lock(&lock);
    protect_all(PROT_READ | PROT_WRITE);
}

void stub_memory_close(void) {
    protect_all(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

tn_status stub_allocate(const tn_device *device, uint64_t bytes, void *stream, void **out_memory) {
    tn_stub_state *state = stub_state(device);
    const size_t rounded = ((size_t)bytes + 4095) & ~(size_t)4095;
    (void)stream;
    if (state->is_lost) return stub_fail_lost(state);
    if (stub_is_to_fail(&state->allocations, state->fail_allocation))
        return stub_fail_as_asked(state, TN_ERROR_MEMORY, "the stub is asked to have no memory");
    pthread_mutex_lock(&lock);
    void *memory = MAP_FAILED;
    if (block_count < BLOCK_LIMIT && bytes <= (uint64_t)1 << 32 &&
        (!state->most_bytes || bytes <= state->most_bytes))
        memory =
            mmap(NULL, rounded ? rounded : 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        blocks[block_count++] = (stub_block){memory, rounded ? rounded : 4096};
    pthread_mutex_unlock(&lock);
    if (memory == MAP_FAILED) {
        char why[64];
        snprintf(why, sizeof(why), "%llu bytes: the stub has no more memory",
                 (unsigned long long)bytes);
        return stub_fail(TN_ERROR_MEMORY, why);
    }
    *out_memory = memory;
    return TN_OK;
}

void stub_memory_free(const tn_device *device, void *memory) {
    bool is_found = false;
    pthread_mutex_lock(&lock);
    if (memory) stub_state(device)->deallocations++;
    for (size_t i = 0; i < block_count && !is_found; i++) {
        if (blocks[i].memory != memory) continue;
        munmap(memory, blocks[i].bytes);
        blocks[i] = blocks[--block_count];
        is_found = true;
    }
    pthread_mutex_unlock(&lock);
    if (memory && !is_found) abort(); /* freed twice, or never allocated */
}

/* The host's memory that the device reads when it comes to it. */
tn_status stub_host_allocate(const tn_device *device, uint64_t bytes, void **out_memory) {
    const size_t rounded = ((size_t)bytes + 4095) & ~(size_t)4095;
    (void)device;
    pthread_mutex_lock(&lock);
    void *memory = pinned_count < BLOCK_LIMIT ? aligned_alloc(4096, rounded) : NULL;
    if (memory) pinned[pinned_count++] = (stub_block){memory, rounded};
    pthread_mutex_unlock(&lock);
    if (!memory) return stub_fail(TN_ERROR_MEMORY, "the stub has no more pinned memory");
    *out_memory = memory;
    return TN_OK;
}

void stub_host_deallocate(const tn_device *device, void *memory) {
    (void)device;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < pinned_count; i++) {
        if (pinned[i].memory != memory) continue;
        pinned[i] = pinned[--pinned_count];
        free(memory);
        memory = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (memory) abort(); /* freed twice, or never allocated */
}

bool stub_is_pinned(const void *memory, uint64_t bytes) {
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < pinned_count && !is_found; i++)
        is_found = (const char *)memory >= pinned[i].memory &&
                   (const char *)memory + bytes <= pinned[i].memory + pinned[i].bytes;
    pthread_mutex_unlock(&lock);
    return is_found;
}
