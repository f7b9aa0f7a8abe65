/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that has the lifetime of the graph, and files, as readers ask for them; see reading.h. */
#include "base/status.h"
#include "base/text.h"
#include "import/reading.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * memory */

static tn_status add_range(tn_reading *reading, const void *data, size_t bytes) {
    TN_TRY(tn_grow(reading->allocator, (void **)&reading->ranges, &reading->range_capacity,
                   reading->range_count + 1, sizeof(*reading->ranges)));
    reading->ranges[reading->range_count++] = (tn_reading_range){data, bytes};
    return TN_OK;
}

static bool is_within(const void *data, uint64_t bytes, const void *all, uint64_t all_bytes) {
    const uintptr_t begin = (uintptr_t)data, from = (uintptr_t)all;
    return begin >= from && begin - from <= all_bytes && bytes <= all_bytes - (begin - from);
}

/* Files are few; of the rest a reader uses what it made a moment ago: the newest first. */
bool tn_reading_owns(const tn_reading *reading, const void *data, uint64_t bytes) {
    for (size_t i = 0; i < reading->file_count; i++) {
        const tn_reading_file *file = &reading->files[i];
        if (file->is_kept && is_within(data, bytes, file->data, file->bytes)) return true;
    }
    for (size_t i = reading->range_count; i-- > 0;) {
        const tn_reading_range *range = &reading->ranges[i];
        if (is_within(data, bytes, range->data, range->bytes)) return true;
    }
    return false;
}

void *tn_reading_allocate(tn_import *import, uint64_t bytes) {
    tn_reading *reading = tn_reading_of(import);
    void *memory = tn_graph_allocate_data(reading->root.graph, (size_t)bytes);
    if (!memory || add_range(reading, memory, (size_t)bytes) != TN_OK) return NULL;
    return memory;
}

tn_status tn_reading_own_file(tn_reading *reading, tn_file *file) {
    TN_TRY(add_range(reading, file->data, file->bytes));
    const tn_status status = tn_graph_own_file(reading->root.graph, file);
    if (status != TN_OK) reading->range_count--;
    return status;
}

tn_status tn_reading_adopt(tn_import *import, void *memory, uint64_t bytes) {
    tn_reading *reading = tn_reading_of(import);
    tn_file owned = {.allocator = reading->allocator, .data = memory, .bytes = (size_t)bytes};
    if (!memory || bytes == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "memory that is adopted has at least a byte");
    return tn_reading_own_file(reading, &owned);
}

/* ----------------------------------------------------------------------------------------------
 * files */

static tn_status fail_outside(const char *name) {
    return tn_fail(TN_ERROR_FORMAT, "external data lies in '%s', outside the model's folder", name);
}

static bool is_below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    if (length > 0 && folder[length - 1] == '/') length--;
    return strncmp(folder, path, length) == 0 && path[length] == '/';
}

/* The file's true path, which is below the folder's. Both buffers have PATH_MAX bytes. */
static tn_status resolve(const tn_reading *reading, const char *name, char *folder, char *path) {
    const char *base = reading->import.folder;
    if (!base)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the data lies in the file '%s', but this model was given without a folder",
                       name);
    if (!tn_path_is_inside(name)) return fail_outside(name);
    const char *joined = tn_path_join(reading->arena, base, name);
    if (!joined) return tn_fail_memory("a path");
    if (!realpath(base, folder) || !realpath(joined, path))
        return tn_fail(errno == ENOENT ? TN_ERROR_NOT_FOUND : TN_ERROR_IO,
                       "external data in '%s': %s", joined, strerror(errno));
    return is_below(folder, path) ? TN_OK : fail_outside(name);
}

/* `name`: that within the model's folder, or null. */
static tn_status map_once(tn_reading *reading, const char *path, const char *name,
                          tn_reading_file **out_file) {
    uint64_t at;
    if (!tn_map_get(reading->file_names, path, &at)) {
        const char *key = tn_arena_text(reading->arena, path);
        tn_reading_file opened = {.name = name ? tn_arena_text(reading->arena, name) : NULL};
        if (!key || (name && !opened.name)) return tn_fail_memory("a path");
        TN_TRY(tn_grow(reading->allocator, (void **)&reading->files, &reading->file_capacity,
                       reading->file_count + 1, sizeof(*reading->files)));
        TN_TRY(tn_file_map(reading->allocator, path, &opened.file));
        opened.data = opened.file.data;
        opened.bytes = opened.file.bytes;
        opened.identity = opened.file.identity;
        at = reading->file_count;
        reading->files[reading->file_count++] = opened;
        TN_TRY(tn_map_set(reading->file_names, key, at));
    }
    *out_file = &reading->files[at];
    return TN_OK;
}

static tn_status keep_file(tn_reading *reading, tn_reading_file *file) {
    if (file->is_kept) return TN_OK;
    TN_TRY(tn_graph_own_file(reading->root.graph, &file->file));
    file->is_kept = true;
    return TN_OK;
}

tn_status tn_reading_open(tn_import *import, const char *name, uint32_t flags,
                          tn_import_file *out_file) {
    tn_reading *reading = tn_reading_of(import);
    char folder[PATH_MAX], path[PATH_MAX];
    tn_reading_file *file = NULL;
    if (!name || !out_file || out_file->size < sizeof(*out_file) ||
        (flags & ~(uint32_t)(TN_IMPORT_KEEP | TN_IMPORT_ANYWHERE)))
        return tn_fail(TN_ERROR_ARGUMENT, "a file that is opened needs a name, and known flags");
    if (flags & TN_IMPORT_ANYWHERE) {
        reading->last_opened = tn_arena_text(reading->arena, name);
        if (!reading->last_opened) return tn_fail_memory("a path");
        const tn_status status = map_once(reading, name, NULL, &file);
        reading->has_other_file = status != TN_OK;
        TN_TRY(status);
    } else {
        TN_TRY(resolve(reading, name, folder, path));
        TN_TRY(map_once(reading, path, name, &file));
    }
    if (flags & TN_IMPORT_KEEP) TN_TRY(keep_file(reading, file));
    out_file->data = file->data;
    out_file->bytes = file->bytes;
    return TN_OK;
}
