/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of TN_STRING and their heap (tenon/plugin/string.h): checks of what comes from outside.
 */
#ifndef TN_TENSOR_STRING_H
#define TN_TENSOR_STRING_H

#include <tenon/plugin/string.h>

/* The heap behind `count` elements in a block of `bytes` bytes, which are at least as many as the
 * elements take. Null data (of a block of 0 bytes) is fine. */
tn_heap tn_heap_behind(const void *block, uint64_t count, uint64_t bytes);
/* Whether each of `count` elements lies within the heap: TN_ERROR_RANGE names the first that does
 * not. The elements may have any alignment. */
tn_status tn_strings_check(const void *elements, uint64_t count, const tn_heap *heap);

#endif
