/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process; see isolation_process.h. */
#include "isolation/isolation_process.h"
#include "base/file.h"
#include "base/status.h"
#include "isolation/isolation_channel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The three descriptors, out of the way of those that the helper gets. */
typedef struct descriptors {
    int items[3];
} descriptors;

static void close_all(const descriptors *all) {
    for (int i = 0; i < 3; i++)
        if (all->items[i] >= 0) close(all->items[i]);
}

static tn_status spawn(const char *program, const descriptors *all, pid_t *out_id) {
    static const int places[3] = {TN_ISOLATION_SOCKET, TN_ISOLATION_PAGE, TN_ISOLATION_PLAN};
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "serve", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    if (posix_spawn_file_actions_init(&actions) != 0) return tn_fail_memory("a process");
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return tn_fail_memory("a process");
    }
    sigemptyset(&none);
    sigfillset(&usual);
    int failed = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failed) failed = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!failed)
        failed =
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < 3 && !failed; i++)
        failed = posix_spawn_file_actions_adddup2(&actions, all->items[i], places[i]);
    if (!failed) failed = posix_spawn(out_id, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? tn_fail(TN_ERROR_IO, "the helper %s cannot be started: %s", program,
                            strerror(failed))
                  : TN_OK;
}

tn_status tn_isolation_process_start(const char *program, int page, int plan,
                                     tn_isolation_process *out_process) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return tn_fail(TN_ERROR_IO, "no socket for a helper process: %s", strerror(errno));
    const descriptors all = {{fcntl(sockets[1], F_DUPFD_CLOEXEC, 16),
                              fcntl(page, F_DUPFD_CLOEXEC, 16), fcntl(plan, F_DUPFD_CLOEXEC, 16)}};
    pid_t id = 0;
    const bool are_there = all.items[0] >= 0 && all.items[1] >= 0 && all.items[2] >= 0;
    const tn_status status = are_there
                                 ? spawn(program, &all, &id)
                                 : tn_fail(TN_ERROR_IO, "no file descriptors for a helper process");
    close_all(&all);
    close(sockets[1]);
    if (status != TN_OK) {
        close(sockets[0]);
        return status;
    }
    *out_process = (tn_isolation_process){.id = id, .socket = sockets[0], .how = -1};
    return TN_OK;
}

bool tn_isolation_process_is_over(tn_isolation_process *process) {
    int how = 0;
    if (process->id == 0 || process->is_over) return true;
    const pid_t found = waitpid(process->id, &how, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) return false;
    process->is_over = true; /* or somebody else has reaped it */
    process->how = found == process->id ? how : -1;
    return true;
}

void tn_isolation_process_end(tn_isolation_process *process) {
    if (process->id == 0) return;
    if (!tn_isolation_process_is_over(process)) {
        int how = 0;
        kill(process->id, SIGKILL);
        while (waitpid(process->id, &how, 0) < 0 && errno == EINTR)
            continue;
        process->is_over = true;
    }
    close(process->socket);
    process->id = 0;
}

void tn_isolation_process_describe(const tn_isolation_process *process, char *text, size_t bytes) {
    if (process->how >= 0 && WIFSIGNALED(process->how))
        snprintf(text, bytes, "was ended by signal %d (%s)", WTERMSIG(process->how),
                 strsignal(WTERMSIG(process->how)));
    else if (process->how >= 0 && WIFEXITED(process->how))
        snprintf(text, bytes, "called exit(%d)", WEXITSTATUS(process->how));
    else
        snprintf(text, bytes, "ended");
}
