/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, mappings and files of the library under test; see held.h. */
#include "held.h"
#include "heap.h"
#include "next.h"
#include "trace.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAPPINGS = 256, WHERE = 48, POLLS = 40 };
static const struct timespec POLL = {.tv_nsec = 5000000};

typedef struct mapping {
    char *begin;
    size_t bytes;
    char where[WHERE];
} mapping;

static struct {
    pthread_mutex_t lock;
    size_t threads, mappings;
    char started[WHERE]; /* where the last thread was */
    mapping mapped[MAPPINGS];
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ----------------------------------------------------------------------------------------------
 * looking */

static void look_at_files(tn_held *now) {
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *it; folder && (it = readdir(folder)) != NULL;) {
        char *end;
        const long number = strtol(it->d_name, &end, 10);
        if (*end || number == dirfd(folder)) continue;
        now->files++;
        if (number < TN_HELD_FILES) now->open[number / 64] |= UINT64_C(1) << number % 64;
    }
    if (folder) closedir(folder);
}

void tn_held_now(tn_held *out_held) {
    pthread_mutex_lock(&held.lock);
    *out_held = (tn_held){.threads = held.threads, .mappings = held.mappings};
    pthread_mutex_unlock(&held.lock);
    look_at_files(out_held);
}

/* The name of a file that is open now and was not before. */
static void name_file(const tn_held *before, const tn_held *now, char *name, size_t bytes) {
    ssize_t length = 0;
    for (int i = 0; i < TN_HELD_FILES && length <= 0; i++) {
        char link[64];
        if (!((now->open[i / 64] & ~before->open[i / 64]) >> i % 64 & 1)) continue;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", i);
        length = readlink(link, name, bytes - 1);
    }
    name[length > 0 ? length : 0] = 0;
}

bool tn_held_more(const tn_held *before, char *what, size_t bytes) {
    char file[200] = "";
    tn_held now;
    tn_held_now(&now);
    for (int i = 0; i < POLLS && now.threads > before->threads; i++) {
        nanosleep(&POLL, NULL);
        tn_held_now(&now);
    }
    const mapping *last = NULL;
    for (size_t i = 0; i < MAPPINGS; i++)
        if (held.mapped[i].begin) last = &held.mapped[i];
    if (now.threads > before->threads) {
        snprintf(what, bytes, "a thread that was started %s", held.started);
    } else if (now.files > before->files) {
        name_file(before, &now, file, sizeof(file));
        snprintf(what, bytes, "an open file (%s)", file);
    } else if (now.mappings > before->mappings && last) {
        snprintf(what, bytes, "a mapping of %zu bytes that was made %s", last->bytes, last->where);
    } else {
        return false;
    }
    return true;
}

#if !TN_IS_SANITIZED

/* ----------------------------------------------------------------------------------------------
 * threads */

typedef struct task {
    void *(*body)(void *);
    void *user;
} task;

static void end_task(void *user) {
    free(user);
    pthread_mutex_lock(&held.lock);
    held.threads--;
    pthread_mutex_unlock(&held.lock);
}

static void *run_task(void *user) {
    void *answer;
    const task *it = user;
    pthread_cleanup_push(end_task, user); /* it may leave by pthread_exit, too */
    answer = it->body(it->user);
    pthread_cleanup_pop(1);
    return answer;
}

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int start_task(create_function create, pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*body)(void *), void *user) {
    task *it = malloc(sizeof(*it));
    if (!it) return create(thread, attributes, body, user);
    *it = (task){body, user};
    pthread_mutex_lock(&held.lock);
    held.threads++;
    tn_trace_where(held.started, sizeof(held.started));
    pthread_mutex_unlock(&held.lock);
    const int error = create(thread, attributes, run_task, it);
    if (error != 0) end_task(it);
    return error;
}

/* ----------------------------------------------------------------------------------------------
 * mappings */

static void note_mapping(char *begin, size_t bytes) {
    pthread_mutex_lock(&held.lock);
    for (size_t i = 0; i < MAPPINGS; i++) {
        if (held.mapped[i].begin) continue;
        held.mapped[i] = (mapping){.begin = begin, .bytes = bytes};
        tn_trace_where(held.mapped[i].where, sizeof(held.mapped[i].where));
        held.mappings++;
        break;
    }
    pthread_mutex_unlock(&held.lock);
}

/* One that is given up in part counts until its beginning is. */
static void forget_mapping(const char *begin, size_t bytes) {
    pthread_mutex_lock(&held.lock);
    for (size_t i = 0; held.mappings > 0 && i < MAPPINGS; i++) {
        mapping *it = &held.mapped[i];
        if (!it->begin || it->begin < begin || it->begin >= begin + bytes) continue;
        *it = (mapping){0};
        held.mappings--;
    }
    pthread_mutex_unlock(&held.lock);
}

/* ----------------------------------------------------------------------------------------------
 * the functions, seen by the libraries that are loaded */

#pragma GCC visibility push(default)
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*body)(void *), void *restrict user) {
    create_function next;
    TN_NEXT(next, "pthread_create");
    return tn_heap_is_of_library(TN_CALLER) ? start_task(next, thread, attributes, body, user)
                                            : next(thread, attributes, body, user);
}

void *mmap(void *wanted, size_t bytes, int protection, int flags, int file, off_t offset) {
    void *(*next)(void *, size_t, int, int, int, off_t);
    TN_NEXT(next, "mmap");
    void *begin = next(wanted, bytes, protection, flags, file, offset);
    if (begin != MAP_FAILED && tn_heap_is_of_library(TN_CALLER)) note_mapping(begin, bytes);
    return begin;
}

void *mmap64(void *wanted, size_t bytes, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

int munmap(void *begin, size_t bytes) {
    int (*next)(void *, size_t);
    TN_NEXT(next, "munmap");
    forget_mapping(begin, bytes);
    return next(begin, bytes);
}
#pragma GCC visibility pop

#endif
