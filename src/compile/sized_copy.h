/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of callers who were compiled with an older header. */
#ifndef TN_COMPILE_SIZED_COPY_H
#define TN_COMPILE_SIZED_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies the `size` bytes that a caller's struct says it has, at most `bytes`; the rest is zero. */
static inline void tn_sized_copy(void *to, size_t bytes, const void *from) {
    uint32_t size;
    memcpy(&size, from, sizeof(size));
    memset(to, 0, bytes);
    memcpy(to, from, size < bytes ? size : bytes);
}

#endif
