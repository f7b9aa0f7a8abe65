/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's entries; see compile_cache.h. Which files a compiler read is dependencies.c. */
#include "compile/compile_cache.h"
#include "base/code_cache/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "compile/dependencies.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "tenon-compile 1"

tn_status tn_compile_cache_open(tn_arena *arena, const tn_allocator *allocator, const char *folder,
                                bool reads_environment, tn_compile_cache *out_cache) {
    TN_TRY(tn_cache_folder_open(arena, folder, "tenon", reads_environment, &folder));
    *out_cache = (tn_compile_cache){.arena = arena, .allocator = allocator, .folder = folder};
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * finding */

/* False when there is no such file, or it cannot be read. */
static bool hash_file(const tn_compile_cache *cache, const char *path, uint64_t *out_hash) {
    tn_file file;
    if (tn_file_map(cache->allocator, path, &file) != TN_OK) {
        tn_error_clear();
        return false;
    }
    *out_hash = tn_hash(file.data, file.bytes);
    tn_file_unmap(&file);
    return true;
}

static const char *library_path(const tn_compile_cache *cache, uint64_t key, uint64_t hash) {
    return tn_arena_format(cache->arena, "%s/%016" PRIx64 "-%016" PRIx64 ".so", cache->folder, key,
                           hash);
}

/* "WORD HASH rest": false when the line is not so. */
static bool read_line(const char *line, const char *word, uint64_t *out_hash,
                      const char **out_rest) {
    const size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || line[length] != ' ') return false;
    const char *digits = line + length + 1;
    if (strspn(digits, "0123456789abcdef") != 16) return false;
    *out_hash = strtoull(digits, NULL, 16);
    *out_rest = digits + 16;
    return true;
}

/* Whether a file is as it was when the entry was made. */
static bool is_unchanged(const tn_compile_cache *cache, const char *path, uint64_t hash) {
    uint64_t now;
    return hash_file(cache, path, &now) && now == hash;
}

/* Takes the lines of an entry apart; null when it is not whole, or something has changed. */
static const char *check_entry(const tn_compile_cache *cache, uint64_t key, char *text) {
    const char *path = NULL, *rest;
    uint64_t hash;
    int number = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, number++) {
        *end = 0;
        if (number == 0) {
            if (strcmp(line, FIRST_LINE) != 0) return NULL;
        } else if (number == 1) {
            if (!read_line(line, "library", &hash, &rest) || rest[0]) return NULL;
            path = library_path(cache, key, hash);
            if (!path || !is_unchanged(cache, path, hash)) return NULL;
        } else if (strcmp(line, "end") == 0) {
            return end[1] ? NULL : path;
        } else if (!read_line(line, "input", &hash, &rest) || rest[0] != ' ' ||
                   !is_unchanged(cache, rest + 1, hash)) {
            return NULL;
        }
    }
    return NULL;
}

tn_status tn_compile_cache_find(const tn_compile_cache *cache, uint64_t key,
                                const char **out_path) {
    tn_file file;
    const char *entry = tn_arena_format(cache->arena, "%s/%016" PRIx64 ".txt", cache->folder, key);
    if (!entry) return tn_fail_memory("a path");
    *out_path = NULL;
    if (tn_file_map(cache->allocator, entry, &file) != TN_OK) {
        if (tn_last_error()->status == TN_ERROR_MEMORY) return TN_ERROR_MEMORY;
        tn_error_clear();
        return TN_OK;
    }
    char *text = tn_arena_allocate(cache->arena, 1, file.bytes + 1);
    if (text) memcpy(text, file.data, file.bytes);
    const bool is_text = text && strlen(text) == file.bytes;
    tn_file_unmap(&file);
    if (!text) return tn_fail_memory("an entry of the cache");
    if (is_text) *out_path = check_entry(cache, key, text);
    /* The newest file of a folder is the one that counts: the text is this one again. */
    if (*out_path) (void)utimensat(AT_FDCWD, *out_path, NULL, 0);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * adding */

/* A line for a file that the library depends on; the entry is worthless without it. */
static bool add_input(const tn_compile_cache *cache, const char *path, tn_text *entry) {
    uint64_t hash;
    if (strchr(path, '\n') || !hash_file(cache, path, &hash)) return false;
    tn_text_add_format(entry, "input %016" PRIx64 " %s\n", hash, path);
    return true;
}

/* False when it cannot be said what the library was made from. */
static bool add_inputs(const tn_compile_cache *cache, const tn_compile_result *result,
                       tn_text *entry) {
    tn_dependencies list;
    if (!tn_dependencies_read(cache->arena, cache->allocator, result->dependencies, &list))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.paths[i], result->source) != 0 && !add_input(cache, list.paths[i], entry))
            return false;
    for (uint32_t i = 0; i < result->library_count; i++)
        if (strchr(result->libraries[i], '/') && !add_input(cache, result->libraries[i], entry))
            return false;
    return true;
}

static tn_status write_entry(const tn_compile_cache *cache, uint64_t key, uint64_t hash,
                             const tn_compile_result *result) {
    tn_text entry;
    tn_status status = TN_OK;
    const char *path = tn_arena_format(cache->arena, "%s/%016" PRIx64 ".txt", cache->folder, key);
    if (!path) return tn_fail_memory("a path");
    tn_text_init(&entry, cache->allocator);
    tn_text_add_format(&entry, FIRST_LINE "\nlibrary %016" PRIx64 "\n", hash);
    const bool is_known = add_inputs(cache, result, &entry);
    tn_text_add(&entry, "end\n");
    if (entry.is_failed)
        status = tn_fail_memory("an entry of the cache");
    else if (is_known)
        status = tn_file_write(cache->allocator, path, entry.data, entry.length);
    tn_text_deinit(&entry);
    return status;
}

tn_status tn_compile_cache_add(const tn_compile_cache *cache, uint64_t key,
                               const tn_compile_result *result, const char **out_path) {
    uint64_t hash;
    if (!hash_file(cache, result->library, &hash))
        return tn_fail(TN_ERROR_PLUGIN,
                       "the compiler says that all is well, and wrote no library to '%s'",
                       result->library);
    const char *path = library_path(cache, key, hash);
    if (!path) return tn_fail_memory("a path");
    if (rename(result->library, path) != 0)
        return tn_fail(TN_ERROR_IO, "cannot write '%s': %s", path, strerror(errno));
    TN_TRY(write_entry(cache, key, hash, result));
    *out_path = path;
    return TN_OK;
}
