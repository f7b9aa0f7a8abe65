/* SPDX-License-Identifier: Apache-2.0 */
/* One layer, the mean of each element and its mirror image in the row, in forms that are unusual
 * and sound. */
#include "sixteenth.h"
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <time.h>

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    return 0.5 * tn_layer_load(x, i) + 0.5 * tn_layer_load(x, i - i % n + n - 1 - i % n);
}
TN_LAYER_REFERENCE(element)

__attribute__((unused)) static tn_status part(void *user, int64_t begin, int64_t end,
                                              uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}

static int64_t count_of(const tn_call *call) {
    return tn_layer_count(call->inputs[0]);
}

#if MISTAKE == 50
/* The halves of a table that all threads fill before there is a run. */
enum { FACTORS = 1000 };
static tn_status fill(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((double *)user)[i] = 0.5;
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    double *factors = call->host->allocate(call->host, FACTORS * sizeof(double), 4096);
    if (!factors) return TN_ERROR_MEMORY;
    const tn_status status = call->host->parallel_for(call, FACTORS, 7, fill, factors);
    if (status != TN_OK) {
        call->host->deallocate(call->host, factors);
        return status;
    }
    call->state = factors;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t i = 0; i < count_of(call); i++) {
        const double *factor = (const double *)call->state + i % FACTORS;
        tn_layer_store(call->outputs[0], i,
                       *factor * tn_layer_load(x, i) +
                           *factor * tn_layer_load(x, i - i % n + n - 1 - i % n));
    }
    return TN_OK;
}
#elif MISTAKE == 51
/* Three passes through the workspace, of which the second one is for nothing. */
TN_LAYER_WORKSPACE((uint64_t)count_of(call) * sizeof(double))
static tn_status halve(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((double *)call->workspace)[i] = 0.5 * tn_layer_load(call->inputs[0], i);
    return TN_OK;
}
static tn_status add(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const double *halves = call->workspace;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, halves[i] + halves[i - i % n + n - 1 - i % n]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    TN_TRY(call->host->parallel_for(call, count_of(call), 1, halve, call));
    TN_TRY(call->host->parallel_for(call, 0, 1, halve, call));
    return call->host->parallel_for(call, count_of(call), 3, add, call);
}
#elif MISTAKE == 54
/* Exceptions are held while it computes, and what was there before comes back. */
static tn_status run(tn_call *call) {
    fenv_t before;
    feholdexcept(&before);
    const tn_status status = part(call, 0, count_of(call), 0);
    fesetenv(&before);
    return status;
}
#elif MISTAKE == 55
/* Much more workspace than it needs, and of it the end. */
static uint64_t scratch(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return ((uint64_t)1 << 20) + (uint64_t)x->shape[x->rank - 1] * sizeof(double);
}
TN_LAYER_WORKSPACE(scratch(call))
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    double *row = (double *)((char *)call->workspace + ((uint64_t)1 << 20));
    for (int64_t begin = 0; begin < count_of(call); begin += n) {
        for (int64_t i = n; i-- > 0;)
            row[i] = tn_layer_load(x, begin + i);
        for (int64_t i = 0; i < n; i++)
            tn_layer_store(call->outputs[0], begin + i, 0.5 * row[i] + 0.5 * row[n - 1 - i]);
    }
    return TN_OK;
}
#elif MISTAKE == 56
/* A jump that does not leave the callback. */
static void leave(jmp_buf to) {
    longjmp(to, 1);
}
static tn_status run(tn_call *call) {
    jmp_buf after;
    if (setjmp(after) == 0) {
        part(call, 0, count_of(call), 0);
        leave(after);
    }
    return TN_OK;
}
#elif MISTAKE == 57
/* One table for all nodes, counted, behind a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double *shared;
static int users;
static tn_status prepare(tn_call *call) {
    (void)call;
    pthread_mutex_lock(&lock);
    if (users == 0 && (shared = malloc(sizeof(*shared)))) *shared = 0.5;
    const bool is_there = shared != NULL;
    users += is_there;
    pthread_mutex_unlock(&lock);
    return is_there ? TN_OK : TN_ERROR_MEMORY;
}
static void release(tn_call *call) {
    (void)call;
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        free(shared);
        shared = NULL;
    }
    pthread_mutex_unlock(&lock);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t i = 0; i < count_of(call); i++)
        tn_layer_store(call->outputs[0], i,
                       *shared * tn_layer_load(x, i) +
                           *shared * tn_layer_load(x, i - i % n + n - 1 - i % n));
    return TN_OK;
}
#elif MISTAKE == 58
/* Measures itself, and says so where the log is asked for details. */
static tn_status run(tn_call *call) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const tn_status status = call->host->parallel_for(call, count_of(call), 64, part, call);
    clock_gettime(CLOCK_MONOTONIC, &end);
    char text[80];
    snprintf(text, sizeof(text), "Mirror: %lld ns",
             (long long)(end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
    call->host->log(call->host, TN_LOG_DEBUG, text);
    return status;
}
#else
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call), 64, part, call);
}
#endif

#if MISTAKE == 52
/* Combinations by callback beside the table's. */
static tn_status combination(tn_call *call, uint32_t index, char *text, uint32_t bytes) {
    (void)call;
    if (index > 0) return TN_ERROR_NOT_FOUND;
    return snprintf(text, bytes, "f64 -> f64") < (int)bytes ? TN_OK : TN_ERROR_MEMORY;
}
#endif

#if MISTAKE == 53
/* A kernel for even rows, and one for what is left. */
static tn_status accepts_even(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return x->shape[x->rank - 1] % 2 == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}
#endif

static const char *const cases[] = {"| x=f32[3,4]", "| x=f32[2,3,7]", "| x=f32[10]"};
static const char *const combinations[] = {"f32 -> f32"};
#define MIRROR(version)                                                                            \
    .size = sizeof(tn_operator), .since_version = (version), .state_version = 1,                   \
    .domain = "Sixteenth", .name = "Mirror", TN_NO_FIELDS, TN_INPUTS(inputs), TN_OUTPUTS(outputs), \
    .infer = infer, .reference = reference, TN_CASES(cases)
static const tn_operator mirror = {MIRROR(1)};
static const tn_kernel kernel = {
    KERNEL,
    .op = "Mirror",
    .name = "unusual",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .run = run,
#if MISTAKE == 50 || MISTAKE == 57
    .prepare = prepare,
    .release = release,
#elif MISTAKE == 51 || MISTAKE == 55
    .reshape = reshape,
#elif MISTAKE == 52
    .combination = combination,
#elif MISTAKE == 53
    .accepts = accepts_even,
#elif MISTAKE == 59
    .minimum_version = 7,
    .maximum_version = 7,
#endif
};

#if MISTAKE == 53
static const tn_kernel other = {KERNEL,
                                .op = "Mirror",
                                .name = "rest",
                                .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_FALLBACK,
                                TN_COMBINATIONS(combinations),
                                .run = run};
static const tn_kernel *const kernels[] = {&kernel, &other};
#else
static const tn_kernel *const kernels[] = {&kernel};
#endif
#if MISTAKE == 59
/* Two versions that mean the same; the kernel is for the later one. */
static const tn_operator later = {MIRROR(7)};
static const tn_operator *const operators[] = {&mirror, &later};
#else
static const tn_operator *const operators[] = {&mirror};
#endif
TN_LIBRARY("unusual", "1.0", operators, kernels)
