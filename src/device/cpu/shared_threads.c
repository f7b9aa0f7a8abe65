/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of runs that share threads: first in, first out. A run that gives its threads back
 * hands them to the first that waits, which alone is woken. Declared in shared_threads.h.
 */
#include "device/cpu/shared_threads.h"
#include "base/memory.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "device/cpu/futex.h"

#include <pthread.h>

#define ASK_AFTER_NS 5000000 /* a cancel, which may come from a signal handler, wakes nobody */

/* A run that waits; lies on its stack. */
typedef struct waiting {
    struct waiting *next;
    uint32_t count;
    bool is_admitted;   /* under the lock: off the list, and its threads are taken */
    atomic_uint may_go; /* the futex it sleeps on; once it is set, this may be gone */
} waiting;

struct tn_threads {
    atomic_uint references;
    uint32_t count;
    pthread_mutex_t lock; /* of all below */
    uint32_t free;
    waiting *first, *last;
};

tn_status tn_threads_create(uint32_t count, tn_threads **out_threads) {
    if (!out_threads)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_threads_create needs a pointer for the threads");
    TN_TRY(tn_options_check_threads(count, "tn_threads_create"));
    tn_threads *threads = tn_allocate_zero(tn_allocator_default(), 1, sizeof(*threads));
    if (!threads) return tn_fail_memory("threads");
    atomic_init(&threads->references, 1);
    threads->count = threads->free = count ? count : tn_cpu_core_count();
    pthread_mutex_init(&threads->lock, NULL);
    *out_threads = threads;
    return TN_OK;
}

tn_threads *tn_threads_retain(tn_threads *threads) {
    if (threads) atomic_fetch_add(&threads->references, 1);
    return threads;
}

void tn_threads_release(tn_threads *threads) {
    if (!threads || atomic_fetch_sub(&threads->references, 1) != 1) return;
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

/* Those that came first, as far as there are threads, as a list. [holds the lock] */
static waiting *admit(tn_threads *threads) {
    waiting *admitted = NULL, **end = &admitted;
    while (threads->first && threads->first->count <= threads->free) {
        waiting *next = threads->first;
        threads->free -= next->count;
        threads->first = next->next;
        if (!threads->first) threads->last = NULL;
        next->is_admitted = true;
        *end = next;
        end = &next->next;
    }
    *end = NULL;
    return admitted;
}

/* Without the lock, which those that are woken may need at once. */
static void wake_all(waiting *admitted) {
    while (admitted) {
        atomic_uint *may_go = &admitted->may_go;
        admitted = admitted->next;
        atomic_store(may_go, 1);
        tn_futex_wake(may_go);
    }
}

/* Off the list; answers who may begin instead. [holds the lock] */
static waiting *leave(tn_threads *threads, const waiting *own) {
    waiting *before = NULL;
    for (waiting *at = threads->first; at && at != own; at = at->next)
        before = at;
    if (before)
        before->next = own->next;
    else
        threads->first = own->next;
    if (threads->last == own) threads->last = before;
    return admit(threads);
}

/* False: it was admitted before, and is about to be woken. */
static bool leave_if_waiting(tn_threads *threads, const waiting *own) {
    pthread_mutex_lock(&threads->lock);
    const bool leaves = !own->is_admitted;
    waiting *admitted = leaves ? leave(threads, own) : NULL;
    pthread_mutex_unlock(&threads->lock);
    wake_all(admitted);
    return leaves;
}

bool tn_threads_take(tn_threads *threads, uint32_t count, bool (*is_cancelled)(const void *user),
                     const void *user) {
    waiting own = {.count = count < threads->count ? count : threads->count};
    pthread_mutex_lock(&threads->lock);
    const bool is_free = !threads->first && own.count <= threads->free;
    if (is_free) {
        threads->free -= own.count;
    } else { /* it is off the list before this returns */
        if (threads->last)
            threads->last->next = &own; /* cppcheck-suppress autoVariables */
        else
            threads->first = &own; /* cppcheck-suppress autoVariables */
        threads->last = &own;      /* cppcheck-suppress autoVariables */
    }
    pthread_mutex_unlock(&threads->lock);
    while (!is_free && !atomic_load(&own.may_go)) {
        if (is_cancelled(user) && leave_if_waiting(threads, &own)) return false;
        tn_futex_wait(&own.may_go, 0, ASK_AFTER_NS);
    }
    return true;
}

void tn_threads_give(tn_threads *threads, uint32_t count) {
    pthread_mutex_lock(&threads->lock);
    threads->free += count < threads->count ? count : threads->count;
    waiting *admitted = admit(threads);
    pthread_mutex_unlock(&threads->lock);
    wake_all(admitted);
}
