/* SPDX-License-Identifier: Apache-2.0 */
/* Visiting what is registered: callbacks run without the lock, and may load and unload libraries.
 * What is added meanwhile is visited, too. */
#include "plugin/registry_private.h"

static tn_library_info info_of(const tn_loaded_library *library) {
    return (tn_library_info){.size = sizeof(tn_library_info),
                             .name = library->name,
                             .version = library->version,
                             .path = library->path,
                             .hash = library->hash,
                             .domain = library->domain};
}

static uint32_t count_items(const tn_registry_list *list, const tn_loaded_library *library) {
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].library == library;
    return count;
}

void tn_registry_count_library(tn_registry *registry, const tn_loaded_library *library,
                               tn_library_info *out_info) {
    *out_info = info_of(library);
    pthread_mutex_lock(&registry->lock);
    out_info->operator_count = count_items(&registry->operators, library);
    out_info->kernel_count = count_items(&registry->kernels, library);
    out_info->rewrite_count = count_items(&registry->rewrites, library);
    pthread_mutex_unlock(&registry->lock);
}

/* The item after one, with its entry and a count on its library; false: there is none, or no memory
 * for it. */
static bool next(tn_registry *registry, tn_registry_list *list, tn_registry_item *item) {
    const uint64_t after = item->serial;
    size_t i = 0;
    pthread_mutex_lock(&registry->lock);
    while (i < list->count && list->items[i].serial <= after)
        i++;
    const bool is_found = i < list->count && tn_registry_make(registry, list, i) == TN_OK;
    if (is_found) {
        *item = list->items[i];
        tn_library_retain(item->library);
    }
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}

void tn_registry_visit_operators(tn_registry *registry,
                                 bool (*visit)(void *user, const tn_operator *op,
                                               const tn_library_info *library),
                                 void *user) {
    tn_registry_item item = {0};
    bool goes_on = true;
    while (goes_on && next(registry, &registry->operators, &item)) {
        const tn_library_info info = info_of(item.library);
        goes_on = visit(user, ((const tn_operator_entry *)item.entry)->op, &info);
        tn_library_release(item.library);
    }
}

void tn_registry_visit_kernels(tn_registry *registry,
                               bool (*visit)(void *user, const tn_kernel *kernel,
                                             const tn_library_info *library),
                               void *user) {
    tn_registry_item item = {0};
    bool goes_on = true;
    while (goes_on && next(registry, &registry->kernels, &item)) {
        const tn_library_info info = info_of(item.library);
        goes_on = visit(user, ((const tn_kernel_entry *)item.entry)->kernel, &info);
        tn_library_release(item.library);
    }
}

void tn_registry_visit_rewrites(tn_registry *registry,
                                bool (*visit)(void *user, const tn_rewrite *rewrite,
                                              const tn_library_info *library),
                                void *user) {
    tn_registry_item item = {0};
    bool goes_on = true;
    while (goes_on && next(registry, &registry->rewrites, &item)) {
        const tn_library_info info = info_of(item.library);
        goes_on = visit(user, ((const tn_rewrite_entry *)item.entry)->rewrite, &info);
        tn_library_release(item.library);
    }
}
