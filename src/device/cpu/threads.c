/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_for, on the runtime's workers or on the calling thread's OpenMP team, which plans with
 * kernels that use OpenMP share with these. Declared in cpu.h.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/openmp.h"
#include "device/cpu/parallel_job.h"
#include "device/cpu/workers.h"

static void work_on_team(void *user, uint32_t thread) {
    tn_parallel_job *job = user;
    if (thread < job->loop->parts) tn_parallel_job_work(job, thread);
}

/* The whole team is called even when there are fewer parts: libgomp ends the threads that a smaller
 * team does not need, and starting them again costs more than waking them. */
static tn_status run_on_openmp(uint32_t threads, const tn_parallel_loop *loop) {
    tn_parallel_job job;
    tn_parallel_job_init(&job, loop);
    tn_openmp_run(threads, work_on_team, &job);
    return atomic_load(&job.failed);
}

static tn_status cpu_parallel_for(const tn_thread_pool *pool, int64_t count, int64_t grain,
                                  tn_body body, void *user) {
    if (count <= 0) return TN_OK;
    if (grain < 1) grain = 1;
    int64_t parts = count / grain;
    if (parts > pool->threads) parts = pool->threads;
    if (parts > TN_MOST_PARTS) parts = TN_MOST_PARTS;
    if (parts <= 1) return body(user, 0, count, 0);
    const tn_parallel_loop loop = {body, user, count, grain, (uint32_t)parts};
    if (!pool->workers && tn_openmp_is_here()) return run_on_openmp(pool->threads, &loop);
    return tn_workers_run(pool->workers, &loop);
}

void tn_cpu_pool_init(tn_thread_pool *out_pool, uint32_t threads, struct tn_workers *workers,
                      bool is_openmp) {
    *out_pool = (tn_thread_pool){.threads = threads ? threads : 1,
                                 .parallel_for = cpu_parallel_for,
                                 .workers = is_openmp && tn_openmp_is_here() ? NULL : workers};
}
