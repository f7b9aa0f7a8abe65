/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a compiler read, as it writes them for make (-MMD). */
#ifndef TN_COMPILE_DEPENDENCIES_H
#define TN_COMPILE_DEPENDENCIES_H

#include "base/memory.h"

typedef struct tn_dependencies {
    size_t count;
    const char *const *paths; /* in the arena */
} tn_dependencies;
/* False when there is no such file, or it is not a rule of make. The error stays clear. */
bool tn_dependencies_read(tn_arena *arena, const tn_allocator *allocator, const char *path,
                          tn_dependencies *out_dependencies);

#endif
