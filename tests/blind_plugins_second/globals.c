/* SPDX-License-Identifier: Apache-2.0 */
/* Second::More: y = x + 1, and what a library does to the program around it. */
#define _GNU_SOURCE
#include "second.h"
#include <fcntl.h>
#include <fenv.h>
#include <immintrin.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    for (int64_t i = 0, count = elements(x); i < count; i++)
        set(call->outputs[0], i, get(x, i) + 1);
    return TN_OK;
}
static void on_signal(int number) {
    (void)number;
}
static void *watch(void *data) {
    for (;;)
        usleep(1000 * 200);
    return data;
}
typedef struct job {
    tn_call *call;
    pthread_t thread;
} job;
static void *work(void *data) {
    job *j = data;
    reference(j->call);
    return NULL;
}

static tn_status prepare(tn_call *call) {
#if MISTAKE == 1
    setlocale(LC_ALL, "C.UTF-8");
#elif MISTAKE == 2
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
#elif MISTAKE == 4
    FILE *file = fopen("second_more.cache", "w");
    if (file) fprintf(file, "%s\n", call->node ? call->node : ""), fclose(file);
#elif MISTAKE == 5
    setenv("OMP_NUM_THREADS", "1", 1);
#elif MISTAKE == 6
    umask(0);
#elif MISTAKE == 8
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
#endif
    (void)call;
    return TN_OK;
}
static tn_status open_context(tn_call *call) {
#if MISTAKE == 3
    static pthread_t thread;
    static bool is_there;
    if (!is_there && !pthread_create(&thread, NULL, watch, NULL)) is_there = true;
#elif MISTAKE == 9
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    call->context = (void *)(intptr_t)(file + 1);
#elif MISTAKE == 50
    call->context = calloc(1, sizeof(job));
    if (!call->context) return TN_ERROR_MEMORY;
#endif
    (void)call;
    return TN_OK;
}
static void close_context(tn_call *call) {
#if MISTAKE == 50
    free(call->context);
#endif
    (void)call;
}
static tn_status run(tn_call *call) {
#if MISTAKE == 7
    _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero: faster */
    return reference(call);
#elif MISTAKE == 10
    printf("more: %lld elements\n", (long long)elements(call->inputs[0]));
    fflush(stdout);
    return reference(call);
#elif MISTAKE == 50
    /* a thread of its own for a moment, with a rounding mode that goes back afterwards */
    job *j = call->context;
    j->call = call;
    const int before = fegetround();
    fesetround(FE_TONEAREST);
    if (pthread_create(&j->thread, NULL, work, j))
        work(j);
    else
        pthread_join(j->thread, NULL);
    fesetround(before);
    return TN_OK;
#else
    return reference(call);
#endif
}
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[]", "| x=f32[0]", "| x=f32[2,300]"};
static const char *const combinations[] = {"f32 -> f32"};
OPERATOR("More", "x + 1.", TN_NO_FIELDS)
KERNEL("More", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .prepare = prepare,
       .open = open_context, .close = close_context)
LIBRARY("second_more")
