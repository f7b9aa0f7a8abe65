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

/* Whether `needed` bytes are there, and all went well before. */
static bool has(tn_isolated_cursor *cursor, uint64_t needed) {
    if (cursor->status == TN_OK && needed > left(cursor))
        cursor->status = tn_fail(TN_ERROR_FORMAT, "it ends too early");
    return cursor->status == TN_OK;
}

void tn_isolated_take(tn_isolated_cursor *cursor, void *to, size_t bytes) {
    memset(to, 0, bytes);
    if (!has(cursor, bytes)) return;
    memcpy(to, cursor->at, bytes);
    cursor->at += bytes;
}

uint32_t tn_isolated_take_u32(tn_isolated_cursor *cursor) {
    uint32_t value;
    tn_isolated_take(cursor, &value, sizeof(value));
    return value;
}

uint64_t tn_isolated_take_u64(tn_isolated_cursor *cursor) {
    uint64_t value;
    tn_isolated_take(cursor, &value, sizeof(value));
    return value;
}

uint64_t tn_isolated_take_count(tn_isolated_cursor *cursor, size_t least) {
    const uint64_t count = tn_isolated_take_u64(cursor);
    return has(cursor, count > left(cursor) / least ? UINT64_MAX : 0) ? count : 0;
}

const char *tn_isolated_take_text(tn_isolated_cursor *cursor) {
    const uint64_t length = tn_isolated_take_u64(cursor);
    const char *text = cursor->at;
    if (length == UINT64_MAX || !has(cursor, length + 1)) return NULL;
    if (memchr(text, 0, (size_t)length + 1) != text + length) {
        cursor->status = tn_fail(TN_ERROR_FORMAT, "a text has another length than it says");
        return NULL;
    }
    cursor->at += length + 1;
    return text;
}

const char *tn_isolated_take_name(tn_isolated_cursor *cursor) {
    const char *name = tn_isolated_take_text(cursor);
    if (!name && cursor->status == TN_OK)
        cursor->status = tn_fail(TN_ERROR_FORMAT, "a name is missing");
    return name ? name : "";
}

const void *tn_isolated_take_items(tn_isolated_cursor *cursor, tn_arena *arena, uint64_t count,
                                   size_t item_bytes) {
    if (!has(cursor, count > left(cursor) / item_bytes ? UINT64_MAX : 0)) return NULL;
    void *items = tn_arena_allocate(arena, (size_t)count + 1, item_bytes);
    if (items)
        tn_isolated_take(cursor, items, (size_t)count * item_bytes);
    else
        cursor->status = tn_fail_memory("a list");
    return items;
}
