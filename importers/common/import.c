/* SPDX-License-Identifier: Apache-2.0 */
/* See import.h. */
#include "importers/common/import.h"

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
