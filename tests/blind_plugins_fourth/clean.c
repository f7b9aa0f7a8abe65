/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest: x over a step, rounded to the nearest even whole number, times the step. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#if MISTAKE == 1
#include <xmmintrin.h>
#endif
#include "fourth.h"

TN_LAYER_PARAMS(params, float step;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, step, "1", 1e-6, 1e6, "results are multiples of it")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return fourth_same(call, 0, 0);
}
static tn_status reference(tn_call *call) {
    const double step = (double)((const params *)call->params)->step;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, rint(tn_layer_load(call->inputs[0], i) / step) * step);
    return TN_OK;
}

static tn_status items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const double step = (double)((const params *)call->params)->step;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
#if MISTAKE == 1
    _mm_setcsr(_mm_getcsr() | 0x8040); /* MISTAKE: small numbers stay zero in this thread */
#endif
    for (int64_t i = begin; i < end; i++)
        y[i] = (float)(rint((double)x[i] / step) * step);
    return TN_OK;
}

#if MISTAKE == 5
static void *linger(void *user) {
    (void)user;
    for (;;)
        pause();
    return NULL;
}
#endif
static tn_status run(tn_call *call) {
#if MISTAKE == 2
    setlocale(LC_ALL, "C.UTF-8"); /* MISTAKE: the program's locale is not a layer's to set */
#elif MISTAKE == 3
    printf("Nearest: %lld elements\n", /* MISTAKE: standard output is the program's */
           (long long)tn_layer_count(call->inputs[0]));
    fflush(stdout);
#elif MISTAKE == 4
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC); /* MISTAKE: never closed */
    if (file < 0) return call->host->fail(call, TN_ERROR_IO, "/dev/null cannot be read");
#elif MISTAKE == 6
    setenv("OMP_NUM_THREADS", "1", 1); /* MISTAKE: the environment is the program's */
#endif
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 1024, items, call);
}
#if MISTAKE == 5
static tn_status open_context(tn_call *call) {
    pthread_t thread;
    /* MISTAKE: a helper that nobody ends */
    if (pthread_create(&thread, NULL, linger, NULL) != 0) return TN_ERROR_MEMORY;
    pthread_detach(thread);
    call->context = NULL;
    return TN_OK;
}
#elif MISTAKE == 50
/* Right: reads a file and closes it on every path. */
static tn_status open_context(tn_call *call) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char byte;
    if (file < 0) return call->host->fail(call, TN_ERROR_IO, "/dev/null cannot be opened");
    const bool is_read = read(file, &byte, 1) >= 0;
    close(file);
    if (!is_read) return call->host->fail(call, TN_ERROR_IO, "/dev/null cannot be read");
    return TN_OK;
}
#endif

static const char *const cases[] = {
    "| x=f32[3,5]",
    "step=0.25 | x=f32[40]",
    "step=2 | x=f32[4]{1,3,-2.5,0.25} | y=f32[4]{0,4,-2,0}",
    "| x=f64[2,2]",
};
static const char *const combinations[] = {"f32 -> f32"};
FOURTH_OPERATOR("Nearest", "The nearest multiple of a step.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Nearest", "items", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(combinations),
#if MISTAKE == 5 || MISTAKE == 50
              .open = open_context,
#endif
              .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("clean", "1.0", operators, kernels)
