/* SPDX-License-Identifier: Apache-2.0 */
/* Finding operators and kernels; see registry.h. */
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "plugin/fields/kernel_fields.h"
#include "plugin/registry_private.h"
#include "plugin/runtime_parts.h"

/* ----------------------------------------------------------------------------------------------
 * finding operators */

static const char *separator(const char *domain) {
    return domain[0] ? "::" : "";
}

/* The versions that a name has, as "6, 11, 13". */
static void list_versions(const tn_registry *registry, const char *domain, const char *name,
                          tn_text *out) {
    for (size_t i = 0; i < registry->operators.count; i++) {
        const tn_operator *op = tn_registry_operator(registry, i)->op;
        if (tn_registry_is_named(op, domain, name))
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
    for (size_t i = 0; i < registry->operators.count; i++) {
        const tn_operator *op = tn_registry_operator(registry, i)->op;
        if (strcmp(op->name, name) == 0) other_domain = tn_registry_operator(registry, i);
        const char *before = nearest.best;
        tn_nearest_offer(&nearest, op->name);
        if (nearest.best != before) nearest_entry = tn_registry_operator(registry, i);
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
    for (size_t i = 0; i < registry->operators.count; i++) {
        const tn_operator *op = tn_registry_operator(registry, i)->op;
        if (tn_registry_operator(registry, i)->name_hash != name_hash) continue;
        if (!tn_registry_is_named(op, domain, name) || (version && op->since_version > version) ||
            (is_exact && op->since_version != version))
            continue;
        if (!best || op->since_version > best->op->since_version)
            best = tn_registry_operator(registry, i);
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
    for (size_t i = 0; i < registry->operators.count; i++) {
        const tn_operator_entry *entry = tn_registry_operator(registry, i);
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
    for (size_t i = 0; i < registry->operators.count && status == TN_OK; i++) {
        const tn_operator_entry *entry = tn_registry_operator(registry, i);
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
    for (size_t i = 0; i < registry->operators.count && !is_found; i++)
        is_found = tn_registry_operator(registry, i)->library == library &&
                   strcmp(tn_registry_operator(registry, i)->op->name, name) == 0 &&
                   (!domain || strcmp(tn_registry_operator(registry, i)->op->domain, domain) == 0);
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

bool tn_registry_has_given(tn_registry *registry, const char *name) {
    bool is_found = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operators.count && !is_found; i++)
        is_found = is_given(tn_registry_operator(registry, i)) &&
                   strcmp(tn_registry_operator(registry, i)->op->name, name) == 0;
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

/* ----------------------------------------------------------------------------------------------
 * finding kernels */

bool tn_registry_is_kernel_of(const tn_kernel *kernel, const tn_operator *op) {
    const bool is_any = strcmp(kernel->op, "*") == 0 && strcmp(kernel->domain, "*") == 0;
    if (is_any ? !(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->expression
               : !tn_registry_is_named(op, kernel->domain, kernel->op))
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
        tn_allocate_zero(registry->allocator, registry->kernels.count + 1, sizeof(*entries));
    for (size_t i = 0; entries && i < registry->kernels.count; i++) {
        const tn_kernel_entry *entry = tn_registry_kernel(registry, i);
        if (!kernel_serves(registry, entry->kernel, op, device)) continue;
        entries[count++] = entry;
        tn_library_retain(entry->library);
    }
    pthread_mutex_unlock(&registry->lock);
    if (!entries) return tn_fail_memory("the list of kernels");
    *out_entries = entries;
    *out_count = count;
    return TN_OK;
}

bool tn_registry_has_trait(tn_registry *registry, uint32_t traits) {
    bool has = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernels.count && !has; i++) {
        const tn_kernel *kernel = tn_registry_kernel(registry, i)->kernel;
        has = kernel->traits & traits && strcmp(kernel->device, "cpu") == 0;
    }
    pthread_mutex_unlock(&registry->lock);
    return has;
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
        tn_allocate_zero(registry->allocator, registry->rewrites.count + 1, sizeof(*entries));
    const uint32_t count = entries ? (uint32_t)registry->rewrites.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = registry->rewrites.items[i].entry;
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
    return library->hash == key->hash && tn_registry_same_text(library->domain, key->domain);
}

const tn_kernel_entry *tn_registry_find_kernel(tn_registry *registry, const tn_operator *op,
                                               const char *device, const char *name,
                                               const tn_library_key *library) {
    const tn_kernel_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernels.count; i++) {
        const tn_kernel_entry *entry = tn_registry_kernel(registry, i);
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
