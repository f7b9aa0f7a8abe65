/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: blocks that double from 4 KB to 256 KB, large pieces in blocks of their own, all freed
 * together. Declared in memory.h.
 */
#include "base/memory.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct arena_block {
    struct arena_block *next;
    size_t used, bytes; /* of data */
    _Alignas(16) char data[];
} arena_block;

/* Called when the arena goes. */
typedef struct arena_end {
    struct arena_end *next;
    void (*function)(void *user);
    void *user;
} arena_end;

struct tn_arena {
    tn_allocator allocator;
    arena_block *blocks; /* the first one has the free memory */
    size_t next_bytes;
    bool lends_texts;
    arena_end *ends; /* the last one first */
};

#define SMALLEST_BLOCK 4096
#define LARGEST_BLOCK  (256 * 1024)

tn_status tn_arena_create(const tn_allocator *allocator, tn_arena **out_arena) {
    tn_arena *arena = tn_allocate_zero(allocator, 1, sizeof(*arena));
    if (!arena) return tn_fail_memory("an arena");
    arena->allocator = *allocator;
    arena->next_bytes = SMALLEST_BLOCK;
    *out_arena = arena;
    return TN_OK;
}

void tn_arena_destroy(tn_arena *arena) {
    if (!arena) return;
    for (const arena_end *end = arena->ends; end; end = end->next)
        end->function(end->user);
    const tn_allocator allocator = arena->allocator;
    for (arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        tn_deallocate(&allocator, block);
    }
    tn_deallocate(&allocator, arena);
}

static arena_block *add_block(tn_arena *arena, size_t data_bytes) {
    size_t bytes;
    if (!tn_add_size(sizeof(arena_block), data_bytes, &bytes)) return NULL;
    arena_block *block = tn_allocate(&arena->allocator, bytes);
    if (!block) return NULL;
    block->used = 0;
    block->bytes = data_bytes;
    block->next = NULL;
    return block;
}

/* Not zeroed. */
static void *take(tn_arena *arena, size_t bytes, size_t *out_bytes) {
    size_t wanted;
    if (!tn_align_size(bytes, 16, &wanted)) return NULL;
    if (wanted == 0) wanted = 16;
    arena_block *block = arena->blocks;
    if (!block || block->bytes - block->used < wanted) {
        const bool is_large = wanted > arena->next_bytes / 4;
        block = add_block(arena, is_large ? wanted : arena->next_bytes);
        if (!block) return NULL;
        if (is_large && arena->blocks) { /* the block with free memory stays first */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
        if (!is_large && arena->next_bytes < LARGEST_BLOCK) arena->next_bytes *= 2;
    }
    void *memory = block->data + block->used;
    block->used += wanted;
    *out_bytes = wanted;
    return memory;
}

void *tn_arena_allocate(tn_arena *arena, size_t count, size_t bytes) {
    size_t wanted, taken = 0;
    if (!tn_mul_size(count, bytes, &wanted)) return NULL;
    void *memory = take(arena, wanted, &taken);
    if (memory) memset(memory, 0, taken);
    return memory;
}

void *tn_arena_copy(tn_arena *arena, const void *data, size_t bytes) {
    size_t taken = 0;
    char *copy = take(arena, bytes, &taken);
    if (!copy) return NULL;
    if (bytes) memcpy(copy, data, bytes);
    memset(copy + bytes, 0, taken - bytes);
    return copy;
}

tn_status tn_arena_at_end(tn_arena *arena, void (*function)(void *user), void *user) {
    arena_end *end = tn_arena_allocate(arena, 1, sizeof(*end));
    if (!end) return tn_fail_memory("an arena");
    *end = (arena_end){arena->ends, function, user};
    arena->ends = end;
    return TN_OK;
}

char *tn_arena_text(tn_arena *arena, const char *text) {
    return tn_arena_copy(arena, text, strlen(text) + 1);
}

const char *tn_arena_keep_text(tn_arena *arena, const char *text) {
    return arena->lends_texts ? text : tn_arena_text(arena, text);
}

void tn_arena_lend_texts(tn_arena *arena) {
    arena->lends_texts = true;
}

char *tn_arena_format(tn_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) return NULL;
    char *text = tn_arena_allocate(arena, (size_t)length + 1, 1);
    if (!text) return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}
