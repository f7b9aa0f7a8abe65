/* SPDX-License-Identifier: Apache-2.0 */
/* What must stay as it is; see watch.h. */
#include "watch.h"
#include "base/hash.h"
#include "process.h"
#include "worker/libc/shared.h"
#include "worker/libc/written.h"
#include "worker/thread/thread_state.h"
#include "worker/thread/watched_pool.h"

#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { SIGNALS = 65, OUTPUTS = 2, VARIABLES = 1024 };

static struct {
    int files[OUTPUTS]; /* what 1 and 2 are while they are watched; -1: they are not */
    pthread_t thread;
    tn_thread_state state; /* of that thread */
    char locale[256], folder[PATH_MAX];
    mode_t mask;
    uint64_t variables;
    char *list[VARIABLES + 1]; /* of the environment, as it was */
    struct sigaction handlers[SIGNALS];
} known = {.files = {-1, -1}};

/* ----------------------------------------------------------------------------------------------
 * the standard output and error */

int tn_watch_output(void) {
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    for (int i = 0; i < OUTPUTS; i++) {
        known.files[i] = memfd_create("output", MFD_CLOEXEC);
        if (known.files[i] >= 0) dup2(known.files[i], STDOUT_FILENO + i);
    }
    return before;
}

/* One line of what a file holds. */
static void read_text(int file, char *text, size_t bytes) {
    const ssize_t length = pread(file, text, bytes - 1, 0);
    size_t to = 0;
    for (ssize_t i = 0; i < length; i++) {
        const bool is_space = (unsigned char)text[i] <= ' ';
        if (!is_space || (to > 0 && text[to - 1] != ' ')) text[to++] = is_space ? ' ' : text[i];
    }
    while (to > 0 && text[to - 1] == ' ')
        to--;
    text[to] = 0;
}

void tn_watch_error_text(char *text, size_t bytes) {
    text[0] = 0;
    if (known.files[1] >= 0) read_text(known.files[1], text, bytes);
}

static bool is_same_file(int a, int b) {
    struct stat first, second;
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* What came out, as one short line. */
static bool has_printed(char *what, size_t bytes) {
    static const char *const names[] = {"output", "error"};
    fflush(stdout);
    for (int i = 0; i < OUTPUTS; i++) {
        char text[100];
        if (known.files[i] < 0) continue;
        if (!is_same_file(known.files[i], STDOUT_FILENO + i)) {
            dup2(known.files[i], STDOUT_FILENO + i);
            snprintf(what, bytes, "closes or redirects the process' standard %s", names[i]);
            return true;
        }
        if (lseek(known.files[i], 0, SEEK_END) <= 0) continue;
        read_text(known.files[i], text, sizeof(text));
        if (ftruncate(known.files[i], 0) == 0) lseek(known.files[i], 0, SEEK_SET);
        snprintf(what, bytes, "prints to the standard %s (host->log is for messages): \"%s\"",
                 names[i], text);
        return true;
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------
 * the process and the thread */

static mode_t get_mask(void) {
    const mode_t mask = umask(0);
    umask(mask);
    return mask;
}

static uint64_t hash_variables(void) {
    uint64_t hash = 0;
    for (char **it = environ; it && *it; it++)
        hash = tn_hash_add(hash, *it, strlen(*it) + 1);
    return hash;
}

void tn_watch_moved(void) {
    const char *locale = setlocale(LC_ALL, NULL);
    size_t count = 0;
    if (pthread_equal(known.thread, pthread_self())) tn_thread_state_note(true, &known.state);
    snprintf(known.locale, sizeof(known.locale), "%s", locale ? locale : "");
    if (!getcwd(known.folder, sizeof(known.folder))) known.folder[0] = 0;
    known.variables = hash_variables();
    for (char **it = environ; it && *it && count < VARIABLES; it++)
        known.list[count++] = *it;
    known.list[count] = NULL;
}

static void note(void) {
    known.thread = pthread_self();
    tn_watch_moved();
    tn_process_note();
    known.mask = get_mask();
    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &known.handlers[i]);
}

void tn_watch_begin(void) {
    char what[300];
    note();
    for (int i = 0; i < OUTPUTS; i++) /* what was printed by then is forgotten */
        has_printed(what, sizeof(what));
}

static bool has_other_handler(char *what, size_t bytes) {
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(i, NULL, &now) != 0 || now.sa_sigaction == known.handlers[i].sa_sigaction)
            continue;
        sigaction(i, &known.handlers[i], NULL);
        snprintf(what, bytes, "changes the process' handler of signal %d (%s)", i, strsignal(i));
        return true;
    }
    return false;
}

/* The first variable that is another one than before. */
static void describe_variable(char *what, size_t bytes) {
    size_t i = 0;
    while (environ && environ[i] && known.list[i] && environ[i] == known.list[i])
        i++;
    const char *at = environ && environ[i] ? environ[i] : known.list[i] ? known.list[i] : "";
    snprintf(what, bytes, "changes the process' environment (the variable %.*s)",
             (int)strcspn(at, "="), at);
}

/* The whole environment as it was. */
static void restore_variables(void) {
    clearenv();
    for (size_t i = 0; known.list[i]; i++)
        putenv(known.list[i]);
}

static bool has_other_process(bool asks_system, char *what, size_t bytes) {
    char folder[PATH_MAX];
    const char *locale = setlocale(LC_ALL, NULL);
    if (locale && strcmp(locale, known.locale) != 0) {
        snprintf(what, bytes, "changes the process' locale from %.40s to %.40s", known.locale,
                 locale);
        setlocale(LC_ALL, known.locale);
        return true;
    }
    if (asks_system && known.folder[0] && getcwd(folder, sizeof(folder)) &&
        strcmp(folder, known.folder) != 0) {
        snprintf(what, bytes, "changes the process' folder to %.200s", folder);
        if (chdir(known.folder) != 0) known.folder[0] = 0;
        return true;
    }
    const mode_t mask = asks_system ? get_mask() : known.mask;
    if (mask != known.mask) {
        snprintf(what, bytes, "changes the process' umask from %03o to %03o", known.mask, mask);
        umask(known.mask);
        return true;
    }
    if (hash_variables() != known.variables) {
        describe_variable(what, bytes);
        restore_variables();
        known.variables = hash_variables();
        return true;
    }
    return false;
}

static bool has_other_thread(bool asks_system, char *what, size_t bytes) {
    char state[200];
    tn_thread_state asked = known.state;
    asked.is_whole = asks_system;
    if (!tn_thread_state_changed(&asked, state, sizeof(state))) return false;
    tn_thread_state_note(true, &known.state); /* where something cannot be put back */
    snprintf(what, bytes, "leaves the calling thread with %s", state);
    return true;
}

static bool has_changed(bool asks_system, char *what, size_t bytes) {
    return known.locale[0] && pthread_equal(known.thread, pthread_self()) &&
           (has_other_thread(asks_system, what, bytes) ||
            has_other_process(asks_system, what, bytes) ||
            tn_process_changed_by_callback(asks_system, what, bytes));
}

/* How often each callback was called in this test. */
enum { CALLBACKS = 16, FIRST_CALLS = 4, EVERY = 32 };
static struct {
    const char *name;
    uint32_t calls;
} callbacks[CALLBACKS];

void tn_watch_begin_test(void) {
    memset(callbacks, 0, sizeof(callbacks));
    tn_watched_pool_begin_test();
    tn_shared_begin();
    tn_written_begin();
}

/* After the first calls of each callback, and then after some: the test's end asks again. */
static bool asks_system_after(const char *callback) {
    for (int i = 0; i < CALLBACKS; i++) {
        if (callbacks[i].name && strcmp(callbacks[i].name, callback) != 0) continue;
        callbacks[i].name = callback;
        const uint32_t calls = callbacks[i].calls++;
        return calls < FIRST_CALLS || calls % EVERY == 0;
    }
    return true;
}

bool tn_watch_changed_by_callback(const char *callback, char *what, size_t bytes) {
    return pthread_equal(known.thread, pthread_self()) &&
           has_changed(asks_system_after(callback), what, bytes);
}

bool tn_watch_changed(char *what, size_t bytes) {
    return has_printed(what, bytes) || has_other_handler(what, bytes) ||
           tn_process_changed(what, bytes) || has_changed(true, what, bytes);
}

bool tn_watch_used(const char **out_rule, char *what, size_t bytes) {
    char file[PATH_MAX];
    if (tn_shared_called(out_rule, what, bytes)) return true;
    if (!tn_written_by_callback(file, sizeof(file))) return false;
    *out_rule = "leaks";
    snprintf(what, bytes, "leaves a file behind: %s (host->log is for messages)", file);
    return true;
}
