/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do jobs one after another. Declared in host_threads.h. */
#include "device/cpu/host_threads.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread_start.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct host_thread {
    tn_host_threads *threads;
    pthread_t thread;
    bool *is_orphan; /* of its stack: a job of its own has destroyed `threads` */
} host_thread;

struct tn_host_threads {
    tn_allocator allocator;
    pthread_mutex_t lock;
    pthread_cond_t has_job;
    host_thread *all;
    tn_host_job *first, *last;
    uint32_t most, started, busy, waiting; /* waiting: jobs */
    bool is_ending;
};

static tn_host_job *take_job(tn_host_threads *threads) {
    while (!threads->first && !threads->is_ending)
        pthread_cond_wait(&threads->has_job, &threads->lock);
    tn_host_job *job = threads->first;
    if (!job) return NULL;
    threads->first = job->next;
    if (!threads->first) threads->last = NULL;
    threads->waiting--;
    threads->busy++;
    return job;
}

static void *thread_main(void *user) {
    host_thread *self = user;
    tn_host_threads *threads = self->threads;
    bool is_orphan = false;
    pthread_mutex_lock(&threads->lock);
    self->is_orphan = &is_orphan;
    for (tn_host_job *job; (job = take_job(threads));) {
        pthread_mutex_unlock(&threads->lock);
        job->function(job);
        if (is_orphan) return NULL;
        pthread_mutex_lock(&threads->lock);
        threads->busy--;
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

tn_status tn_host_threads_create(const tn_allocator *allocator, uint32_t most,
                                 tn_host_threads **out_threads) {
    if (most == 0) most = 1;
    tn_host_threads *threads = tn_allocate_zero(allocator, 1, sizeof(*threads));
    host_thread *all = tn_allocate_zero(allocator, most, sizeof(*all));
    if (!threads || !all) {
        tn_deallocate(allocator, threads);
        tn_deallocate(allocator, all);
        return tn_fail_memory("threads for runs");
    }
    *threads = (tn_host_threads){.allocator = *allocator, .all = all, .most = most};
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->has_job, NULL);
    *out_threads = threads;
    return TN_OK;
}

void tn_host_threads_destroy(tn_host_threads *threads) {
    if (!threads) return;
    pthread_mutex_lock(&threads->lock);
    threads->is_ending = true;
    pthread_cond_broadcast(&threads->has_job);
    pthread_mutex_unlock(&threads->lock);
    for (uint32_t i = 0; i < threads->started; i++) {
        const host_thread *thread = &threads->all[i];
        if (pthread_equal(thread->thread, pthread_self())) {
            *thread->is_orphan = true;
            pthread_detach(thread->thread);
        } else {
            pthread_join(thread->thread, NULL);
        }
    }
    const tn_allocator allocator = threads->allocator;
    pthread_cond_destroy(&threads->has_job);
    pthread_mutex_destroy(&threads->lock);
    tn_deallocate(&allocator, threads->all);
    tn_deallocate(&allocator, threads);
}

static bool start_threads(tn_host_threads *threads) {
    host_thread *next = &threads->all[threads->started];
    next->threads = threads;
    const bool is_started = tn_thread_start(&next->thread, thread_main, next);
    if (is_started) threads->started++;
    return is_started;
}

tn_status tn_host_threads_submit(tn_host_threads *threads, tn_host_job *job) {
    pthread_mutex_lock(&threads->lock);
    const uint32_t idle = threads->started - threads->busy;
    if (threads->waiting >= idle && threads->started < threads->most) (void)start_threads(threads);
    const bool is_taken = threads->started > 0;
    if (is_taken) {
        job->next = NULL;
        if (threads->last)
            threads->last->next = job;
        else
            threads->first = job;
        threads->last = job;
        threads->waiting++;
        pthread_cond_signal(&threads->has_job);
    }
    pthread_mutex_unlock(&threads->lock);
    return is_taken ? TN_OK : tn_fail(TN_ERROR_MEMORY, "no thread for a run can be started");
}
