/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds which lock; see locks.h. */
#include "worker/libc/locks.h"
#include "worker/watch/heap.h"
#include "worker/watch/next.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <threads.h>

enum { HELD = 32 }; /* what is more is not known */

typedef int (*lock_function)(void *lock);

typedef struct held_lock {
    void *lock;
    const char *taken_by;
    lock_function give_back;
} held_lock;

static _Thread_local struct {
    unsigned depth; /* of callbacks */
    size_t count;
    held_lock items[HELD];
    const void *wanted;    /* the lock that it waits for */
    const char *wanted_by; /* the function; null: none */
} held;

size_t tn_locks_enter(void) {
    held.depth++;
    return held.count;
}

bool tn_locks_leave(size_t before, char *what, size_t bytes) {
    const bool is_one_held = held.count > before;
    held.depth--;
    if (is_one_held)
        snprintf(what, bytes, "a lock that it holds (%s): who wants it next waits for ever",
                 held.items[before].taken_by);
    while (held.count > before) {
        const held_lock *last = &held.items[--held.count];
        last->give_back(last->lock);
    }
    return is_one_held;
}

void tn_locks_wanted(char *what, size_t bytes) {
    bool is_own = false;
    what[0] = 0;
    for (size_t i = 0; i < held.count; i++)
        is_own |= held.items[i].lock == held.wanted;
    if (held.wanted_by)
        snprintf(what, bytes, "%s%s", held.wanted_by,
                 is_own ? " of a lock that this thread has taken itself" : "");
}

#if !TN_IS_SANITIZED

/* It may wait now. */
static void want(const void *lock, const char *wanted_by) {
    held.wanted = lock;
    held.wanted_by = wanted_by;
}

static void take(void *lock, const char *taken_by, lock_function give_back) {
    if (held.depth > 0 && held.count < HELD)
        held.items[held.count++] = (held_lock){lock, taken_by, give_back};
}

static void give(const void *lock) {
    for (size_t i = held.count; i-- > 0;) {
        if (held.items[i].lock != lock) continue;
        held.count--;
        for (; i < held.count; i++)
            held.items[i] = held.items[i + 1];
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * the functions, seen by the libraries that are loaded */

#define GIVES(name, type, result)                                                                  \
    static int call_##name(void *lock) {                                                           \
        int (*next)(void *);                                                                       \
        TN_NEXT(next, #name);                                                                      \
        return next(lock);                                                                         \
    }                                                                                              \
    result name(type *lock) {                                                                      \
        give((const void *)(uintptr_t)lock);                                                       \
        return call_##name((void *)(uintptr_t)lock);                                               \
    }
#define TAKES(name, type, parameters, arguments, gives)                                            \
    int name parameters {                                                                          \
        int(*next) parameters;                                                                     \
        TN_NEXT(next, #name);                                                                      \
        want((const void *)(uintptr_t)lock, #name);                                                \
        const int error = next arguments;                                                          \
        want(NULL, NULL);                                                                          \
        if (error == 0) take((void *)(uintptr_t)lock, #name, call_##gives);                        \
        return error;                                                                              \
    }
#define TAKES_LOCK(name, type, gives) TAKES(name, type, (type * lock), (lock), gives)
#define TAKES_TIMED(name, type, gives)                                                             \
    TAKES(name, type, (type *restrict lock, const struct timespec *restrict until), (lock, until), \
          gives)

#pragma GCC visibility push(default)
GIVES(pthread_mutex_unlock, pthread_mutex_t, int)
TAKES_LOCK(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock)
TAKES_LOCK(pthread_mutex_trylock, pthread_mutex_t, pthread_mutex_unlock)
TAKES_TIMED(pthread_mutex_timedlock, pthread_mutex_t, pthread_mutex_unlock)
GIVES(pthread_rwlock_unlock, pthread_rwlock_t, int)
TAKES_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_unlock)
TAKES_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_unlock)
TAKES_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t, pthread_rwlock_unlock)
TAKES_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t, pthread_rwlock_unlock)
GIVES(pthread_spin_unlock, pthread_spinlock_t, int)
TAKES_LOCK(pthread_spin_lock, pthread_spinlock_t, pthread_spin_unlock)
TAKES_LOCK(pthread_spin_trylock, pthread_spinlock_t, pthread_spin_unlock)
GIVES(mtx_unlock, mtx_t, int)
TAKES_LOCK(mtx_lock, mtx_t, mtx_unlock)
TAKES_LOCK(mtx_trylock, mtx_t, mtx_unlock)
#pragma GCC visibility pop

#endif
