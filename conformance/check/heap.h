/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's heap as a library under test sees it: this program's malloc stands before the C
 * library's, so that one allocation of a callback can be made to fail. What the program itself asks
 * for is never counted.
 */
#ifndef TN_CONFORMANCE_HEAP_H
#define TN_CONFORMANCE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* False where a sanitizer has the heap: nothing can be made to fail. */
bool tn_heap_is_watched(void);
/* From now on the allocations that callbacks of the object around `code` make on this thread are
 * counted, through the C and C++ libraries too (strdup, operator new); the one of number `fail_at`
 * fails, 0: none. */
void tn_heap_begin(const void *code, uint64_t fail_at);
/* The end of that; answers how many there were. */
uint64_t tn_heap_end(void);

/* Around each callback. [thread: any] */
void tn_heap_enter(void);
void tn_heap_leave(void);

#endif
