/* SPDX-License-Identifier: Apache-2.0 */
/* See import.h. */
#include "importers/common/import.h"
#include "base/status.h"

#include <string.h>

/* Data of more bytes is not worth a copy. */
#define COPIED_BYTES 64

static void *allocate(void *user, uint64_t bytes, uint64_t alignment) {
    const tn_host *host = user;
    return host->allocate(host, bytes, alignment);
}

static void deallocate(void *user, void *memory) {
    const tn_host *host = user;
    host->deallocate(host, memory);
}

tn_allocator tn_import_allocator(const tn_import *import) {
    return (tn_allocator){.size = sizeof(tn_allocator),
                          .user = (void *)(uintptr_t)import->host,
                          .allocate = allocate,
                          .deallocate = deallocate};
}

tn_status tn_import_copy(tn_import_graph *graph, const void *data, size_t bytes, const char *what,
                         const void **out_data) {
    void *copy = bytes > 0 ? tn_import_allocate(graph, bytes) : NULL;
    if (bytes > 0 && !copy) return tn_fail_memory(what);
    if (copy) memcpy(copy, data, bytes);
    *out_data = copy;
    return TN_OK;
}

tn_status tn_import_take(tn_import_graph *graph, void **data, size_t bytes, const char *what,
                         const void **out_data) {
    if (bytes < COPIED_BYTES) return tn_import_copy(graph, *data, bytes, what, out_data);
    TN_TRY(graph->import->services->adopt(graph->import, *data, bytes));
    *out_data = *data;
    *data = NULL;
    return TN_OK;
}

tn_status tn_import_add_node(tn_import_graph *graph, const char *name, const tn_operator *op,
                             uint64_t attribute_count, const tn_attribute *const *attributes,
                             uint32_t input_count, const tn_import_tensor *inputs,
                             uint32_t output_count, const tn_import_tensor *outputs) {
    static const tn_import_tensor nothing;
    const tn_import_node node = {.size = sizeof(node),
                                 .op = op,
                                 .name = name,
                                 .input_count = input_count,
                                 .output_count = output_count,
                                 .inputs = inputs,
                                 .outputs = outputs ? outputs : &nothing,
                                 .attribute_count = attribute_count,
                                 .attributes = attributes};
    return graph->import->services->add_node(graph, &node);
}
