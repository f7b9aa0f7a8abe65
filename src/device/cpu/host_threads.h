/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do jobs one after another, for runs that their callers do not wait for. They are
 * started when there is a job and none of them is idle, up to a number, and stay. What divides one
 * job among threads is the pool of cpu.h.
 */
#ifndef TN_DEVICE_HOST_THREADS_H
#define TN_DEVICE_HOST_THREADS_H

#include <tenon/runtime.h>

/* Lies in what it is a job of; free again when its function is called. */
typedef struct tn_host_job {
    struct tn_host_job *next;
    void (*function)(struct tn_host_job *job);
} tn_host_job;

typedef struct tn_host_threads tn_host_threads;

/* `most`: threads (at least 1); none is started yet. */
tn_status tn_host_threads_create(const tn_allocator *allocator, uint32_t most,
                                 tn_host_threads **out_threads);
/* No job may be waiting or at work, but for one that calls this itself; null is fine. */
void tn_host_threads_destroy(tn_host_threads *threads);
/* Jobs begin in the order in which they were submitted. TN_ERROR_MEMORY: there is no thread, and
 * none can be started. [thread: any] */
tn_status tn_host_threads_submit(tn_host_threads *threads, tn_host_job *job);

#endif
