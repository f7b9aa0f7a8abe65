/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through an allocator, and checked sizes; see memory.h. The arena is in arena.c. */
#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older systems answer EINVAL */
#endif

static void *default_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    void *memory = NULL;
    (void)user;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&memory, (size_t)alignment, bytes ? (size_t)bytes : 1) != 0) return NULL;
    return memory;
}

static void default_deallocate(void *user, void *memory) {
    (void)user;
    free(memory);
}

const tn_allocator *tn_allocator_default(void) {
    static const tn_allocator allocator = {.size = sizeof(tn_allocator),
                                           .allocate = default_allocate,
                                           .deallocate = default_deallocate};
    return &allocator;
}

void *tn_allocate_aligned(const tn_allocator *allocator, size_t bytes, size_t alignment) {
    return allocator->allocate(allocator->user, bytes, alignment);
}

void *tn_allocate(const tn_allocator *allocator, size_t bytes) {
    return tn_allocate_aligned(allocator, bytes, 16);
}

void *tn_allocate_zero(const tn_allocator *allocator, size_t count, size_t bytes) {
    size_t total;
    if (!tn_mul_size(count, bytes, &total)) return NULL;
    void *memory = tn_allocate(allocator, total);
    if (memory) memset(memory, 0, total);
    return memory;
}

void tn_memory_populate(void *memory, size_t bytes) {
    enum { PAGE = 4096, LEAST = 32 * PAGE };
    if (bytes < LEAST) return;
    char *begin = (char *)memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    const size_t left = bytes - (size_t)(begin - (char *)memory);
    const int error = errno;
    (void)madvise(begin, left - left % PAGE, MADV_POPULATE_WRITE);
    errno = error;
}

void tn_deallocate(const tn_allocator *allocator, void *memory) {
    if (memory) allocator->deallocate(allocator->user, memory);
}

char *tn_duplicate_text(const tn_allocator *allocator, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = tn_allocate(allocator, bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

bool tn_mul_size(size_t a, size_t b, size_t *out) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}

bool tn_add_size(size_t a, size_t b, size_t *out) {
    size_t result;
    if (__builtin_add_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}

bool tn_mul_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t result;
    if (__builtin_mul_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}

bool tn_add_i64(int64_t a, int64_t b, int64_t *out) {
    int64_t result;
    if (__builtin_add_overflow(a, b, &result)) return false;
    *out = result;
    return true;
}

bool tn_align_size(size_t bytes, size_t alignment, size_t *out) {
    size_t result;
    if (!tn_add_size(bytes, alignment - 1, &result)) return false;
    *out = result & ~(alignment - 1);
    return true;
}

tn_status tn_grow(const tn_allocator *allocator, void **items, size_t *capacity, size_t count,
                  size_t item_bytes) {
    if (count <= *capacity) return TN_OK;
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < count) {
        if (!tn_add_size(wanted, wanted / 2 + 8, &wanted)) return tn_fail_memory("a growing array");
    }
    void *larger = tn_allocate_zero(allocator, wanted, item_bytes);
    if (!larger) return tn_fail_memory("a growing array");
    if (*capacity) memcpy(larger, *items, *capacity * item_bytes);
    tn_deallocate(allocator, *items);
    *items = larger;
    *capacity = wanted;
    return TN_OK;
}
