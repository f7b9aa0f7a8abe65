/* SPDX-License-Identifier: Apache-2.0 */
/* y = factor * x + 1 in forms that are unusual and right: each value of MISTAKE from 50 on is one.
 */
#include "fifteenth.h"
#include <pthread.h>

TN_LAYER_PARAMS(params, float factor;);
static const tn_field fields[] = {TN_FIELD(params, factor, TN_FIELD_F32, TN_OPTIONAL, "2", "of x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    return (double)p->factor * tn_layer_load(call->inputs[0], i) + 1;
}
TN_LAYER_REFERENCE(element)

typedef struct part {
    const float *x;
    float *y;
    double factor;
    int64_t begin, end;
} part;

static void *part_do(void *user) {
    const part *p = user;
    for (int64_t i = p->begin; i < p->end; i++)
        p->y[i] = (float)(p->factor * (double)p->x[i] + 1);
    return NULL;
}

#if MISTAKE == 51
static double *one; /* made when the library is loaded */
#endif
#if MISTAKE == 54
static _Thread_local double of_thread[512];
#endif

/* Halves of the range until 16 elements are left, each with 1 KiB of the stack. */
static void halves(const part *p) {
    volatile char stack[1024];
    stack[0] = 0;
    stack[1023] = stack[0];
    if (p->end - p->begin <= 16) {
        part_do((void *)p);
        return;
    }
    part first = *p, second = *p;
    first.end = second.begin = p->begin + (p->end - p->begin) / 2;
    halves(&second);
    halves(&first);
}

static tn_status run(tn_call *call) {
    const params *given = call->params;
    part p = {call->inputs[0]->data, call->outputs[0]->data, (double)given->factor, 0,
              tn_layer_count(call->outputs[0])};
#if MISTAKE == 50 /* a thread of its own, joined before it returns; none where there is no thread  \
                   */
    part other = p;
    pthread_t thread;
    p.end = other.begin = p.end / 2;
    if (pthread_create(&thread, NULL, part_do, &other) == 0) {
        part_do(&p);
        pthread_join(thread, NULL);
        return TN_OK;
    }
    part_do(&other);
#elif MISTAKE == 51
    for (int64_t i = 0; i < p.end; i++)
        p.y[i] = (float)(p.factor * (double)p.x[i] + one[i % 16]);
    return TN_OK;
#elif MISTAKE == 53
    halves(&p);
    return TN_OK;
#elif MISTAKE == 54 /* through memory of the thread, from the end */
    for (int64_t end = p.end; end > 0; end -= 512) {
        const int64_t begin = end < 512 ? 0 : end - 512;
        for (int64_t i = begin; i < end; i++)
            of_thread[i - begin] = p.factor * (double)p.x[i];
        for (int64_t i = begin; i < end; i++)
            p.y[i] = (float)(of_thread[i - begin] + 1);
    }
    return TN_OK;
#elif MISTAKE == 55 /* tactics that are loops from both ends */
    for (int64_t i = 0; i < p.end; i++) {
        const int64_t at = call->tactic == 1 ? p.end - 1 - i : i;
        p.y[at] = (float)(p.factor * (double)p.x[at] + 1);
    }
    return TN_OK;
#elif MISTAKE == 56 /* fields of the kernel's own, one that the operator lacks */
    const struct own {
        uint64_t present;
        double factor, more;
    } *own = call->kernel_params;
    p.factor = (double)given->factor;
    for (int64_t i = 0; i < p.end; i++)
        p.y[i] = (float)(p.factor * (double)p.x[i] + own->more);
    return TN_OK;
#endif
    part_do(&p);
    return TN_OK;
}

#if MISTAKE == 56
typedef struct own {
    uint64_t present;
    double factor, more;
} own;
static const tn_field own_fields[] = {TN_FIELD(own, more, TN_FIELD_F64, TN_OPTIONAL, "1", "added")};
#endif

static tn_status tactics(tn_call *call) {
    call->tactic_count = tn_layer_count(call->inputs[0]) > 1 ? 2 : 1;
    return TN_OK;
}

static tn_status operations(tn_call *call, double *out_operations) {
    *out_operations = 2.0 * (double)tn_layer_count(call->inputs[0]);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,70]", "factor=-0.5 | x=f32[1000]", "| x=f32[]"};
static const tn_operator twice_plus = {OPERATOR,
                                       .name = "TwicePlus",
                                       .traits = TN_OPERATOR_ELEMENTWISE,
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer_same,
                                       .reference = reference,
                                       TN_CASES(cases),
                                       .operations = operations};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {
    KERNEL,
    .op = "TwicePlus",
    .name = "unusual",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .tactics = MISTAKE == 55 ? tactics : NULL,
    .run = run,
#if MISTAKE == 56
    TN_FIELDS(own, own_fields),
#endif
};

static tn_status library_load(const tn_host *host, tn_library *library) {
#if MISTAKE == 51
    one = host->allocate(host, 16 * sizeof(double), 64);
    if (!one) return TN_ERROR_MEMORY;
    for (int i = 0; i < 16; i++)
        one[i] = 1;
#elif MISTAKE == 52
    TN_TRY(host->register_operator(host, library, &twice_plus));
    TN_TRY(host->register_kernel(host, library, &kernel));
#endif
    return TN_OK;
}
static void library_unload(const tn_host *host, tn_library *library) {
#if MISTAKE == 51
    host->deallocate(host, one);
    one = NULL;
#endif
}
static const tn_operator *const operators[] = {&twice_plus};
static const tn_kernel *const kernels[] = {&kernel};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "twice_plus",
                             .version = "1.0",
                             .operator_count = MISTAKE == 52 ? 0 : 1,
                             .operators = operators,
                             .kernel_count = MISTAKE == 52 ? 0 : 1,
                             .kernels = kernels,
                             .load = library_load,
                             .unload = library_unload};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    return &library;
}
