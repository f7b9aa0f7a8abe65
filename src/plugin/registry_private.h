/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the registry share: registry.c adds and removes, registry/registry_find.c
 * finds, registry/registry_visit.c visits. */
#ifndef TN_PLUGIN_REGISTRY_PRIVATE_H
#define TN_PLUGIN_REGISTRY_PRIVATE_H

#include "plugin/loaded_library.h"
#include "plugin/registry.h"

#include <pthread.h>
#include <string.h>

typedef struct tn_registry_item {
    const void *entry;
    tn_loaded_library *library;
    uint64_t serial; /* 1, 2, ...: in the order of adding */
} tn_registry_item;

typedef struct tn_registry_list {
    tn_registry_item *items;
    size_t count, capacity;
} tn_registry_list;

struct tn_registry {
    tn_runtime *runtime;
    const tn_allocator *allocator;
    pthread_mutex_t lock;
    tn_registry_list operators, kernels, rewrites;
    uint64_t serial; /* of the item that was added last */
};

static inline const tn_operator_entry *tn_registry_operator(const tn_registry *registry,
                                                            size_t index) {
    return registry->operators.items[index].entry;
}
static inline const tn_kernel_entry *tn_registry_kernel(const tn_registry *registry, size_t index) {
    return registry->kernels.items[index].entry;
}
static inline bool tn_registry_is_named(const tn_operator *op, const char *domain,
                                        const char *name) {
    return strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0;
}
/* Null is as good as "". */
static inline bool tn_registry_same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

#endif
