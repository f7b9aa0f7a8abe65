/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which importer reads a file. Those that are linked in and those of loaded libraries are known by
 * their tables; others by a text file beside their library, LIBRARY.so.importers, a line for each:
 * its name and its endings. Such a library is loaded when a file has one of the endings, or when
 * nothing else knows the file.
 */
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "import/reading.h"
#include "plugin/library_private.h"

#include <tenon/import.h>

#include <string.h>
#include <strings.h>

/* importers/linked/linked.c; the linker adds it, the core includes nothing of importers/. */
extern const tn_importer *const tn_linked_importers[];

#define HEAD_BYTES 4096u

/* What is asked for. */
typedef struct wanted {
    const char *format; /* null: by what follows */
    const char *path;
    const void *head;
    size_t head_bytes;
} wanted;

/* ----------------------------------------------------------------------------------------------
 * endings */

static bool ends_with(const char *path, const char *ending, size_t length) {
    const size_t all = strlen(path);
    return all > length && strncasecmp(path + all - length, ending, length) == 0;
}

/* The length of the longest of the endings that the path has; 0: none. */
static size_t match_ending(const char *endings, const char *path) {
    size_t longest = 0;
    for (const char *at = endings; path && *at;) {
        const size_t length = strcspn(at, " \t");
        if (length > longest && ends_with(path, at, length)) longest = length;
        at += length;
        at += strspn(at, " \t");
    }
    return longest;
}

/* ----------------------------------------------------------------------------------------------
 * libraries that are not loaded */

/* A line of a listing that names the format, or has an ending of the path; any where nothing is
 * wanted. */
static bool line_fits(const void *user, const char *line) {
    const wanted *what = user;
    const size_t length = strcspn(line, " \t");
    if (!what || length == 0) return length > 0;
    if (what->format)
        return strlen(what->format) == length && memcmp(what->format, line, length) == 0;
    return match_ending(line + length + strspn(line + length, " \t"), what->path) > 0;
}

static tn_status load_listed(tn_runtime *runtime, const char *path, const tn_reading_watch *watch) {
    if (watch && watch->loads) watch->loads(watch->user, path);
    const tn_status status = tn_library_load(runtime, path, NULL, NULL);
    if (watch && watch->loads) watch->loads(watch->user, NULL);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    tn_runtime_log(runtime, TN_LOG_WARNING, "%s is left out: %s", path, tn_last_error()->message);
    tn_error_clear();
    return TN_OK;
}

static bool is_loaded(tn_runtime *runtime, const char *path) {
    size_t index = 0;
    const tn_importer_entry *entry;
    bool is_there = false;
    while (!is_there && (entry = tn_importers_next(runtime, &index)) != NULL) {
        is_there = entry->library && entry->library->path[0] &&
                   strcmp(tn_path_name(entry->library->path), tn_path_name(path)) == 0;
        tn_importers_release(entry);
    }
    return is_there;
}

/* Loads the libraries whose listings fit (`what` null: all). */
static tn_status load_fitting(tn_runtime *runtime, const wanted *what,
                              const tn_reading_watch *watch) {
    tn_arena *arena;
    tn_status status = TN_OK;
    const char *folder;
    TN_TRY(tn_arena_create(tn_runtime_allocator(runtime), &arena));
    for (size_t i = 0; status == TN_OK && (folder = tn_importers_folder(runtime, i)); i++) {
        size_t count = 0;
        const char *const *paths;
        if (*folder) status = tn_library_list_folder(arena, folder, &count, &paths);
        for (size_t k = 0; k < count && status == TN_OK; k++) {
            bool fits;
            status = tn_library_listing_fits(runtime, arena, paths[k], "importers", line_fits, what,
                                             &fits);
            if (status == TN_OK && fits && !is_loaded(runtime, paths[k]))
                status = load_listed(runtime, paths[k], watch);
        }
    }
    tn_arena_destroy(arena);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * loaded ones */

/* How well an importer fits: the ending counts before the first bytes. */
static uint64_t rank(const tn_importer *importer, const wanted *what, bool with_probe) {
    if (what->format) return strcmp(importer->name, what->format) == 0;
    const uint64_t ending = match_ending(importer->endings, what->path);
    uint32_t sure = 0;
    if (importer->probe && what->head && (ending > 0 || with_probe))
        sure = importer->probe(importer->user, what->head, what->head_bytes);
    return ending * 1000 + (sure > 100 ? 100 : sure);
}

static const tn_importer_entry *find_loaded(tn_runtime *runtime, const wanted *what,
                                            bool with_probe) {
    const tn_importer_entry *best = NULL, *entry;
    uint64_t best_rank = 0;
    size_t index = 0;
    while ((entry = tn_importers_next(runtime, &index)) != NULL) {
        const uint64_t own = rank(&entry->importer, what, with_probe);
        const tn_importer_entry *dropped = own > best_rank ? best : entry;
        if (own > best_rank) {
            best = entry;
            best_rank = own;
        }
        tn_importers_release(dropped);
    }
    return best;
}

/* "onnx (.onnx), caffe (.prototxt)" of all that there are. */
static void list_known(tn_runtime *runtime, tn_text *text, tn_nearest *nearest) {
    const tn_importer_entry *entry;
    bool is_first = true;
    size_t index = 0;
    while ((entry = tn_importers_next(runtime, &index)) != NULL) {
        tn_nearest_offer(nearest, entry->importer.name);
        tn_text_add_format(text, "%s%s%s%s%s", is_first ? "" : ", ", entry->importer.name,
                           entry->importer.endings[0] ? " (" : "", entry->importer.endings,
                           entry->importer.endings[0] ? ")" : "");
        is_first = false;
        tn_importers_release(entry);
    }
}

static tn_status fail_unknown(tn_runtime *runtime, const wanted *what) {
    tn_text text;
    tn_nearest nearest;
    tn_status status;
    tn_text_init(&text, tn_runtime_allocator(runtime));
    tn_nearest_init(&nearest, what->format ? what->format : "");
    list_known(runtime, &text, &nearest);
    if (text.is_failed)
        status = tn_fail_memory("a message");
    else if (what->format)
        status =
            tn_fail(TN_ERROR_NOT_FOUND, "no importer is called '%.100s'%s%.100s%s; there are %s",
                    what->format, nearest.best ? "; the nearest is '" : "",
                    nearest.best ? nearest.best : "", nearest.best ? "'" : "", text.data);
    else
        status = tn_fail(TN_ERROR_FORMAT,
                         "neither its ending nor its first bytes are those of a format that is "
                         "read: %s",
                         text.data);
    tn_text_deinit(&text);
    return status;
}

tn_status tn_importer_find(tn_runtime *runtime, const char *format, const tn_reading_source *from,
                           const tn_reading_watch *watch, const tn_importer_entry **out_entry) {
    const wanted what = {.format = format,
                         .path = from->path,
                         .head = from->data,
                         .head_bytes = from->bytes < HEAD_BYTES ? from->bytes : HEAD_BYTES};
    TN_TRY(tn_importers_add_linked(runtime, tn_linked_importers));
    const tn_importer_entry *found = find_loaded(runtime, &what, false);
    if (!found) {
        TN_TRY(load_fitting(runtime, &what, watch));
        found = find_loaded(runtime, &what, true);
    }
    if (!found) {
        TN_TRY(load_fitting(runtime, NULL, watch));
        found = find_loaded(runtime, &what, true);
    }
    if (!found) return fail_unknown(runtime, &what);
    *out_entry = found;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * public */

tn_status tn_graph_find_importer(tn_runtime *runtime, const char *path,
                                 const tn_importer **out_importer) {
    const tn_importer_entry *entry;
    tn_file file = {0};
    if (!runtime || !path || !out_importer)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_find_importer needs a runtime, a path and out_importer");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    const tn_reading_source from = {.path = path, .data = file.data, .bytes = file.bytes};
    const tn_status status = tn_importer_find(runtime, NULL, &from, NULL, &entry);
    tn_file_unmap(&file);
    if (status != TN_OK) return tn_error_in(status, .file = path);
    *out_importer = &entry->importer;
    tn_importers_release(entry);
    return TN_OK;
}

void tn_runtime_visit_importers(tn_runtime *runtime,
                                bool (*visit)(void *user, const tn_importer *importer,
                                              const tn_library_info *library),
                                void *user) {
    const tn_importer_entry *entry;
    size_t index = 0;
    bool goes_on = true;
    if (!runtime || !visit || tn_importers_add_linked(runtime, tn_linked_importers) != TN_OK ||
        load_fitting(runtime, NULL, NULL) != TN_OK)
        return;
    while (goes_on && (entry = tn_importers_next(runtime, &index)) != NULL) {
        tn_library_info info = {.size = sizeof(info),
                                .name = "tenon",
                                .version = tn_version(),
                                .path = "",
                                .domain = ""};
        if (entry->library)
            tn_registry_count_library(tn_runtime_registry(runtime), entry->library, &info);
        goes_on = visit(user, &entry->importer, &info);
        tn_importers_release(entry);
    }
}
