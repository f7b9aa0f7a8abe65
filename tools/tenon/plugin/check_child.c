/* SPDX-License-Identifier: Apache-2.0 */
/* The process of tenon-check; see check_child.h. */
#include "plugin/check_child.h"
#include "plugin/check_stall.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Between two looks at a process that says nothing. */
static const double LOOK_SECONDS = 0.25;

double check_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

bool check_child_start(check_child *c, const check_options *options, size_t from) {
    char first[24], only[24], seed[24], effort[24];
    const char *arguments[20] = {options->program, options->library,
                                 "--from",         first,
                                 "--only",         only,
                                 "--seed",         seed,
                                 "--effort",       effort};
    size_t count = 10;
    posix_spawn_file_actions_t actions;
    int ends[2];
    snprintf(first, sizeof(first), "%zu", from);
    snprintf(only, sizeof(only), "%zu", options->only);
    snprintf(seed, sizeof(seed), "%u", options->seed);
    snprintf(effort, sizeof(effort), "%u", options->effort);
    if (options->op) {
        arguments[count++] = "--operator";
        arguments[count++] = options->op;
    }
    if (options->rule) {
        arguments[count++] = "--rule";
        arguments[count++] = options->rule;
    }
    if (options->device) {
        arguments[count++] = "--device";
        arguments[count++] = options->device;
    }
    if (options->until) {
        arguments[count++] = "--until";
        arguments[count++] = options->until;
    }
    *c = (check_child){.process = -1, .from = -1, .is_watched = !options->device};
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        error = posix_spawn(&c->process, options->program, &actions, NULL,
                            (char *const *)(uintptr_t)arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    c->from = ends[0];
    return true;
}

int check_child_stop(check_child *c) {
    int status = 0;
    if (c->from >= 0) close(c->from);
    if (c->process <= 0) return 0;
    kill(c->process, SIGKILL);
    while (waitpid(c->process, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Of all its threads; 0 when that cannot be known. */
static double processor_seconds(const check_child *c) {
    struct timespec time;
    clockid_t clock;
    if (clock_getcpuclockid(c->process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A line that is there already. */
static bool take_line_of(check_child *c, char *out_line) {
    char *end = memchr(c->line, '\n', c->length);
    if (!end) return false;
    const size_t length = (size_t)(end - c->line);
    memcpy(out_line, c->line, length);
    out_line[length] = 0;
    c->length -= length + 1;
    memmove(c->line, end + 1, c->length);
    return true;
}

/* More of its lines within so many seconds; 1: there are some, 0: the end, -1: too late. */
static int read_more(check_child *c, double seconds) {
    struct pollfd waiting = {.fd = c->from, .events = POLLIN};
    if (c->length == CHECK_LINE_LIMIT) c->length = 0; /* no line of ours is so long */
    const int ready = poll(&waiting, 1, (int)(seconds * 1000) + 1);
    if (ready < 0 && errno != EINTR) return 0;
    if (ready <= 0) return -1;
    const ssize_t bytes = read(c->from, c->line + c->length, CHECK_LINE_LIMIT - c->length);
    if (bytes <= 0) return 0;
    c->length += (size_t)bytes;
    return 1;
}

/* Where other programs have the processors, its time is over when it got half of it, or after four
 * times. One that sleeps does not wait for processors. */
static bool is_late(const check_child *c, const check_stall *stall, double had, double begun,
                    double seconds) {
    const double time = check_now();
    return time > begun + seconds &&
           (processor_seconds(c) - had > seconds / 2 || time > begun + 4 * seconds ||
            check_stall_is_asleep(stall, time));
}

int check_child_read(check_child *c, double seconds, char *out_line) {
    const double begun = check_now(), had = processor_seconds(c);
    check_stall stall = {.process = c->process, .processor = had};
    for (;;) {
        if (take_line_of(c, out_line)) return 1;
        const double left = begun + seconds - check_now();
        const int more = read_more(c, left > 0 && left < LOOK_SECONDS ? left : LOOK_SECONDS);
        if (more == 0) return 0;
        if (more == 1) continue;
        check_stall_look(&stall, check_now(), processor_seconds(c));
        if (c->is_watched && check_stall_is_sure(&stall, check_now())) {
            snprintf(c->waits, sizeof(c->waits), "%s", stall.what);
            return -1;
        }
        if (c->is_watched && check_stall_asks(&stall, check_now())) kill(c->process, SIGUSR2);
        if (is_late(c, &stall, had, begun, seconds)) return -1;
    }
}
