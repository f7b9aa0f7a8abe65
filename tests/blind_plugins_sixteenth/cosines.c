/* SPDX-License-Identifier: Apache-2.0 */
/* The cosine transform of rows (type 2, orthonormal). Nodes with rows of the same length share a
 * table. */
#include "sixteenth.h"
#include <tenon/plugin/resource.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    if (n > 4096)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'x' has rows of %lld, expected <= 4096", (long long)n);
    return infer_same(call);
}

static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}

static double factor(int64_t k, int64_t i, int64_t n) {
    const double turn =
        3.14159265358979323846 * (double)((2 * i + 1) * k % (4 * n)) / (double)(2 * n);
    return sqrt((k == 0 ? 1 : 2) / (double)n) * cos(turn);
}

static double element(const tn_call *call, int64_t at) {
    const int64_t n = length_of(call);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += tn_layer_load(call->inputs[0], at - at % n + i) * factor(at % n, i, n);
    return sum;
}
TN_LAYER_REFERENCE(element)

typedef struct state {
    int64_t length;
    const double *table; /* length * length, or null */
    const tn_resources *resources;
    tn_resource table_of;
    char key[48];
} state;

static tn_status create(tn_call *call, void *user, void **out_resource) {
    const int64_t n = *(const int64_t *)user;
    double *table = call->host->allocate(call->host, (uint64_t)(n * n) * sizeof(double), 64);
    if (!table) return TN_ERROR_MEMORY;
    for (int64_t k = 0; k < n * n; k++)
        table[k] = factor(k / n, k % n, n);
    *out_resource = table;
    return TN_OK;
}
static void destroy(tn_call *call, void *user, void *resource) {
    (void)user;
    call->host->deallocate(call->host, resource);
}

/* Above this length the factors are computed as they are needed. */
enum { LONGEST = 256 };

static tn_status prepare(tn_call *call) {
    state *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
    memset(made, 0, sizeof(*made));
    made->length = length_of(call);
    made->resources = call->host->extension(call->host, TN_RESOURCES);
    if (made->resources && made->length > 0 && made->length <= LONGEST) {
        snprintf(made->key, sizeof(made->key),
                 WRONG(1) ? "sixteenth.cosines/1" : "sixteenth.cosines.%lld/1",
                 (long long)made->length);
        made->table_of = (tn_resource){sizeof(tn_resource), TN_SCOPE_DEVICE, made->key,
                                       &made->length,       create,          destroy};
        void *table;
        const tn_status status = made->resources->acquire(call, &made->table_of, &table);
        if (status != TN_OK) {
            if (!WRONG(3)) call->host->deallocate(call->host, made);
            return status;
        }
        made->table = table;
    }
    call->state = made;
    return TN_OK;
}

static void release(tn_call *call) {
    state *made = call->state;
    if (made->table) made->resources->release(call, &made->table_of, (void *)made->table);
    call->host->deallocate(call->host, made);
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const state *s = call->state;
    const int64_t n = length_of(call);
    const double *table = s->length == n || WRONG(2) ? s->table : NULL;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *from = (const float *)call->inputs[0]->data + r * n;
        float *to = (float *)call->outputs[0]->data + r * n;
        for (int64_t k = 0; k < n; k++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += (double)from[i] * (table ? table[k * n + i] : factor(k, i, n));
            to[k] = (float)sum;
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, length_of(call) > 0 ? tn_layer_rows(call->inputs[0]) : 0,
                                    1, rows, call);
}

static const char *const cases[] = {"| x=f32[3,8]", "| x=f32[2,2,5]", "| x=f32[1]"};
static const tn_operator cosines = {
    OPERATOR,       .name = "Cosines",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Cosines",
                                 .name = "table",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run};
LIBRARY("cosines", cosines, kernel)
