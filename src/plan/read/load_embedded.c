/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the libraries that a plan embeds, those that the caller trusts: each is written into a
 * folder of the user's own under its SHA-256, verified there, and loaded from there. Nothing else
 * loads them. Declared in tenon/engine.h.
 */
#include "base/code_cache/cache_folder.h"
#include "base/hash.h"
#include "base/code_cache/sha256.h"
#include "base/status.h"
#include "base/wire.h"
#include "plan/embedded.h"
#include "plan/read/reader.h"
#include "plugin/runtime.h"
#include <tenon/engine.h>

#include <string.h>
#include <strings.h>

typedef struct embedded_loading {
    tn_runtime *runtime;
    const tn_embedded_options *options;
    tn_arena *arena;
    const tn_file *file;
    tn_plan_layout layout;
    const char *folder; /* null: not needed so far */
    uint32_t count;
} embedded_loading;

/* Text of one library's SHA-256. */
typedef struct digest_text {
    char text[TN_SHA256_TEXT_BYTES];
} digest_text;

static digest_text digest_of(const void *data, size_t bytes) {
    unsigned char digest[TN_SHA256_BYTES];
    digest_text result = {0};
    tn_sha256(data, bytes, digest);
    tn_sha256_print(digest, result.text);
    return result;
}

static tn_status check_trusted(const tn_embedded_options *options) {
    for (uint32_t i = 0; i < options->trusted_count; i++) {
        const char *text = options->trusted[i] ? options->trusted[i] : "";
        if (strspn(text, "0123456789abcdefABCDEF") != 64 || text[64])
            return tn_fail(TN_ERROR_ARGUMENT,
                           "'%.100s' is no SHA-256 of a library: expected 64 hexadecimal digits, "
                           "as tenon inspect shows them",
                           text);
    }
    return TN_OK;
}

static bool is_trusted(const tn_embedded_options *options, const char *sha256) {
    if (options->flags & TN_EMBEDDED_TRUST_ALL) return true;
    for (uint32_t i = 0; i < options->trusted_count; i++)
        if (strcasecmp(options->trusted[i], sha256) == 0) return true;
    return false;
}

static tn_status fail_digest(const Tenon__Plan__Library *library, const char *where,
                             const char *wanted, const char *found) {
    return tn_fail(TN_ERROR_FORMAT,
                   "library '%.100s' (%.100s)%s does not have the SHA-256 that the plan names: "
                   "expected %s, found %s; it is not loaded",
                   library->name, library->file_name, where, wanted, found);
}

/* Whether the file is there with this content; what cannot be read is not. */
static tn_status look(embedded_loading *l, const char *path, const char *sha256,
                      digest_text *out_found, bool *out_is_there) {
    tn_file file;
    out_found->text[0] = '\0';
    *out_is_there = false;
    const tn_status status = tn_file_map(tn_runtime_allocator(l->runtime), path, &file);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) {
        tn_error_clear();
        return TN_OK;
    }
    *out_found = digest_of(file.data, file.bytes);
    *out_is_there = strcmp(out_found->text, sha256) == 0;
    tn_file_unmap(&file);
    return TN_OK;
}

/* The library as a file of the cache folder, verified there. */
static tn_status extract(embedded_loading *l, const Tenon__Plan__Library *library,
                         const unsigned char *data, const char *sha256, const char **out_path) {
    digest_text found;
    bool is_there = false;
    if (!l->folder)
        TN_TRY(tn_cache_folder_open(l->arena, l->options->cache_folder, "tenon/embedded",
                                    tn_runtime_reads_environment(l->runtime), &l->folder));
    const char *path = tn_arena_format(l->arena, "%s/%s.so", l->folder, sha256);
    if (!path) return tn_fail_memory("a path");
    TN_TRY(look(l, path, sha256, &found, &is_there));
    if (!is_there) {
        TN_TRY(tn_file_write(tn_runtime_allocator(l->runtime), path, data,
                             (size_t)library->embedded_bytes));
        TN_TRY(look(l, path, sha256, &found, &is_there));
    }
    if (!is_there) return fail_digest(library, " in the cache folder", sha256, found.text);
    *out_path = path;
    return TN_OK;
}

static tn_status load_library(embedded_loading *l, const Tenon__Plan__Library *library) {
    char sha256[TN_SHA256_TEXT_BYTES];
    size_t offset = 0;
    const char *path = NULL;
    const tn_library_load_options options = {.domain = library->domain, .is_wanted = true};
    TN_TRY(tn_plan_find_embedded(library, &l->layout, &offset));
    tn_sha256_print(library->sha256.data, sha256);
    if (!is_trusted(l->options, sha256)) return TN_OK;
    const unsigned char *data = (const unsigned char *)l->file->data + offset;
    const digest_text found = digest_of(data, (size_t)library->embedded_bytes);
    if (strcmp(found.text, sha256) != 0) return fail_digest(library, "", sha256, found.text);
    if (tn_hash(data, (size_t)library->embedded_bytes) != library->hash)
        return tn_plan_reader_fail("library '%.100s', which it embeds, has other content than the "
                                   "manifest names",
                                   library->name);
    TN_TRY(extract(l, library, data, sha256, &path));
    TN_TRY(tn_error_at(tn_library_load(l->runtime, path, &options, NULL),
                       "library '%.100s', which the plan embeds (SHA-256 %s)", library->name,
                       sha256));
    l->count++;
    return TN_OK;
}

static tn_status load_all(embedded_loading *l) {
    const tn_allocator *allocator = tn_runtime_allocator(l->runtime);
    ProtobufCMessage *message = NULL;
    TN_TRY(tn_plan_layout_read(l->file->data, l->file->bytes, &l->layout));
    const tn_plan_section *libraries = tn_plan_layout_find(&l->layout, TN_SECTION_LIBRARIES);
    const tn_plan_section *description = tn_plan_layout_find(&l->layout, TN_SECTION_DESCRIPTION);
    if (!description) return tn_plan_reader_fail("it has no description");
    TN_TRY(tn_plan_layout_verify(l->file->data, &l->layout, description));
    if (libraries) TN_TRY(tn_plan_layout_verify(l->file->data, &l->layout, libraries));
    TN_TRY(tn_wire_unpack(allocator, &tenon__plan__plan__descriptor,
                          (const unsigned char *)l->file->data + description->offset,
                          description->bytes, &message));
    const Tenon__Plan__Plan *plan = (const Tenon__Plan__Plan *)message;
    tn_status status = TN_OK;
    for (size_t i = 0; i < plan->n_libraries && status == TN_OK; i++)
        if (tn_plan_is_embedded(plan->libraries[i])) status = load_library(l, plan->libraries[i]);
    tn_wire_free(allocator, message);
    return status;
}

static tn_status load_file(tn_runtime *runtime, const tn_file *file,
                           const tn_embedded_options *given, uint32_t *out_count) {
    tn_embedded_options options;
    embedded_loading l = {.runtime = runtime, .options = &options, .file = file};
    TN_TRY(tn_options_read(&options, sizeof(options), given, "the options of embedded libraries"));
    TN_TRY(tn_options_check_flags(options.flags, TN_EMBEDDED_TRUST_ALL,
                                  "the options of embedded libraries"));
    TN_TRY(tn_options_check_array(options.trusted_count, options.trusted, "trusted libraries"));
    TN_TRY(check_trusted(&options));
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &l.arena));
    const tn_status status = load_all(&l);
    if (out_count) *out_count = l.count;
    tn_arena_destroy(l.arena);
    return status;
}

tn_status tn_runtime_load_embedded(tn_runtime *runtime, const char *path,
                                   const tn_embedded_options *options, uint32_t *out_count) {
    tn_file file;
    if (out_count) *out_count = 0;
    if (!runtime || !path)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_runtime_load_embedded needs a runtime and a path");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    const tn_status status = load_file(runtime, &file, options, out_count);
    tn_file_unmap(&file);
    return tn_error_in(status, .file = path);
}

tn_status tn_runtime_load_embedded_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                                         const tn_embedded_options *options, uint32_t *out_count) {
    if (out_count) *out_count = 0;
    if (!runtime || !data || bytes > SIZE_MAX)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_runtime_load_embedded_bytes needs a runtime and a plan's bytes");
    const tn_file file = {.data = data, .bytes = (size_t)bytes};
    return load_file(runtime, &file, options, out_count);
}
