/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a model: the public calls, and one reading from its importer's choice to the graph. */
#include "base/status.h"
#include "import/isolated.h"
#include "import/reading.h"
#include "plugin/crash.h"

#include <tenon/import.h>

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * one reading */

static tn_status reading_init(tn_reading *reading, tn_runtime *runtime,
                              const tn_importer_entry *entry, const tn_reading_source *from,
                              const tn_reading_watch *watch) {
    *reading = (tn_reading){.import = {.size = sizeof(tn_import),
                                       .host = tn_runtime_host(runtime),
                                       .services = &tn_reading_services,
                                       .user = entry->importer.user,
                                       .path = from->path,
                                       .folder = from->folder,
                                       .data = from->data,
                                       .bytes = from->bytes,
                                       .graph = &reading->root.view},
                            .own_position.offset = UINT64_MAX,
                            .runtime = runtime,
                            .allocator = tn_runtime_allocator(runtime),
                            .root = {.view.import = &reading->import}};
    reading->position = watch && watch->position ? watch->position : &reading->own_position;
    TN_TRY(tn_arena_create(reading->allocator, &reading->arena));
    TN_TRY(tn_map_create(reading->allocator, &reading->file_names));
    TN_TRY(tn_missing_list_init(&reading->missing, reading->allocator, reading->arena));
    return tn_graph_create(runtime, "", &reading->root.graph);
}

static void reading_deinit(tn_reading *reading) {
    for (const tn_reading_graph *body = reading->bodies; body; body = body->next)
        if (!body->has_ended) tn_graph_destroy(body->graph);
    tn_graph_destroy(reading->root.graph);
    for (size_t i = 0; i < reading->held_count; i++)
        tn_library_release(reading->held[i]->library);
    for (size_t i = 0; i < reading->file_count; i++)
        tn_file_unmap(&reading->files[i].file);
    tn_deallocate(reading->allocator, (void *)reading->held);
    tn_deallocate(reading->allocator, reading->ranges);
    tn_deallocate(reading->allocator, reading->files);
    tn_missing_list_deinit(&reading->missing);
    tn_map_destroy(reading->file_names);
    tn_arena_destroy(reading->arena);
}

/* The position is the importer's, in the file, as far as it said so. */
static tn_status read_failed(const tn_reading *reading, const tn_importer *importer,
                             tn_status status) {
    if (tn_last_error()->status == TN_OK && status == TN_ERROR_MEMORY)
        tn_fail_memory("a model");
    else if (tn_last_error()->status == TN_OK)
        tn_fail(TN_ERROR_PLUGIN, "the importer '%s' returned %d without a reason", importer->name,
                status);
    status = tn_last_error()->status;
    if (reading->position->node[0]) tn_error_in(status, .node = reading->position->node);
    if (reading->position->offset != UINT64_MAX) {
        tn_error_at(status, "byte %" PRIu64, reading->position->offset);
        tn_error_at_byte(status, reading->position->offset);
    }
    return status;
}

static tn_status call_read(tn_reading *reading, const tn_importer_entry *entry) {
    tn_crash_mark mark;
    tn_error_clear();
    tn_crash_enter(&mark, NULL, "read", entry->library ? entry->library->path : "");
    const tn_status status = entry->importer.read(&reading->import);
    tn_crash_leave(&mark);
    return status == TN_OK ? TN_OK : read_failed(reading, &entry->importer, status);
}

/* A library that builds nothing has not read the file, whatever it answers. */
static tn_status check_result(tn_reading *reading, const tn_importer_entry *entry) {
    TN_TRY(tn_missing_list_report(&reading->missing));
    if (entry->library && reading->root.graph->tensor_count == 0)
        return tn_fail(TN_ERROR_PLUGIN, "the importer '%s' added nothing to the graph",
                       entry->importer.name);
    return reading->root.is_checked ? TN_OK : tn_reading_check(&reading->root.view);
}

static bool begins_with_path(const char *where, const char *path) {
    const size_t length = strlen(path);
    return strncmp(where, path, length) == 0 && (where[length] == '\0' || where[length] == ':');
}

/* An error in another file names that one. */
static tn_status locate_error(const tn_reading *reading, tn_status status) {
    const char *path = reading->import.path;
    if (!path || reading->has_other_file ||
        (reading->last_opened && begins_with_path(tn_last_error()->where, reading->last_opened)))
        return status;
    return tn_error_in(status, .file = path);
}

/* The options are read before the importer is called: their errors have no position in the file. */
static tn_status run_importer(tn_reading *reading, const tn_importer_entry *entry,
                              const tn_import_options *options, const tn_reading_watch *watch) {
    const tn_model_info info = {.size = sizeof(info), .source_format = entry->importer.name};
    TN_TRY(tn_importer_options(reading->arena, entry, options->option_count, options->options,
                               &reading->import.params));
    TN_TRY(tn_graph_import_model_info(reading->root.graph, &info));
    tn_status status = call_read(reading, entry);
    if (status == TN_OK) status = check_result(reading, entry);
    if (status == TN_OK && watch && watch->ends) status = watch->ends(watch->user, reading);
    return status == TN_OK ? TN_OK : locate_error(reading, status);
}

tn_status tn_reading_run(tn_runtime *runtime, const tn_importer_entry *entry,
                         const tn_import_options *options, const tn_reading_source *from,
                         const tn_reading_watch *watch, tn_graph **out_graph) {
    tn_reading reading;
    tn_status status = reading_init(&reading, runtime, entry, from, watch);
    if (watch && watch->begins) watch->begins(watch->user, entry);
    if (status == TN_OK) status = run_importer(&reading, entry, options, watch);
    if (status == TN_OK) {
        *out_graph = reading.root.graph;
        reading.root.graph = NULL;
    }
    reading_deinit(&reading);
    return status;
}

static tn_status choose_and_run(tn_runtime *runtime, const tn_import_options *options,
                                const tn_reading_source *from, const tn_reading_watch *watch,
                                tn_graph **out_graph) {
    const tn_importer_entry *entry;
    const tn_status status = tn_importer_find(runtime, options->format, from, watch, &entry);
    if (status != TN_OK) return from->path ? tn_error_in(status, .file = from->path) : status;
    const tn_status read = tn_reading_run(runtime, entry, options, from, watch, out_graph);
    tn_importers_release(entry);
    return read;
}

static tn_status map_and_run(tn_runtime *runtime, const tn_import_options *options,
                             const char *path, const tn_reading_watch *watch,
                             tn_graph **out_graph) {
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_arena *arena;
    tn_file file = {0};
    TN_TRY(tn_arena_create(allocator, &arena));
    tn_reading_source from = {.path = path, .folder = tn_path_folder(arena, path)};
    tn_status status = from.folder ? tn_file_map(allocator, path, &file) : tn_fail_memory("a path");
    if (status == TN_OK) {
        from.data = file.data;
        from.bytes = file.bytes;
        status = choose_and_run(runtime, options, &from, watch, out_graph);
    }
    tn_file_unmap(&file);
    tn_arena_destroy(arena);
    return status;
}

tn_status tn_reading_load(tn_runtime *runtime, const tn_import_options *options,
                          const tn_reading_source *from, const tn_reading_watch *watch,
                          tn_graph **out_graph) {
    return from->path ? map_and_run(runtime, options, from->path, watch, out_graph)
                      : choose_and_run(runtime, options, from, watch, out_graph);
}

/* ----------------------------------------------------------------------------------------------
 * public */

static tn_status copy_options(const tn_import_options *options, tn_import_options *out_options) {
    TN_TRY(tn_options_read(out_options, sizeof(*out_options), options, "the import options"));
    out_options->size = sizeof(*out_options);
    return tn_options_check_flags(out_options->flags, TN_IMPORT_ISOLATED, "the import options");
}

static tn_status load_source(tn_runtime *runtime, const tn_import_options *options,
                             const tn_reading_source *from, tn_graph **out_graph) {
    return options->flags & TN_IMPORT_ISOLATED
               ? tn_isolated_reading_load(runtime, options, from, out_graph)
               : tn_reading_load(runtime, options, from, NULL, out_graph);
}

tn_status tn_graph_load(tn_runtime *runtime, const char *path, const tn_import_options *options,
                        tn_graph **out_graph) {
    tn_import_options own;
    if (!runtime || !path || !out_graph)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_load needs a runtime, a path and out_graph");
    TN_TRY(copy_options(options, &own));
    return load_source(runtime, &own, &(tn_reading_source){.path = path}, out_graph);
}

tn_status tn_graph_parse(tn_runtime *runtime, const void *data, uint64_t bytes,
                         const tn_import_options *options, tn_graph **out_graph) {
    tn_import_options own;
    if (!runtime || !out_graph || (bytes > 0 && !data))
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_parse needs a runtime, data and out_graph");
    TN_TRY(copy_options(options, &own));
    const tn_reading_source from = {.folder = own.folder, .data = data, .bytes = (size_t)bytes};
    return load_source(runtime, &own, &from, out_graph);
}

tn_status tn_graph_load_onnx(tn_runtime *runtime, const char *path, tn_graph **out_graph) {
    const tn_import_options options = {.size = sizeof(options), .format = "onnx"};
    return tn_graph_load(runtime, path, &options, out_graph);
}

tn_status tn_graph_parse_onnx(tn_runtime *runtime, const void *data, uint64_t bytes,
                              const char *folder, tn_graph **out_graph) {
    const tn_import_options options = {.size = sizeof(options), .format = "onnx", .folder = folder};
    return tn_graph_parse(runtime, data, bytes, &options, out_graph);
}
