/* SPDX-License-Identifier: Apache-2.0 */
/* What library.c, library_search.c and runtime.c share. All under the runtime's lock, except
 * hashing. */
#ifndef TN_PLUGIN_LIBRARY_PRIVATE_H
#define TN_PLUGIN_LIBRARY_PRIVATE_H

#include "plugin/library.h"

tn_status tn_library_hash_file(const tn_allocator *allocator, const char *path, uint64_t *out_hash);
/* Takes back one load (or all); true when it was the last: the entries are out of the registry then
 * and the caller drops the library from its list and releases it. */
bool tn_library_give_up(tn_loaded_library *library, bool all);

/* --- the runtime's list (runtime.c) --- */
void tn_runtime_lock(tn_runtime *runtime);
void tn_runtime_unlock(tn_runtime *runtime);
/* By hash (not 0) or, with hash 0, by name; null when there is none. */
tn_loaded_library *tn_runtime_find_loaded(tn_runtime *runtime, uint64_t hash, const char *name);
tn_status tn_runtime_add_loaded(tn_runtime *runtime, tn_loaded_library *library);
/* The library whose load callback runs, for register_operator and register_kernel. */
void tn_runtime_set_loading(tn_runtime *runtime, tn_loaded_library *library);
/* The last line that a library logged as an error, or "". */
const char *tn_runtime_last_log(tn_runtime *runtime);

/* --- search path --- */
size_t tn_runtime_search_path_count(tn_runtime *runtime);
const char *tn_runtime_search_path(tn_runtime *runtime, size_t index);
/* The folder of kernel companions beside the core library; "" when it cannot be known. */
const char *tn_runtime_companion_folder(tn_runtime *runtime);
/* The names of a folder's *.so files in order; in `arena`. A folder that is not there has none. */
tn_status tn_library_list_folder(tn_arena *arena, const char *folder, size_t *out_count,
                                 const char *const **out_paths);

#endif
