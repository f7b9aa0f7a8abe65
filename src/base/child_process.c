/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs; see child_process.h. */
#include "base/child_process.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A group of its own, so that all of it can be killed; no signal blocked or ignored. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0) error = posix_spawnattr_setpgroup(attributes, 0);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    return error;
}

static int spawn(char *const *arguments, int output, pid_t *out_child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_attributes(&attributes);
        if (error == 0)
            error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output, 1);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, output, 2);
        if (error == 0)
            error =
                posix_spawnp(out_child, arguments[0], &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Takes what is there; false at the end of the pipe. */
static bool read_some(int pipe_end, size_t limit, tn_text *output) {
    char piece[4096];
    ssize_t count;
    while ((count = read(pipe_end, piece, sizeof(piece))) > 0) {
        for (ssize_t i = 0; i < count; i++)
            if (!piece[i]) piece[i] = '?';
        if (output->length < limit) tn_text_add_format(output, "%.*s", (int)count, piece);
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Whether it has ended. Where the program that we are in ignores SIGCHLD nobody learns how: then it
 * counts as done well, and what it should have made is looked for. */
static bool has_ended(pid_t child, int *out_exit_code) {
    int status;
    const pid_t found = waitpid(child, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) return false;
    if (found < 0)
        *out_exit_code = 0;
    else
        *out_exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

static bool listen_until_end(const tn_child_process *process, pid_t child, int pipe_end,
                             tn_text *output, int *out_exit_code) {
    const double deadline = now_seconds() + process->seconds;
    bool is_open = true;
    while (!has_ended(child, out_exit_code)) {
        if (now_seconds() > deadline) return false;
        struct pollfd wanted = {.fd = is_open ? pipe_end : -1, .events = POLLIN};
        poll(&wanted, 1, is_open ? 20 : 1);
        is_open = is_open && read_some(pipe_end, process->output_limit, output);
    }
    if (is_open) read_some(pipe_end, process->output_limit, output);
    return true;
}

static tn_status run_with_pipe(const tn_child_process *process, const int *ends, tn_text *output,
                               int *out_exit_code) {
    pid_t child = 0;
    int exit_code = 0;
    const int error = spawn(process->arguments, ends[1], &child);
    close(ends[1]);
    if (error == EAGAIN || error == ENOMEM)
        return tn_fail(TN_ERROR_IO, "cannot start '%s': %s", process->arguments[0],
                       strerror(error));
    if (error != 0)
        return tn_fail(TN_ERROR_NOT_FOUND, "cannot run '%s': %s", process->arguments[0],
                       strerror(error));
    if (!listen_until_end(process, child, ends[0], output, &exit_code)) {
        kill(-child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
        return tn_fail(TN_ERROR_PLUGIN, "'%s' was stopped: it had not ended after %g seconds",
                       process->arguments[0], process->seconds);
    }
    if (output->is_failed) return tn_fail_memory("what a program says");
    *out_exit_code = exit_code;
    return TN_OK;
}

tn_status tn_child_process_run(const tn_child_process *process, tn_text *output,
                               int *out_exit_code) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tn_fail(TN_ERROR_IO, "cannot start '%s': %s", process->arguments[0],
                       strerror(errno));
    tn_status status = TN_OK;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) {
        status = run_with_pipe(process, ends, output, out_exit_code);
    } else {
        status =
            tn_fail(TN_ERROR_IO, "cannot start '%s': %s", process->arguments[0], strerror(errno));
        close(ends[1]);
    }
    close(ends[0]);
    return status;
}
