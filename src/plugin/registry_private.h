/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the registry share: registry.c adds and removes, registry/registry_find.c
 * finds, registry/registry_visit.c visits, registry/registry_make.c makes entries of tables. */
#ifndef TN_PLUGIN_REGISTRY_PRIVATE_H
#define TN_PLUGIN_REGISTRY_PRIVATE_H

#include "plugin/loaded_library.h"
#include "plugin/registry.h"

#include <pthread.h>
#include <string.h>

typedef struct tn_registry_item {
    const void *table; /* tn_operator, tn_kernel or tn_rewrite: the entry's, in today's struct */
    const void *entry; /* null: tn_registry_make has not been asked for it, and the table is the
                          library's own, where what may be null is null */
    tn_loaded_library *library;
    uint64_t serial;    /* 1, 2, ...: in the order of adding */
    uint64_t name_hash; /* of an operator's name, without its domain; of a kernel's operator's */
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

/* Makes the entry of an item of one of the registry's lists, where it is not made yet. Under the
 * lock. */
tn_status tn_registry_make(tn_registry *registry, tn_registry_list *list, size_t index);

static inline const tn_operator *tn_registry_operator(const tn_registry *registry, size_t index) {
    return registry->operators.items[index].table;
}
static inline const tn_kernel *tn_registry_kernel(const tn_registry *registry, size_t index) {
    return registry->kernels.items[index].table;
}
/* Null is as good as "". */
static inline bool tn_registry_same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}
static inline bool tn_registry_is_named(const tn_operator *op, const char *domain,
                                        const char *name) {
    return strcmp(op->name, name) == 0 && tn_registry_same_text(op->domain, domain);
}

#endif
