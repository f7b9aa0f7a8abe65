/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_for over one OpenMP team for each calling thread, the team that the numerical libraries
 * use too. Built without OpenMP (thread sanitizer does not see its barriers) it starts threads of
 * its own for each call. Declared in cpu.h.
 */
#include "device/cpu/cpu.h"

#include <stdatomic.h>

typedef struct parallel_job {
    tn_body body;
    void *user;
    int64_t count;
    uint32_t parts;
    atomic_int failed;
} parallel_job;

/* Pieces a part is cut into, so that it notices early that another one failed. */
#define PIECES 4

static void run_part(parallel_job *job, uint32_t part) {
    const int64_t begin = job->count * part / job->parts,
                  end = job->count * (part + 1) / job->parts;
    for (int64_t piece = 0, from = begin; piece < PIECES && from < end; piece++) {
        int64_t to = begin + (end - begin) * (piece + 1) / PIECES;
        if (end - begin < PIECES * 4) to = end;
        if (to == from) continue;
        if (atomic_load_explicit(&job->failed, memory_order_relaxed) != TN_OK) return;
        const tn_status status = job->body(job->user, from, to, part);
        int expected = TN_OK;
        if (status != TN_OK) atomic_compare_exchange_strong(&job->failed, &expected, status);
        from = to;
    }
}

#if defined(_OPENMP) && !defined(TN_NO_OPENMP)
static void run_parts(parallel_job *job) {
#pragma omp parallel for num_threads(job->parts) schedule(static, 1)
    for (uint32_t part = 0; part < job->parts; part++)
        run_part(job, part);
}
#else
#include <pthread.h>
typedef struct parallel_thread {
    pthread_t thread;
    parallel_job *job;
    uint32_t part;
    bool is_started;
} parallel_thread;

static void *thread_main(void *user) {
    parallel_thread *thread = user;
    run_part(thread->job, thread->part);
    return NULL;
}

#define MOST_THREADS 64
static void run_parts(parallel_job *job) {
    parallel_thread threads[MOST_THREADS];
    if (job->parts > MOST_THREADS) job->parts = MOST_THREADS;
    for (uint32_t part = 1; part < job->parts; part++) {
        threads[part] = (parallel_thread){.job = job, .part = part};
        threads[part].is_started =
            pthread_create(&threads[part].thread, NULL, thread_main, &threads[part]) == 0;
    }
    run_part(job, 0);
    for (uint32_t part = 1; part < job->parts; part++) {
        if (threads[part].is_started)
            pthread_join(threads[part].thread, NULL);
        else
            run_part(job, part);
    }
}
#endif

static tn_status cpu_parallel_for(const tn_thread_pool *pool, int64_t count, int64_t grain,
                                  tn_body body, void *user) {
    if (count <= 0) return TN_OK;
    if (grain < 1) grain = 1;
    int64_t parts = count / grain;
    if (parts > pool->threads) parts = pool->threads;
    if (parts <= 1) return body(user, 0, count, 0);
    parallel_job job = {.body = body, .user = user, .count = count, .parts = (uint32_t)parts};
    atomic_init(&job.failed, TN_OK);
    run_parts(&job);
    return atomic_load(&job.failed);
}

void tn_cpu_pool_init(tn_thread_pool *out_pool, uint32_t threads) {
    *out_pool =
        (tn_thread_pool){.threads = threads ? threads : 1, .parallel_for = cpu_parallel_for};
}
