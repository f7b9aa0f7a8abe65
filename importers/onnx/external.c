/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of tensors in files beside the model: found inside the model's folder alone (symbolic links
 * followed first), mapped once a file, checked against the file's size.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct external_place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external_place;

/* A decimal number, nothing around it. */
static tn_status read_number(const char *key, const char *text, uint64_t *out_value) {
    uint64_t value = 0;
    bool is_sound = *text != '\0';
    for (const char *c = text; *c && is_sound; c++) {
        is_sound = *c >= '0' && *c <= '9' && value <= (UINT64_MAX - 9) / 10;
        value = value * 10 + (uint64_t)(*c - '0');
    }
    if (!is_sound)
        return tn_fail(TN_ERROR_FORMAT, "external data has the %s '%.40s', which is no number", key,
                       text);
    *out_value = value;
    return TN_OK;
}

static tn_status read_place(const tn_onnx_tensor *tensor, external_place *place) {
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
        if (!key || !value) continue;
        if (strcmp(key, "location") == 0) place->location = value;
        if (strcmp(key, "offset") == 0) TN_TRY(read_number(key, value, &place->offset));
        if (strcmp(key, "length") == 0) {
            TN_TRY(read_number(key, value, &place->length));
            place->has_length = true;
        }
    }
    if (!place->location) return tn_fail(TN_ERROR_FORMAT, "external data names no file");
    return TN_OK;
}

static tn_status fail_outside(const char *location) {
    return tn_fail(TN_ERROR_FORMAT, "external data lies in '%s', outside the model's folder",
                   location);
}

static bool is_below(const char *folder, const char *path) {
    size_t length = strlen(folder);
    if (length > 0 && folder[length - 1] == '/') length--;
    return strncmp(folder, path, length) == 0 && path[length] == '/';
}

/* The file's true path, which is below the folder's. Both buffers have PATH_MAX bytes. */
static tn_status resolve(const tn_onnx_reader *reader, const char *location, char *folder,
                         char *path) {
    if (!reader->folder)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the data lies in the file '%s', but this model was given without a folder",
                       location);
    if (!tn_path_is_inside(location)) return fail_outside(location);
    const char *joined = tn_path_join(reader->arena, reader->folder, location);
    if (!joined) return tn_fail_memory("a path");
    if (!realpath(reader->folder, folder) || !realpath(joined, path))
        return tn_fail(errno == ENOENT ? TN_ERROR_NOT_FOUND : TN_ERROR_IO,
                       "external data in '%s': %s", joined, strerror(errno));
    return is_below(folder, path) ? TN_OK : fail_outside(location);
}

static tn_status map_once(tn_onnx_reader *reader, const char *path, const tn_file **out_file) {
    uint64_t place;
    if (!tn_map_get(reader->files, path, &place)) {
        const char *key = tn_arena_text(reader->arena, path);
        if (!key) return tn_fail_memory("a path");
        tn_file file;
        TN_TRY(tn_file_map(reader->allocator, path, &file));
        place = reader->root->file_count;
        tn_status status = tn_graph_own_file(reader->root, &file);
        if (status != TN_OK) {
            tn_file_unmap(&file);
            return status;
        }
        TN_TRY(tn_map_set(reader->files, key, place));
    }
    *out_file = &reader->root->files[place];
    return TN_OK;
}

static tn_status check_range(const external_place *place, size_t bytes, const tn_file *file) {
    if (place->has_length && place->length != bytes)
        return tn_fail(TN_ERROR_FORMAT,
                       "the shape takes %zu bytes, but external data in '%s' has %llu", bytes,
                       place->location, (unsigned long long)place->length);
    if (place->offset > file->bytes || bytes > file->bytes - place->offset)
        return tn_fail(TN_ERROR_FORMAT,
                       "external data reaches past the end of '%s': %zu bytes at %llu of %zu",
                       place->location, bytes, (unsigned long long)place->offset, file->bytes);
    return TN_OK;
}

tn_status tn_onnx_external_read(tn_onnx_reader *reader, const tn_onnx_tensor *tensor, size_t bytes,
                                size_t alignment, const void **out_data) {
    external_place place = {0};
    char folder[PATH_MAX], path[PATH_MAX];
    const tn_file *file = NULL;
    TN_TRY(read_place(tensor, &place));
    TN_TRY(resolve(reader, place.location, folder, path));
    TN_TRY(map_once(reader, path, &file));
    TN_TRY(check_range(&place, bytes, file));
    const void *data = (const unsigned char *)file->data + place.offset;
    if ((uintptr_t)data % alignment != 0 && bytes > 0) {
        void *copy = tn_graph_allocate_data(reader->graph, bytes);
        if (!copy) return tn_fail_memory("a tensor's data");
        memcpy(copy, data, bytes);
        data = copy;
    }
    *out_data = bytes > 0 ? data : NULL;
    return TN_OK;
}
