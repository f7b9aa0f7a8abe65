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
        const tn_operator *op = tn_registry_operator(registry, i);
        if (tn_registry_is_named(op, domain, name))
            tn_text_add_format(out, out->length ? ", %u" : "%u", op->since_version);
    }
}

static tn_status fail_missing(const tn_registry *registry, const char *domain, const char *name,
                              uint32_t version) {
    const tn_registry_item *nearest_item = NULL, *other_domain = NULL;
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
        const tn_operator *op = tn_registry_operator(registry, i);
        if (strcmp(op->name, name) == 0) other_domain = &registry->operators.items[i];
        const char *before = nearest.best;
        tn_nearest_offer(&nearest, op->name);
        if (nearest.best != before) nearest_item = &registry->operators.items[i];
    }
    const tn_registry_item *hint = other_domain ? other_domain : nearest_item;
    tn_fail(TN_ERROR_UNSUPPORTED, "no operator '%s%s%s'%s", domain, separator(domain), name,
            hint || domain[0] ? "" : " among the built-in ones");
    tn_error_in(TN_ERROR_UNSUPPORTED, .domain = domain, .op = name, .is_in_message = true);
    if (!hint) return TN_ERROR_UNSUPPORTED;
    const tn_operator *op = hint->table;
    const char *there = op->domain ? op->domain : "";
    return tn_error_mend(TN_ERROR_UNSUPPORTED, ": ", "the nearest is '%s%s%s' (library %s)", there,
                         separator(there), op->name, hint->library->name);
}

/* An item's entry, with a count on its library. */
static tn_status take_operator(tn_registry *registry, size_t index,
                               const tn_operator_entry **out_entry) {
    tn_registry_list *list = &registry->operators;
    TN_TRY(tn_registry_make(registry, list, index));
    *out_entry = list->items[index].entry;
    tn_library_retain(list->items[index].library);
    return TN_OK;
}

static tn_status find_operator(tn_registry *registry, const char *domain, const char *name,
                               uint32_t version, bool is_exact,
                               const tn_operator_entry **out_entry) {
    const uint64_t name_hash = tn_hash_add_text(0, name);
    pthread_mutex_lock(&registry->lock);
    const size_t count = registry->operators.count;
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        const tn_operator *op = tn_registry_operator(registry, i);
        if (registry->operators.items[i].name_hash != name_hash) continue;
        if (!tn_registry_is_named(op, domain, name) || (version && op->since_version > version) ||
            (is_exact && op->since_version != version))
            continue;
        if (best == count ||
            op->since_version > tn_registry_operator(registry, best)->since_version)
            best = i;
    }
    const tn_status status = best < count ? take_operator(registry, best, out_entry)
                                          : fail_missing(registry, domain, name, version);
    pthread_mutex_unlock(&registry->lock);
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
        const tn_registry_item *item = &registry->operators.items[i];
        const tn_operator *op = tn_registry_operator(registry, i);
        const tn_operator_entry *entry = item->entry;
        if (item->library == library && strcmp(op->name, name) == 0 &&
            tn_registry_same_text(entry ? entry->own_domain : op->domain, domain))
            now = entry ? op->domain : domain; /* in the library's arena: it is held */
    }
    pthread_mutex_unlock(&registry->lock);
    return tn_registry_find_operator(registry, now, name, version, out_entry);
}

static bool is_given(const tn_registry_item *item) {
    return item->library->path[0] || strcmp(item->library->name, "builtin") != 0;
}

/* What a name without a domain means rather: a given library's operator, then one of a domain of
 * its own. */
static int preference(const tn_registry_item *item) {
    const tn_operator *op = item->table;
    return is_given(item) ? 2 : op->domain && op->domain[0];
}

static tn_status fail_ambiguous(const tn_registry_item *first, const tn_registry_item *second) {
    const tn_operator *a = first->table, *b = second->table;
    return tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                                 "'%s' may be '%s::%s' of library '%s' or '%s::%s' of library '%s'",
                                 a->name, a->domain ? a->domain : "", a->name, first->library->name,
                                 b->domain ? b->domain : "", b->name, second->library->name),
                         "; ", "load one of the two");
}

/* The best item of the name; the number of all where there is none. */
static tn_status search_any(const tn_registry *registry, const char *name, size_t *out_best) {
    const tn_registry_item *items = registry->operators.items;
    const size_t count = registry->operators.count;
    const uint64_t name_hash = tn_hash_add_text(0, name);
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        const tn_operator *op = tn_registry_operator(registry, i);
        if (items[i].name_hash != name_hash || strcmp(op->name, name) != 0 ||
            (best < count && preference(&items[best]) > preference(&items[i])))
            continue;
        const tn_operator *other = best < count ? tn_registry_operator(registry, best) : NULL;
        const bool is_as_good = other && preference(&items[best]) == preference(&items[i]);
        if (is_as_good && preference(&items[best]) > 0 &&
            !tn_registry_same_text(other->domain, op->domain))
            return fail_ambiguous(&items[best], &items[i]);
        if (!is_as_good || op->since_version > other->since_version) best = i;
    }
    *out_best = best;
    return TN_OK;
}

tn_status tn_registry_find_any(tn_registry *registry, const char *name,
                               const tn_operator_entry **out_entry) {
    size_t best = 0;
    pthread_mutex_lock(&registry->lock);
    tn_status status = search_any(registry, name, &best);
    if (status == TN_OK)
        status = best < registry->operators.count ? take_operator(registry, best, out_entry)
                                                  : fail_missing(registry, "", name, 0);
    pthread_mutex_unlock(&registry->lock);
    return status;
}

bool tn_registry_offers(tn_registry *registry, const tn_loaded_library *library, const char *domain,
                        const char *name) {
    bool is_found = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operators.count && !is_found; i++) {
        const tn_operator *op = tn_registry_operator(registry, i);
        is_found = registry->operators.items[i].library == library && strcmp(op->name, name) == 0 &&
                   (!domain || tn_registry_same_text(op->domain, domain));
    }
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

bool tn_registry_has_given(tn_registry *registry, const char *name) {
    const uint64_t name_hash = tn_hash_add_text(0, name);
    bool is_found = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operators.count && !is_found; i++)
        is_found = registry->operators.items[i].name_hash == name_hash &&
                   is_given(&registry->operators.items[i]) &&
                   strcmp(tn_registry_operator(registry, i)->name, name) == 0;
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

/* ----------------------------------------------------------------------------------------------
 * finding kernels */

bool tn_registry_is_kernel_of(const tn_kernel *kernel, const tn_operator *op) {
    const bool is_any = strcmp(kernel->op, "*") == 0 && tn_registry_same_text(kernel->domain, "*");
    if (is_any ? !(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->expression
               : !tn_registry_is_named(op, kernel->domain ? kernel->domain : "", kernel->op))
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

/* Of an operator's name, and of that of kernels for any. */
typedef struct kernel_hashes {
    uint64_t own, any;
} kernel_hashes;

static kernel_hashes hashes_of(const tn_operator *op) {
    return (kernel_hashes){tn_hash_add_text(0, op->name), tn_hash_add_text(0, "*")};
}

static bool is_of(const tn_registry_item *item, const kernel_hashes *hashes) {
    return item->name_hash == hashes->own || item->name_hash == hashes->any;
}

/* `entries` has room for all; their libraries have a count more. */
static tn_status list_kernels(tn_registry *registry, const tn_operator *op, const char *device,
                              const tn_kernel_entry **entries, uint32_t *inout_count) {
    const kernel_hashes hashes = hashes_of(op);
    tn_registry_list *list = &registry->kernels;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_of(&list->items[i], &hashes) ||
            !kernel_serves(registry, tn_registry_kernel(registry, i), op, device))
            continue;
        TN_TRY(tn_registry_make(registry, list, i));
        entries[(*inout_count)++] = list->items[i].entry;
        tn_library_retain(list->items[i].library);
    }
    return TN_OK;
}

tn_status tn_registry_kernels(tn_registry *registry, const tn_operator *op, const char *device,
                              const tn_kernel_entry ***out_entries, uint32_t *out_count) {
    uint32_t count = 0;
    tn_status status = TN_OK;
    pthread_mutex_lock(&registry->lock);
    const tn_kernel_entry **entries =
        tn_allocate_zero(registry->allocator, registry->kernels.count + 1, sizeof(*entries));
    if (entries) status = list_kernels(registry, op, device, entries, &count);
    pthread_mutex_unlock(&registry->lock);
    if (!entries) return tn_fail_memory("the list of kernels");
    if (status != TN_OK) {
        tn_registry_free_kernels(registry, entries, count);
        return status;
    }
    *out_entries = entries;
    *out_count = count;
    return TN_OK;
}

bool tn_registry_has_trait(tn_registry *registry, uint32_t traits) {
    bool has = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->kernels.count && !has; i++) {
        const tn_kernel *kernel = tn_registry_kernel(registry, i);
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

static tn_status list_rewrites(tn_registry *registry, const tn_rewrite_entry **entries,
                               uint32_t *inout_count) {
    tn_registry_list *list = &registry->rewrites;
    for (size_t i = 0; i < list->count; i++) {
        TN_TRY(tn_registry_make(registry, list, i));
        entries[(*inout_count)++] = list->items[i].entry;
        tn_library_retain(list->items[i].library);
    }
    return TN_OK;
}

tn_status tn_registry_rewrites(tn_registry *registry, const tn_rewrite_entry ***out_entries,
                               uint32_t *out_count) {
    uint32_t count = 0;
    tn_status status = TN_OK;
    pthread_mutex_lock(&registry->lock);
    const tn_rewrite_entry **entries =
        tn_allocate_zero(registry->allocator, registry->rewrites.count + 1, sizeof(*entries));
    if (entries) status = list_rewrites(registry, entries, &count);
    pthread_mutex_unlock(&registry->lock);
    if (!entries) return tn_fail_memory("the list of rewrites");
    if (status != TN_OK) {
        tn_registry_free_rewrites(registry, entries, count);
        return status;
    }
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
    const kernel_hashes hashes = hashes_of(op);
    const tn_kernel_entry *found = NULL;
    pthread_mutex_lock(&registry->lock);
    const tn_registry_item *items = registry->kernels.items;
    const size_t count = registry->kernels.count;
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        const tn_kernel *kernel = tn_registry_kernel(registry, i);
        if (!is_of(&items[i], &hashes) || strcmp(kernel->name, name) != 0) continue;
        const bool is_better = best == count || (library && is_library(items[i].library, library) &&
                                                 !is_library(items[best].library, library));
        if (is_better && (!library || strcmp(items[i].library->name, library->name) == 0) &&
            kernel_serves(registry, kernel, op, device))
            best = i;
    }
    if (best < count && tn_registry_make(registry, &registry->kernels, best) == TN_OK) {
        found = items[best].entry;
        tn_library_retain(found->library);
    }
    pthread_mutex_unlock(&registry->lock);
    return found;
}

tn_status tn_kernel_fits(const tn_kernel *kernel, const tn_operator *op) {
    if (!kernel || !op)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_kernel_fits needs a kernel and an operator");
    return tn_kernel_fields_check(kernel, op);
}
