/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory through the runtime's allocator, checked sizes, growing arrays, and the arena: many small
 * pieces that are freed together. All functions answer null (or TN_ERROR_MEMORY with the error set,
 * where they return a status) when there is none.
 */
#ifndef TN_BASE_MEMORY_H
#define TN_BASE_MEMORY_H

#include <tenon/runtime.h>

/* The C library's allocator. */
const tn_allocator *tn_allocator_default(void);

void *tn_allocate(const tn_allocator *allocator,
                  size_t bytes); /* 16-byte aligned, contents undefined */
void *tn_allocate_zero(const tn_allocator *allocator, size_t count,
                       size_t bytes); /* null when count * bytes overflows */
void *tn_allocate_aligned(const tn_allocator *allocator, size_t bytes, size_t alignment);
/* For memory that is about to be written whole: has the system map its pages at once, where they
 * are many, instead of at a fault for each. Contents stay; a hint. */
void tn_memory_populate(void *memory, size_t bytes);
void tn_deallocate(const tn_allocator *allocator, void *memory);
char *tn_duplicate_text(const tn_allocator *allocator, const char *text);

/* False when the result does not fit; *out is then untouched. */
bool tn_mul_size(size_t a, size_t b, size_t *out);
bool tn_add_size(size_t a, size_t b, size_t *out);
bool tn_mul_i64(int64_t a, int64_t b, int64_t *out);
bool tn_add_i64(int64_t a, int64_t b, int64_t *out);
/* Rounds up to a power of two multiple. */
bool tn_align_size(size_t bytes, size_t alignment, size_t *out);

/* Makes room for `count` items of `item_bytes` in *items (old contents kept, new items zeroed). */
tn_status tn_grow(const tn_allocator *allocator, void **items, size_t *capacity, size_t count,
                  size_t item_bytes);

typedef struct tn_arena tn_arena;
tn_status tn_arena_create(const tn_allocator *allocator, tn_arena **out_arena);
void tn_arena_destroy(tn_arena *arena); /* null is fine */
/* 16-byte aligned, zeroed; null when there is no memory or count * bytes overflows. Zero bytes give
 * a valid pointer. */
void *tn_arena_allocate(tn_arena *arena, size_t count, size_t bytes);
/* Calls the function when the arena is destroyed, before its memory goes; the last one first. Not
 * after a failure. */
tn_status tn_arena_at_end(tn_arena *arena, void (*function)(void *user), void *user);
void *tn_arena_copy(tn_arena *arena, const void *data, size_t bytes);
char *tn_arena_text(tn_arena *arena, const char *text);
/* The text itself where the arena's texts outlive it (tn_arena_lend_texts), else a copy. */
const char *tn_arena_keep_text(tn_arena *arena, const char *text);
void tn_arena_lend_texts(tn_arena *arena);
char *tn_arena_format(tn_arena *arena, const char *format, ...) TN_PRINTF(2, 3);

#endif
