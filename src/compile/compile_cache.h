/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of compiled libraries. An entry is KEY.txt, which names the library's content and
 * those of the files that it was compiled from, and KEY-CONTENT.so. Both are renamed into place, so
 * that processes that share the folder see whole entries or none; one that is damaged, or whose
 * files have changed, is no entry.
 */
#ifndef TN_COMPILE_COMPILE_CACHE_H
#define TN_COMPILE_COMPILE_CACHE_H

#include "base/memory.h"

typedef struct tn_compile_cache {
    tn_arena *arena; /* of all paths */
    const tn_allocator *allocator;
    const char *folder;
} tn_compile_cache;

/* Makes the folder, and those above it, where they are not there. TN_ERROR_IO when it cannot be
 * made or written, is another user's, or may be written by others. `folder` null: the user's own by
 * the environment, when it may be read; TN_ERROR_ARGUMENT when there is none. */
tn_status tn_compile_cache_open(tn_arena *arena, const tn_allocator *allocator, const char *folder,
                                bool reads_environment, tn_compile_cache *out_cache);
/* The path of a key's library, in the cache's arena, or null when there is no sound entry. Fails
 * with TN_ERROR_MEMORY alone. */
tn_status tn_compile_cache_find(const tn_compile_cache *cache, uint64_t key, const char **out_path);
/* Takes a compiled file into the cache. `dependencies` is what the compiler wrote of the files that
 * it read (by -MMD), but for `source`; without that file the entry is not found again. `libraries`
 * with a '/' are files that it depends on too. */
typedef struct tn_compile_result {
    const char *library, *dependencies, *source;
    uint32_t library_count;
    const char *const *libraries;
} tn_compile_result;
tn_status tn_compile_cache_add(const tn_compile_cache *cache, uint64_t key,
                               const tn_compile_result *result, const char **out_path);

#endif
