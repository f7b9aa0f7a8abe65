/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgomp, loaded by this library before anybody else needs it, so that its threads do not look for
 * work longer than the runtime's own do. Declared in openmp.h.
 *
 * A thread of libgomp that waits, for its next loop or for the others at the end of one, looks for
 * milliseconds before it sleeps: on a machine whose processors have other work it takes the time of
 * the very thread that it waits for. How often it looks is read from the environment when libgomp
 * is loaded, and cannot be changed later. So the constructor here loads it with a number of ours,
 * unless the program has its own setting, or libgomp. It is a constructor because the environment
 * may be written to only while no other thread reads it, which is so when libraries are loaded at
 * the start. The setting is removed again: it is not for the program's children.
 */
#include "device/cpu/openmp.h"

#if defined(TN_NO_OPENMP)

bool tn_openmp_is_here(void) {
    return false;
}

void tn_openmp_run(uint32_t threads, void (*body)(void *user, uint32_t thread), void *user) {
    (void)threads, (void)body, (void)user;
}

#else

#include "base/clock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* As long as the runtime's workers look: workers.c. */
#define LOOK_NS      50000
/* Looks of a sample. Its time is the least of some, since a thread may be interrupted. */
#define SAMPLE_LOOKS 64
#define SAMPLES      4
/* What is believed of a processor: one look takes 2 to 100 ns, by the length of its pause. */
#define LEAST_LOOKS  500
#define MOST_LOOKS   25000

static void (*gomp_parallel)(void (*body)(void *data), void *data, unsigned threads,
                             unsigned flags);
static int (*gomp_thread_number)(void);

/* How many of libgomp's looks, each a pause, are LOOK_NS. */
static unsigned count_looks(void) {
    uint64_t least = UINT64_MAX;
    for (int sample = 0; sample < SAMPLES; sample++) {
        const uint64_t begin = tn_now_ns();
        for (int i = 0; i < SAMPLE_LOOKS; i++)
            tn_pause();
        const uint64_t taken = tn_now_ns() - begin;
        if (taken < least) least = taken;
    }
    const uint64_t looks = (uint64_t)LOOK_NS * SAMPLE_LOOKS / (least + 1);
    return looks < LEAST_LOOKS ? LEAST_LOOKS : looks > MOST_LOOKS ? MOST_LOOKS : (unsigned)looks;
}

static void *load_with_setting(void) {
    char looks[16];
    snprintf(looks, sizeof(looks), "%u", count_looks());
    if (setenv("GOMP_SPINCOUNT", looks, 1) != 0) return NULL;
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    unsetenv("GOMP_SPINCOUNT");
    return library;
}

/* It stays loaded: its threads end with the program. */
__attribute__((constructor)) static void load_openmp(void) {
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library && !getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT"))
        library = load_with_setting();
    if (!library) library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&gomp_parallel = dlsym(library, "GOMP_parallel");
    *(void **)&gomp_thread_number = dlsym(library, "omp_get_thread_num");
} /* cppcheck-suppress resourceLeak ; it stays loaded */

bool tn_openmp_is_here(void) {
    return gomp_parallel && gomp_thread_number;
}

typedef struct team_job {
    void (*body)(void *user, uint32_t thread);
    void *user;
} team_job;

static void run_on_thread(void *data) {
    const team_job *job = data;
    job->body(job->user, (uint32_t)gomp_thread_number());
}

void tn_openmp_run(uint32_t threads, void (*body)(void *user, uint32_t thread), void *user) {
    team_job job = {body, user};
    gomp_parallel(run_on_thread, &job, threads, 0);
}

#endif
