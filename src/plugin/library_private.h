/* SPDX-License-Identifier: Apache-2.0 */
/* What library.c, library_search.c and runtime.c share. All under the runtime's lock, other than
 * what says so. */
#ifndef TN_PLUGIN_LIBRARY_PRIVATE_H
#define TN_PLUGIN_LIBRARY_PRIVATE_H

#include "base/text.h"
#include "plugin/library.h"

/* Takes back one load (or all); true when it was the last: the entries are out of the registry then
 * and the caller drops the library from its list and releases it. */
bool tn_library_give_up(tn_loaded_library *library, bool all);

/* --- the runtime's list (runtime.c) --- */
void tn_runtime_lock(tn_runtime *runtime);
void tn_runtime_unlock(tn_runtime *runtime);
/* Around the loading of a library, callbacks included; without the lock, and recursive. */
void tn_runtime_begin_loading(tn_runtime *runtime);
void tn_runtime_end_loading(tn_runtime *runtime);
/* By content (not 0) and domain ("": none); null when there is none. */
tn_loaded_library *tn_runtime_find_loaded(tn_runtime *runtime, uint64_t hash, const char *domain);
/* Takes the libraries that this one has replaced off the list and out of the registry. Without the
 * lock. */
void tn_runtime_drop_replaced(tn_runtime *runtime, const tn_loaded_library *by);
/* Those stay: it was not registered. Without the lock. */
void tn_runtime_keep_replaced(tn_runtime *runtime, const tn_loaded_library *by);
/* Without the lock. */
tn_status tn_runtime_add_loaded(tn_runtime *runtime, tn_loaded_library *library);
/* The library whose load callback runs, for register_operator and register_kernel; answers the one
 * before, whose load loads this one, or null. Without the lock. */
tn_loaded_library *tn_runtime_set_loading(tn_runtime *runtime, tn_loaded_library *library);
/* The last line that a library logged as an error or a warning, or "". */
const char *tn_runtime_last_log(tn_runtime *runtime);
void tn_runtime_clear_last_log(tn_runtime *runtime);

/* --- libraries/library_tables.c --- */
/* Of letters, digits, '_' and '-'. */
bool tn_library_is_plain_name(const char *name);
/* TN_ERROR_PLUGIN: says what is wrong. */
tn_status tn_library_check_table(const tn_library *table);
tn_status tn_library_add_tables(tn_registry *registry, tn_loaded_library *library);

/* --- the search for a library that a plan names (library_search.c) --- */
typedef struct tn_library_search {
    tn_runtime *runtime;
    const tn_library_request *request;
    tn_arena *arena;
    const char *same_content;        /* path, or null */
    const char *same_name, *refused; /* of other content; of that content, but not allowed */
    const char *named_in;            /* another library, which has the operator's name in it */
    uint64_t same_name_hash;
    bool is_name_allowed;
    tn_text searched; /* a line for each folder: what was found there */
} tn_library_search;
/* The message about a library that was not found, or was not to be taken (library_missing.c). */
tn_status tn_library_fail_search(const tn_library_search *search);
/* The same where one was found and loading it just failed. */
tn_status tn_library_fail_load(const tn_library_search *search, tn_status status, const char *path);
/* One that is loaded, but not to be taken: of other content, or not allowed. */
tn_status tn_library_fail_loaded(const tn_library_request *request,
                                 const tn_loaded_library *library, bool is_allowed);

/* Adds which library of the search path, not loaded, has an operator's name in it: "; on the search
 * path ...". Nothing where none has, or where it cannot be read. */
void tn_library_add_hint(tn_text *text, tn_runtime *runtime, const char *operator_name);

/* --- import/importers.c; run_only/importers.c has none --- */
/* The table of TN_IMPORTERS, or null. */
const struct tn_importers *tn_importers_services(void);
void tn_importers_deinit(tn_runtime *runtime);
/* Importers of a library are not found any more. */
void tn_importers_remove_library(tn_runtime *runtime, const tn_loaded_library *library);

/* --- search path --- */
size_t tn_runtime_search_path_count(tn_runtime *runtime);
const char *tn_runtime_search_path(tn_runtime *runtime, size_t index);
/* The folder of kernel companions beside the core library; "" when it cannot be known. */
const char *tn_runtime_companion_folder(const tn_runtime *runtime);
/* The folders of operators that come with Tenon; null behind the last one. */
const char *tn_runtime_operator_folder(const tn_runtime *runtime, size_t index);
/* Whether a library's file lies in a folder that comes with Tenon: kernels, operators, devices. */
bool tn_library_is_own(const tn_runtime *runtime, const char *path);
/* The names of a folder's *.so files in order; in `arena`. A folder that is not there has none. */
tn_status tn_library_list_folder(tn_arena *arena, const char *folder, size_t *out_count,
                                 const char *const **out_paths);
/* Whether one of the lines of LIBRARY.ENDING fits, a text file that says what the library provides;
 * those that begin with '#' say nothing. One that cannot be read is a warning in the log. */
tn_status tn_library_listing_fits(tn_runtime *runtime, tn_arena *arena, const char *library,
                                  const char *ending,
                                  bool (*fits)(const void *user, const char *line),
                                  const void *user, bool *out_fits);

#endif
