/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, watching and ending processes; see child_process.h. */
#include "base/process/child_process.h"
#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int set_attributes(posix_spawnattr_t *attributes, bool has_group) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    const int group = has_group ? POSIX_SPAWN_SETPGROUP : 0;
    int error = posix_spawnattr_setflags(
        attributes, (short)(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    if (error == 0 && has_group) error = posix_spawnattr_setpgroup(attributes, 0);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    return error;
}

static int set_descriptors(posix_spawn_file_actions_t *actions, const tn_child_start *start) {
    int error = 0;
    if (start->has_empty_input)
        error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (size_t i = 0; i < start->descriptor_count && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(actions, start->descriptors[i].from,
                                                 start->descriptors[i].to);
    return error;
}

static int spawn(const tn_child_start *start, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, pid_t *out_child) {
    char *const *arguments = start->arguments;
    return start->is_on_path
               ? posix_spawnp(out_child, arguments[0], actions, attributes, arguments, environ)
               : posix_spawn(out_child, arguments[0], actions, attributes, arguments, environ);
}

int tn_child_process_start(const tn_child_start *start, pid_t *out_child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_attributes(&attributes, start->has_group);
        if (error == 0) error = set_descriptors(&actions, start);
        if (error == 0) error = spawn(start, &actions, &attributes, out_child);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool tn_child_process_has_ended(pid_t child, int *out_how) {
    int how = 0;
    const pid_t found = waitpid(child, &how, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) return false;
    *out_how = found == child ? how : -1;
    return true;
}

static void reap(pid_t child) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void tn_child_process_end(pid_t child, bool has_group) {
    kill(has_group ? -child : child, SIGKILL);
    reap(child);
}

void tn_child_process_describe(int how, char *text, size_t bytes) {
    if (how >= 0 && WIFSIGNALED(how))
        snprintf(text, bytes, "was ended by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else if (how >= 0 && WIFEXITED(how))
        snprintf(text, bytes, "called exit(%d)", WEXITSTATUS(how));
    else
        snprintf(text, bytes, "ended");
}

/* ----------------------------------------------------------------------------------------------
 * a program that is run to its end */

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

/* Where nobody knows how it ended (the program that we are in ignores SIGCHLD) it counts as done
 * well, and what it should have made is looked for. */
static int exit_code(int how) {
    if (how < 0) return 0;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

static bool listen_until_end(const tn_child_process *process, pid_t child, int pipe_end,
                             tn_text *output, int *out_how) {
    const double deadline = 1e-9 * (double)tn_now_ns() + process->seconds;
    bool is_open = true;
    while (!tn_child_process_has_ended(child, out_how)) {
        if (1e-9 * (double)tn_now_ns() > deadline) return false;
        struct pollfd wanted = {.fd = is_open ? pipe_end : -1, .events = POLLIN};
        poll(&wanted, 1, is_open ? 20 : 1);
        is_open = is_open && read_some(pipe_end, process->output_limit, output);
    }
    if (is_open) read_some(pipe_end, process->output_limit, output);
    return true;
}

static tn_status run_with_pipe(const tn_child_process *process, const int *ends, tn_text *output,
                               int *out_exit_code) {
    const tn_child_descriptor outputs[] = {{ends[1], 1}, {ends[1], 2}};
    const tn_child_start start = {.arguments = process->arguments,
                                  .is_on_path = true,
                                  .has_group = true,
                                  .has_empty_input = true,
                                  .descriptors = outputs,
                                  .descriptor_count = 2};
    pid_t child = 0;
    int how = -1;
    const int error = tn_child_process_start(&start, &child);
    close(ends[1]);
    if (error == EAGAIN || error == ENOMEM)
        return tn_fail(TN_ERROR_IO, "cannot start '%s': %s", process->arguments[0],
                       strerror(error));
    if (error != 0)
        return tn_fail(TN_ERROR_NOT_FOUND, "cannot run '%s': %s", process->arguments[0],
                       strerror(error));
    if (!listen_until_end(process, child, ends[0], output, &how)) {
        tn_child_process_end(child, true);
        return tn_fail(TN_ERROR_PLUGIN, "'%s' was stopped: it had not ended after %g seconds",
                       process->arguments[0], process->seconds);
    }
    if (output->is_failed) return tn_fail_memory("what a program says");
    *out_exit_code = exit_code(how);
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
