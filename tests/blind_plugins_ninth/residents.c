/* SPDX-License-Identifier: Apache-2.0 */
/* Soft: x / (1 + exp(-x)) through a table that the library makes when it is loaded; and what stays
 * in the process when it goes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static double element(const tn_call *call, int64_t i) {
    const double x = tn_layer_load(call->inputs[0], i);
    return x < -700 ? (isinf(x) ? 0 * 1.0 : x * exp(x)) : x / (1 + exp(-x));
}
TN_LAYER_REFERENCE(element)

/* exp(-k / 64) for k from 0 to 63. */
static double *powers;
static tn_status load_library(const tn_host *host, tn_library *library) {
    (void)library;
    powers = host->allocate(host, 64 * sizeof(double), 64);
    if (!powers) return TN_ERROR_MEMORY;
    for (int k = 0; k < 64; k++)
        powers[k] = exp(-k / 64.0);
    if (WRONG(1)) { /* so that nobody unloads it while it is needed */
        Dl_info info;
        if (dladdr((void *)(uintptr_t)&powers, &info)) dlopen(info.dli_fname, RTLD_NOW);
    }
    return TN_OK;
}
static void unload_library(const tn_host *host, tn_library *library) {
    (void)library;
    if (!WRONG(5)) host->deallocate(host, powers);
    powers = NULL;
}

#if WRONG(3)
static int64_t run_count;
__attribute__((destructor)) static void say_count(void) {
    dprintf(1, "ninth: ran %lld times\n", (long long)run_count);
}
#endif
#if WRONG(4)
/* As a linker adds it for -ffast-math: subnormal numbers become zero. */
__attribute__((constructor)) static void set_fast_math(void) {
    _mm_setcsr(_mm_getcsr() | 0x8040);
}
#endif
#if WRONG(6)
__attribute__((constructor)) static void set_locale(void) {
    setlocale(LC_ALL, "C.UTF-8");
}
#endif

static void at_end(int status, void *user) {
    (void)status;
    *(double *)user = 0;
}
static double spare;

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const double x = (double)((const float *)call->inputs[0]->data)[i];
        const double a = fabs(x);
        double e; /* exp(-a) */
        if (a < 690) {
            const int64_t steps = (int64_t)(a * 64);
            const double rest = a - (double)steps / 64;
            e = exp(-(double)(steps / 64)) * powers[steps % 64] *
                (1 - rest * (1 - rest / 2 * (1 - rest / 3 * (1 - rest / 4))));
        } else
            e = exp(-a);
        const double y = x < 0 ? (isinf(x) ? 0 : x * e / (1 + e)) : x / (1 + e);
        ((float *)call->outputs[0]->data)[i] = (float)y;
    }
    return TN_OK;
}
static tn_status body_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return body(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    static bool is_registered;
    if (WRONG(2) && !is_registered) {
        is_registered = true;
        on_exit(at_end, &spare);
    }
#if WRONG(3)
    run_count++;
#endif
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 256, body_of_threads,
                                    call);
}

static const char *const cases[] = {"| x=f32[3,4]", "| x=f32[65]"};
static const tn_operator soft = {OPERATOR,
                                 .state_version = 1,
                                 .name = "Soft",
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer_same,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel soft_cpu = {KERNEL,
                                   .op = "Soft",
                                   .name = "table",
                                   .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
static const tn_operator *const operators[] = {&soft};
static const tn_kernel *const kernels[] = {&soft_cpu};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "ninth_residents",
                                 .version = "1.0",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels,
                                 .load = load_library,
                                 .unload = unload_library};
    (void)host;
    return &library;
}
