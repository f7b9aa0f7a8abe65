/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait, by /proc; see check_stall.h. */
#include "plugin/check_stall.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const double SURE_SECONDS = 1.0, ASLEEP_SECONDS = 0.5, NOISE_SECONDS = 0.001;

enum { FUTEX_WAIT = 0, FUTEX_LOCK_PI = 6, FUTEX_WAIT_BITSET = 9, FUTEX_COMMAND = 0x7F };

/* What a thread does, from the best to the worst. */
enum { RUNS, SLEEPS, WAITS };

static bool read_text(const char *path, char *text, size_t bytes) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text, bytes - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* "NUMBER ARGUMENT..." of a system call: whether it ends by another thread's help alone. */
static bool is_endless(const char *text, bool *out_is_lock) {
    unsigned long long number = 0, arguments[4] = {0};
    const int count = sscanf(text, "%llu %llx %llx %llx %llx", &number, &arguments[0],
                             &arguments[1], &arguments[2], &arguments[3]);
    if (count < 5) return false;
#ifdef SYS_pause
    if (number == SYS_pause) return true;
#endif
    if (number == SYS_rt_sigsuspend) return true;
    if (number != SYS_futex || arguments[3] != 0) return false;
    const unsigned long long command = arguments[1] & FUTEX_COMMAND;
    *out_is_lock =
        command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI;
    return *out_is_lock;
}

/* The state is what follows the name, which is in parentheses. */
static int look_at_thread(pid_t process, const char *thread, bool *out_is_lock) {
    char path[80], text[512];
    *out_is_lock = false;
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)process, thread);
    if (!read_text(path, text, sizeof(text))) return RUNS;
    const char *state = strrchr(text, ')');
    if (!state || state[1] != ' ' || state[2] != 'S') return RUNS;
    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", (int)process, thread);
    return read_text(path, text, sizeof(text)) && is_endless(text, out_is_lock) ? WAITS : SLEEPS;
}

/* What the liveliest of its threads does, and of those but the first. */
static int look(pid_t process, int *out_others, char *what, size_t bytes) {
    char path[48];
    int first = RUNS, threads = 0;
    bool is_first_locked = false;
    *out_others = WAITS;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    for (const struct dirent *it; folder && (it = readdir(folder)) != NULL;) {
        bool is_lock;
        if (it->d_name[0] == '.') continue;
        const int state = look_at_thread(process, it->d_name, &is_lock);
        threads++;
        if (atoi(it->d_name) == (int)process) {
            first = state;
            is_first_locked = is_lock;
        } else if (state < *out_others) {
            *out_others = state;
        }
    }
    if (folder) closedir(folder);
    snprintf(what, bytes, "waits %s that nobody gives (%d thread%s, all asleep)",
             is_first_locked ? "for a lock or a condition" : "for a signal", threads,
             threads == 1 ? "" : "s");
    return first < *out_others ? first : *out_others;
}

/* Since when it is so. */
static void keep_since(bool is_so, double now, double *inout_since) {
    if (!is_so) *inout_since = 0;
    if (is_so && *inout_since == 0) *inout_since = now;
}

void check_stall_look(check_stall *stall, double now, double processor) {
    int others;
    const bool has_run = processor - stall->processor > NOISE_SECONDS;
    const int state = look(stall->process, &others, stall->what, sizeof(stall->what));
    stall->processor = processor;
    keep_since(state == WAITS && !has_run, now, &stall->stalled_since);
    keep_since(state != RUNS && !has_run, now, &stall->asleep_since);
    keep_since(state == RUNS && others == WAITS && has_run, now, &stall->alone_since);
    if (stall->alone_since == 0) stall->asked = 0;
}

bool check_stall_asks(check_stall *stall, double now) {
    const double alone = stall->alone_since > 0 ? now - stall->alone_since : 0;
    if (alone < (stall->asked > 0 ? 2 * stall->asked : SURE_SECONDS)) return false;
    stall->asked = alone;
    return true;
}

bool check_stall_is_sure(const check_stall *stall, double now) {
    return stall->stalled_since > 0 && now - stall->stalled_since >= SURE_SECONDS;
}

bool check_stall_is_asleep(const check_stall *stall, double now) {
    return stall->asleep_since > 0 && now - stall->asleep_since >= ASLEEP_SECONDS;
}
