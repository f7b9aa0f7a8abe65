/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of TN_STRING and their heap (tenon/plugin/string.h): checks of what comes from outside,
 * and copies. */
#ifndef TN_TENSOR_STRING_H
#define TN_TENSOR_STRING_H

#include <tenon/plugin/string.h>

/* The heap behind `count` elements in a block of `bytes` bytes, which are at least as many as the
 * elements take. Null data (of a block of 0 bytes) is fine. */
tn_heap tn_heap_behind(const void *block, uint64_t count, uint64_t bytes);
/* Whether each of `count` elements lies within the heap: TN_ERROR_RANGE names the first that does
 * not. The elements may have any alignment. */
tn_status tn_strings_check(const void *elements, uint64_t count, const tn_heap *heap);
/* The heap that copies of `count` elements take: the bytes that they name, one element after the
 * other, or, where elements share bytes so that this is less, the whole of theirs. */
uint64_t tn_strings_heap_bytes(const void *elements, uint64_t count, const tn_heap *heap);
/* Copies elements, which are within their heap, to `to`, and the bytes that they name to `to_heap`,
 * which has room for tn_strings_heap_bytes. */
void tn_strings_copy(const void *elements, uint64_t count, const tn_heap *heap, tn_string *to,
                     char *to_heap);

#endif
