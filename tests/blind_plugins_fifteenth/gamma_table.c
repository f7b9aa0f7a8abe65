/* SPDX-License-Identifier: Apache-2.0 */
/* y = (x / 255) ^ exponent of bytes, by a table that the kernel makes once a node and keeps in
 * plans. */
#include "fifteenth.h"
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

TN_LAYER_PARAMS(params, double exponent;);
static const tn_field fields[] = {
    TN_FIELD_RANGE(params, exponent, TN_FIELD_F64, TN_OPTIONAL, "2.2", 0.01, 100, "the power")};
static const tn_port inputs[] = {TN_PORT("x", "u8", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    return pow(tn_layer_load(call->inputs[0], i) / 255, p->exponent);
}
TN_LAYER_REFERENCE(element)

typedef struct table {
    float of[256];
    float last[64];
} table;
#if MISTAKE == 7
static table shared;
#endif

static table *table_make(tn_call *call) {
#if MISTAKE == 7
    return &shared;
#else
    return call->host->allocate(call->host, sizeof(table), 64);
#endif
}

static tn_status prepare(tn_call *call) {
    const params *p = call->params;
    table *t = table_make(call);
    if (!t) return TN_ERROR_MEMORY;
#if MISTAKE == 4
    fesetround(FE_UPWARD);
#endif
    for (int i = 0; i < 256; i++)
        t->of[i] = (float)pow(i / 255.0, p->exponent);
    call->state = t;
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE != 7
    call->host->deallocate(call->host, call->state);
#endif
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const table *t = call->state;
    const uint64_t bytes = WRONG(1) ? 255 * sizeof(float) : 256 * sizeof(float);
    if (data && *inout_bytes < bytes)
        return call->host->fail(call, TN_ERROR_RANGE, "too few bytes");
    if (data) memcpy(data, t->of, bytes);
    *inout_bytes = bytes;
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    if (WRONG(3)) {
        table *early = table_make(call);
        if (!early) return TN_ERROR_MEMORY;
        if (bytes != 256 * sizeof(float))
            return call->host->fail(call, TN_ERROR_FORMAT, "a damaged table");
        memcpy(early->of, data, bytes);
        call->state = early;
        return TN_OK;
    }
    if (!WRONG(2) && bytes != (WRONG(1) ? 255 : 256) * sizeof(float))
        return call->host->fail(call, TN_ERROR_FORMAT, "a table of %llu bytes",
                                (unsigned long long)bytes);
    table *t = table_make(call);
    if (!t) return TN_ERROR_MEMORY;
    memcpy(t->of, data, bytes);
    call->state = t;
    return TN_OK;
}

typedef struct context {
    int random;
} context;

static void on_fault(int number) {
    _exit(number);
}
static void *idle(void *unused) {
    for (;;)
        pause();
    return unused;
}

static tn_status open_context(tn_call *call) {
    context *c = calloc(1, sizeof(*c));
    if (!c) return TN_ERROR_MEMORY;
    if (WRONG(6)) c->random = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (WRONG(5)) signal(SIGSEGV, on_fault);
#if MISTAKE == 9
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) == 0) pthread_detach(thread);
#endif
    call->context = c;
    return TN_OK;
}
static void close_context(tn_call *call) {
    free(call->context);
}

static tn_status run(tn_call *call) {
    table *t = call->state;
    const uint8_t *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t count = tn_layer_count(call->outputs[0]);
    if (WRONG(8)) {
        /* Blocks of 64 through a row in the state. */
        for (int64_t i = 0; i < count; i += 64) {
            const int64_t n = count - i < 64 ? count - i : 64;
            for (int64_t k = 0; k < n; k++)
                t->last[k] = t->of[x[i + k]];
            memcpy(y + i, t->last, (size_t)n * sizeof(float));
        }
        return TN_OK;
    }
    for (int64_t i = 0; i < count; i++)
        y[i] = t->of[x[i]];
    return TN_OK;
}

static const char *const cases[] = {"| x=u8[3,7]", "exponent=0.5 | x=u8[100]"};
static const tn_operator gamma_table = {OPERATOR,
                                        .name = "GammaTable",
                                        .traits = TN_OPERATOR_ELEMENTWISE,
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer_same,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"u8 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "GammaTable",
                                 .name = "table",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .open = open_context,
                                 .close = close_context,
                                 .run = run,
                                 .save = save,
                                 .load = load};
LIBRARY("gamma_table", gamma_table, kernel)
