/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that help callers with loops, shared by everything that a runtime runs. A caller always
 * does a part itself, takes further parts that no worker has begun, and waits for those alone that
 * one has begun: a worker that the operating system does not run delays nobody, and where all are
 * busy a loop runs in its caller. What does whole jobs that nobody waits for is host_threads.h.
 */
#ifndef TN_DEVICE_WORKERS_H
#define TN_DEVICE_WORKERS_H

#include <stdbool.h>
#include <tenon/runtime.h>

typedef struct tn_workers tn_workers;
struct tn_parallel_loop; /* parallel_job.h */

/* No thread is started before a loop needs it. TN_ERROR_MEMORY. */
tn_status tn_workers_create(const tn_allocator *allocator, tn_workers **out_workers);
/* Ends the threads; no loop may be at work. Null is fine. */
void tn_workers_destroy(tn_workers *workers);

/* A caller that will run loops until it leaves: where callers and workers are more than processors,
 * callers are helped less, and workers sleep at once. Null is fine. [thread: any] */
void tn_workers_enter(tn_workers *workers);
void tn_workers_leave(tn_workers *workers);

/* Runs a loop with the help of at most loop->parts - 1 workers. When a body fails no piece begins
 * any more, and the first failure is the answer. `thread` of the bodies is below loop->parts, and
 * no two that run at once have the same. A body may run loops itself. [thread: any] */
tn_status tn_workers_run(tn_workers *workers, const struct tn_parallel_loop *loop);

#endif
