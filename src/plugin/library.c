/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading, counting and giving up libraries; see library.h. Finding the one that a plan wants is
 * library_search.c.
 */
#include "plugin/library.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "plugin/crash.h"
#include "plugin/library_private.h"
#include "plugin/registry_tables.h"
#include "plugin/registry.h"
#include "plugin/runtime_parts.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tn_library_private {
    tn_arena *arena;
    atomic_uint references;
    uint32_t load_count; /* by the runtime's callers; together they hold one reference. Guarded by
                            the runtime's lock */
    bool is_listed;
    void (*release)(tn_library *library); /* of one that was added; else null */
};

tn_arena *tn_library_arena(tn_loaded_library *library) {
    return library->private_part->arena;
}

uint32_t tn_library_minor(const tn_loaded_library *library) {
    return library->table->abi_minor;
}

tn_loaded_library *tn_library_retain(tn_loaded_library *library) {
    if (library) atomic_fetch_add(&library->private_part->references, 1);
    return library;
}

void tn_library_release(tn_loaded_library *library) {
    if (!library || atomic_fetch_sub(&library->private_part->references, 1) != 1) return;
    tn_runtime *runtime = library->runtime;
    tn_crash_mark mark;
    if (library->table &&
        library->table->size >= offsetof(tn_library, unload) + sizeof(library->table->unload) &&
        library->table->unload && library->private_part->is_listed) {
        tn_crash_enter(&mark, NULL, "unload", library->path);
        library->table->unload(tn_runtime_host(runtime), library->table);
        tn_crash_leave(&mark);
    }
    if (library->private_part->release) library->private_part->release(library->table);
    tn_arena_destroy(library->private_part->arena); /* the library itself lies in it */
}

/* ----------------------------------------------------------------------------------------------
 * making */

/* What is known of a library before its code runs. */
typedef struct origin {
    const char *path; /* "": linked in */
    uint64_t hash;
    const char *domain, *source;
    uint64_t modified_ns;
    bool is_wanted;
    bool is_constant; /* its tables are, and have the lifetime of the process */
} origin;

static tn_status create_library(tn_runtime *runtime, const origin *from,
                                tn_loaded_library **out_library) {
    tn_arena *arena;
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &arena));
    if (from->is_constant) tn_arena_lend_texts(arena);
    tn_loaded_library *library = tn_arena_allocate(arena, 1, sizeof(*library));
    struct tn_library_private *own = tn_arena_allocate(arena, 1, sizeof(*own));
    const char *path = tn_arena_text(arena, from->path);
    const char *domain = tn_arena_text(arena, from->domain);
    const char *source = tn_arena_text(arena, from->source);
    if (!library || !own || !path || !domain || !source) {
        tn_arena_destroy(arena);
        return tn_fail_memory("a library");
    }
    *library = (tn_loaded_library){.runtime = runtime,
                                   .path = path,
                                   .hash = from->hash,
                                   .domain = domain,
                                   .source = source,
                                   .modified_ns = from->modified_ns,
                                   .is_wanted = from->is_wanted,
                                   .is_constant = from->is_constant,
                                   .private_part = own};
    own->arena = arena;
    atomic_init(&own->references, 1);
    *out_library = library;
    return TN_OK;
}

/* Its load has no call to fail by: an error that it logs is its reason, too. */
static tn_status load_failed(tn_runtime *runtime, tn_status status) {
    const bool is_known = status > TN_OK && status <= TN_ERROR_INTERNAL;
    if (tn_last_error()->status != TN_OK) return tn_last_error()->status;
    if (is_known && tn_runtime_last_log(runtime)[0])
        return tn_fail(status, "its load failed: %s", tn_runtime_last_log(runtime));
    if (status == TN_ERROR_MEMORY) return tn_fail_memory("its load");
    return tn_fail(TN_ERROR_PLUGIN, "its load returned %d without a reason", status);
}

static tn_status call_load(tn_runtime *runtime, tn_loaded_library *library) {
    tn_library *table = library->table;
    tn_crash_mark mark;
    if (table->size < offsetof(tn_library, load) + sizeof(table->load) || !table->load)
        return TN_OK;
    tn_error_clear();
    tn_runtime_clear_last_log(runtime);
    tn_loaded_library *outer = tn_runtime_set_loading(runtime, library);
    tn_crash_enter(&mark, NULL, "load", library->path);
    const tn_status status = table->load(tn_runtime_host(runtime), table);
    tn_crash_leave(&mark);
    tn_runtime_set_loading(runtime, outer);
    return status == TN_OK ? TN_OK : load_failed(runtime, status);
}

/* What the library offers is found no more. */
static void remove_entries(tn_loaded_library *library) {
    tn_registry_remove_library(tn_runtime_registry(library->runtime), library);
    tn_importers_remove_library(library->runtime, library);
}

/* Registers everything, or nothing. */
static tn_status register_tables(tn_runtime *runtime, tn_loaded_library *library) {
    tn_library *table = library->table;
    tn_registry *registry = tn_runtime_registry(runtime);
    TN_TRY(tn_library_check_table(table));
    library->name = tn_arena_text(library->private_part->arena, table->name);
    library->version =
        tn_arena_text(library->private_part->arena, table->version ? table->version : "");
    if (!library->name || !library->version) return tn_fail_memory("a library");
    tn_status status = tn_library_add_tables(registry, library);
    if (status == TN_OK) status = call_load(runtime, library);
    if (status != TN_OK) {
        remove_entries(library);
        tn_runtime_keep_replaced(runtime, library);
        return tn_error_in(status, .library = library->name);
    }
    library->private_part->is_listed = true;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * loading */

/* A caller's load of a library that is there: the first of them holds a reference. */
static void count_load(tn_loaded_library *library) {
    if (library->private_part->load_count++ == 0) tn_library_retain(library);
}

static tn_status open_entry(const char *path, tn_library_entry *out_entry) {
    tn_crash_mark mark;
    tn_crash_enter(&mark, NULL, "constructors", path);
    dlerror();
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    tn_crash_leave(&mark);
    if (!handle) {
        const char *reason = dlerror();
        return tn_fail(TN_ERROR_PLUGIN, "cannot load library '%s': %s", path,
                       reason ? reason : "the loader gives no reason");
    }
    void *symbol = dlsym(handle, TN_LIBRARY_SYMBOL);
    if (!symbol) {
        dlclose(handle);
        return tn_fail(TN_ERROR_PLUGIN,
                       "library '%s' does not export '%s': it is no plugin library, or "
                       "TN_LIBRARY(...) is missing at its end",
                       path, TN_LIBRARY_SYMBOL);
    }
    memcpy(out_entry, &symbol, sizeof(symbol));
    /* The code stays mapped for the life of the process. */
    return TN_OK; /* cppcheck-suppress resourceLeak */
}

static tn_library *ask_table(tn_runtime *runtime, tn_library_entry entry, const char *path) {
    tn_crash_mark mark;
    tn_runtime_clear_last_log(runtime);
    tn_crash_enter(&mark, NULL, "entry", path);
    tn_library *table = entry(tn_runtime_host(runtime));
    tn_crash_leave(&mark);
    return table;
}

/* By its entry, or with the table of one that is added. */
static tn_status start_library(tn_runtime *runtime, tn_library_entry entry, tn_library *table,
                               const origin *from, tn_loaded_library **out_library) {
    const char *path = from->path;
    tn_loaded_library *library = NULL;
    TN_TRY(create_library(runtime, from, &library));
    library->table = table ? table : ask_table(runtime, entry, path);
    tn_status status = TN_OK;
    if (!library->table)
        status = tn_fail(TN_ERROR_PLUGIN, "its entry refused this host%s%s",
                         tn_runtime_last_log(runtime)[0] ? ": " : "", tn_runtime_last_log(runtime));
    if (status == TN_OK) status = register_tables(runtime, library);
    if (status != TN_OK) {
        library->table = NULL;
        tn_library_release(library);
        return path[0] ? tn_error_in(status, .file = path) : status;
    }
    *out_library = library;
    return TN_OK;
}

/* Puts a library that was started among the runtime's, and counts it for the caller. */
static tn_status list(tn_runtime *runtime, tn_loaded_library *library,
                      void (*release)(tn_library *library)) {
    library->private_part->load_count = 1; /* the reference it was made with */
    library->private_part->release = release;
    tn_library_retain(library);
    const tn_status status = tn_runtime_add_loaded(runtime, library);
    if (status == TN_OK) return TN_OK;
    library->private_part->release = NULL; /* the caller keeps its table */
    remove_entries(library);
    tn_runtime_keep_replaced(runtime, library);
    tn_library_release(library);
    tn_library_release(library);
    return status;
}

/* With a count for the caller; null: it is not loaded. */
static tn_loaded_library *load_again(tn_runtime *runtime, const origin *from) {
    tn_runtime_lock(runtime);
    tn_loaded_library *library = tn_runtime_find_loaded(runtime, from->hash, from->domain);
    if (library) count_load(tn_library_retain(library));
    tn_runtime_unlock(runtime);
    return library;
}

static tn_status load_file(tn_runtime *runtime, const origin *from,
                           tn_loaded_library **out_library) {
    tn_loaded_library *library = load_again(runtime, from);
    if (library) {
        *out_library = library;
        return TN_OK;
    }
    tn_library_entry entry = NULL;
    TN_TRY(open_entry(from->path, &entry));
    TN_TRY(start_library(runtime, entry, NULL, from, &library));
    TN_TRY(list(runtime, library, NULL));
    *out_library = library;
    return TN_OK;
}

static tn_status hash_file(const tn_allocator *allocator, const char *path, uint64_t *out_hash) {
    tn_file file;
    TN_TRY(tn_file_map(allocator, path, &file));
    *out_hash = tn_hash(file.data, file.bytes);
    tn_file_unmap(&file);
    return TN_OK;
}

/* A domain that models and plans may name. */
static tn_status check_domain(const char *domain) {
    const size_t length = strlen(domain);
    bool is_right = length <= 100;
    for (size_t i = 0; i < length && is_right; i++)
        is_right = domain[i] > ' ' && domain[i] < 127 && !strchr(":@/\"'\\", domain[i]);
    return is_right ? TN_OK
                    : tn_fail(TN_ERROR_ARGUMENT,
                              "'%.120s' is no domain: expected at most 100 letters, digits, '.', "
                              "'_' and '-'",
                              domain);
}

tn_status tn_library_load(tn_runtime *runtime, const char *path,
                          const tn_library_load_options *options, tn_loaded_library **out_library) {
    tn_loaded_library *library = NULL;
    char resolved[4096];
    origin from = {.path = resolved,
                   .domain = options && options->domain ? options->domain : "",
                   .source = options && options->source ? options->source : "",
                   .modified_ns = options ? options->modified_ns : 0,
                   .is_wanted = options && options->is_wanted};
    if (!path || !path[0]) return tn_fail(TN_ERROR_ARGUMENT, "the path of a library is empty");
    /* The loader searches its own path for names without '/': this one is a file, not a name. */
    if (!realpath(path, resolved))
        return tn_fail(TN_ERROR_NOT_FOUND, "there is no library file '%s'", path);
    TN_TRY(check_domain(from.domain));
    TN_TRY(hash_file(tn_runtime_allocator(runtime), resolved, &from.hash));
    tn_runtime_begin_loading(runtime);
    const tn_status status = load_file(runtime, &from, &library);
    tn_runtime_end_loading(runtime);
    if (status != TN_OK) return status;
    tn_runtime_drop_replaced(runtime, library);
    if (out_library)
        *out_library = library;
    else
        tn_library_release(library);
    return TN_OK;
}

static tn_status register_entry(tn_runtime *runtime, tn_library_entry entry, bool is_constant,
                                tn_loaded_library **out_library) {
    const origin from = {.path = "", .domain = "", .source = "", .is_constant = is_constant};
    tn_loaded_library *library = NULL;
    if (!entry) return tn_fail(TN_ERROR_ARGUMENT, "the entry of a library is null");
    tn_runtime_begin_loading(runtime);
    tn_status status = start_library(runtime, entry, NULL, &from, &library);
    if (status == TN_OK) status = list(runtime, library, NULL);
    tn_runtime_end_loading(runtime);
    if (status == TN_OK && out_library)
        *out_library = library;
    else if (status == TN_OK)
        tn_library_release(library);
    return status;
}

tn_status tn_library_register(tn_runtime *runtime, tn_library_entry entry,
                              tn_loaded_library **out_library) {
    return register_entry(runtime, entry, false, out_library);
}

tn_status tn_library_register_constant(tn_runtime *runtime, tn_library_entry entry) {
    return register_entry(runtime, entry, true, NULL);
}

/* One of the same name is of the same source: the newer one takes over. */
tn_status tn_library_add(tn_runtime *runtime, tn_library *table,
                         void (*release)(tn_library *library)) {
    char source[120];
    tn_loaded_library *library = NULL;
    if (!table) return tn_fail(TN_ERROR_ARGUMENT, "the table of a library is null");
    const bool has_name = table->size >= offsetof(tn_library, name) + sizeof(char *) &&
                          tn_library_is_plain_name(table->name);
    snprintf(source, sizeof(source), "added:%s", has_name ? table->name : "");
    const origin from = {.path = "", .domain = "", .source = source};
    tn_runtime_begin_loading(runtime);
    tn_status status = start_library(runtime, NULL, table, &from, &library);
    if (status == TN_OK) status = list(runtime, library, release);
    tn_runtime_end_loading(runtime);
    if (status != TN_OK) return status;
    tn_runtime_drop_replaced(runtime, library);
    tn_library_release(library);
    return TN_OK;
}

bool tn_library_give_up(tn_loaded_library *library, bool all) {
    if (!all && --library->private_part->load_count > 0) return false;
    library->private_part->load_count = 0;
    remove_entries(library);
    return true;
}
