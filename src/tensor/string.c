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

tn_status tn_strings_check(const void *elements, uint64_t count, const tn_heap *heap) {
    for (uint64_t i = 0; i < count; i++) {
        tn_string element;
        memcpy(&element, (const char *)elements + i * sizeof(element), sizeof(element));
        if (element.offset <= heap->bytes && element.bytes <= heap->bytes - element.offset)
            continue;
        return tn_fail(TN_ERROR_RANGE,
                       "string %" PRIu64 " is %" PRIu64 " bytes from %" PRIu64
                       " on; its heap has %" PRIu64 " bytes",
                       i, element.bytes, element.offset, heap->bytes);
    }
    return TN_OK;
}
