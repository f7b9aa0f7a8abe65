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

typedef struct external_data {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external_data;

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

static tn_status read_location(const tn_onnx_tensor *tensor, external_data *where) {
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
        if (!key || !value) continue;
        if (strcmp(key, "location") == 0) where->location = value;
        if (strcmp(key, "offset") == 0) TN_TRY(read_number(key, value, &where->offset));
        if (strcmp(key, "length") == 0) {
            TN_TRY(read_number(key, value, &where->length));
            where->has_length = true;
        }
    }
    if (!where->location) return tn_fail(TN_ERROR_FORMAT, "external data names no file");
    return TN_OK;
}

static tn_status check_range(const external_data *where, size_t bytes, const tn_import_file *file) {
    if (where->has_length && where->length != bytes)
        return tn_fail(TN_ERROR_FORMAT,
                       "the shape takes %zu bytes, but external data in '%s' has %llu", bytes,
                       where->location, (unsigned long long)where->length);
    if (where->offset > file->bytes || bytes > file->bytes - where->offset)
        return tn_fail(TN_ERROR_FORMAT,
                       "external data reaches past the end of '%s': %zu bytes at %llu of %llu",
                       where->location, bytes, (unsigned long long)where->offset,
                       (unsigned long long)file->bytes);
    return TN_OK;
}

tn_status tn_onnx_external_read(tn_onnx_reader *reader, const tn_onnx_tensor *tensor, size_t bytes,
                                size_t alignment, const void **out_data) {
    external_data where = {0};
    tn_import_file file = {.size = sizeof(file)};
    TN_TRY(read_location(tensor, &where));
    TN_TRY(reader->import->services->open(reader->import, where.location, TN_IMPORT_KEEP, &file));
    TN_TRY(check_range(&where, bytes, &file));
    const void *data = (const unsigned char *)file.data + where.offset;
    if ((uintptr_t)data % alignment != 0)
        TN_TRY(tn_import_copy(reader->graph, data, bytes, "a tensor's data", &data));
    *out_data = bytes > 0 ? data : NULL;
    return TN_OK;
}
