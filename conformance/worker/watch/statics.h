/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writable memory of a loaded library, which all of its engines and contexts share: its static
 * variables, without what the loader writes there.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_STATICS_H
#define TN_CONFORMANCE_WORKER_WATCH_STATICS_H

#include <stddef.h>

enum { TN_STATICS_PARTS = 8 };
typedef struct tn_statics {
    size_t count;
    char *data[TN_STATICS_PARTS];
    size_t bytes[TN_STATICS_PARTS];
} tn_statics;

/* Of the library that holds the function. None: it is the program's, or there is too much of it to
 * be looked at often. */
void tn_statics_of(const void *function, tn_statics *out_statics);

#endif
