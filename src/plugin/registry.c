/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing and finding operators and kernels; see registry.h. Checking and copying the tables is
 * registry_tables.c.
 */
#include "plugin/registry.h"
#include "base/hash.h"
#include "base/status.h"
#include "plugin/fields/kernel_fields.h"
#include "plugin/library.h"
#include "plugin/registry_tables.h"
#include "plugin/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct tn_registry {
    tn_runtime *runtime;
    const tn_allocator *allocator;
    pthread_mutex_t lock;
    const tn_operator_entry **operators;
    size_t operator_count, operator_capacity;
    const tn_kernel_entry **kernels;
    size_t kernel_count, kernel_capacity;
    const tn_rewrite_entry **rewrites;
    size_t rewrite_count, rewrite_capacity;
    uint64_t serial; /* of the entry that was added last */
};

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
    tn_deallocate(registry->allocator, registry->operators);
    tn_deallocate(registry->allocator, registry->kernels);
    tn_deallocate(registry->allocator, registry->rewrites);
    tn_deallocate(registry->allocator, registry);
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_named(const tn_operator *op, const char *domain, const char *name) {
    return strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0;
}

/* ----------------------------------------------------------------------------------------------
 * adding */

static const char *file_of(const tn_loaded_library *library) {
    return library->path[0] ? library->path : "linked in";
}

/* Names both files, and the mend: another domain for the second one, where it is a file. */
static tn_status fail_taken(const tn_operator_entry *entry, const tn_operator_entry *other) {
    const tn_operator *op = entry->op;
    const tn_loaded_library *library = entry->library;
    if (library == other->library)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "operator '%s%s%s' version %u is offered twice by library '%s'", op->domain,
                       op->domain[0] ? "::" : "", op->name, op->since_version, library->name);
    const tn_status status =
        tn_fail(TN_ERROR_ARGUMENT,
                "operator '%s%s%s' version %u is offered by library '%s' (%.300s) and already by "
                "library '%s' (%.300s), which keeps it",
                op->domain, op->domain[0] ? "::" : "", op->name, op->since_version, library->name,
                file_of(library), other->library->name, file_of(other->library));
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
    const bool gives_way = now->is_wanted && before->modified_ns > 0;
    return now != before && (gives_way || is_newer(now, before));
}

static tn_status add_operator(tn_registry *registry, tn_operator_entry *entry) {
    const tn_operator *op = entry->op;
    for (size_t i = 0; i < registry->operator_count; i++) {
        const tn_operator *other = registry->operators[i]->op;
        if (registry->operators[i]->name_hash != entry->name_hash) continue;
        if (is_named(other, op->domain, op->name) && other->since_version == op->since_version &&
            same_text(other->variant, op->variant)) {
            if (!may_replace(entry->library, registry->operators[i]->library))
                return fail_taken(entry, registry->operators[i]);
            atomic_store(&registry->operators[i]->library->replaced_by, entry->library);
        }
    }
    TN_TRY(tn_grow(registry->allocator, (void **)&registry->operators, &registry->operator_capacity,
                   registry->operator_count + 1, sizeof(*registry->operators)));
    entry->serial = ++registry->serial;
    registry->operators[registry->operator_count++] = entry;
    return TN_OK;
}

static tn_status add_kernel(tn_registry *registry, tn_kernel_entry *entry) {
    for (size_t i = 0; i < registry->kernel_count; i++) {
        const tn_kernel_entry *other = registry->kernels[i];
        if (other->name_hash == entry->name_hash && other->library == entry->library &&
            same_text(other->kernel->name, entry->kernel->name) &&
            same_text(other->kernel->op, entry->kernel->op) &&
            same_text(other->kernel->domain, entry->kernel->domain) &&
            same_text(other->kernel->device, entry->kernel->device) &&
            other->kernel->minimum_version == entry->kernel->minimum_version)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "kernel '%s' of operator '%s' is offered twice by library '%s'",
                           entry->kernel->name, entry->kernel->op, entry->library->name);
    }
    TN_TRY(tn_grow(registry->allocator, (void **)&registry->kernels, &registry->kernel_capacity,
                   registry->kernel_count + 1, sizeof(*registry->kernels)));
    entry->serial = ++registry->serial;
    registry->kernels[registry->kernel_count++] = entry;
    return TN_OK;
}

static tn_status add_rewrite(tn_registry *registry, tn_rewrite_entry *entry) {
    for (size_t i = 0; i < registry->rewrite_count; i++)
        if (registry->rewrites[i]->library == entry->library &&
            strcmp(registry->rewrites[i]->rewrite->name, entry->rewrite->name) == 0)
            return tn_fail(TN_ERROR_ARGUMENT, "rewrite '%s' is offered twice by library '%s'",
                           entry->rewrite->name, entry->library->name);
    TN_TRY(tn_grow(registry->allocator, (void **)&registry->rewrites, &registry->rewrite_capacity,
                   registry->rewrite_count + 1, sizeof(*registry->rewrites)));
    entry->serial = ++registry->serial;
    registry->rewrites[registry->rewrite_count++] = entry;
    return TN_OK;
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
    entry->own_domain = op->domain;
    if (!entry->library->domain[0]) return;
    op->domain = entry->library->domain;
    for (size_t i = 0; i < registry->kernel_count; i++)
        if (registry->kernels[i]->library == entry->library)
            follow(entry, (tn_kernel *)(uintptr_t)registry->kernels[i]->kernel);
}

static void set_kernel_domain(const tn_registry *registry, const tn_kernel_entry *entry) {
    for (size_t i = 0; entry->library->domain[0] && i < registry->operator_count; i++)
        if (registry->operators[i]->library == entry->library)
            follow(registry->operators[i], (tn_kernel *)(uintptr_t)entry->kernel);
}

tn_status tn_registry_add_operator(tn_registry *registry, tn_loaded_library *library,
                                   const tn_operator *op) {
    tn_operator_entry *entry = NULL;
    pthread_mutex_lock(&registry->lock);
    tn_status status =
        tn_registry_copy_operator(tn_library_arena(library), op, tn_library_minor(library), &entry);
    if (status == TN_OK) {
        entry->library = library;
        set_domain(registry, entry);
        status = add_operator(registry, entry);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

tn_status tn_registry_add_kernel(tn_registry *registry, tn_loaded_library *library,
                                 const tn_kernel *kernel) {
    tn_kernel_entry *entry = NULL;
    pthread_mutex_lock(&registry->lock);
    const tn_kernel_entry *before =
        registry->kernel_count > 0 ? registry->kernels[registry->kernel_count - 1] : NULL;
    tn_status status =
        tn_registry_copy_kernel(tn_library_arena(library), kernel, tn_library_minor(library),
                                before && before->library == library ? before : NULL, &entry);
    if (status == TN_OK) {
        entry->library = library;
        set_kernel_domain(registry, entry);
        status = add_kernel(registry, entry);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

tn_status tn_registry_add_rewrite(tn_registry *registry, tn_loaded_library *library,
                                  const tn_rewrite *rewrite) {
    tn_rewrite_entry *entry = NULL;
    pthread_mutex_lock(&registry->lock);
    tn_status status = tn_registry_copy_rewrite(tn_library_arena(library), rewrite, &entry);
    if (status == TN_OK) {
        entry->library = library;
        status = add_rewrite(registry, entry);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

void tn_registry_remove_library(tn_registry *registry, tn_loaded_library *library) {
    pthread_mutex_lock(&registry->lock);
    size_t kept = 0;
    for (size_t i = 0; i < registry->operator_count; i++) {
        if (registry->operators[i]->library != library)
            registry->operators[kept++] = registry->operators[i];
    }
    registry->operator_count = kept;
    kept = 0;
    for (size_t i = 0; i < registry->kernel_count; i++) {
        if (registry->kernels[i]->library != library)
            registry->kernels[kept++] = registry->kernels[i];
    }
    registry->kernel_count = kept;
    kept = 0;
    for (size_t i = 0; i < registry->rewrite_count; i++) {
        if (registry->rewrites[i]->library != library)
            registry->rewrites[kept++] = registry->rewrites[i];
    }
    registry->rewrite_count = kept;
    pthread_mutex_unlock(&registry->lock);
}

/* ----------------------------------------------------------------------------------------------
 * finding operators */

static const char *separator(const char *domain) {
    return domain[0] ? "::" : "";
}

/* The versions that a name has, as "6, 11, 13". */
static void list_versions(const tn_registry *registry, const char *domain, const char *name,
                          tn_text *out) {
    for (size_t i = 0; i < registry->operator_count; i++) {
        const tn_operator *op = registry->operators[i]->op;
        if (is_named(op, domain, name))
            tn_text_add_format(out, out->length ? ", %u" : "%u", op->since_version);
    }
}

static tn_status fail_missing(const tn_registry *registry, const char *domain, const char *name,
                              uint32_t version) {
    const tn_operator_entry *nearest_entry = NULL, *other_domain = NULL;
    tn_nearest nearest;
    tn_text versions;
    tn_text_init(&versions, registry->allocator);
    tn_nearest_init(&nearest, name);
    list_versions(registry, domain, name, &versions);
    if (versions.length) {
        tn_fail(TN_ERROR_UNSUPPORTED, "operator '%s%s%s' has versions %s; version %u was asked for",
                domain, separator(domain), name, versions.data, version);
        tn_text_deinit(&versions);
        return tn_error_in(TN_ERROR_UNSUPPORTED, .domain = domain, .op = name,
                           .is_in_message = true);
    }
    tn_text_deinit(&versions);
    for (size_t i = 0; i < registry->operator_count; i++) {
        const tn_operator *op = registry->operators[i]->op;
        if (strcmp(op->name, name) == 0) other_domain = registry->operators[i];
        const char *before = nearest.best;
        tn_nearest_offer(&nearest, op->name);
        if (nearest.best != before) nearest_entry = registry->operators[i];
    }
    const tn_operator_entry *hint = other_domain ? other_domain : nearest_entry;
    tn_fail(TN_ERROR_UNSUPPORTED, "no operator '%s%s%s'%s", domain, separator(domain), name,
            hint || domain[0] ? "" : " among the built-in ones");
    tn_error_in(TN_ERROR_UNSUPPORTED, .domain = domain, .op = name, .is_in_message = true);
    if (!hint) return TN_ERROR_UNSUPPORTED;
    return tn_error_mend(TN_ERROR_UNSUPPORTED, ": ", "the nearest is '%s%s%s' (library %s)",
                         hint->op->domain, separator(hint->op->domain), hint->op->name,
                         hint->library->name);
}

static tn_status find_operator(tn_registry *registry, const char *domain, const char *name,
                               uint32_t version, bool is_exact,
                               const tn_operator_entry **out_entry) {
    const tn_operator_entry *best = NULL;
    const uint64_t name_hash = tn_hash_add_text(0, name);
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count; i++) {
        const tn_operator *op = registry->operators[i]->op;
        if (registry->operators[i]->name_hash != name_hash) continue;
        if (!is_named(op, domain, name) || (version && op->since_version > version) ||
            (is_exact && op->since_version != version))
            continue;
        if (!best || op->since_version > best->op->since_version) best = registry->operators[i];
    }
    tn_status status = TN_OK;
    if (best)
        tn_library_retain(best->library);
    else
        status = fail_missing(registry, domain, name, version);
    pthread_mutex_unlock(&registry->lock);
    if (best) *out_entry = best;
    return status;
}

tn_status tn_registry_find_operator(tn_registry *registry, const char *domain, const char *name,
                                    uint32_t version, const tn_operator_entry **out_entry) {
    return find_operator(registry, domain, name, version, false, out_entry);
}

tn_status tn_registry_find_operator_exact(tn_registry *registry, const char *domain,
                                          const char *name, uint32_t since_version,
                                          const tn_operator_entry **out_entry) {
    return find_operator(registry, domain, name, since_version, true, out_entry);
}

tn_status tn_registry_find_operator_of(tn_registry *registry, const tn_loaded_library *library,
                                       const char *domain, const char *name, uint32_t version,
                                       const tn_operator_entry **out_entry) {
    const char *now = domain;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count; i++) {
        const tn_operator_entry *entry = registry->operators[i];
        if (entry->library == library && strcmp(entry->own_domain, domain) == 0 &&
            strcmp(entry->op->name, name) == 0)
            now = entry->op->domain; /* in the library's arena: it is held */
    }
    pthread_mutex_unlock(&registry->lock);
    return tn_registry_find_operator(registry, now, name, version, out_entry);
}

static bool is_given(const tn_operator_entry *entry) {
    return entry->library->path[0] || strcmp(entry->library->name, "builtin") != 0;
}

/* What a name without a domain means rather: a given library's operator, then one of a domain of
 * its own. */
static int preference(const tn_operator_entry *entry) {
    return is_given(entry) ? 2 : entry->op->domain[0] != 0;
}

static tn_status fail_ambiguous(const tn_operator_entry *a, const tn_operator_entry *b) {
    return tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                                 "'%s' may be '%s::%s' of library '%s' or '%s::%s' of library '%s'",
                                 a->op->name, a->op->domain, a->op->name, a->library->name,
                                 b->op->domain, b->op->name, b->library->name),
                         "; ", "load one of the two");
}

tn_status tn_registry_find_any(tn_registry *registry, const char *name,
                               const tn_operator_entry **out_entry) {
    const tn_operator_entry *best = NULL;
    tn_status status = TN_OK;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count && status == TN_OK; i++) {
        const tn_operator_entry *entry = registry->operators[i];
        if (strcmp(entry->op->name, name) != 0 || (best && preference(best) > preference(entry)))
            continue;
        bool is_as_good = best && preference(best) == preference(entry);
        if (is_as_good && preference(best) > 0 && strcmp(best->op->domain, entry->op->domain) != 0)
            status = fail_ambiguous(best, entry);
        else if (!is_as_good || entry->op->since_version > best->op->since_version)
            best = entry;
    }
    if (!best) status = fail_missing(registry, "", name, 0);
    if (status == TN_OK) tn_library_retain(best->library);
    pthread_mutex_unlock(&registry->lock);
    if (status == TN_OK) *out_entry = best;
    return status;
}

bool tn_registry_offers(tn_registry *registry, const tn_loaded_library *library, const char *domain,
                        const char *name) {
    bool is_found = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count && !is_found; i++)
        is_found = registry->operators[i]->library == library &&
                   strcmp(registry->operators[i]->op->name, name) == 0 &&
                   (!domain || strcmp(registry->operators[i]->op->domain, domain) == 0);
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

bool tn_registry_has_given(tn_registry *registry, const char *name) {
    bool is_found = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count && !is_found; i++)
        is_found =
            is_given(registry->operators[i]) && strcmp(registry->operators[i]->op->name, name) == 0;
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

/* ----------------------------------------------------------------------------------------------
 * finding kernels */

bool tn_registry_is_kernel_of(const tn_kernel *kernel, const tn_operator *op) {
    const bool is_any = strcmp(kernel->op, "*") == 0 && strcmp(kernel->domain, "*") == 0;
    if (is_any ? !(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->expression
               : !is_named(op, kernel->domain, kernel->op))
        return false;
    if (kernel->minimum_version && op->since_version < kernel->minimum_version) return false;
    return !kernel->maximum_version || op->since_version <= kernel->maximum_version;
}

static bool kernel_serves(const tn_registry *registry, const tn_kernel *kernel,
                          const tn_operator *op, const char *device) {
    if (!tn_registry_is_kernel_of(kernel, op) || strcmp(kernel->device, device) != 0) return false;
    return !kernel->requires_features ||
           tn_runtime_has_features(registry->runtime, kernel->requires_features);
}

tn_status tn_registry_kernels(tn_registry *registry, const tn_operator *op, const char *device,
                              const tn_kernel_entry ***out_entries, uint32_t *out_count) {
    uint32_t count = 0;
    pthread_mutex_lock(&registry->lock);
    const tn_kernel_entry **entries =
        tn_allocate_zero(registry->allocator, registry->kernel_count + 1, sizeof(*entries));
    for (size_t i = 0; entries && i < registry->kernel_count; i++) {
        if (!kernel_serves(registry, registry->kernels[i]->kernel, op, device)) continue;
        entries[count++] = registry->kernels[i];
        tn_library_retain(registry->kernels[i]->library);
    }
    pthread_mutex_unlock(&registry->lock);
    if (!entries) return tn_fail_memory("the list of kernels");
    *out_entries = entries;
    *out_count = count;
    return TN_OK;
}

void tn_registry_free_kernels(tn_registry *registry, const tn_kernel_entry **entries,
                              uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        tn_library_release(entries[i]->library);
    tn_deallocate(registry->allocator, entries);
}

tn_status tn_registry_rewrites(tn_registry *registry, const tn_rewrite_entry ***out_entries,
                               uint32_t *out_count) {
    pthread_mutex_lock(&registry->lock);
    const tn_rewrite_entry **entries =
        tn_allocate_zero(registry->allocator, registry->rewrite_count + 1, sizeof(*entries));
    const uint32_t count = entries ? (uint32_t)registry->rewrite_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = registry->rewrites[i];
        tn_library_retain(entries[i]->library);
    }
    pthread_mutex_unlock(&registry->lock);
    if (!entries) return tn_fail_memory("the list of rewrites");
    *out_entries = entries;
    *out_count = count;
    return TN_OK;
}

void tn_registry_free_rewrites(tn_registry *registry, const tn_rewrite_entry **entries,
                               uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        tn_library_release(entries[i]->library);
    tn_deallocate(registry->allocator, entries);
}

static bool is_library(const tn_loaded_library *library, const tn_library_key *key) {
    return library->hash == key->hash && same_text(library->domain, key->domain);
}

const tn_kernel_entry *tn_registry_find_kernel(tn_registry *registry, const tn_operator *op,
                                               const char *device, const char *name,
                                               const tn_library_key *library) {
    const tn_kernel_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernel_count; i++) {
        const tn_kernel_entry *entry = registry->kernels[i];
        const bool is_better = !found || (library && is_library(entry->library, library) &&
                                          !is_library(found->library, library));
        if (is_better && strcmp(entry->kernel->name, name) == 0 &&
            (!library || strcmp(entry->library->name, library->name) == 0) &&
            kernel_serves(registry, entry->kernel, op, device))
            found = entry;
    }
    if (found) tn_library_retain(found->library);
    pthread_mutex_unlock(&registry->lock);
    return found;
}

tn_status tn_kernel_fits(const tn_kernel *kernel, const tn_operator *op) {
    if (!kernel || !op)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_kernel_fits needs a kernel and an operator");
    return tn_kernel_fields_check(kernel, op);
}

/* ----------------------------------------------------------------------------------------------
 * visiting: callbacks run without the lock, and may load and unload libraries. What is added
 * meanwhile is visited, too. */

static tn_library_info info_of(const tn_loaded_library *library) {
    return (tn_library_info){.size = sizeof(tn_library_info),
                             .name = library->name,
                             .version = library->version,
                             .path = library->path,
                             .hash = library->hash,
                             .domain = library->domain};
}

void tn_registry_count_library(tn_registry *registry, const tn_loaded_library *library,
                               tn_library_info *out_info) {
    *out_info = info_of(library);
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count; i++)
        out_info->operator_count += registry->operators[i]->library == library;
    for (size_t i = 0; i < registry->kernel_count; i++)
        out_info->kernel_count += registry->kernels[i]->library == library;
    for (size_t i = 0; i < registry->rewrite_count; i++)
        out_info->rewrite_count += registry->rewrites[i]->library == library;
    pthread_mutex_unlock(&registry->lock);
}

bool tn_registry_has_trait(tn_registry *registry, uint32_t traits) {
    bool has = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernel_count && !has; i++) {
        const tn_kernel *kernel = registry->kernels[i]->kernel;
        has = kernel->traits & traits && strcmp(kernel->device, "cpu") == 0;
    }
    pthread_mutex_unlock(&registry->lock);
    return has;
}

/* The first after a serial number, with a count on its library; null: there is none. */
static const tn_operator_entry *next_operator(tn_registry *registry, uint64_t after) {
    const tn_operator_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count && !found; i++)
        if (registry->operators[i]->serial > after) found = registry->operators[i];
    if (found) tn_library_retain(found->library);
    pthread_mutex_unlock(&registry->lock);
    return found;
}

void tn_registry_visit_operators(tn_registry *registry,
                                 bool (*visit)(void *user, const tn_operator *op,
                                               const tn_library_info *library),
                                 void *user) {
    const tn_operator_entry *entry;
    bool goes_on = true;
    for (uint64_t at = 0; goes_on && (entry = next_operator(registry, at)) != NULL;) {
        const tn_library_info info = info_of(entry->library);
        at = entry->serial;
        goes_on = visit(user, entry->op, &info);
        tn_library_release(entry->library);
    }
}

/* The first after a serial number, with a count on its library; null: there is none. */
static const tn_kernel_entry *next_kernel(tn_registry *registry, uint64_t after) {
    const tn_kernel_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernel_count && !found; i++)
        if (registry->kernels[i]->serial > after) found = registry->kernels[i];
    if (found) tn_library_retain(found->library);
    pthread_mutex_unlock(&registry->lock);
    return found;
}

void tn_registry_visit_kernels(tn_registry *registry,
                               bool (*visit)(void *user, const tn_kernel *kernel,
                                             const tn_library_info *library),
                               void *user) {
    const tn_kernel_entry *entry;
    bool goes_on = true;
    for (uint64_t at = 0; goes_on && (entry = next_kernel(registry, at)) != NULL;) {
        const tn_library_info info = info_of(entry->library);
        at = entry->serial;
        goes_on = visit(user, entry->kernel, &info);
        tn_library_release(entry->library);
    }
}

/* The first after a serial number, with a count on its library; null: there is none. */
static const tn_rewrite_entry *next_rewrite(tn_registry *registry, uint64_t after) {
    const tn_rewrite_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->rewrite_count && !found; i++)
        if (registry->rewrites[i]->serial > after) found = registry->rewrites[i];
    if (found) tn_library_retain(found->library);
    pthread_mutex_unlock(&registry->lock);
    return found;
}

void tn_registry_visit_rewrites(tn_registry *registry,
                                bool (*visit)(void *user, const tn_rewrite *rewrite,
                                              const tn_library_info *library),
                                void *user) {
    const tn_rewrite_entry *entry;
    bool goes_on = true;
    for (uint64_t at = 0; goes_on && (entry = next_rewrite(registry, at)) != NULL;) {
        const tn_library_info info = info_of(entry->library);
        at = entry->serial;
        goes_on = visit(user, entry->rewrite, &info);
        tn_library_release(entry->library);
    }
}
