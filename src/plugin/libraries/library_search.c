/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the library that a plan's manifest names: among the loaded ones, then in the folders of
 * the search path, the same content under any name first, then the same file name. Declared in
 * library.h.
 */
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "plugin/devices.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_with_so(const char *name) {
    const size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

tn_status tn_library_list_folder(tn_arena *arena, const char *folder, size_t *out_count,
                                 const char *const **out_paths) {
    const char **paths = NULL;
    size_t count = 0, capacity = 0;
    DIR *directory = opendir(folder);
    tn_status status = TN_OK;
    for (struct dirent *entry;
         directory && status == TN_OK && (entry = readdir(directory)) != NULL;) {
        if (!ends_with_so(entry->d_name)) continue;
        if (count == capacity) {
            const size_t larger = capacity ? capacity * 2 : 16;
            const char **copy = tn_arena_allocate(arena, larger, sizeof(*copy));
            if (copy && count) memcpy(copy, paths, count * sizeof(*copy));
            paths = copy;
            capacity = larger;
        }
        const char *path = paths ? tn_path_join(arena, folder, entry->d_name) : NULL;
        if (path)
            paths[count++] = path;
        else
            status = tn_fail_memory("a folder's list");
    }
    if (directory) closedir(directory);
    if (status == TN_OK && count) qsort(paths, count, sizeof(*paths), compare_text);
    *out_count = count;
    *out_paths = paths;
    return status;
}

/* Whether `path` lies in the folder; both as they really are, links followed. */
static bool lies_in(const char *path, const char *folder) {
    char real_path[PATH_MAX], real_folder[PATH_MAX];
    if (!realpath(path, real_path) || !realpath(folder, real_folder)) return false;
    const size_t length = strlen(real_folder);
    return strncmp(real_path, real_folder, length) == 0 &&
           (real_path[length] == '/' || real_path[length] == 0 || length == 1);
}

bool tn_library_is_own(const tn_runtime *runtime, const char *path) {
    if (lies_in(path, tn_runtime_companion_folder(runtime)) ||
        lies_in(path, tn_runtime_device_folder(runtime)))
        return true;
    const char *folder;
    for (size_t i = 0; (folder = tn_runtime_operator_folder(runtime, i)) != NULL; i++)
        if (lies_in(path, folder)) return true;
    return false;
}

/* Whether the caller's list lets a library with this content in this folder load for the plan. The
 * engine's own may always: who could write there could change the core library as well. */
static bool is_allowed(const tn_runtime *runtime, const tn_library_request *request, uint64_t hash,
                       const char *path) {
    char text[17];
    if (request->allowed_count == 0 || tn_library_is_own(runtime, path)) return true;
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
    for (uint32_t i = 0; i < request->allowed_count; i++)
        if (strcmp(request->allowed[i], text) == 0 || lies_in(path, request->allowed[i]))
            return true;
    return false;
}

/* Whether the file has the name in it, as a text of its own. */
static bool has_name(const tn_file *file, const char *name) {
    const size_t length = strlen(name) + 1; /* with its end */
    const char *at = file->data, *end = at + file->bytes;
    for (; at + length < end; at++) {
        at = memchr(at, 0, (size_t)(end - at));
        if (!at || (size_t)(end - at) <= length) return false;
        if (memcmp(at + 1, name, length) == 0) return true;
    }
    return false;
}

/* Looks at one file, and notes what it is. */
static tn_status look_at(tn_library_search *s, const char *path) {
    const tn_library_request *request = s->request;
    tn_file file;
    const tn_status status = tn_file_map(tn_runtime_allocator(s->runtime), path, &file);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) {
        tn_text_add_format(&s->searched, ", '%.100s' cannot be read", tn_path_name(path));
        return TN_OK;
    }
    const uint64_t hash = tn_hash(file.data, file.bytes);
    const bool is_taken = is_allowed(s->runtime, request, hash, path);
    if (hash == request->hash && is_taken) {
        s->same_content = path;
    } else if (hash == request->hash) {
        s->refused = path;
        tn_text_add_format(&s->searched, ", '%.100s' has that content", tn_path_name(path));
    } else if (strcmp(tn_path_name(path), request->file_name) == 0) {
        tn_text_add_format(&s->searched, ", '%.100s' has content %016llx", tn_path_name(path),
                           (unsigned long long)hash);
        if (!s->same_name || (!s->is_name_allowed && is_taken)) {
            s->same_name = path;
            s->same_name_hash = hash;
            s->is_name_allowed = is_taken;
        }
    } else if (request->operator_name && has_name(&file, request->operator_name)) {
        tn_text_add_format(&s->searched, ", '%.100s' speaks of '%.100s'", tn_path_name(path),
                           request->operator_name);
        if (!s->named_in) s->named_in = path;
    }
    tn_file_unmap(&file);
    return TN_OK;
}

static tn_status look_in_folder(tn_library_search *s, const char *folder) {
    size_t count;
    const char *const *paths;
    tn_text_add_format(&s->searched, "\n  searched %.300s: ", folder);
    if (!tn_file_exists(folder)) {
        tn_text_add(&s->searched, "there is no such folder");
        return TN_OK;
    }
    TN_TRY(tn_library_list_folder(s->arena, folder, &count, &paths));
    tn_text_add_format(&s->searched, count == 1 ? "%zu library" : "%zu libraries", count);
    const size_t length = s->searched.length;
    for (size_t i = 0; i < count && !s->same_content; i++)
        TN_TRY(look_at(s, paths[i]));
    if (count > 0 && s->searched.length == length)
        tn_text_add(&s->searched, count == 1 ? ", not this one" : ", none of them this one");
    return TN_OK;
}

static tn_status look_everywhere(tn_library_search *s) {
    for (size_t i = 0; i < tn_runtime_search_path_count(s->runtime) && !s->same_content; i++)
        TN_TRY(look_in_folder(s, tn_runtime_search_path(s->runtime, i)));
    const char *companions = tn_runtime_companion_folder(s->runtime);
    if (!s->same_content && companions[0]) TN_TRY(look_in_folder(s, companions));
    const char *folder;
    for (size_t i = 0; (folder = tn_runtime_operator_folder(s->runtime, i)) != NULL; i++)
        if (!s->same_content && tn_file_exists(folder)) TN_TRY(look_in_folder(s, folder));
    return TN_OK;
}

/* Whether a loaded library has the operator that is asked for. Under another domain than the plan's
 * its name alone counts. */
static bool has_operator(tn_runtime *runtime, const tn_library_request *request,
                         const tn_loaded_library *library) {
    const bool is_there = strcmp(library->domain, request->domain) == 0;
    return request->operator_name &&
           tn_registry_offers(tn_runtime_registry(runtime), library,
                              is_there ? request->operator_domain : NULL, request->operator_name);
}

/* Whether the plan needs this library, too, as another one than the one that is asked for. */
static bool is_another(const tn_library_request *request, const tn_loaded_library *library) {
    for (size_t i = 0; i < request->content_count; i++)
        if (library->hash && request->contents[i] == library->hash) return true;
    return false;
}

/* How well a loaded library fits; names may repeat. Above SURE nothing on the search path is
 * better: the content is the same, or the very operator is there and could not be registered twice.
 */
enum { SURE = 16 };
static int rank(tn_runtime *runtime, const tn_library_request *request,
                const tn_loaded_library *library) {
    const bool is_there = strcmp(library->domain, request->domain) == 0;
    const bool is_file = strcmp(tn_path_name(library->path), request->file_name) == 0;
    if (request->hash && library->hash == request->hash) return 2 * SURE + is_there;
    if (strcmp(library->name, request->name) != 0) return 0;
    const bool is_offered = has_operator(runtime, request, library);
    if (!is_offered && is_another(request, library)) return 0;
    const bool is_sure = is_there && !is_another(request, library) &&
                         (request->operator_name ? is_offered : is_file);
    return 1 + is_file + (is_there ? 2 : 0) + (is_offered ? 4 : 0) + (is_sure ? SURE : 0);
}

static tn_loaded_library *find_best(tn_runtime *runtime, const tn_library_request *request,
                                    int least_rank) {
    tn_loaded_library *best = NULL;
    for (size_t i = 0; i < tn_runtime_library_count(runtime); i++) {
        tn_loaded_library *library = tn_runtime_library(runtime, i);
        const int found = rank(runtime, request, library);
        if (found < least_rank) continue;
        best = library;
        least_rank = found + 1;
    }
    return best;
}

/* One that is loaded already; the runtime's lock is not held by the caller. */
static tn_status find_loaded(tn_runtime *runtime, const tn_library_request *request, int least_rank,
                             tn_loaded_library **out_library) {
    tn_status status = TN_OK;
    tn_runtime_lock(runtime);
    tn_loaded_library *library = find_best(runtime, request, least_rank);
    if (library && library->hash != request->hash && request->is_exact)
        status = tn_library_fail_loaded(request, library, true);
    else if (library && library->hash &&
             !is_allowed(runtime, request, library->hash, library->path))
        status = tn_library_fail_loaded(request, library, false);
    else if (library)
        *out_library = tn_library_retain(library);
    tn_runtime_unlock(runtime);
    return status;
}

static void notice_other_content(tn_runtime *runtime, const tn_library_request *request,
                                 const tn_loaded_library *library) {
    if (library->hash != request->hash)
        tn_runtime_log(runtime, TN_LOG_WARNING,
                       "library '%s' (%s) has content %016llx; the plan was built with %016llx",
                       library->name, library->path[0] ? library->path : "linked in",
                       (unsigned long long)library->hash, (unsigned long long)request->hash);
}

static tn_status load_found(tn_library_search *s, tn_loaded_library **out_library) {
    const char *path = s->same_content;
    if (!path && s->same_name && !s->request->is_exact && s->is_name_allowed) path = s->same_name;
    if (!path) TN_TRY(find_loaded(s->runtime, s->request, 1, out_library));
    if (!path) return *out_library ? TN_OK : tn_library_fail_search(s);
    const tn_library_load_options options = {.domain = s->request->domain,
                                             .is_wanted = path == s->same_content};
    const tn_status status = tn_library_load(s->runtime, path, &options, out_library);
    return status == TN_OK ? status : tn_library_fail_load(s, status, path);
}

static tn_status find_on_path(tn_runtime *runtime, const tn_library_request *request,
                              tn_loaded_library **out_library) {
    tn_library_search s = {.runtime = runtime, .request = request};
    tn_text_init(&s.searched, tn_runtime_allocator(runtime));
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &s.arena));
    tn_status status = look_everywhere(&s);
    if (status == TN_OK && s.searched.is_failed) status = tn_fail_memory("a message");
    if (status == TN_OK) status = load_found(&s, out_library);
    tn_text_deinit(&s.searched);
    tn_arena_destroy(s.arena);
    return status;
}

/* A library that is loaded under another domain than the plan's is loaded again, under that. */
static tn_status move_to_domain(tn_runtime *runtime, const tn_library_request *request,
                                tn_loaded_library **inout_library) {
    tn_loaded_library *library = *inout_library, *moved = NULL;
    if (!library->path[0] || strcmp(library->domain, request->domain) == 0) return TN_OK;
    const tn_library_load_options options = {.domain = request->domain};
    const tn_status status = tn_library_load(runtime, library->path, &options, &moved);
    tn_library_release(library);
    *inout_library = moved;
    return tn_error_at(status, "%.300s needs library '%.100s'", request->needed_for, request->name);
}

tn_status tn_library_find(tn_runtime *runtime, const tn_library_request *request,
                          tn_loaded_library **out_library) {
    tn_loaded_library *library = NULL;
    TN_TRY(find_loaded(runtime, request, SURE, &library));
    if (!library) TN_TRY(find_on_path(runtime, request, &library));
    TN_TRY(move_to_domain(runtime, request, &library));
    notice_other_content(runtime, request, library);
    *out_library = library;
    return TN_OK;
}

/* The first library of a folder that has the name in it; null when none has. */
static const char *find_named(tn_runtime *runtime, tn_arena *arena, const char *folder,
                              const char *name) {
    size_t count = 0;
    const char *const *paths;
    if (tn_library_list_folder(arena, folder, &count, &paths) != TN_OK) return NULL;
    for (size_t i = 0; i < count; i++) {
        tn_file file;
        if (tn_file_map(tn_runtime_allocator(runtime), paths[i], &file) != TN_OK) continue;
        const bool is_named = has_name(&file, name);
        tn_file_unmap(&file);
        if (is_named) return paths[i];
    }
    return NULL;
}

void tn_library_add_hint(tn_text *text, tn_runtime *runtime, const char *operator_name) {
    tn_arena *arena;
    const char *path = NULL;
    if (!operator_name || !operator_name[0] ||
        tn_arena_create(tn_runtime_allocator(runtime), &arena) != TN_OK)
        return;
    for (size_t i = 0; i < tn_runtime_search_path_count(runtime) && !path; i++)
        path = find_named(runtime, arena, tn_runtime_search_path(runtime, i), operator_name);
    if (path)
        tn_text_add_format(text,
                           "; on the search path '%.200s' speaks of '%.100s': --plugin %.200s",
                           path, operator_name, path);
    tn_arena_destroy(arena);
}
