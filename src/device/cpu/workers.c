/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers and how a loop finds them. Declared in workers.h.
 *
 * A worker's state is one word: idle, asleep, busy, or the address of the loop that it is to help
 * with. The caller exchanges idle for the address, the worker the address for busy; a caller that
 * has nothing left to do exchanges the address for idle again, and then nobody looks at its loop
 * any more. So a loop lies on its caller's stack, and nobody takes a lock but to start a thread.
 *
 * Between loops a worker looks at its word for a while before it sleeps on a futex: a thread that
 * sleeps is woken in 5 to 50 us, one that looks finds a loop in well under one.
 */
#include "device/cpu/workers.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "device/cpu/futex.h"
#include "device/cpu/parallel_job.h"
#include "base/thread_start.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

/* How long a worker looks for the next loop, and a caller for the end of its own. Between two loops
 * of a run lie a few microseconds; what is longer costs more time of a processor than waking saves.
 */
#define LOOK_NS 50000
/* Looks between two readings of the clock, which takes about as long as so many. */
#define LOOKS_A_READING 16
#define MOST_WORKERS    (TN_MOST_PARTS - 1)

enum { IDLE, ASLEEP, BUSY, FIRST_ADDRESS }; /* a worker's state; FIRST_ADDRESS and above: a job */

/* Padded, so that no two of them share a cache line. */
typedef struct worker {
    atomic_uintptr_t state;
    atomic_uint wakes; /* the futex: changes before it is woken */
    tn_workers *all;
    pthread_t thread;
    char rest[128 - sizeof(atomic_uintptr_t) - sizeof(atomic_uint) - 2 * sizeof(void *)];
} worker;

struct tn_workers {
    tn_allocator allocator;
    uint32_t processors;
    atomic_uint callers, started;
    atomic_bool is_ending;
    pthread_mutex_t starting;
    pid_t process; /* that started them; a fork's child has none */
    worker workers[MOST_WORKERS];
};

/* Whether there may be a processor for a worker beside all callers. */
static bool has_processor(tn_workers *all) {
    return atomic_load_explicit(&all->callers, memory_order_relaxed) < all->processors;
}

/* --- a worker --- */

/* Looks until the state is no longer idle; false: it is time to sleep. */
static bool look(worker *self) {
    const uint64_t until = tn_now_ns() + LOOK_NS;
    do {
        for (int i = 0; i < LOOKS_A_READING; i++) {
            if (atomic_load_explicit(&self->state, memory_order_relaxed) != IDLE) return true;
            tn_pause();
        }
    } while (has_processor(self->all) && tn_now_ns() < until);
    return false;
}

static void sleep_until_woken(worker *self) {
    const unsigned wakes = atomic_load(&self->wakes);
    uintptr_t expected = IDLE;
    if (!atomic_compare_exchange_strong(&self->state, &expected, ASLEEP)) return;
    if (!atomic_load(&self->all->is_ending)) tn_futex_wait(&self->wakes, wakes, UINT64_MAX);
    expected = ASLEEP;
    atomic_compare_exchange_strong(&self->state, &expected, IDLE);
}

/* Null: it is to end. */
static tn_parallel_job *next_job(worker *self) {
    while (!atomic_load(&self->all->is_ending)) {
        uintptr_t state = atomic_load(&self->state);
        if (state >= FIRST_ADDRESS) {
            if (atomic_compare_exchange_strong(&self->state, &state, BUSY))
                return (tn_parallel_job *)state;
        } else if (!look(self)) {
            sleep_until_woken(self);
        }
    }
    return NULL;
}

#define CALLER_SLEEPS 0x80000000u /* in `attending`, beside the number of workers */

/* The worker's last look at a job. Only the futex's address is used after the caller may have gone.
 */
static void leave_job(tn_parallel_job *job) {
    if (atomic_fetch_sub(&job->attending, 1) == (CALLER_SLEEPS | 1u))
        tn_futex_wake(&job->attending);
}

static void *worker_main(void *user) {
    worker *self = user;
    for (tn_parallel_job *job; (job = next_job(self));) {
        tn_parallel_job_work(job, atomic_fetch_add(&job->threads, 1));
        atomic_store(&self->state, IDLE); /* before: the caller's next loop finds it so */
        leave_job(job);
    }
    return NULL;
}

/* --- a caller --- */

/* One more, if it can be started; loops do without. */
static void start_one(tn_workers *all) {
    pthread_mutex_lock(&all->starting);
    const uint32_t started = atomic_load(&all->started);
    if (started < MOST_WORKERS && (started == 0 || all->process == getpid())) {
        worker *next = &all->workers[started];
        *next = (worker){.all = all};
        all->process = getpid();
        if (tn_thread_start(&next->thread, worker_main, next))
            atomic_store(&all->started, started + 1);
    }
    pthread_mutex_unlock(&all->starting);
}

static bool is_free(uintptr_t state) {
    return state == IDLE || state == ASLEEP;
}

/* A worker that falls asleep meanwhile is free still. */
static bool offer(worker *to, tn_parallel_job *job) {
    uintptr_t state = atomic_load_explicit(&to->state, memory_order_relaxed);
    if (!is_free(state)) return false;
    atomic_fetch_add(&job->attending, 1);
    while (!atomic_compare_exchange_weak(&to->state, &state, (uintptr_t)job)) {
        if (is_free(state)) continue;
        atomic_fetch_sub(&job->attending, 1);
        return false;
    }
    if (state == ASLEEP) {
        atomic_fetch_add(&to->wakes, 1);
        tn_futex_wake(&to->wakes);
    }
    return true;
}

/* Answers how many workers, from the first on, may have the job. */
static uint32_t offer_to_workers(tn_workers *all, tn_parallel_job *job, uint32_t wanted) {
    uint32_t taken = 0, i = 0;
    while (atomic_load_explicit(&all->started, memory_order_acquire) < wanted) {
        const uint32_t before = atomic_load(&all->started);
        start_one(all);
        if (atomic_load(&all->started) == before) break;
    }
    const uint32_t started = atomic_load_explicit(&all->started, memory_order_acquire);
    for (; i < started && taken < wanted; i++)
        taken += offer(&all->workers[i], job);
    return i;
}

/* From those that have not begun. */
static void take_back(tn_workers *all, tn_parallel_job *job, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t state = (uintptr_t)job;
        if (atomic_compare_exchange_strong(&all->workers[i].state, &state, IDLE))
            atomic_fetch_sub(&job->attending, 1);
    }
}

static void wait_for_workers(tn_parallel_job *job) {
    const uint64_t until = tn_now_ns() + LOOK_NS;
    do {
        for (int i = 0; i < LOOKS_A_READING; i++) {
            if (atomic_load(&job->attending) == 0) return;
            tn_pause();
        }
    } while (tn_now_ns() < until);
    unsigned left = atomic_fetch_or(&job->attending, CALLER_SLEEPS) | CALLER_SLEEPS;
    for (; left != CALLER_SLEEPS; left = atomic_load(&job->attending))
        tn_futex_wait(&job->attending, left, UINT64_MAX);
}

/* Where callers are fewer than processors each may have all that its loop has parts for. */
static uint32_t count_wanted(tn_workers *all, const tn_parallel_loop *loop) {
    const uint32_t callers = atomic_load_explicit(&all->callers, memory_order_relaxed);
    const uint32_t wanted = loop->parts - 1;
    if (callers <= 1) return wanted;
    const uint32_t left = callers < all->processors ? all->processors - callers : 0;
    return wanted < left ? wanted : left;
}

tn_status tn_workers_run(tn_workers *all, const tn_parallel_loop *loop) {
    tn_parallel_job job;
    tn_parallel_job_init(&job, loop);
    const uint32_t wanted = count_wanted(all, loop);
    const uint32_t offered = wanted > 0 ? offer_to_workers(all, &job, wanted) : 0;
    tn_parallel_job_work(&job, 0);
    if (offered > 0) {
        take_back(all, &job, offered);
        if (atomic_load(&job.attending) > 0) wait_for_workers(&job);
    }
    return atomic_load(&job.failed);
}

void tn_workers_enter(tn_workers *workers) {
    if (workers) atomic_fetch_add_explicit(&workers->callers, 1, memory_order_relaxed);
}

void tn_workers_leave(tn_workers *workers) {
    if (workers) atomic_fetch_sub_explicit(&workers->callers, 1, memory_order_relaxed);
}

/* --- their life --- */

tn_status tn_workers_create(const tn_allocator *allocator, tn_workers **out_workers) {
    tn_workers *workers = tn_allocate_zero(allocator, 1, sizeof(*workers));
    if (!workers) return tn_fail_memory("threads for loops");
    workers->allocator = *allocator;
    workers->processors = tn_cpu_core_count();
    pthread_mutex_init(&workers->starting, NULL);
    *out_workers = workers;
    return TN_OK;
}

void tn_workers_destroy(tn_workers *workers) {
    if (!workers) return;
    const uint32_t started = atomic_load(&workers->started);
    atomic_store(&workers->is_ending, true);
    for (uint32_t i = 0; i < started && workers->process == getpid(); i++) {
        atomic_fetch_add(&workers->workers[i].wakes, 1);
        tn_futex_wake(&workers->workers[i].wakes);
        pthread_join(workers->workers[i].thread, NULL);
    }
    const tn_allocator allocator = workers->allocator;
    pthread_mutex_destroy(&workers->starting);
    tn_deallocate(&allocator, workers);
}
