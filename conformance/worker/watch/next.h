/* SPDX-License-Identifier: Apache-2.0 */
/* What functions of the check's that stand before the C library's have in common. */
#ifndef TN_CONFORMANCE_WORKER_WATCH_NEXT_H
#define TN_CONFORMANCE_WORKER_WATCH_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Sets a pointer to the function behind ours; each use of this looks it up once. */
#define TN_NEXT(pointer, name)                                                                     \
    do {                                                                                           \
        static _Atomic(void *) known;                                                              \
        void *function = atomic_load_explicit(&known, memory_order_relaxed);                       \
        if (!function) function = dlsym(RTLD_NEXT, name);                                          \
        atomic_store_explicit(&known, function, memory_order_relaxed);                             \
        *(void **)&(pointer) = function;                                                           \
    } while (0)

/* Who called the function that this stands in. */
#define TN_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#endif
