/* SPDX-License-Identifier: Apache-2.0 */
/* Declared in thread_start.h. */
#include "base/thread_start.h"

#include <signal.h>
#include <stddef.h>

bool tn_thread_start(pthread_t *out_thread, void *(*function)(void *user), void *user) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool is_started = pthread_create(out_thread, NULL, function, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}
