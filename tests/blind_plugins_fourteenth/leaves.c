/* SPDX-License-Identifier: Apache-2.0 */
/* y = tanh(x): what its callbacks leave behind. */
#define _GNU_SOURCE
#include "fourteenth.h"

#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, tanh(tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    call->state = NULL;
    if (WRONG(1)) { /* the first core has the largest cache */
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(0, &one);
        sched_setaffinity(0, sizeof(one), &one);
    }
    if (WRONG(2)) fesetround(FE_TOWARDZERO);
    if (WRONG(8)) close(0);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
#ifdef __x86_64__
    if (WRONG(3)) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
#endif
    if (WRONG(4)) {
        sigset_t set;
        sigfillset(&set);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    if (WRONG(5)) srand(1);
    for (int64_t i = 0; i < count; i++)
        y[i] = (float)tanh((double)x[i]);
    return TN_OK;
}
static tn_status load(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    if (WRONG(6)) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
    }
    if (WRONG(7)) setenv("OMP_NUM_THREADS", "1", 1);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[17]"};
static const tn_operator leaves = {OPERATOR,
                                   .name = "Leaves",
                                   .doc = "The hyperbolic tangent.",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel leaves_cpu = {KERNEL, .op = "Leaves", TN_COMBINATIONS(combinations),
                                     .prepare = prepare, .run = run};
static const tn_operator *const operators[] = {&leaves};
static const tn_kernel *const kernels[] = {&leaves_cpu};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "leaves",
                                 .version = "1.0",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels,
                                 .load = load};
    (void)host;
    return &library;
}
