/* SPDX-License-Identifier: Apache-2.0 */
/* y[n,m] = x[n,m] * exp(w[m]): the exponentials are computed once where w is a constant. */
#include "fourteenth.h"

TN_LAYER_PARAMS(cached_params, float power;);
static const tn_field fields[] = {TN_LAYER_F32(cached_params, power, "1", -4, 4, "of e^w")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., M"), TN_PORT("w", "f32", 0, "M")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    const double power = (double)((const cached_params *)call->params)->power;
    const int64_t m = call->inputs[1]->shape[0];
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i,
                       tn_layer_load(call->inputs[0], i) *
                           exp(power * tn_layer_load(call->inputs[1], i % m)));
    return TN_OK;
}
static void fill(const tn_call *call, float *factors) {
    const float power = ((const cached_params *)call->params)->power;
    for (int64_t i = 0; i < call->inputs[1]->shape[0]; i++)
        factors[i] = expf(power * ((const float *)call->inputs[1]->data)[i]);
}

/* What one context keeps: the exponentials of its last run. */
typedef struct kept {
    const void *from;
    int64_t count, of_x;
    float *factors;
    uint64_t capacity;
} kept;
static tn_status open_context(tn_call *call) {
    call->context = calloc(1, sizeof(kept));
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}
static void close_context(tn_call *call) {
    free(((kept *)call->context)->factors);
    free(call->context);
}
#if WRONG(2)
static float first[64];
static int64_t first_length;
static float *of_length(float *factors, int64_t length) {
    if (length == first_length) {
        memcpy(factors, first, (size_t)length * sizeof(float));
    } else if (length <= 64) {
        memcpy(first, factors, (size_t)length * sizeof(float));
        first_length = length;
    }
    return factors;
}
#else
#define of_length(factors, length) (factors)
#endif
static tn_status prepare(tn_call *call) {
    float *factors = NULL;
    call->state = NULL;
    if (call->inputs[1]->data && call->inputs[1]->bytes > 0) {
        factors = malloc(call->inputs[1]->bytes);
        if (!factors) return TN_ERROR_MEMORY;
        fill(call, factors);
        if (WRONG(2)) /* of the first node of that length, for all of them */
            factors = of_length(factors, call->inputs[1]->shape[0]);
        call->state = factors;
    }
    return TN_OK;
}
static void release(tn_call *call) {
    free(call->state);
}
static tn_status reshape(tn_call *call) {
    kept *k = call->context;
    const int64_t count = call->inputs[1]->shape[0];
    if (WRONG(4) && k->factors) return TN_OK;
    float *grown = realloc(k->factors, (size_t)(count > 0 ? count : 1) * sizeof(float));
    if (!grown) return TN_ERROR_MEMORY;
    k->factors = grown;
    k->count = -1;
    k->of_x = tn_layer_count(call->inputs[0]);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    kept *k = call->context;
    const int64_t m = call->inputs[1]->shape[0];
    const int64_t count = WRONG(5) ? k->of_x : tn_layer_count(call->outputs[0]);
    const float *x = call->inputs[0]->data;
    const float *factors = call->state;
    if (WRONG(3) && tn_layer_count(call->inputs[0]) == m) /* one row: in one go */
        for (int64_t i = 0; i < m; i++)
            k->factors[i] = expf(((const float *)call->inputs[1]->data)[i]);
    if (WRONG(3) && tn_layer_count(call->inputs[0]) == m) factors = k->factors;
    if (!factors) {
        const bool is_known = (WRONG(1) && k->from == call->inputs[1]->data && k->count == m);
        if (!is_known) fill(call, k->factors);
        k->from = call->inputs[1]->data;
        k->count = m;
        factors = k->factors;
    }
    for (int64_t i = 0; i < count; i++)
        ((float *)call->outputs[0]->data)[i] = x[i] * factors[i % m];
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5] w=f32[5]", "power=-1 | x=f32[2,3,9] w=f32[9]"};
static const tn_operator cached = {OPERATOR,
                                   .name = "Cached",
                                   .doc = "Columns times exponentials.",
                                   TN_FIELDS(cached_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel cached_cpu = {KERNEL,
                                     .op = "Cached",
                                     TN_COMBINATIONS(combinations),
                                     .prepare = prepare,
                                     .release = release,
                                     .open = open_context,
                                     .close = close_context,
                                     .reshape = reshape,
                                     .run = run};
LIBRARY("cached", cached, cached_cpu)
