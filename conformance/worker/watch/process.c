/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, priority, timers, the standard input and seeds; see process.h. */
#include "process.h"
#include "heap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { LIMITS = RLIM_NLIMITS, TIMERS = 3 };
static const int timers[TIMERS] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static struct {
    bool is_noted, has_input;
    struct rlimit limits[LIMITS];
    int priority, policy;
    uint32_t old_arithmetic;
    char thread_name[16];
    struct itimerval timers[TIMERS];
} known;
static _Atomic(const char *) seeded_by; /* the function that a library called */

static bool has_input(void) {
    return fcntl(STDIN_FILENO, F_GETFD) >= 0;
}

/* The control word of x87, by which long double is computed; 0 elsewhere. */
static uint32_t old_arithmetic(void) {
    uint16_t word = 0;
#if defined(__x86_64__)
    __asm__ volatile("fnstcw %0" : "=m"(word));
#endif
    return word;
}
static void set_old_arithmetic(uint32_t arithmetic) {
#if defined(__x86_64__)
    const uint16_t word = (uint16_t)arithmetic;
    __asm__ volatile("fldcw %0" : : "m"(word));
#else
    (void)arithmetic;
#endif
}

void tn_process_note(void) {
    for (int i = 0; i < LIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &known.limits[i]);
    known.priority = getpriority(PRIO_PROCESS, 0);
    known.policy = sched_getscheduler(0);
    known.old_arithmetic = old_arithmetic();
    prctl(PR_GET_NAME, known.thread_name);
    for (int i = 0; i < TIMERS; i++)
        getitimer((__itimer_which_t)timers[i], &known.timers[i]);
    known.has_input = has_input();
    known.is_noted = true;
    seeded_by = NULL;
}

bool tn_process_changed_by_callback(bool asks_system, char *what, size_t bytes) {
    const char *seed = atomic_exchange(&seeded_by, NULL);
    if (seed) {
        snprintf(what, bytes,
                 "seeds the random numbers of the C library, which are the process' "
                 "(by %s)",
                 seed);
        return true;
    }
    if (asks_system && known.is_noted && known.has_input && !has_input()) {
        known.has_input = open("/dev/null", O_RDONLY | O_CLOEXEC) == STDIN_FILENO;
        snprintf(what, bytes, "closes the process' standard input");
        return true;
    }
    if (known.is_noted && old_arithmetic() != known.old_arithmetic) {
        set_old_arithmetic(known.old_arithmetic);
        snprintf(what, bytes, "leaves the rounding or the precision of long double changed");
        return true;
    }
    return false;
}

static bool is_set(const struct itimerval *timer) {
    return timer->it_value.tv_sec || timer->it_value.tv_usec;
}

static bool has_other_timer(char *what, size_t bytes) {
    for (int i = 0; i < TIMERS; i++) {
        struct itimerval now;
        if (getitimer((__itimer_which_t)timers[i], &now) != 0 || is_set(&known.timers[i]) ||
            !is_set(&now))
            continue;
        setitimer((__itimer_which_t)timers[i], &known.timers[i], NULL);
        snprintf(what, bytes, "sets the process' timer");
        return true;
    }
    return false;
}

static bool has_other_thread(char *what, size_t bytes) {
    char name[sizeof(known.thread_name)] = "";
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    if (state != PTHREAD_CANCEL_ENABLE) {
        snprintf(what, bytes, "changes whether the thread can be cancelled");
        return true;
    }
    prctl(PR_GET_NAME, name);
    if (strcmp(name, known.thread_name) != 0) {
        prctl(PR_SET_NAME, known.thread_name);
        snprintf(what, bytes, "changes the thread's name to %s", name);
        return true;
    }
    return false;
}

bool tn_process_changed(char *what, size_t bytes) {
    if (!known.is_noted) return false;
    for (int i = 0; i < LIMITS; i++) {
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)i, &now) != 0 ||
            (now.rlim_cur == known.limits[i].rlim_cur && now.rlim_max == known.limits[i].rlim_max))
            continue;
        setrlimit((__rlimit_resource_t)i, &known.limits[i]);
        known.limits[i] = now; /* where a lowered limit cannot be raised again */
        getrlimit((__rlimit_resource_t)i, &known.limits[i]);
        snprintf(what, bytes, "changes a limit of the process' resources (setrlimit %d)", i);
        return true;
    }
    const int priority = getpriority(PRIO_PROCESS, 0);
    if (priority != known.priority) {
        setpriority(PRIO_PROCESS, 0, known.priority);
        known.priority = getpriority(PRIO_PROCESS, 0);
        snprintf(what, bytes, "changes the process' priority");
        return true;
    }
    if (sched_getscheduler(0) != known.policy) {
        known.policy = sched_getscheduler(0);
        snprintf(what, bytes, "changes how the process is scheduled");
        return true;
    }
    return has_other_timer(what, bytes) || has_other_thread(what, bytes) ||
           tn_process_changed_by_callback(true, what, bytes);
}

#ifndef IS_SANITIZED

/* ----------------------------------------------------------------------------------------------
 * the functions, seen by the libraries that are loaded */

#pragma GCC visibility push(default)
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define SEEDS(name, type)                                                                          \
    void name(type seed) {                                                                         \
        void (*next)(type);                                                                        \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                                                 \
        if (tn_heap_is_of_library(CALLER)) seeded_by = #name;                                      \
        next(seed);                                                                                \
    }
SEEDS(srand, unsigned)
SEEDS(srandom, unsigned)
SEEDS(srand48, long)
#pragma GCC visibility pop

#endif
