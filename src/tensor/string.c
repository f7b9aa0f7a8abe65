/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of strings; see string.h. */
#include "tensor/string.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

tn_heap tn_heap_behind(const void *block, uint64_t count, uint64_t bytes) {
    const uint64_t elements = count * sizeof(tn_string);
    return (tn_heap){.size = sizeof(tn_heap),
                     .bytes = bytes - elements,
                     .data = block ? (const char *)block + elements : NULL};
}

static tn_string element_at(const void *elements, uint64_t index) {
    tn_string element;
    memcpy(&element, (const char *)elements + index * sizeof(element), sizeof(element));
    return element;
}

tn_status tn_strings_check(const void *elements, uint64_t count, const tn_heap *heap) {
    for (uint64_t i = 0; i < count; i++) {
        const tn_string element = element_at(elements, i);
        if (element.offset <= heap->bytes && element.bytes <= heap->bytes - element.offset)
            continue;
        return tn_fail(TN_ERROR_RANGE,
                       "string %" PRIu64 " is %" PRIu64 " bytes from %" PRIu64
                       " on; its heap has %" PRIu64 " bytes",
                       i, element.bytes, element.offset, heap->bytes);
    }
    return TN_OK;
}

uint64_t tn_strings_heap_bytes(const void *elements, uint64_t count, const tn_heap *heap) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        const tn_string element = element_at(elements, i);
        if (element.bytes >= heap->bytes - bytes) return heap->bytes;
        bytes += element.bytes;
    }
    return bytes;
}

void tn_strings_copy(const void *elements, uint64_t count, const tn_heap *heap, tn_string *to,
                     char *to_heap) {
    const bool is_whole = tn_strings_heap_bytes(elements, count, heap) == heap->bytes;
    if (is_whole && heap->bytes > 0) memcpy(to_heap, heap->data, (size_t)heap->bytes);
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        const tn_string element = element_at(elements, i);
        to[i] = is_whole ? element : (tn_string){at, element.bytes};
        if (is_whole || element.bytes == 0) continue;
        memcpy(to_heap + at, heap->data + element.offset, (size_t)element.bytes);
        at += element.bytes;
    }
}
