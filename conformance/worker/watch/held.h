/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library under test holds beside memory: threads that its code started and mappings that
 * its code made, known because this program's pthread_create, mmap and munmap stand before the C
 * library's; and the process' open files, which are looked at.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_HELD_H
#define TN_CONFORMANCE_WORKER_WATCH_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_HELD_FILES = 1024 };
typedef struct tn_held {
    size_t files, threads, mappings;
    uint64_t open[TN_HELD_FILES / 64]; /* bits of the lowest descriptors */
} tn_held;
void tn_held_now(tn_held *out_held);
/* What is held now and was not before, as a phrase ("a thread that run started"); false: nothing.
 * Threads that are about to end get a moment. */
bool tn_held_more(const tn_held *before, char *what, size_t bytes);

#endif
