/* SPDX-License-Identifier: Apache-2.0 */
/* A loop while it runs: which pieces of its parts nobody has begun. For workers.c and threads.c. */
#ifndef TN_DEVICE_PARALLEL_JOB_H
#define TN_DEVICE_PARALLEL_JOB_H

#include <stdatomic.h>
#include <tenon/plugin.h>

/* A loop over 0..count-1 in `parts` nearly equal parts, each at least `grain` long. */
typedef struct tn_parallel_loop {
    tn_body body;
    void *user;
    int64_t count, grain;
    uint32_t parts; /* 1 to TN_MOST_PARTS; at most count / grain */
} tn_parallel_loop;

enum { TN_MOST_PARTS = 128 };

/* The next piece of a part, alone in its cache line. */
typedef struct tn_parallel_part {
    atomic_uint next;
    char rest[64 - sizeof(atomic_uint)];
} tn_parallel_part;

/* Lies on its caller's stack. */
typedef struct tn_parallel_job {
    const tn_parallel_loop *loop;
    atomic_int failed;     /* the first failure, TN_OK before */
    atomic_uint threads;   /* that take part, the caller among them */
    atomic_uint attending; /* workers that may still look at this, and a bit (workers.c) */
    tn_parallel_part parts[TN_MOST_PARTS];
} tn_parallel_job;

void tn_parallel_job_init(tn_parallel_job *job, const tn_parallel_loop *loop);
/* As thread number `thread`: the pieces of its own part, then those of others that are left. */
void tn_parallel_job_work(tn_parallel_job *job, uint32_t thread);

#endif
