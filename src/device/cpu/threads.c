/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_for over one OpenMP team for each calling thread, the team that the numerical libraries
 * use too. Built without OpenMP (thread sanitizer does not see its barriers) it starts threads of
 * its own for each call. Declared in cpu.h.
 */
#include "device/cpu/cpu.h"

#include <stdatomic.h>

/* `count` items in `parts` nearly equal parts, each at least `grain` long. */
typedef struct parallel_job {
    tn_body body;
    void *user;
    int64_t count, grain, parts;
    atomic_int failed; /* the first failure, TN_OK before */
} parallel_job;

/* Pieces a part is cut into, so that it notices early that another one failed. */
#define MOST_PIECES 4

/* Where piece `index` of `pieces` begins; the first ones are longer by one item. */
static int64_t piece_begin(int64_t count, int64_t pieces, int64_t index) {
    const int64_t longer = count % pieces;
    return count / pieces * index + (index < longer ? index : longer);
}

static void run_part(parallel_job *job, int64_t part) {
    const int64_t begin = piece_begin(job->count, job->parts, part);
    const int64_t count = piece_begin(job->count, job->parts, part + 1) - begin;
    int64_t pieces = count / job->grain;
    if (pieces > MOST_PIECES) pieces = MOST_PIECES;
    for (int64_t i = 0; i < pieces; i++) {
        if (atomic_load_explicit(&job->failed, memory_order_relaxed) != TN_OK) return;
        const tn_status status =
            job->body(job->user, begin + piece_begin(count, pieces, i),
                      begin + piece_begin(count, pieces, i + 1), (uint32_t)part);
        int expected = TN_OK;
        if (status == TN_OK) continue;
        atomic_compare_exchange_strong(&job->failed, &expected, status);
        return;
    }
}

#if defined(_OPENMP) && !defined(TN_NO_OPENMP)
#include <omp.h>

/* The whole team is called even when there are fewer parts: libgomp ends the threads that a smaller
 * team does not need, and starting them again costs more than waking them. */
static void run_parts(parallel_job *job, uint32_t threads) {
#pragma omp parallel num_threads(threads)
    {
        const int64_t team = omp_get_num_threads();
        for (int64_t part = omp_get_thread_num(); part < job->parts; part += team)
            run_part(job, part);
    }
}
#else
#include <pthread.h>
typedef struct parallel_thread {
    pthread_t thread;
    parallel_job *job;
    int64_t part;
    bool is_started;
} parallel_thread;

static void *thread_main(void *user) {
    parallel_thread *thread = user;
    run_part(thread->job, thread->part);
    return NULL;
}

#define MOST_THREADS 64
/* A part whose thread cannot be started is done here. */
static void run_parts(parallel_job *job, uint32_t threads) {
    parallel_thread started[MOST_THREADS] = {{0}};
    (void)threads;
    if (job->parts > MOST_THREADS) job->parts = MOST_THREADS;
    for (int64_t part = 1; part < job->parts; part++) {
        started[part] = (parallel_thread){.job = job, .part = part};
        started[part].is_started =
            pthread_create(&started[part].thread, NULL, thread_main, &started[part]) == 0;
    }
    run_part(job, 0);
    for (int64_t part = 1; part < job->parts; part++) {
        if (started[part].is_started)
            pthread_join(started[part].thread, NULL);
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
    parallel_job job = {.body = body, .user = user, .count = count, .grain = grain, .parts = parts};
    atomic_init(&job.failed, TN_OK);
    run_parts(&job, pool->threads);
    return atomic_load(&job.failed);
}

void tn_cpu_pool_init(tn_thread_pool *out_pool, uint32_t threads) {
    *out_pool =
        (tn_thread_pool){.threads = threads ? threads : 1, .parallel_for = cpu_parallel_for};
}
