/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a context's values, one block on the host and one on the device: its own, lent by
 * the caller, or another context's; context_memory.c. */
#ifndef TN_RUN_STATE_ARENA_H
#define TN_RUN_STATE_ARENA_H

#include <tenon/engine.h>

typedef struct tn_lent_memory {
    void *memory; /* null: none */
    size_t bytes;
} tn_lent_memory;

typedef struct tn_context_arena {
    void *memory;
    size_t memory_bytes;
    void *device_memory;
    size_t device_bytes;
    tn_lent_memory lent, lent_device; /* then the two above are these */
    bool is_without_memory;           /* it has none but what is lent */
    tn_context *owner;                /* whose memory the two are; null: its own */
    uint64_t moves;                   /* how often they have changed, of the owner */
    uint64_t seen;                    /* of these, those that the pointers here know of */
} tn_context_arena;

#endif
