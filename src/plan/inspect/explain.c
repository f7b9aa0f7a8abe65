/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loading a plan would find, ahead of time and without stopping at the first thing that is
 * missing: each library of the manifest, each operator, and each stored program with whether it is
 * one for this machine, as JSON. It searches and loads libraries as loading does (read_manifest.c),
 * and reads nothing of the graph. Declared in tenon/engine.h.
 */
#include "base/file.h"
#include "base/code_cache/sha256.h"
#include "base/status.h"
#include "base/text.h"
#include "plan/embedded.h"
#include "plan/program_fit.h"
#include "plan/read/reader.h"
#include "plugin/devices.h"
#include "plugin/runtime.h"

#include <tenon/engine.h>

#include <inttypes.h>
#include <string.h>

typedef struct explanation {
    tn_plan_reader reader;
    tn_text text;
    const char **reasons; /* by library: why it cannot be had */
    bool *is_needed;      /* by library: for operators */
    size_t missing_count; /* operators */
    size_t fitting_count; /* programs */
    uint32_t threads;     /* that the engine would be asked for; 0: any */
} explanation;

static void add_member(tn_text *text, const char *before, const char *name, const char *value) {
    tn_text_add_format(text, "%s\"%s\": ", before, name);
    tn_text_add_json(text, value);
}

/* Keeps the last error's words; fails with it where it is about memory. */
static tn_status keep_reason(explanation *e, tn_status status, const char **out_reason) {
    if (status == TN_ERROR_MEMORY) return status;
    *out_reason = tn_arena_text(e->reader.scratch, tn_last_error()->message);
    tn_error_clear();
    return *out_reason ? TN_OK : tn_fail_memory("an explanation");
}

static tn_status explain_operator(explanation *e, size_t index) {
    tn_plan_reader *reader = &e->reader;
    const Tenon__Plan__Operator *message = reader->plan->operators[index];
    const uint32_t library = message->library;
    const char *why = NULL;
    if (library >= reader->plan->n_libraries)
        return tn_plan_reader_fail("there is no library number %" PRIu32, library);
    e->is_needed[library] = true;
    if (e->reasons[library]) {
        why = e->reasons[library];
    } else {
        const tn_status status = tn_plan_read_operator(reader, index);
        if (status != TN_OK) TN_TRY(keep_reason(e, status, &why));
        if (status != TN_OK && !reader->libraries[library]) e->reasons[library] = why;
    }
    e->missing_count += why != NULL;
    add_member(&e->text, index > 0 ? ",\n    {" : "\n    {", "domain", message->domain);
    add_member(&e->text, ", ", "name", message->name);
    tn_text_add_format(&e->text, ", \"version\": %" PRIu32, message->since_version);
    add_member(&e->text, ", ", "library", reader->plan->libraries[library]->name);
    if (why)
        add_member(&e->text, ", ", "why", why);
    else
        add_member(&e->text, ", ", "found_in", reader->operators[index]->library->name);
    tn_text_add_format(&e->text, ", \"found\": %s}", why ? "false" : "true");
    return TN_OK;
}

/* One that gives operators was asked for already; the others give kernels. */
static tn_status explain_library(explanation *e, uint32_t index) {
    tn_plan_reader *reader = &e->reader;
    const Tenon__Plan__Library *message = reader->plan->libraries[index];
    const bool is_needed = e->is_needed[index];
    if (!is_needed) {
        const tn_status status = tn_plan_read_kernel_library(reader, index);
        if (status != TN_OK) TN_TRY(keep_reason(e, status, &e->reasons[index]));
    }
    const tn_loaded_library *found = reader->libraries[index];
    add_member(&e->text, index > 0 ? ",\n    {" : "\n    {", "name", message->name);
    add_member(&e->text, ", ", "version", message->version);
    add_member(&e->text, ", ", "file", message->file_name);
    if (*message->domain) add_member(&e->text, ", ", "domain", message->domain);
    tn_text_add_format(&e->text, ", \"hash\": \"%016" PRIx64 "\", \"needed\": %s", message->hash,
                       is_needed ? "true" : "false");
    if (tn_plan_is_embedded(message)) {
        char sha256[TN_SHA256_TEXT_BYTES];
        add_member(&e->text, ", ", "sha256", tn_sha256_print(message->sha256.data, sha256));
    }
    if (found) {
        add_member(&e->text, ", ", "found_path", found->path);
        add_member(&e->text, ", ", "found_version", found->version);
        tn_text_add_format(&e->text, ", \"found_hash\": \"%016" PRIx64 "\"", found->hash);
    } else if (e->reasons[index]) {
        add_member(&e->text, ", ", "why", e->reasons[index]);
    }
    tn_text_add_format(&e->text, ", \"state\": \"%s\"}",
                       !found                         ? "missing"
                       : found->hash == message->hash ? "same"
                                                      : "other");
    return TN_OK;
}

/* Why a stored program is not for this machine, empty where it is. */
static tn_status find_misfit(explanation *e, const Tenon__Plan__Program *message, uint32_t threads,
                             tn_text *why) {
    const tn_program_target built = {message->fingerprint, message->threads};
    tn_used_device device = {0};
    const char *kind = *message->device ? message->device : "cpu";
    const tn_status status = tn_device_take(e->reader.runtime, kind, &device);
    if (status == TN_ERROR_MEMORY) return status;
    if (status == TN_OK) {
        const tn_program_target here = {device.device->fingerprint(device.device), threads};
        if (!tn_program_fits(&built, &here)) tn_text_add(why, "built ");
        tn_program_fit_explain(why, &built, &here);
    } else {
        tn_text_add(why, tn_last_error()->message);
        tn_error_clear();
    }
    tn_device_give_back(&device);
    return TN_OK;
}

static tn_status explain_program(explanation *e, size_t index, uint32_t threads) {
    const Tenon__Plan__Program *message = e->reader.plan->programs[index];
    tn_text why;
    tn_text_init(&why, e->reader.allocator);
    const tn_status status = find_misfit(e, message, threads, &why);
    e->fitting_count += status == TN_OK && why.length == 0;
    add_member(&e->text, index > 0 ? ",\n    {" : "\n    {", "fingerprint", message->fingerprint);
    tn_text_add_format(&e->text, ", \"threads\": %" PRIu32, message->threads);
    if (e->reader.plan->n_further_profiles > 0)
        tn_text_add_format(&e->text, ", \"profile\": %" PRIu32, message->profile);
    if (why.length > 0) add_member(&e->text, ", ", "why", why.data);
    tn_text_add_format(&e->text, ", \"fits\": %s}", why.length > 0 ? "false" : "true");
    tn_text_deinit(&why);
    return status;
}

static tn_status explain(explanation *e, const tn_file *file) {
    tn_plan_reader *reader = &e->reader;
    TN_TRY(tn_plan_reader_open(reader, file));
    TN_TRY(tn_arena_create(reader->allocator, &reader->scratch));
    TN_TRY(tn_arena_create(reader->allocator, &reader->contents.arena));
    TN_TRY(tn_plan_reader_manifest_init(reader));
    e->reasons =
        tn_arena_allocate(reader->scratch, reader->plan->n_libraries + 1, sizeof(*e->reasons));
    e->is_needed = tn_arena_allocate(reader->scratch, reader->plan->n_libraries + 1, sizeof(bool));
    if (!e->reasons || !e->is_needed) return tn_fail_memory("an explanation");
    tn_text_add(&e->text, "{\n  \"operators\": [");
    for (size_t i = 0; i < reader->plan->n_operators; i++)
        TN_TRY(explain_operator(e, i));
    tn_text_add(&e->text, "],\n  \"libraries\": [");
    for (size_t i = 0; i < reader->plan->n_libraries; i++)
        TN_TRY(explain_library(e, (uint32_t)i));
    tn_text_add(&e->text, "],\n  \"programs\": [");
    for (size_t i = 0; i < reader->plan->n_programs; i++)
        TN_TRY(explain_program(e, i, e->threads));
    tn_text_add_format(&e->text, "],\n  \"fitting\": %zu,\n  \"missing\": %zu\n}\n",
                       e->fitting_count, e->missing_count);
    return TN_OK;
}

tn_status tn_plan_explain(tn_runtime *runtime, const char *path, const tn_engine_options *options,
                          char **out_json) {
    tn_file file;
    if (!runtime || !path || !out_json)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_explain needs a runtime, a path and out_json");
    tn_engine_options all;
    TN_TRY(tn_options_read(&all, sizeof(all), options, "the engine options"));
    if (all.allowed)
        TN_TRY(tn_options_check_array(all.allowed_count, all.allowed, "allowed libraries"));
    const tn_plan_read_options read = {.is_exact = all.flags & TN_ENGINE_EXACT,
                                       .allowed_count = all.allowed_count,
                                       .allowed = all.allowed};
    explanation e = {.reader = {.runtime = runtime,
                                .allocator = tn_runtime_allocator(runtime),
                                .options = &read},
                     .threads = all.threads};
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    tn_text_init(&e.text, tn_runtime_allocator(runtime));
    tn_status status = explain(&e, &file);
    if (status == TN_OK) status = tn_text_take(&e.text, out_json);
    tn_text_deinit(&e.text);
    tn_plan_contents_deinit(&e.reader.contents);
    tn_plan_reader_deinit(&e.reader);
    tn_file_unmap(&file);
    return tn_error_in(status, .file = path);
}
