/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written; see written.h. */
#include "worker/libc/written.h"
#include "worker/watch/heap.h"
#include "worker/watch/next.h"
#include "worker/watch/trace.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 16, WHERE = 48 };

typedef struct written_file {
    char path[PATH_MAX]; /* "": the slot is free */
    char where[WHERE];
} written_file;

static struct {
    pthread_mutex_t lock;
    written_file files[FILES];
    atomic_size_t count; /* slots that may be in use are below it */
} written = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tn_written_begin(void) {
    pthread_mutex_lock(&written.lock);
    written.count = 0;
    pthread_mutex_unlock(&written.lock);
}

/* What is tuned or compiled once may be kept in a folder for that. */
static bool may_keep_files(const char *where) {
    static const char *const callbacks[] = {"in prepare", "in load", "in save", ""};
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
        if (strcmp(where, callbacks[i]) == 0) return true;
    return strncmp(where, "after", 5) == 0; /* not known */
}

static bool is_temporary(const char *path) {
    static const char *const folders[] = {"/tmp/", "/var/tmp/", "/dev/shm/"};
    const char *own = getenv("TMPDIR");
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
    return own && own[0] == '/' && strncmp(path, own, strlen(own)) == 0;
}

/* Files that are gone are forgotten, those that were named, too. */
static bool find(bool (*is_wrong)(const written_file *), char *what, size_t bytes) {
    bool is_found = false;
    if (written.count == 0) return false;
    pthread_mutex_lock(&written.lock);
    for (size_t i = 0; i < written.count; i++) {
        written_file *it = &written.files[i];
        struct stat status;
        if (!it->path[0]) continue;
        const bool is_there = lstat(it->path, &status) == 0;
        if (is_there && !is_found && is_wrong(it)) {
            snprintf(what, bytes, "%.180s, written %s", it->path, it->where);
            is_found = true;
            it->path[0] = 0;
        } else if (!is_there) {
            it->path[0] = 0;
        }
    }
    pthread_mutex_unlock(&written.lock);
    return is_found;
}

static bool is_of_run(const written_file *file) {
    return !may_keep_files(file->where);
}

static bool is_to_stay(const written_file *file) {
    return is_temporary(file->path);
}

bool tn_written_by_callback(char *what, size_t bytes) {
    return find(is_of_run, what, bytes);
}

bool tn_written_to_stay(char *what, size_t bytes) {
    return find(is_to_stay, what, bytes);
}

#if !TN_IS_SANITIZED

/* ----------------------------------------------------------------------------------------------
 * noting */

static void note_path(const char *path) {
    char where[WHERE];
    tn_trace_where(where, sizeof(where));
    pthread_mutex_lock(&written.lock);
    size_t i = 0;
    while (i < written.count && written.files[i].path[0] &&
           strcmp(written.files[i].path, path) != 0)
        i++;
    if (i < FILES) {
        snprintf(written.files[i].path, PATH_MAX, "%s", path);
        snprintf(written.files[i].where, WHERE, "%s", where);
        if (i == written.count) written.count = i + 1;
    }
    pthread_mutex_unlock(&written.lock);
}

/* Regular files of a disk: neither devices nor pipes, nor what the system shows as files. */
static void note_file(int file, const void *caller) {
    struct stat status;
    char link[40], path[PATH_MAX];
    if (file < 0 || !tn_heap_is_within() || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_nlink == 0 || !tn_heap_is_of_library(caller))
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0) return;
    path[length] = 0;
    if (path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0)
        note_path(path);
}

static void note_made(const char *path, const void *caller) {
    char resolved[PATH_MAX];
    if (tn_heap_is_within() && tn_heap_is_of_library(caller) && realpath(path, resolved))
        note_path(resolved);
}

static bool is_writing(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY && (flags & O_TMPFILE) != O_TMPFILE;
}

/* ----------------------------------------------------------------------------------------------
 * the functions, seen by the libraries that are loaded */

#pragma GCC visibility push(default)
/* The file that the function behind ours has opened. */
static int opened(int file, int flags, const void *caller) {
    if (is_writing(flags)) note_file(file, caller);
    return file;
}

/* The mode is there where a file may be made. */
#define READ_MODE(last, flags, mode)                                                               \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list arguments;                                                                         \
        va_start(arguments, last);                                                                 \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }
#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...) {                                                   \
        int (*next)(const char *, int, mode_t);                                                    \
        READ_MODE(flags, flags, mode)                                                              \
        TN_NEXT(next, #name);                                                                      \
        return opened(next(path, flags, mode), flags, TN_CALLER);                                  \
    }
#define OPENS_AT(name)                                                                             \
    int name(int folder, const char *path, int flags, ...) {                                       \
        int (*next)(int, const char *, int, mode_t);                                               \
        READ_MODE(flags, flags, mode)                                                              \
        TN_NEXT(next, #name);                                                                      \
        return opened(next(folder, path, flags, mode), flags, TN_CALLER);                          \
    }
#define OPENS_CHECKED(name)                                                                        \
    int name(const char *path, int flags);                                                         \
    int name(const char *path, int flags) {                                                        \
        int (*next)(const char *, int);                                                            \
        TN_NEXT(next, #name);                                                                      \
        return opened(next(path, flags), flags, TN_CALLER);                                        \
    }
#define CREATES(name)                                                                              \
    int name(const char *path, mode_t mode) {                                                      \
        int (*next)(const char *, mode_t);                                                         \
        TN_NEXT(next, #name);                                                                      \
        return opened(next(path, mode), O_WRONLY, TN_CALLER);                                      \
    }
#define OPENS_STREAM(name)                                                                         \
    FILE *name(const char *restrict path, const char *restrict mode) {                             \
        FILE *(*next)(const char *restrict, const char *restrict);                                 \
        TN_NEXT(next, #name);                                                                      \
        FILE *file = next(path, mode);                                                             \
        if (file && strpbrk(mode, "wa+")) note_file(fileno(file), TN_CALLER);                      \
        return file;                                                                               \
    }
#define MAKES_TEMPORARY(name)                                                                      \
    int name(char *path) {                                                                         \
        int (*next)(char *);                                                                       \
        TN_NEXT(next, #name);                                                                      \
        const int file = next(path);                                                               \
        note_file(file, TN_CALLER);                                                                \
        return file;                                                                               \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
OPENS_CHECKED(__open_2)
OPENS_CHECKED(__open64_2)
CREATES(creat)
CREATES(creat64)
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)
MAKES_TEMPORARY(mkstemp)
MAKES_TEMPORARY(mkstemp64)

int shm_open(const char *name, int flags, mode_t mode) {
    int (*next)(const char *, int, mode_t);
    TN_NEXT(next, "shm_open");
    return opened(next(name, flags, mode), flags, TN_CALLER);
}

int mkdir(const char *path, mode_t mode) {
    int (*next)(const char *, mode_t);
    TN_NEXT(next, "mkdir");
    const int error = next(path, mode);
    if (error == 0) note_made(path, TN_CALLER);
    return error;
}

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *);
    TN_NEXT(next, "rename");
    const int error = next(from, to);
    if (error == 0) note_made(to, TN_CALLER);
    return error;
}
#pragma GCC visibility pop

#endif
