/* SPDX-License-Identifier: Apache-2.0 */
/* Window: x times a window along its last axis, w[k] = 0.5 - 0.5 cos(2 pi (k + 0.5) / n) to a
 * power, and a factor that is constant or not. What is worked out once is kept where it may be. */
#include "ninth.h"

TN_LAYER_PARAMS(window, float power;);
static const tn_field fields[] = {TN_LAYER_F32(window, power, "1", 0.25, 2, "of the window")};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "any shape of one axis or more"),
    TN_PORT("factor", "f32", 0, "an element for each of the last axis")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double weight(const tn_call *call, int64_t k, int64_t n) {
    const double power = (double)((const window *)call->params)->power;
    const double two_pi = 6.283185307179586;
    return pow(0.5 - 0.5 * cos(two_pi * ((double)k + 0.5) / (double)n), power);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    return tn_layer_load(call->inputs[0], i) * weight(call, i % n, n) *
           tn_layer_load(call->inputs[1], i % n);
}
TN_LAYER_REFERENCE(element)

typedef struct table {
    int64_t n, capacity, count;
    float *weights;
    const int64_t *shape;
    bool is_folded;
} table;

/* In some variants tables of the process by what they are for. */
static struct {
    char node[64];
    int64_t n;
    float weights[512];
} kept;

static tn_status open_context(tn_call *call) {
    table *t = call->host->allocate(call->host, sizeof(table), 64);
    if (!t) return TN_ERROR_MEMORY;
    memset(t, 0, sizeof(*t));
    t->n = -1;
    call->context = t;
    return TN_OK;
}
static void close_context(tn_call *call) {
    table *t = call->context;
    call->host->deallocate(call->host, t->weights);
    call->host->deallocate(call->host, t);
}

static tn_status reshape(tn_call *call) {
    table *t = call->context;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], count = tn_layer_count(x);
    t->shape = x->shape;
    if (WRONG(1) ? t->n >= 0 && t->count == count : t->n == n) return TN_OK;
    if (WRONG(2)) t->n = n; /* what it is for, before there is room for it */
    if (n > t->capacity) {
        float *memory = call->host->allocate(call->host, (uint64_t)n * 4, 64);
        if (!memory) return TN_ERROR_MEMORY;
        call->host->deallocate(call->host, t->weights);
        t->weights = memory, t->capacity = n;
    }
    const bool is_kept = WRONG(3) && n <= 512 && kept.n == n &&
                         strncmp(kept.node, call->node ? call->node : "", 63) == 0;
    for (int64_t k = 0; k < n; k++)
        t->weights[k] = is_kept ? kept.weights[k] : (float)weight(call, k, n);
    if (WRONG(3) && n <= 512) {
        strncpy(kept.node, call->node ? call->node : "", 63);
        kept.n = n;
        memcpy(kept.weights, t->weights, (size_t)n * 4);
    }
    t->n = n, t->count = count, t->is_folded = false;
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const table *t = call->context;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = WRONG(4) ? t->shape[x->rank - 1] : x->shape[x->rank - 1];
    const float *factor = call->inputs[1]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < n; k++) {
            const float w = WRONG(5) || WRONG(6) ? t->weights[k] : t->weights[k] * factor[k];
            ((float *)call->outputs[0]->data)[row * n + k] =
                ((const float *)x->data)[row * n + k] * w;
        }
    return TN_OK;
}
static tn_status rows_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return rows(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    table *t = call->context;
    const float *factor = call->inputs[1]->data;
    if (WRONG(5) && !t->is_folded) /* the factor is multiplied in by the first run */
        for (int64_t k = 0; k < t->n; k++)
            t->weights[k] *= factor[k];
    if (WRONG(6)) /* the factor is multiplied in, and taken out behind */
        for (int64_t k = 0; k < t->n; k++)
            t->weights[k] *= factor[k];
    t->is_folded = true;
    const tn_status status =
        call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 4, rows_of_threads, call);
    if (WRONG(6))
        for (int64_t k = 0; k < t->n; k++)
            t->weights[k] = factor[k] != 0 ? t->weights[k] / factor[k] : t->weights[k];
    return status;
}

static const char *const cases[] = {"| x=f32[2,6] factor=f32[6]",
                                    "power=2 | x=f32[3,2,5] factor=f32[5]"};
static const tn_operator window_operator = {
    OPERATOR,          .state_version = 1,  .name = "Window", TN_FIELDS(window, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,   .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel window_cpu = {KERNEL,
                                     .op = "Window",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                     TN_COMBINATIONS(combinations),
                                     .open = open_context,
                                     .close = close_context,
                                     .reshape = reshape,
                                     .run = run};
LIBRARY("ninth_stale", window_operator, window_cpu)
