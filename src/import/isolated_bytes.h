/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and texts one behind the other, between two processes of one build: written into a buffer
 * that grows, and read from bytes of which nothing is trusted.
 */
#ifndef TN_IMPORT_ISOLATED_BYTES_H
#define TN_IMPORT_ISOLATED_BYTES_H

#include "base/memory.h"

typedef struct tn_isolated_writer {
    const tn_allocator *allocator;
    char *data;
    size_t bytes, capacity;
    bool is_failed; /* no memory: nothing more is written */
} tn_isolated_writer;
void tn_isolated_put(tn_isolated_writer *writer, const void *data, size_t bytes);
void tn_isolated_put_u32(tn_isolated_writer *writer, uint32_t value);
void tn_isolated_put_u64(tn_isolated_writer *writer, uint64_t value);
void tn_isolated_put_text(tn_isolated_writer *writer, const char *text); /* null is kept */
void tn_isolated_writer_deinit(tn_isolated_writer *writer);

/* Into a file in memory. */
tn_status tn_isolated_write(int file, const void *data, size_t bytes, uint64_t offset);

/* The first failure is kept: TN_ERROR_FORMAT where so much is not there. From then on numbers are
 * 0, lists and texts null, and names "". */
typedef struct tn_isolated_cursor {
    const char *at, *end;
    tn_status status;
} tn_isolated_cursor;
void tn_isolated_take(tn_isolated_cursor *cursor, void *to, size_t bytes);
uint32_t tn_isolated_take_u32(tn_isolated_cursor *cursor);
uint64_t tn_isolated_take_u64(tn_isolated_cursor *cursor);
/* A count of things that take `least` bytes each: no more than there can be. */
uint64_t tn_isolated_take_count(tn_isolated_cursor *cursor, size_t least);
/* Lies in the cursor's bytes; null where null was put. */
const char *tn_isolated_take_text(tn_isolated_cursor *cursor);
/* The same, which may not be null. */
const char *tn_isolated_take_name(tn_isolated_cursor *cursor);
/* A list of `count` items, copied into `arena`. */
const void *tn_isolated_take_items(tn_isolated_cursor *cursor, tn_arena *arena, uint64_t count,
                                   size_t item_bytes);

#endif
