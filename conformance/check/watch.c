/* SPDX-License-Identifier: Apache-2.0 */
/* What must stay as it is; see watch.h. */
#include "watch.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

enum { STATUS_FLAGS = 0x3F }; /* of MXCSR: what happened, which anything sets */

uint32_t tn_watch_arithmetic(void) {
#if defined(__x86_64__)
    return _mm_getcsr() & ~(uint32_t)STATUS_FLAGS;
#else
    return (uint32_t)fegetround();
#endif
}

void tn_watch_set_arithmetic(uint32_t arithmetic) {
#if defined(__x86_64__)
    _mm_setcsr(arithmetic);
#else
    fesetround((int)arithmetic);
#endif
}

static const int signals[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGFPE,
                              SIGILL, SIGABRT, SIGPIPE, SIGCHLD};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static struct {
    int output; /* -1: not watched */
    char locale[256], folder[PATH_MAX];
    struct sigaction handlers[SIGNALS];
} known = {.output = -1};

int tn_watch_output(void) {
    fflush(stdout);
    const int before = dup(STDOUT_FILENO), memory = memfd_create("output", MFD_CLOEXEC);
    if (before >= 0 && memory >= 0 && dup2(memory, STDOUT_FILENO) >= 0)
        known.output = STDOUT_FILENO;
    if (memory >= 0) close(memory);
    return before;
}

static void note(void) {
    const char *locale = setlocale(LC_ALL, NULL);
    snprintf(known.locale, sizeof(known.locale), "%s", locale ? locale : "");
    if (!getcwd(known.folder, sizeof(known.folder))) known.folder[0] = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], NULL, &known.handlers[i]);
}

void tn_watch_begin(void) {
    char what[300];
    note();
    tn_watch_changed(what, sizeof(what)); /* what was printed by then is forgotten */
}

/* What came out, as one short line. */
static bool has_printed(char *what, size_t bytes) {
    char text[100];
    fflush(stdout);
    if (known.output < 0 || lseek(known.output, 0, SEEK_END) <= 0) return false;
    const ssize_t length = pread(known.output, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = 0;
    if (ftruncate(known.output, 0) == 0) lseek(known.output, 0, SEEK_SET);
    snprintf(what, bytes, "prints to the standard output (host->log is for messages): \"%s\"",
             text);
    return true;
}

static bool has_other_handler(char *what, size_t bytes) {
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) != 0 ||
            now.sa_sigaction == known.handlers[i].sa_sigaction)
            continue;
        sigaction(signals[i], &known.handlers[i], NULL);
        snprintf(what, bytes, "changes the process' handler of signal %d", signals[i]);
        return true;
    }
    return false;
}

bool tn_watch_changed(char *what, size_t bytes) {
    char folder[PATH_MAX];
    const char *locale = setlocale(LC_ALL, NULL);
    if (has_printed(what, bytes) || has_other_handler(what, bytes)) return true;
    if (locale && strcmp(locale, known.locale) != 0) {
        snprintf(what, bytes, "changes the process' locale from %.40s to %.40s", known.locale,
                 locale);
        note();
        return true;
    }
    if (known.folder[0] && getcwd(folder, sizeof(folder)) && strcmp(folder, known.folder) != 0) {
        snprintf(what, bytes, "changes the process' folder to %.200s", folder);
        note();
        return true;
    }
    return false;
}
