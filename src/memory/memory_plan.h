/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory plan: offsets in one arena for buffers with lifetimes, so that buffers that live at
 * the same time do not overlap. Greedy by size (largest first, lowest offset that fits); pure
 * numbers, allocates only its scratch.
 */
#ifndef TN_MEMORY_MEMORY_PLAN_H
#define TN_MEMORY_MEMORY_PLAN_H

#include "base/memory.h"

typedef struct tn_memory_buffer {
    size_t bytes;
    uint32_t first, last; /* steps, both included */
    size_t offset;        /* answered */
} tn_memory_buffer;

/* Offsets are multiples of `alignment` (a power of two). TN_ERROR_MEMORY when the sum does not fit
 * in size_t. */
tn_status tn_memory_plan_make(const tn_allocator *allocator, tn_memory_buffer *buffers,
                              size_t count, size_t alignment, size_t *out_bytes);

#endif
