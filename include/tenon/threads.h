/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the processor that several engines share: however many contexts of theirs run at once,
 * no more than so many threads are at work.
 */
#ifndef TENON_THREADS_H
#define TENON_THREADS_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A run of an engine with tn_engine_options.shared_threads begins when as many of them are free as
 * the engine has threads, and has them until it is over; runs begin in the order in which they
 * came. So one engine with 8 threads runs alone on 8, and eight with 1 side by side. An engine may
 * not have more than there are, and has all of them at most where it is not said how many. While a
 * run waits for its turn it can be cancelled (tn_context_cancel). A kernel must not run a network
 * that shares the same threads. Runs of engines on a device do not count.
 *
 * What is bounded is work, not the operating system's threads: those that call, and the workers
 * that the runtime's engines share, sleep between runs. */
typedef struct tn_threads tn_threads;

/* `count` threads, at most 1024, 0: as many as this process has processors. The caller releases it;
 * engines hold one of their own. TN_ERROR_ARGUMENT, TN_ERROR_MEMORY. [thread: any] */
TN_EXPORT tn_status tn_threads_create(uint32_t count, tn_threads **out_threads);
TN_EXPORT tn_threads *tn_threads_retain(tn_threads *threads);
TN_EXPORT void tn_threads_release(tn_threads *threads); /* null is fine */
/* How many there are, and how many of them are free now. [thread: any] */
TN_EXPORT uint32_t tn_threads_count(const tn_threads *threads);
TN_EXPORT uint32_t tn_threads_free(tn_threads *threads);

#ifdef __cplusplus
}
#endif
#endif
