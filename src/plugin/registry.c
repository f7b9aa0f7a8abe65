/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing operators and kernels; see registry.h. Finding them is registry/registry_find.c, making
 * entries of what is asked for registry/registry_make.c, checking and copying the tables
 * registry/registry_tables.c.
 */
#include "plugin/registry.h"
#include "base/hash.h"
#include "base/status.h"
#include "plugin/registry_private.h"
#include "plugin/registry_tables.h"
#include "plugin/runtime_parts.h"

#include <stdatomic.h>

tn_status tn_registry_create(tn_runtime *runtime, tn_registry **out_registry) {
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_registry *registry = tn_allocate_zero(allocator, 1, sizeof(*registry));
    if (!registry) return tn_fail_memory("the registry");
    registry->runtime = runtime;
    registry->allocator = allocator;
    pthread_mutex_init(&registry->lock, NULL);
    *out_registry = registry;
    return TN_OK;
}

void tn_registry_destroy(tn_registry *registry) {
    if (!registry) return;
    pthread_mutex_destroy(&registry->lock);
    tn_deallocate(registry->allocator, registry->operators.items);
    tn_deallocate(registry->allocator, registry->kernels.items);
    tn_deallocate(registry->allocator, registry->rewrites.items);
    tn_deallocate(registry->allocator, registry);
}

static const char *file_of(const tn_loaded_library *library) {
    return library->path[0] ? library->path : "linked in";
}

/* Names both files, and the mend: another domain for the second one, where it is a file. */
static tn_status fail_taken(const tn_operator_entry *entry, const tn_loaded_library *other) {
    const tn_operator *op = entry->op;
    const tn_loaded_library *library = entry->library;
    if (library == other)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "operator '%s%s%s' version %u is offered twice by library '%s'", op->domain,
                       op->domain[0] ? "::" : "", op->name, op->since_version, library->name);
    const tn_status status =
        tn_fail(TN_ERROR_ARGUMENT,
                "operator '%s%s%s' version %u is offered by library '%s' (%.300s) and already by "
                "library '%s' (%.300s), which keeps it",
                op->domain, op->domain[0] ? "::" : "", op->name, op->since_version, library->name,
                file_of(library), other->name, file_of(other));
    if (!library->path[0]) return TN_ERROR_ARGUMENT;
    return tn_error_mend(status, "\n  mend: ",
                         "load one of the two, or this one under a domain of its own "
                         "(--plugin %.300s@DOMAIN, tn_runtime_load_library_as)",
                         library->path);
}

/* Whether one is the newer of two libraries of the same source. */
static bool is_newer(const tn_loaded_library *now, const tn_loaded_library *before) {
    const bool is_compiled = now->modified_ns == 0 && before->modified_ns == 0;
    return now->source[0] && strcmp(now->source, before->source) == 0 &&
           strcmp(now->domain, before->domain) == 0 &&
           (is_compiled || (before->modified_ns > 0 && now->modified_ns > before->modified_ns));
}

/* Whether one may take over what the other one has (tn_library_load_options). */
static bool may_replace(const tn_loaded_library *now, const tn_loaded_library *before) {
    const bool yields = now->is_wanted && before->modified_ns > 0;
    return now != before && (yields || is_newer(now, before));
}

static tn_status add_item(tn_registry *registry, tn_registry_list *list, tn_registry_item item) {
    TN_TRY(tn_grow(registry->allocator, (void **)&list->items, &list->capacity, list->count + 1,
                   sizeof(*list->items)));
    item.serial = ++registry->serial;
    list->items[list->count++] = item;
    return TN_OK;
}

/* A table of a linked-in library: its entry is made when it is asked for first. That these tables
 * are right, and that none is there twice, is tested: tests/unit/plugin/test_registry.c. */
static tn_status add_constant(tn_registry *registry, tn_registry_list *list,
                              tn_loaded_library *library, const void *table, const char *name) {
    return add_item(registry, list,
                    (tn_registry_item){.table = table,
                                       .library = library,
                                       .name_hash = tn_hash_add_text(0, name)});
}

static tn_status add_operator(tn_registry *registry, const tn_operator_entry *entry) {
    const tn_operator *op = entry->op;
    const uint64_t name_hash = tn_hash_add_text(0, op->name);
    for (size_t i = 0; i < registry->operators.count; i++) {
        const tn_registry_item *item = &registry->operators.items[i];
        const tn_operator *other = tn_registry_operator(registry, i);
        if (item->name_hash != name_hash) continue;
        if (tn_registry_is_named(other, op->domain, op->name) &&
            other->since_version == op->since_version &&
            tn_registry_same_text(other->variant, op->variant)) {
            if (!may_replace(entry->library, item->library))
                return fail_taken(entry, item->library);
            atomic_store(&item->library->replaced_by, entry->library);
        }
    }
    return add_item(registry, &registry->operators,
                    (tn_registry_item){op, entry, entry->library, 0, name_hash});
}

static tn_status add_kernel(tn_registry *registry, const tn_kernel_entry *entry) {
    const tn_kernel *kernel = entry->kernel;
    const uint64_t name_hash = tn_hash_add_text(0, kernel->op);
    for (size_t i = 0; i < registry->kernels.count; i++) {
        const tn_registry_item *item = &registry->kernels.items[i];
        const tn_kernel *other = tn_registry_kernel(registry, i);
        if (item->name_hash == name_hash && item->library == entry->library &&
            tn_registry_same_text(other->name, kernel->name) &&
            tn_registry_same_text(other->op, kernel->op) &&
            tn_registry_same_text(other->domain, kernel->domain) &&
            tn_registry_same_text(other->device, kernel->device) &&
            other->minimum_version == kernel->minimum_version)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "kernel '%s' of operator '%s' is offered twice by library '%s'",
                           kernel->name, kernel->op, entry->library->name);
    }
    return add_item(registry, &registry->kernels,
                    (tn_registry_item){kernel, entry, entry->library, 0, name_hash});
}

static tn_status add_rewrite(tn_registry *registry, const tn_rewrite_entry *entry) {
    for (size_t i = 0; i < registry->rewrites.count; i++) {
        const tn_rewrite *other = registry->rewrites.items[i].table;
        if (registry->rewrites.items[i].library == entry->library &&
            strcmp(other->name, entry->rewrite->name) == 0)
            return tn_fail(TN_ERROR_ARGUMENT, "rewrite '%s' is offered twice by library '%s'",
                           entry->rewrite->name, entry->library->name);
    }
    return add_item(registry, &registry->rewrites,
                    (tn_registry_item){entry->rewrite, entry, entry->library, 0, 0});
}

/* A library's kernel for an operator of its own follows that into the library's domain. The copies
 * are in the library's arena. */
static void follow(const tn_operator_entry *entry, tn_kernel *kernel) {
    if (strcmp(kernel->op, entry->op->name) == 0 && strcmp(kernel->domain, entry->own_domain) == 0)
        kernel->domain = entry->op->domain;
}

/* Puts an operator under its library's domain, and the kernels that it has already. */
static void set_domain(const tn_registry *registry, tn_operator_entry *entry) {
    tn_operator *op = (tn_operator *)(uintptr_t)entry->op;
    if (!entry->library->domain[0]) return;
    op->domain = entry->library->domain;
    for (size_t i = 0; i < registry->kernels.count; i++)
        if (registry->kernels.items[i].library == entry->library)
            follow(entry, (tn_kernel *)(uintptr_t)tn_registry_kernel(registry, i));
}

static void set_kernel_domain(const tn_registry *registry, const tn_kernel_entry *entry) {
    for (size_t i = 0; entry->library->domain[0] && i < registry->operators.count; i++)
        if (registry->operators.items[i].library == entry->library)
            follow(registry->operators.items[i].entry, (tn_kernel *)(uintptr_t)entry->kernel);
}

static tn_status read_operator(tn_registry *registry, tn_loaded_library *library,
                               const tn_operator *op) {
    tn_operator_entry *entry = NULL;
    if (library->is_constant)
        return add_constant(registry, &registry->operators, library, op, op->name);
    TN_TRY(tn_registry_copy_operator(library, op, &entry));
    set_domain(registry, entry);
    return add_operator(registry, entry);
}

static tn_status read_kernel(tn_registry *registry, tn_loaded_library *library,
                             const tn_kernel *kernel) {
    tn_kernel_entry *entry = NULL;
    if (library->is_constant)
        return add_constant(registry, &registry->kernels, library, kernel, kernel->op);
    const tn_registry_item *last =
        registry->kernels.count > 0 ? &registry->kernels.items[registry->kernels.count - 1] : NULL;
    TN_TRY(tn_registry_copy_kernel(library, kernel,
                                   last && last->library == library ? last->entry : NULL, &entry));
    set_kernel_domain(registry, entry);
    return add_kernel(registry, entry);
}

static tn_status read_rewrite(tn_registry *registry, tn_loaded_library *library,
                              const tn_rewrite *rewrite) {
    tn_rewrite_entry *entry = NULL;
    if (library->is_constant)
        return add_constant(registry, &registry->rewrites, library, rewrite, rewrite->name);
    TN_TRY(tn_registry_copy_rewrite(library, rewrite, &entry));
    TN_TRY(tn_error_at(tn_registry_parse_rewrite(entry), "rewrite '%s'", entry->rewrite->name));
    return add_rewrite(registry, entry);
}

tn_status tn_registry_add_operator(tn_registry *registry, tn_loaded_library *library,
                                   const tn_operator *op) {
    pthread_mutex_lock(&registry->lock);
    const tn_status status = read_operator(registry, library, op);
    pthread_mutex_unlock(&registry->lock);
    return status;
}

tn_status tn_registry_add_kernel(tn_registry *registry, tn_loaded_library *library,
                                 const tn_kernel *kernel) {
    pthread_mutex_lock(&registry->lock);
    const tn_status status = read_kernel(registry, library, kernel);
    pthread_mutex_unlock(&registry->lock);
    return status;
}

tn_status tn_registry_add_rewrite(tn_registry *registry, tn_loaded_library *library,
                                  const tn_rewrite *rewrite) {
    pthread_mutex_lock(&registry->lock);
    const tn_status status = read_rewrite(registry, library, rewrite);
    pthread_mutex_unlock(&registry->lock);
    return status;
}

static void remove_items(tn_registry_list *list, const tn_loaded_library *library) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].library != library) list->items[kept++] = list->items[i];
    list->count = kept;
}

void tn_registry_remove_library(tn_registry *registry, tn_loaded_library *library) {
    pthread_mutex_lock(&registry->lock);
    remove_items(&registry->operators, library);
    remove_items(&registry->kernels, library);
    remove_items(&registry->rewrites, library);
    pthread_mutex_unlock(&registry->lock);
}
