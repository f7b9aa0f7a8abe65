/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, timers and the standard input; see process.h. */
#include "process.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { LIMITS = RLIM_NLIMITS, TIMERS = 3 };
static const int timers[TIMERS] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static struct {
    bool is_noted, has_input;
    struct rlimit limits[LIMITS];
    struct itimerval timers[TIMERS];
} known;

static bool has_input(void) {
    return fcntl(STDIN_FILENO, F_GETFD) >= 0;
}

void tn_process_note(void) {
    for (int i = 0; i < LIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &known.limits[i]);
    for (int i = 0; i < TIMERS; i++)
        getitimer((__itimer_which_t)timers[i], &known.timers[i]);
    known.has_input = has_input();
    known.is_noted = true;
}

bool tn_process_changed_by_callback(bool asks_system, char *what, size_t bytes) {
    if (asks_system && known.is_noted && known.has_input && !has_input()) {
        known.has_input = open("/dev/null", O_RDONLY | O_CLOEXEC) == STDIN_FILENO;
        snprintf(what, bytes, "closes the process' standard input");
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
    return has_other_timer(what, bytes) || tn_process_changed_by_callback(true, what, bytes);
}
