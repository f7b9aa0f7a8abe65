/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's heap as a library under test sees it: this program's malloc stands before the C
 * library's, so that one allocation of a callback can be made to fail, and what a callback
 * allocated can be looked at later. What the program itself asks for is never counted.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_HEAP_H
#define TN_CONFORMANCE_WORKER_WATCH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 where a sanitizer's own functions stand before the C library's: ours would hide calls from it.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TN_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TN_IS_SANITIZED 1
#endif
#endif
#ifndef TN_IS_SANITIZED
#define TN_IS_SANITIZED 0
#endif

/* False where a sanitizer has the heap: nothing can be made to fail. */
bool tn_heap_is_watched(void);
/* A sanitizer's library was loaded, which maps memory of its own in each callback. */
bool tn_heap_is_sanitized(void);
/* The library under test, a file that is or will be loaded. */
void tn_heap_library(const char *path);
/* Whether code of the library calls, through the C and C++ libraries too (strdup, operator new). */
bool tn_heap_is_of_library(const void *caller);

/* Bytes that are allocated and not freed, whoever asked for them. [thread: any] */
size_t tn_heap_live_bytes(void);

/* From now on the library's allocations in callbacks on this thread are counted; the one of number
 * `fail_at` fails, 0: none. */
void tn_heap_begin(uint64_t fail_at);
/* The end of that; answers how many there were. */
uint64_t tn_heap_end(void);

/* Around each callback, and around what calls some. [thread: any] */
void tn_heap_enter(void);
void tn_heap_leave(void);
/* Whether this thread is between them. */
bool tn_heap_is_within(void);

/* Between a call with an owner and one with null, what the library allocates on this thread
 * belongs to the owner, until it is freed. */
void tn_heap_own(const void *owner);
void tn_heap_note(const void *memory, size_t bytes); /* the same for the host's memory */
void tn_heap_disown(const void *owner);
/* What the owner's blocks hold, as a hash; very large blocks are left out. [thread: any] */
uint64_t tn_heap_contents(const void *owner);

#endif
