/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, priority, timers, the standard input and seeds; see process.h. */
#include "process.h"
#include "heap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { LIMITS = RLIM_NLIMITS };

static struct {
    bool is_noted, has_input;
    struct rlimit limits[LIMITS];
    int priority;
    struct itimerval timer;
} known;
static _Atomic(const char *) seeded_by; /* the function that a library called */

static bool has_input(void) {
    return fcntl(STDIN_FILENO, F_GETFD) >= 0;
}

void tn_process_note(void) {
    for (int i = 0; i < LIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &known.limits[i]);
    known.priority = getpriority(PRIO_PROCESS, 0);
    getitimer(ITIMER_REAL, &known.timer);
    known.has_input = has_input();
    known.is_noted = true;
    seeded_by = NULL;
}

bool tn_process_changed_by_callback(char *what, size_t bytes) {
    const char *seed = atomic_exchange(&seeded_by, NULL);
    if (seed) {
        snprintf(what, bytes,
                 "seeds the random numbers of the C library, which are the process' "
                 "(by %s)",
                 seed);
        return true;
    }
    if (known.is_noted && known.has_input && !has_input()) {
        known.has_input = open("/dev/null", O_RDONLY | O_CLOEXEC) == STDIN_FILENO;
        snprintf(what, bytes, "closes the process' standard input");
        return true;
    }
    return false;
}

bool tn_process_changed(char *what, size_t bytes) {
    struct itimerval timer;
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
    const bool was_set = known.timer.it_value.tv_sec || known.timer.it_value.tv_usec;
    if (getitimer(ITIMER_REAL, &timer) == 0 && !was_set &&
        (timer.it_value.tv_sec || timer.it_value.tv_usec)) {
        setitimer(ITIMER_REAL, &known.timer, NULL);
        snprintf(what, bytes, "sets the process' timer");
        return true;
    }
    return tn_process_changed_by_callback(what, bytes);
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
