/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the library that a plan's manifest names: among the loaded ones, then in the folders of
 * the search path, the same content under any name first, then the same file name. Declared in
 * library.h.
 */
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"

#include <dirent.h>
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

typedef struct search {
    tn_runtime *runtime;
    const tn_library_request *request;
    tn_arena *arena;
    const char *same_content; /* path, or null */
    const char *same_name;
    uint64_t same_name_hash;
    tn_text searched;
} search;

/* Whether the caller's list lets a library with this content in this folder load for the plan. */
static bool is_allowed(const tn_library_request *request, uint64_t hash, const char *path) {
    char text[17];
    if (request->allowed_count == 0) return true;
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
    for (uint32_t i = 0; i < request->allowed_count; i++) {
        const char *allowed = request->allowed[i];
        const size_t length = strlen(allowed);
        if (strcmp(allowed, text) == 0) return true;
        if (length && strncmp(path, allowed, length) == 0 &&
            (allowed[length - 1] == '/' || path[length] == '/'))
            return true;
    }
    return false;
}

static tn_status look_in_folder(search *s, const char *folder) {
    size_t count;
    const char *const *paths;
    tn_text_add_format(&s->searched, s->searched.length ? ", %s" : "%s", folder);
    TN_TRY(tn_library_list_folder(s->arena, folder, &count, &paths));
    for (size_t i = 0; i < count && !s->same_content; i++) {
        uint64_t hash;
        if (tn_library_hash_file(tn_runtime_allocator(s->runtime), paths[i], &hash) != TN_OK)
            continue;
        if (hash == s->request->hash && is_allowed(s->request, hash, paths[i])) {
            s->same_content = paths[i];
        } else if (!s->same_name && strcmp(tn_path_name(paths[i]), s->request->file_name) == 0) {
            s->same_name = paths[i];
            s->same_name_hash = hash;
        }
    }
    return TN_OK;
}

static tn_status look_everywhere(search *s) {
    for (size_t i = 0; i < tn_runtime_search_path_count(s->runtime) && !s->same_content; i++)
        TN_TRY(look_in_folder(s, tn_runtime_search_path(s->runtime, i)));
    const char *companions = tn_runtime_companion_folder(s->runtime);
    if (!s->same_content && companions[0]) TN_TRY(look_in_folder(s, companions));
    return TN_OK;
}

static tn_status fail_not_found(const search *s) {
    const tn_library_request *r = s->request;
    const char *where = s->searched.data ? s->searched.data : "no folders";
    if (s->same_name && r->is_exact)
        return tn_fail(TN_ERROR_NOT_FOUND,
                       "%s needs library '%s' (%s, content %016llx); searched %s: '%s' has content "
                       "%016llx, which exact "
                       "loading refuses: bring the library that the plan was built with, or build "
                       "the plan again",
                       r->needed_for, r->name, r->file_name, (unsigned long long)r->hash, where,
                       s->same_name, (unsigned long long)s->same_name_hash);
    if (s->same_name)
        return tn_fail(TN_ERROR_NOT_FOUND,
                       "%s needs library '%s' (%s, content %016llx); searched %s: '%s' (content "
                       "%016llx) is not among the "
                       "allowed ones: allow its content or its folder",
                       r->needed_for, r->name, r->file_name, (unsigned long long)r->hash, where,
                       s->same_name, (unsigned long long)s->same_name_hash);
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "%s needs library '%s' (%s, content %016llx), which is not loaded; searched %s: "
                   "found neither that file "
                   "nor that content: load it (--plugin %s) or add its folder (--plugin-dir DIR, "
                   "TENON_PLUGIN_PATH)",
                   r->needed_for, r->name, r->file_name, (unsigned long long)r->hash, where,
                   r->file_name);
}

/* One that is loaded already; the runtime's lock is not held by the caller. */
static tn_status find_loaded(tn_runtime *runtime, const tn_library_request *request,
                             tn_loaded_library **out_library) {
    tn_loaded_library *library = NULL;
    tn_status status = TN_OK;
    tn_runtime_lock(runtime);
    if (request->hash) library = tn_runtime_find_loaded(runtime, request->hash, NULL);
    if (!library) library = tn_runtime_find_loaded(runtime, 0, request->name);
    if (library && library->hash != request->hash && request->is_exact)
        status = tn_fail(TN_ERROR_NOT_FOUND,
                         "%s needs library '%s' with content %016llx; the loaded one has %016llx, "
                         "which exact loading refuses",
                         request->needed_for, request->name, (unsigned long long)request->hash,
                         (unsigned long long)library->hash);
    else if (library && library->hash && !is_allowed(request, library->hash, library->path))
        status = tn_fail(TN_ERROR_NOT_FOUND,
                         "%s needs library '%s', and '%s' is not among the allowed ones",
                         request->needed_for, request->name, library->path);
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

static tn_status find_on_path(tn_runtime *runtime, const tn_library_request *request,
                              tn_loaded_library **out_library) {
    search s = {.runtime = runtime, .request = request};
    tn_text_init(&s.searched, tn_runtime_allocator(runtime));
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &s.arena));
    tn_status status = look_everywhere(&s);
    if (status == TN_OK) {
        const char *path = s.same_content;
        if (!path && s.same_name && !request->is_exact &&
            is_allowed(request, s.same_name_hash, s.same_name))
            path = s.same_name;
        status = path ? tn_library_load(runtime, path, out_library) : fail_not_found(&s);
    }
    tn_text_deinit(&s.searched);
    tn_arena_destroy(s.arena);
    return status;
}

tn_status tn_library_find(tn_runtime *runtime, const tn_library_request *request,
                          tn_loaded_library **out_library) {
    tn_loaded_library *library = NULL;
    TN_TRY(find_loaded(runtime, request, &library));
    if (!library) TN_TRY(find_on_path(runtime, request, &library));
    notice_other_content(runtime, request, library);
    *out_library = library;
    return TN_OK;
}
