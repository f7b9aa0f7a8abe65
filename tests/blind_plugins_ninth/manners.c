/* SPDX-License-Identifier: Apache-2.0 */
/* Half: half of x, plus what a constant adds; what matters here is what the callbacks leave behind.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                 TN_PORT("c", "f32", 0, "one element")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x / 2 + c")};

static tn_status infer(tn_call *call) {
    if (tn_layer_count(call->inputs[1]) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "c is one element");
    if (WRONG(1)) setlocale(LC_NUMERIC, "C.UTF-8"); /* messages have the user's own numbers */
    return infer_same(call);
}

/* A variant of the layer takes no c below 0. */
#define REFUSES (WRONG(7) || MISTAKE == 50)
static bool is_refused(const tn_call *call) {
    return REFUSES && *(const float *)call->inputs[1]->data < 0;
}
static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_RANGE, "c is below 0");
}

static tn_status reference(tn_call *call) {
    if (is_refused(call)) return refuse(call);
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) / 2 + tn_layer_load(call->inputs[1], 0));
    return TN_OK;
}

static tn_status accepts(tn_call *call) {
    if (WRONG(2)) return *(const float *)call->inputs[1]->data < 1e30f ? TN_OK : TN_ERROR_RANGE;
    return TN_OK;
}

static void ignore(int number) {
    (void)number;
}
static tn_status prepare(tn_call *call) {
    void *memory = NULL;
    if (WRONG(3)) { /* no number should be divided by 0 */
        feenableexcept(FE_DIVBYZERO);
    }
    if (WRONG(4)) {
        const struct itimerval soon = {{0, 0}, {0, 200000}};
        signal(SIGALRM, ignore);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    if (WRONG(5)) { /* beyond what allocate takes: its greatest alignment is 4096 */
        memory = call->host->allocate(call->host, 4096, 65536);
        if (!memory) return TN_ERROR_MEMORY;
    }
    if (WRONG(6)) { /* a mapping of which release gives back a half */
        memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return TN_ERROR_MEMORY;
    }
    if (REFUSES) {
        if (!WRONG(7) && call->inputs[1]->data && is_refused(call)) return refuse(call);
        memory = call->host->allocate(call->host, 256, 64);
        if (!memory) return TN_ERROR_MEMORY;
        if (call->inputs[1]->data && is_refused(call)) return refuse(call);
    }
    if (WRONG(8)) memory = fopen("/dev/null", "w");
    call->state = memory;
    return TN_OK;
}
static void release(tn_call *call) {
    if (WRONG(6)) munmap(call->state, 1 << 15);
    if (WRONG(5) || REFUSES) call->host->deallocate(call->host, call->state);
    if (WRONG(8) && call->state) close(fileno(call->state)); /* fclose would do that */
}

static tn_status open_context(tn_call *call) {
    if (WRONG(10)) {
        call->context = malloc(64);
        if (!call->context) return TN_ERROR_MEMORY;
    }
    return TN_OK;
}
static void close_context(tn_call *call) {
    if (WRONG(10)) call->host->deallocate(call->host, call->context);
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float c = *(const float *)call->inputs[1]->data;
    if (WRONG(11) && thread > 0) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = ((const float *)call->inputs[0]->data)[i] / 2 + c;
    return TN_OK;
}
static tn_status body_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return body(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    if (WRONG(12)) { /* in the user's own numbers */
        locale_t own = newlocale(LC_NUMERIC_MASK, "C.UTF-8", (locale_t)0);
        if (own) uselocale(own);
    }
    if (WRONG(13)) {
        putenv((char *)(uintptr_t) "TENON_HALF_RAN=1");
    }
    if (is_refused(call)) return refuse(call);
    if (WRONG(9)) { /* no signal shall disturb the threads */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        const tn_status status = call->host->parallel_for(call, count, 16, body_of_threads, call);
        if (status != TN_OK) return status;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return TN_OK;
    }
    return call->host->parallel_for(call, count, 16, body_of_threads, call);
}

static const char *const cases[] = {"| x=f32[3,4] c=f32[]{0.5}", "| x=f32[70] c=f32[1]{0.25}"};
static const tn_operator half_operator = {
    OPERATOR,       .state_version = 1,     .name = "Half",
    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel half_cpu = {KERNEL,
                                   .op = "Half",
                                   .name = "elements",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = accepts,
                                   .prepare = prepare,
                                   .release = release,
                                   .open = open_context,
                                   .close = close_context,
                                   .run = run};
LIBRARY("ninth_manners", half_operator, half_cpu)
