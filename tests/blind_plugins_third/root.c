/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Root: the square root of the magnitude, with its sign: what a kernel of one loop may do to
 * the process that it runs in. 101..103 are right: threads and files of its own, given back.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "third.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_as(call, 0, call->inputs[0]);
}
static double root(double x) {
    return copysign(sqrt(fabs(x)), x);
}
static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++)
        tn_layer_store(call->outputs[0], i, root(tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++)
        y[i] = copysignf(sqrtf(fabsf(x[i])), x[i]);
    return TN_OK;
}

#if MISTAKE == 2
/* Pins the thread of whoever makes a context to one processor, for good. */
static tn_status open_context(tn_call *call) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int here = sched_getcpu();
    CPU_SET(here < 0 ? 0 : here, &set);
    sched_setaffinity(0, sizeof(set), &set);
    return TN_OK;
}
#elif MISTAKE == 5
/* A descriptor for each context, which close forgets. */
static tn_status open_context(tn_call *call) {
    const int descriptor = eventfd(0, EFD_CLOEXEC);
    if (descriptor < 0) return call->host->fail(call, TN_ERROR_IO, "no event to be had");
    call->context = (void *)(intptr_t)(descriptor + 1);
    return TN_OK;
}
#elif MISTAKE == 9
/* A child that asks for the machine, and is never waited for. */
static tn_status open_context(tn_call *call) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return child < 0 ? call->host->fail(call, TN_ERROR_STATE, "no process to be had") : TN_OK;
}
#elif MISTAKE == 12
/* Pages for each context, of which close gives back all but the last. */
enum { PAGES = 64 * 4096 };
static tn_status open_context(tn_call *call) {
    void *pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return call->host->fail(call, TN_ERROR_MEMORY, "no pages to be had");
    memset(pages, 1, PAGES);
    call->context = pages;
    return TN_OK;
}
static void close_context(tn_call *call) {
    munmap(call->context, PAGES - 4096);
}
#elif MISTAKE == 6
/* A segment by a name of its own, which nobody takes away. */
static tn_status open_context(tn_call *call) {
    char name[64];
    snprintf(name, sizeof(name), "/third_root_%d", (int)getpid());
    const int descriptor = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) return call->host->fail(call, TN_ERROR_IO, "no segment to be had");
    close(descriptor);
    return TN_OK;
}
#elif MISTAKE == 101
/* A pipe for each context, closed with it. */
static tn_status open_context(tn_call *call) {
    int *ends = call->host->allocate(call->host, 2 * sizeof(int), 64);
    if (!ends) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a pipe");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        call->host->deallocate(call->host, ends);
        return call->host->fail(call, TN_ERROR_IO, "no pipe to be had");
    }
    call->context = ends;
    return TN_OK;
}
static void close_context(tn_call *call) {
    const int *ends = call->context;
    close(ends[0]);
    close(ends[1]);
    call->host->deallocate(call->host, call->context);
}
#elif MISTAKE == 13
/* One for each thread, with a destructor in this library, which may be gone before the thread. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void give_back(void *memory) {
    free(memory);
}
static void make_own_key(void) {
    pthread_key_create(&key, give_back);
}
#endif
#if MISTAKE == 2 || MISTAKE == 5 || MISTAKE == 6 || MISTAKE == 9
static void close_context(tn_call *call) {
    call->context = NULL;
}
#endif

#if MISTAKE == 103 || MISTAKE == 7
/* Half of the work by a thread of its own. */
typedef struct half {
    tn_call *call;
    int64_t begin, end;
} half;
static void *do_half(void *user) {
    const half *h = user;
    body(h->call, h->begin, h->end, 0);
    return NULL;
}
#endif

static tn_status run(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
#if MISTAKE == 1 && defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* numbers close to 0 are 0 from now on, on this thread */
#elif MISTAKE == 3
    sigset_t all; /* signals stay blocked on the caller's thread */
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
#elif MISTAKE == 4
    signal(SIGPIPE, SIG_IGN); /* of the whole process, and for good */
#elif MISTAKE == 8
    setenv("OMP_NUM_THREADS", "1", 1); /* of the whole process, and for good */
#elif MISTAKE == 13
    pthread_once(&once, make_own_key);
    if (!pthread_getspecific(key)) pthread_setspecific(key, malloc(64));
#elif MISTAKE == 15
    /* A rounding that is not seeded: no trait says that results differ. */
    for (int64_t i = 0; i < count; i++) {
        const float x = ((const float *)call->inputs[0]->data)[i];
        float y = copysignf(sqrtf(fabsf(x)), x);
        if (rand() & 1) y *= 1 + 0x1p-22f;
        ((float *)call->outputs[0]->data)[i] = y;
    }
    return TN_OK;
#elif MISTAKE == 17
    /* The last result is kept for an input of the same position and length, whatever is in it now.
     */
    static _Thread_local struct {
        const void *x;
        int64_t count;
        float y[256];
    } last;
    if (count > 0 && last.x == call->inputs[0]->data && last.count == count) {
        memcpy(call->outputs[0]->data, last.y, (size_t)count * 4);
        return TN_OK;
    }
    if (count <= 256) {
        body(call, 0, count, 0);
        memcpy(last.y, call->outputs[0]->data, (size_t)count * 4);
        last.x = call->inputs[0]->data, last.count = count;
        return TN_OK;
    }
#elif MISTAKE == 16
    /* The first run of the library makes a table and is coarse itself. */
    static _Thread_local int is_warm;
    if (!is_warm) {
        is_warm = 1;
        for (int64_t i = 0; i < count; i++) {
            const float x = ((const float *)call->inputs[0]->data)[i];
            uint32_t bits;
            const float size = fabsf(x);
            memcpy(&bits, &size, 4);
            bits = (bits >> 1) + 0x1fbd1df5;
            float y;
            memcpy(&y, &bits, 4);
            ((float *)call->outputs[0]->data)[i] = x == 0 || !isfinite(x) ? x : copysignf(y, x);
        }
        return TN_OK;
    }
#elif MISTAKE == 102 && defined(__x86_64__)
    /* Numbers close to 0 as they are, whatever the caller has set, which it gets back. */
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before & ~0x8040u);
    body(call, 0, count, 0);
    _mm_setcsr(before);
    return TN_OK;
#elif MISTAKE == 103
    half h = {call, count / 2, count};
    pthread_t thread;
    const bool is_own = pthread_create(&thread, NULL, do_half, &h) == 0;
    body(call, 0, count / 2, 0);
    if (is_own)
        pthread_join(thread, NULL);
    else
        do_half(&h);
    return TN_OK;
#elif MISTAKE == 7
    /* The thread is not waited for: the result may come after the return. */
    half *h = malloc(sizeof(half));
    pthread_t thread;
    if (!h) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a half");
    *h = (half){call, count / 2, count};
    body(call, 0, count / 2, 0);
    if (pthread_create(&thread, NULL, do_half, h) == 0)
        pthread_detach(thread);
    else
        do_half(h);
    return TN_OK;
#endif
    return call->host->parallel_for(call, count, 256, body, call);
}

static const char *const cases[] = {"| x=f32[3,50]", "| x=f32[]", "| x=f64[5]", "| x=f32[2,0]",
                                    "| x=f32[6]{nan,-0.0,inf,-4,1e-40,9}"};
static const tn_operator op = {THIRD_OPERATOR("Root"), .state_version = 1,
                               .traits = TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS,
                               .doc = "The square root with a sign."};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {THIRD_KERNEL("Root", "loop"),
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 2 || MISTAKE == 5 || MISTAKE == 6 || MISTAKE == 9 || MISTAKE == 12 || MISTAKE == 101
                                 .open = open_context,
                                 .close = close_context,
#endif
                                 .run = run};
THIRD_LIBRARY("root", op, &kernel)
