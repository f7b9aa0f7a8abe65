/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service by which kernels write strings (tenon/plugin/string.h), and the heaps behind it: what
 * tn_tensor.heap of an output points to is the beginning of a tn_owned_heap. Who makes the call has
 * them: a context (run/heaps.c), conformance.
 */
#ifndef TN_PLUGIN_STRINGS_STRINGS_H
#define TN_PLUGIN_STRINGS_STRINGS_H

#include <tenon/plugin/string.h>
#include <tenon/runtime.h>

typedef struct tn_owned_heap {
    tn_heap heap; /* first: tensors point to it */
    const tn_allocator *allocator;
    char *memory; /* kept from one run to the next */
    uint64_t capacity;
    bool is_shared; /* its bytes are another heap's */
} tn_owned_heap;

void tn_owned_heap_init(tn_owned_heap *heap, const tn_allocator *allocator);
void tn_owned_heap_deinit(tn_owned_heap *heap); /* zeroed is fine */
/* Empty again; the memory stays. */
void tn_owned_heap_clear(tn_owned_heap *heap);

/* The bytes of another heap, which outlives what reads this one, in place of its own. */
void tn_owned_heap_share(tn_owned_heap *heap, const tn_heap *other);

/* The table of "tn.strings/1". */
const tn_string_services *tn_string_service_table(void);

#endif
