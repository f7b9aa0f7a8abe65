/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the library under test opens to write, or makes, wherever they are, known because this
 * program's functions stand before the C library's: also one that is closed when the callback
 * returns. What a callback needs beyond a run is in the node's state, what it has to say goes to
 * host->log.
 */
#ifndef TN_CONFORMANCE_WORKER_LIBC_WRITTEN_H
#define TN_CONFORMANCE_WORKER_LIBC_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>

/* Forgets what was written so far. */
void tn_written_begin(void);
/* A file that is still there and was written since, by a callback that may write none: all but
 * prepare, load and save, which may keep what took long to find. False: none. */
bool tn_written_by_callback(char *what, size_t bytes);
/* One that any callback left among temporary files. */
bool tn_written_to_stay(char *what, size_t bytes);

#endif
