/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the tables of all libraries that a runtime has, which would otherwise happen when one is
 * asked for first: what that leaves in memory is then there before a test counts.
 */
#ifndef TN_TESTS_BUILT_IN_TABLES_H
#define TN_TESTS_BUILT_IN_TABLES_H

#include "plugin/registry.h"
#include "plugin/runtime_parts.h"

static inline bool built_in_operator(void *user, const tn_operator *op, const tn_library_info *of) {
    (void)user;
    (void)op;
    (void)of;
    return true;
}
static inline bool built_in_kernel(void *user, const tn_kernel *kernel, const tn_library_info *of) {
    (void)user;
    (void)kernel;
    (void)of;
    return true;
}

/* False: no memory. */
static inline bool read_built_in_tables(tn_runtime *runtime) {
    tn_registry *registry = tn_runtime_registry(runtime);
    const tn_rewrite_entry **entries = NULL;
    uint32_t count = 0;
    bool is_read = true;
    tn_runtime_visit_operators(runtime, built_in_operator, NULL);
    tn_runtime_visit_kernels(runtime, built_in_kernel, NULL);
    if (tn_registry_rewrites(registry, &entries, &count) != TN_OK) return false;
    for (uint32_t i = 0; i < count; i++)
        is_read = tn_registry_read_rewrite(registry, entries[i]) == TN_OK && is_read;
    tn_registry_free_rewrites(registry, entries, count);
    return is_read;
}

#endif
