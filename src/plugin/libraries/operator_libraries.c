/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of operators that come with Tenon: the folder tenon/operators beside the core library.
 * A text file beside each, LIBRARY.so.operators, lists the domains that it has, one a line; it is
 * loaded when a network asks for an operator of such a domain that is not there.
 */
#include "base/file.h"
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"
#include "plugin/runtime_private.h"

#include <string.h>

static bool is_domain(const void *user, const char *line) {
    return strcmp(line, user) == 0;
}

static bool is_loaded(tn_runtime *runtime, const char *path) {
    bool is_there = false;
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < runtime->library_count && !is_there; i++)
        is_there = strcmp(tn_path_name(runtime->libraries[i]->path), tn_path_name(path)) == 0;
    tn_runtime_unlock(runtime);
    return is_there;
}

/* One that does not load is a warning. */
static tn_status load_listed(tn_runtime *runtime, tn_arena *arena, const char *path,
                             const char *domain, bool *inout_is_new) {
    bool fits = false;
    TN_TRY(tn_library_listing_fits(runtime, arena, path, "operators", is_domain, domain, &fits));
    if (!fits || is_loaded(runtime, path)) return TN_OK;
    const tn_status status = tn_library_load(runtime, path, NULL, NULL);
    if (status == TN_ERROR_MEMORY) return status;
    if (status == TN_OK)
        *inout_is_new = true;
    else
        tn_runtime_log(runtime, TN_LOG_WARNING, "'%s' is left out: %s", path,
                       tn_last_error()->message);
    return TN_OK;
}

static tn_status load_domain(tn_runtime *runtime, const char *domain, bool *out_is_new) {
    tn_arena *arena;
    tn_status status = TN_OK;
    *out_is_new = false;
    TN_TRY(tn_arena_create(&runtime->allocator, &arena));
    for (uint32_t i = 0; i < TN_COUNT(runtime->operator_folders) && status == TN_OK; i++) {
        size_t count = 0;
        const char *const *paths;
        const char *folder = runtime->operator_folders[i];
        if (*folder) status = tn_library_list_folder(arena, folder, &count, &paths);
        for (size_t k = 0; k < count && status == TN_OK; k++)
            status = load_listed(runtime, arena, paths[k], domain, out_is_new);
    }
    tn_arena_destroy(arena);
    return status;
}

tn_status tn_runtime_find_operator(tn_runtime *runtime, const char *domain, const char *name,
                                   uint32_t version, const tn_operator_entry **out_entry) {
    tn_error_copy error;
    bool is_new;
    const tn_status status =
        tn_registry_find_operator(runtime->registry, domain, name, version, out_entry);
    if (status != TN_ERROR_UNSUPPORTED || !*domain) return status;
    tn_error_save(&error);
    TN_TRY(load_domain(runtime, domain, &is_new));
    if (is_new)
        return tn_registry_find_operator(runtime->registry, domain, name, version, out_entry);
    tn_error_restore(&error);
    return status;
}

const char *tn_runtime_operator_folder(const tn_runtime *runtime, size_t index) {
    return index < TN_COUNT(runtime->operator_folders) ? runtime->operator_folders[index] : NULL;
}
