/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator that the runtime under test has: it counts, can be told to fail, and knows its own
 * blocks. What fresh memory holds is chosen: the same work on other contents shows what is read, or
 * saved, without having been written.
 */
#ifndef TN_CONFORMANCE_WORKER_FRESH_H
#define TN_CONFORMANCE_WORKER_FRESH_H

#include <stdint.h>
#include <tenon/runtime.h>

typedef struct tn_counter {
    tn_allocator functions;
    uint64_t live, allocations; /* bodies of loops change them on several threads */
    uint64_t fail_at;           /* 0: never */
    uint8_t filler;             /* of each byte of a new block */
} tn_counter;
void tn_counter_init(tn_counter *counter);

/* From now on new memory, the counter's, malloc's and the stack's, is full of this byte. */
void tn_fresh_memory(tn_counter *counter, uint8_t filler);
enum { TN_FRESH_FILLER = 0xA5, TN_FRESH_OTHER = 0x3B }; /* the usual one, and another one */

#endif
