/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of runs that share threads: first in, first out. Declared in
 * shared_threads.h. */
#include "device/cpu/shared_threads.h"
#include "base/memory.h"
#include "base/status.h"
#include "device/cpu/cpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define ASK_AFTER_NS 5000000 /* a cancel, which may come from a signal handler, wakes nobody */

/* A run that waits; lies on its stack. */
typedef struct waiting {
    struct waiting *next;
    uint32_t count;
    bool is_admitted;
} waiting;

struct tn_threads {
    atomic_uint references;
    uint32_t count;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    uint32_t free;
    waiting *first, *last;
};

tn_status tn_threads_create(uint32_t count, tn_threads **out_threads) {
    if (!out_threads)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_threads_create needs a pointer for the threads");
    TN_TRY(tn_options_check_threads(count, "tn_threads_create"));
    tn_threads *threads = tn_allocate_zero(tn_allocator_default(), 1, sizeof(*threads));
    if (!threads) return tn_fail_memory("threads");
    pthread_condattr_t monotonic;
    atomic_init(&threads->references, 1);
    threads->count = threads->free = count ? count : tn_cpu_core_count();
    pthread_mutex_init(&threads->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&threads->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out_threads = threads;
    return TN_OK;
}

tn_threads *tn_threads_retain(tn_threads *threads) {
    if (threads) atomic_fetch_add(&threads->references, 1);
    return threads;
}

void tn_threads_release(tn_threads *threads) {
    if (!threads || atomic_fetch_sub(&threads->references, 1) != 1) return;
    pthread_cond_destroy(&threads->changed);
    pthread_mutex_destroy(&threads->lock);
    tn_deallocate(tn_allocator_default(), threads);
}

uint32_t tn_threads_count(const tn_threads *threads) {
    return threads ? threads->count : 0;
}

uint32_t tn_threads_free(tn_threads *threads) {
    if (!threads) return 0;
    pthread_mutex_lock(&threads->lock);
    const uint32_t free_now = threads->free;
    pthread_mutex_unlock(&threads->lock);
    return free_now;
}

/* Admits those that came first, as far as there are threads. [holds the lock] */
static void admit(tn_threads *threads) {
    bool is_any = false;
    while (threads->first && threads->first->count <= threads->free) {
        waiting *next = threads->first;
        threads->free -= next->count;
        threads->first = next->next;
        if (!threads->first) threads->last = NULL;
        next->is_admitted = is_any = true;
    }
    if (is_any) pthread_cond_broadcast(&threads->changed);
}

/* [holds the lock] */
static void leave(tn_threads *threads, waiting *own) {
    waiting *before = NULL;
    for (waiting *at = threads->first; at && at != own; at = at->next)
        before = at;
    if (before)
        before->next = own->next;
    else
        threads->first = own->next;
    if (threads->last == own) threads->last = before;
    admit(threads);
}

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += ASK_AFTER_NS;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

bool tn_threads_take(tn_threads *threads, uint32_t count, bool (*is_cancelled)(const void *user),
                     const void *user) {
    waiting own = {.count = count < threads->count ? count : threads->count};
    pthread_mutex_lock(&threads->lock);
    /* It is off the list before this returns. */
    if (threads->last)
        threads->last->next = &own; /* cppcheck-suppress autoVariables */
    else
        threads->first = &own; /* cppcheck-suppress autoVariables */
    threads->last = &own;      /* cppcheck-suppress autoVariables */
    admit(threads);
    bool is_ended = false;
    while (!own.is_admitted && !(is_ended = is_cancelled(user))) {
        const struct timespec until = soon();
        pthread_cond_timedwait(&threads->changed, &threads->lock, &until);
    }
    if (is_ended) leave(threads, &own);
    pthread_mutex_unlock(&threads->lock);
    return !is_ended;
}

void tn_threads_give(tn_threads *threads, uint32_t count) {
    pthread_mutex_lock(&threads->lock);
    threads->free += count < threads->count ? count : threads->count;
    admit(threads);
    pthread_mutex_unlock(&threads->lock);
}
