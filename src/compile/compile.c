/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public call: checks the options, writes the source, finds or makes the library, loads it. The
 * parts: layer_source.c (text around an author's code), compiler.c (the command), child_process.c
 * (running it), compile_cache.c (the folder). Public side: tenon/compile.h.
 */
#include "base/hash.h"
#include "base/status.h"
#include "compile/compiler.h"
#include "compile/layer_source.h"
#include "compile/sized_copy.h"
#include "plugin/runtime.h"

#include <math.h>
#include <string.h>

enum { MOST_TEXTS = 10000 };

static tn_status check_texts(const char *what, uint32_t count, const char *const *texts) {
    if (count > MOST_TEXTS || (count && !texts))
        return tn_fail(TN_ERROR_ARGUMENT, "the options count %u %s, which are not there", count,
                       what);
    for (uint32_t i = 0; i < count; i++)
        if (!texts[i] || !texts[i][0])
            return tn_fail(TN_ERROR_ARGUMENT, "number %u of the %s is empty", i, what);
    return TN_OK;
}

static tn_status check_compile_options(const tn_compile_options *options) {
    const uint32_t known = TN_COMPILE_REBUILD | TN_COMPILE_CPP | TN_COMPILE_ONLY | TN_COMPILE_CUDA;
    if (!options->source == !options->layer)
        return tn_fail(TN_ERROR_ARGUMENT, "%s: expected one of them",
                       options->source ? "there is a source, and a layer too"
                                       : "there is neither a source nor a layer");
    TN_TRY(tn_options_check_flags(options->flags, known, "the options of a compilation"));
    if (!(options->seconds >= 0) || isinf(options->seconds))
        return tn_fail(TN_ERROR_ARGUMENT, "a limit of %g seconds: expected 0 or more",
                       options->seconds);
    TN_TRY(check_texts("include folders", options->include_folder_count, options->include_folders));
    TN_TRY(check_texts("libraries", options->library_count, options->libraries));
    return check_texts("compiler flags", options->flag_count, options->compiler_flags);
}

static tn_status write_source(const tn_compile_options *options, const char **inout_name,
                              tn_text *source) {
    tn_compile_layer layer;
    if (options->layer) {
        tn_sized_copy(&layer, sizeof(layer), options->layer);
        if (!*inout_name) *inout_name = layer.name;
        return tn_layer_source_write(&layer, *inout_name ? *inout_name : "", source);
    }
    if (!*inout_name) *inout_name = "source";
    tn_text_add(source, "#line 1 ");
    tn_layer_source_add_literal(source, *inout_name);
    tn_text_add(source, "\n");
    tn_text_add(source, options->source);
    tn_text_add(source, "\n");
    return source->is_failed ? tn_fail_memory("a source") : TN_OK;
}

static tn_status find_or_compile(tn_runtime *runtime, tn_arena *arena,
                                 const tn_compile_options *options, const char *source,
                                 const char **out_path, bool *out_is_cached) {
    tn_compiler compiler;
    tn_compile_cache cache;
    const char *path = NULL;
    TN_TRY(tn_compiler_init(runtime, arena, options, &compiler));
    TN_TRY(tn_compile_cache_open(arena, tn_runtime_allocator(runtime), options->cache_folder,
                                 tn_runtime_reads_environment(runtime), &cache));
    const uint64_t key = tn_hash_add_text(tn_compiler_hash(&compiler), source);
    if (!(options->flags & TN_COMPILE_REBUILD)) TN_TRY(tn_compile_cache_find(&cache, key, &path));
    *out_is_cached = path != NULL;
    if (!path) TN_TRY(tn_compiler_run(&compiler, &cache, key, source, &path));
    *out_path = path;
    return TN_OK;
}

/* One from the cache that does not load (a library that it needs has gone, say) is compiled again,
 * once. */
static tn_status load_library(tn_runtime *runtime, tn_arena *arena,
                              const tn_compile_options *options, const tn_text *source,
                              const char *name, bool is_cached, const char **inout_path) {
    const tn_library_load_options load_options = {.source = name};
    tn_compile_options again = *options;
    tn_status status = tn_library_load(runtime, *inout_path, &load_options, NULL);
    if (status != TN_ERROR_PLUGIN || !is_cached)
        return tn_error_at(status, "compiled from '%s'", name);
    again.flags |= TN_COMPILE_REBUILD;
    tn_runtime_log(runtime, TN_LOG_INFO, "'%s' is compiled again: %s", name,
                   tn_last_error()->message);
    TN_TRY(
        tn_error_at(find_or_compile(runtime, arena, &again, source->data, inout_path, &is_cached),
                    "compiling '%s'", name));
    return tn_error_at(tn_library_load(runtime, *inout_path, &load_options, NULL),
                       "compiled from '%s'", name);
}

static tn_status compile_and_load(tn_runtime *runtime, tn_arena *arena,
                                  const tn_compile_options *options, tn_text *source,
                                  char **out_path) {
    const char *path = NULL, *name = options->source_name;
    TN_TRY(write_source(options, &name, source));
    bool is_cached = false;
    TN_TRY(tn_error_at(find_or_compile(runtime, arena, options, source->data, &path, &is_cached),
                       "compiling '%s'", name));
    char *copy = out_path ? tn_duplicate_text(tn_runtime_allocator(runtime), path) : NULL;
    if (out_path && !copy) return tn_fail_memory("a path");
    tn_status status = TN_OK;
    if (!(options->flags & TN_COMPILE_ONLY))
        status = load_library(runtime, arena, options, source, name, is_cached, &path);
    if (status == TN_OK && out_path)
        *out_path = memcpy(copy, path, strlen(copy)); /* entries' paths are of one length */
    else
        tn_deallocate(tn_runtime_allocator(runtime), copy);
    return status;
}

tn_status tn_compile_library(tn_runtime *runtime, const tn_compile_options *options,
                             char **out_path) {
    tn_compile_options all;
    tn_arena *arena;
    tn_text source;
    if (!runtime || !options)
        return tn_fail(TN_ERROR_ARGUMENT, "there is no %s", runtime ? "options" : "runtime");
    TN_TRY(tn_options_read(&all, sizeof(all), options, "the options of a compilation"));
    TN_TRY(check_compile_options(&all));
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &arena));
    tn_text_init(&source, tn_runtime_allocator(runtime));
    const tn_status status = compile_and_load(runtime, arena, &all, &source, out_path);
    tn_text_deinit(&source);
    tn_arena_destroy(arena);
    return status;
}
