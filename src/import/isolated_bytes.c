/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts one behind the other; see isolated_bytes.h. */
#include "import/isolated_bytes.h"
#include "base/status.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * writing */

void tn_isolated_put(tn_isolated_writer *writer, const void *data, size_t bytes) {
    size_t needed;
    if (writer->is_failed || bytes == 0) return;
    if (!tn_add_size(writer->bytes, bytes, &needed) ||
        tn_grow(writer->allocator, (void **)&writer->data, &writer->capacity, needed, 1) != TN_OK) {
        writer->is_failed = true;
        return;
    }
    memcpy(writer->data + writer->bytes, data, bytes);
    writer->bytes = needed;
}

void tn_isolated_put_u32(tn_isolated_writer *writer, uint32_t value) {
    tn_isolated_put(writer, &value, sizeof(value));
}

void tn_isolated_put_u64(tn_isolated_writer *writer, uint64_t value) {
    tn_isolated_put(writer, &value, sizeof(value));
}

void tn_isolated_put_text(tn_isolated_writer *writer, const char *text) {
    const size_t length = text ? strlen(text) : 0;
    tn_isolated_put_u64(writer, text ? length : UINT64_MAX);
    if (text) tn_isolated_put(writer, text, length + 1);
}

void tn_isolated_writer_deinit(tn_isolated_writer *writer) {
    tn_deallocate(writer->allocator, writer->data);
    *writer = (tn_isolated_writer){0};
}

tn_status tn_isolated_write(int file, const void *data, size_t bytes, uint64_t offset) {
    const char *from = data;
    while (bytes > 0) {
        const ssize_t written = pwrite(file, from, bytes, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            return tn_fail(TN_ERROR_MEMORY, "no shared memory for a helper process: %s",
                           strerror(errno));
        from += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * reading */

static size_t left(const tn_isolated_cursor *cursor) {
    return (size_t)(cursor->end - cursor->at);
}

static tn_status fail_short(void) {
    return tn_fail(TN_ERROR_FORMAT, "it ends too early");
}

tn_status tn_isolated_take(tn_isolated_cursor *cursor, void *to, size_t bytes) {
    if (left(cursor) < bytes) return fail_short();
    if (bytes > 0) memcpy(to, cursor->at, bytes);
    cursor->at += bytes;
    return TN_OK;
}

tn_status tn_isolated_take_u32(tn_isolated_cursor *cursor, uint32_t *out_value) {
    return tn_isolated_take(cursor, out_value, sizeof(*out_value));
}

tn_status tn_isolated_take_u64(tn_isolated_cursor *cursor, uint64_t *out_value) {
    return tn_isolated_take(cursor, out_value, sizeof(*out_value));
}

tn_status tn_isolated_take_count(tn_isolated_cursor *cursor, size_t least, uint64_t *out_count) {
    TN_TRY(tn_isolated_take_u64(cursor, out_count));
    return *out_count <= left(cursor) / least ? TN_OK : fail_short();
}

tn_status tn_isolated_take_text(tn_isolated_cursor *cursor, const char **out_text) {
    uint64_t length;
    *out_text = NULL;
    TN_TRY(tn_isolated_take_u64(cursor, &length));
    if (length == UINT64_MAX) return TN_OK;
    if (length >= left(cursor)) return fail_short();
    if (memchr(cursor->at, 0, (size_t)length + 1) != cursor->at + length)
        return tn_fail(TN_ERROR_FORMAT, "a text has another length than it says");
    *out_text = cursor->at;
    cursor->at += length + 1;
    return TN_OK;
}

tn_status tn_isolated_take_name(tn_isolated_cursor *cursor, const char **out_text) {
    TN_TRY(tn_isolated_take_text(cursor, out_text));
    return *out_text ? TN_OK : tn_fail(TN_ERROR_FORMAT, "a name is missing");
}

tn_status tn_isolated_take_items(tn_isolated_cursor *cursor, tn_arena *arena, uint64_t count,
                                 size_t item_bytes, const void **out_items) {
    if (count > left(cursor) / item_bytes) return fail_short();
    void *items = tn_arena_allocate(arena, (size_t)count + 1, item_bytes);
    if (!items) return tn_fail_memory("a list");
    *out_items = items;
    return tn_isolated_take(cursor, items, (size_t)count * item_bytes);
}
