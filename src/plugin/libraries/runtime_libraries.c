/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's list of libraries, and its search path; see runtime.h and library_private.h. */
#include "base/file.h"
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/runtime_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

tn_loaded_library *tn_runtime_find_loaded(tn_runtime *runtime, uint64_t hash, const char *domain) {
    for (size_t i = 0; i < runtime->library_count; i++) {
        tn_loaded_library *library = runtime->libraries[i];
        if (library->hash == hash && strcmp(library->domain, domain) == 0) return library;
    }
    return NULL;
}

bool tn_library_has_namesake(const tn_loaded_library *library) {
    tn_runtime *runtime = library->runtime;
    bool is_found = false;
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < runtime->library_count && !is_found; i++)
        is_found = runtime->libraries[i] != library &&
                   strcmp(runtime->libraries[i]->name, library->name) == 0;
    tn_runtime_unlock(runtime);
    return is_found;
}

static void remove_from_list(tn_runtime *runtime, size_t index) {
    runtime->library_count--;
    memmove(&runtime->libraries[index], &runtime->libraries[index + 1],
            (runtime->library_count - index) * sizeof(*runtime->libraries));
}

/* Takes one that `by` replaces from the list; null: there is none. */
static tn_loaded_library *take_replaced(tn_runtime *runtime, const tn_loaded_library *by) {
    for (size_t i = 0; i < runtime->library_count; i++) {
        tn_loaded_library *replaced = runtime->libraries[i];
        if (atomic_load(&replaced->replaced_by) != by) continue;
        tn_library_give_up(replaced, true);
        remove_from_list(runtime, i);
        return replaced;
    }
    return NULL;
}

void tn_runtime_drop_replaced(tn_runtime *runtime, const tn_loaded_library *by) {
    tn_loaded_library *replaced;
    do {
        tn_runtime_lock(runtime);
        replaced = take_replaced(runtime, by);
        tn_runtime_unlock(runtime);
        if (!replaced) break;
        tn_runtime_log(runtime, replaced->modified_ns ? TN_LOG_WARNING : TN_LOG_INFO,
                       "'%s' is left out: '%s' is %s and has its operators", replaced->path,
                       by->path, by->is_wanted ? "the plan's" : "newer");
        tn_library_release(replaced);
    } while (replaced);
}

void tn_runtime_keep_replaced(tn_runtime *runtime, const tn_loaded_library *by) {
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < runtime->library_count; i++)
        if (atomic_load(&runtime->libraries[i]->replaced_by) == by)
            atomic_store(&runtime->libraries[i]->replaced_by, NULL);
    tn_runtime_unlock(runtime);
}

tn_status tn_runtime_add_loaded(tn_runtime *runtime, tn_loaded_library *library) {
    tn_runtime_lock(runtime);
    const tn_status status =
        tn_grow(&runtime->allocator, (void **)&runtime->libraries, &runtime->library_capacity,
                runtime->library_count + 1, sizeof(*runtime->libraries));
    if (status == TN_OK) {
        library->serial = ++runtime->library_serial;
        runtime->libraries[runtime->library_count++] = library;
    }
    tn_runtime_unlock(runtime);
    return status;
}

/* What functions that take a runtime begin with. */
static tn_status need_runtime(const tn_runtime *runtime) {
    return runtime ? TN_OK : tn_fail(TN_ERROR_ARGUMENT, "the runtime is null");
}

tn_status tn_runtime_load_library(tn_runtime *runtime, const char *path) {
    TN_TRY(need_runtime(runtime));
    return tn_library_load(runtime, path, NULL, NULL);
}

tn_status tn_runtime_load_library_as(tn_runtime *runtime, const char *path, const char *domain) {
    const tn_library_load_options options = {.domain = domain};
    TN_TRY(need_runtime(runtime));
    return tn_library_load(runtime, path, &options, NULL);
}

tn_status tn_runtime_register_library(tn_runtime *runtime, tn_library_entry entry) {
    TN_TRY(need_runtime(runtime));
    return tn_library_register(runtime, entry, NULL);
}

tn_status tn_runtime_add_library(tn_runtime *runtime, tn_library *library,
                                 void (*release)(tn_library *library)) {
    TN_TRY(need_runtime(runtime));
    return tn_library_add(runtime, library, release);
}

static tn_status fail_no_library(const tn_runtime *runtime, const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < runtime->library_count; i++)
        tn_nearest_offer(&nearest, runtime->libraries[i]->name);
    return tn_error_mend_nearest(tn_fail(TN_ERROR_NOT_FOUND, "no library '%s' is loaded", name),
                                 ": ", nearest.best);
}

/* By its path or its name; the number of libraries where there is none. */
static size_t find_named(const tn_runtime *runtime, const char *name) {
    size_t by_name = runtime->library_count;
    char resolved[4096];
    const char *path = strchr(name, '/') && realpath(name, resolved) ? resolved : name;
    for (size_t i = runtime->library_count; i-- > 0;) {
        if (strcmp(runtime->libraries[i]->path, path) == 0) return i;
        if (strcmp(runtime->libraries[i]->name, name) == 0) by_name = i;
    }
    return by_name;
}

/* Whether the name that was given means others, too. */
static bool is_repeated(const tn_runtime *runtime, size_t index, const char *name) {
    for (size_t i = index + 1; i < runtime->library_count; i++)
        if (strcmp(runtime->libraries[i]->name, name) == 0 &&
            strcmp(runtime->libraries[i]->path, runtime->libraries[index]->path) != 0)
            return true;
    return false;
}

tn_status tn_runtime_unload_library(tn_runtime *runtime, const char *name) {
    tn_status status = TN_OK;
    tn_loaded_library *gone = NULL;
    TN_TRY(need_runtime(runtime));
    if (!name) return tn_fail(TN_ERROR_ARGUMENT, "the name of a library is null");
    tn_runtime_lock(runtime);
    const size_t i = find_named(runtime, name);
    if (i == runtime->library_count) {
        status = fail_no_library(runtime, name);
    } else if (is_repeated(runtime, i, name)) {
        status = tn_fail(TN_ERROR_ARGUMENT,
                         "several libraries are called '%s', one of them '%s': expected a path",
                         name, runtime->libraries[i]->path);
    } else if (tn_library_give_up(runtime->libraries[i], false)) {
        gone = runtime->libraries[i];
        remove_from_list(runtime, i);
    }
    tn_runtime_unlock(runtime);
    tn_library_release(gone);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * search path */

tn_status tn_runtime_add_search_path(tn_runtime *runtime, const char *directory) {
    TN_TRY(need_runtime(runtime));
    if (!directory || !directory[0])
        return tn_fail(TN_ERROR_ARGUMENT, "the path of a directory is empty");
    tn_runtime_lock(runtime);
    char *copy = tn_arena_text(runtime->arena, directory);
    tn_status status = copy ? TN_OK : tn_fail_memory("the search path");
    if (status == TN_OK)
        status = tn_grow(&runtime->allocator, (void **)&runtime->paths, &runtime->path_capacity,
                         runtime->path_count + 1, sizeof(*runtime->paths));
    if (status == TN_OK) runtime->paths[runtime->path_count++] = copy;
    tn_runtime_unlock(runtime);
    return status;
}

size_t tn_runtime_search_path_count(tn_runtime *runtime) {
    return runtime->path_count;
}
const char *tn_runtime_search_path(tn_runtime *runtime, size_t index) {
    return runtime->paths[index];
}

/* `folder` null: files of one folder are not held against each other. */
static tn_status load_or_warn(tn_runtime *runtime, const char *path, const char *folder) {
    struct stat info = {0};
    tn_library_load_options options = {.source = folder};
    if (folder && stat(path, &info) == 0)
        options.modified_ns =
            (uint64_t)info.st_mtim.tv_sec * 1000000000u + 1 + (uint64_t)info.st_mtim.tv_nsec;
    const tn_status status = tn_library_load(runtime, path, &options, NULL);
    if (status != TN_OK && status != TN_ERROR_MEMORY) {
        const tn_error *error = tn_last_error();
        tn_runtime_log(runtime, TN_LOG_WARNING, "'%s' is left out: %s%s%s", path, error->where,
                       error->where[0] ? ": " : "", error->message);
    }
    return status;
}

/* One bad library does not keep the others out; where all are bad, the last one's reason is the
 * error. */
static tn_status load_all(tn_runtime *runtime, const char *folder, size_t count,
                          const char *const *paths) {
    tn_status bad = TN_OK;
    size_t loaded = 0;
    for (size_t i = 0; i < count; i++) {
        const tn_status status = load_or_warn(runtime, paths[i], folder);
        if (status == TN_ERROR_MEMORY) return status;
        loaded += status == TN_OK;
        if (status != TN_OK) bad = status;
    }
    return loaded == 0 ? bad : TN_OK;
}

tn_status tn_runtime_load_directory(tn_runtime *runtime, const char *directory) {
    tn_arena *arena;
    size_t count = 0;
    const char *const *paths;
    TN_TRY(need_runtime(runtime));
    if (!directory) return tn_fail(TN_ERROR_ARGUMENT, "the path of a directory is null");
    if (!tn_file_exists(directory))
        return tn_fail(TN_ERROR_NOT_FOUND, "there is no directory '%s'", directory);
    TN_TRY(tn_arena_create(&runtime->allocator, &arena));
    tn_status status = tn_library_list_folder(arena, directory, &count, &paths);
    if (status == TN_OK) status = load_all(runtime, directory, count, paths);
    tn_arena_destroy(arena);
    return status;
}

/* A path that has been loaded, or has been tried; in the runtime's arena. */
typedef struct loaded_companion {
    struct loaded_companion *next;
    const char *path;
} loaded_companion;

/* False: somebody has claimed it before. */
static tn_status claim(tn_runtime *runtime, const char *path, bool *out_is_new) {
    tn_status status = TN_OK;
    *out_is_new = false;
    tn_runtime_lock(runtime);
    const loaded_companion *found = runtime->loaded_companions;
    while (found && strcmp(found->path, path) != 0)
        found = found->next;
    if (!found) {
        loaded_companion *added = tn_arena_allocate(runtime->arena, 1, sizeof *added);
        if (added) added->path = tn_arena_text(runtime->arena, path);
        *out_is_new = added && added->path;
        if (!*out_is_new) status = tn_fail_memory("the list of kernel libraries");
        if (*out_is_new) {
            added->next = runtime->loaded_companions;
            runtime->loaded_companions = added;
        }
    }
    tn_runtime_unlock(runtime);
    return status;
}

static tn_status load_companion(tn_runtime *runtime, tn_arena *arena, const char *path,
                                bool (*has)(const void *user, const char *name), const void *user,
                                bool *inout_are_all) {
    bool fits = true, is_new = false;
    const char *listing = tn_arena_format(arena, "%s.kernels", path);
    if (!listing) return tn_fail_memory("a path");
    if (has && tn_file_exists(listing))
        TN_TRY(tn_library_listing_fits(runtime, arena, path, "kernels", has, user, &fits));
    *inout_are_all = *inout_are_all && fits;
    if (!fits) return TN_OK;
    TN_TRY(claim(runtime, path, &is_new));
    if (is_new && load_or_warn(runtime, path, NULL) == TN_ERROR_MEMORY) return TN_ERROR_MEMORY;
    return TN_OK;
}

tn_status tn_runtime_load_companions(tn_runtime *runtime,
                                     bool (*has)(const void *user, const char *name),
                                     const void *user) {
    tn_arena *arena;
    size_t count = 0;
    const char *const *paths;
    bool are_all = true;
    tn_runtime_lock(runtime);
    const bool are_loaded = runtime->has_companions;
    tn_runtime_unlock(runtime);
    if (are_loaded || !runtime->companions[0]) return TN_OK;
    TN_TRY(tn_arena_create(&runtime->allocator, &arena));
    tn_status status = tn_library_list_folder(arena, runtime->companions, &count, &paths);
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = load_companion(runtime, arena, paths[i], has, user, &are_all);
    tn_arena_destroy(arena);
    if (status != TN_OK || !are_all) return status;
    tn_runtime_lock(runtime);
    runtime->has_companions = true;
    tn_runtime_unlock(runtime);
    return TN_OK;
}
