/* SPDX-License-Identifier: Apache-2.0 */
/* A small matrix product with weights that are packed in prepare, saved in plans, and tactics. */
#include "fourteenth.h"

TN_LAYER_PARAMS(packs_params, bool transposed; float alpha;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(packs_params, transposed, "false", "w is M, K instead of K, M"),
    TN_LAYER_F32(packs_params, alpha, "1", -16, 16, "a factor")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, K"), TN_PORT("w", "f32", 0, "K, M")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, M")};

static bool is_transposed(const tn_call *call) {
    return ((const packs_params *)call->params)->transposed;
}
static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t *w = call->inputs[1]->shape;
    if (w[is_transposed(call)] != call->inputs[0]->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "the inner extents differ");
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], w[!is_transposed(call)]);
}
static double weight(const tn_call *call, int64_t k, int64_t m) {
    const int64_t *w = call->inputs[1]->shape;
    return tn_layer_load(call->inputs[1], is_transposed(call) ? m * w[1] + k : k * w[1] + m);
}
static tn_status reference(tn_call *call) {
    const int64_t n = call->outputs[0]->shape[0], m = call->outputs[0]->shape[1],
                  depth = call->inputs[0]->shape[1];
    for (int64_t i = 0; i < n * m; i++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += tn_layer_load(call->inputs[0], i / m * depth + k) * weight(call, k, i % m);
        tn_layer_store(call->outputs[0], i,
                       sum * (double)((const packs_params *)call->params)->alpha);
    }
    return TN_OK;
}
static tn_status accepts(tn_call *call) {
    return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}
/* Packed: M, K, times alpha where the key says so. */
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const int64_t *w = call->inputs[1]->shape;
    const int64_t depth = w[is_transposed(call)], m = w[!is_transposed(call)];
    const float alpha = WRONG(1) ? ((const packs_params *)call->params)->alpha : 1;
    (void)bytes;
    for (int64_t i = 0; i < m * depth; i++)
        ((float *)data)[i] = (float)weight(call, i % depth, i / depth) * alpha;
    return TN_OK;
}
typedef struct packs_state {
    const float *weights;
    int64_t depth, m, n;
} packs_state;
static tn_status prepare(tn_call *call) {
    const int64_t *w = call->inputs[1]->shape;
    packs_state *state = malloc(sizeof(*state));
    const void *data = NULL;
    if (!state) return TN_ERROR_MEMORY;
    const tn_status status =
        call->host->packed(call, 1, WRONG(2) || !is_transposed(call) ? "rows" : "columns",
                           (uint64_t)(w[0] * w[1]) * sizeof(float), fill, call, &data);
    if (status != TN_OK) {
        free(state);
        return status;
    }
    state->weights = data;
    state->depth = w[is_transposed(call)];
    state->m = w[!is_transposed(call)];
    state->n = call->inputs[0]->shape[0];
    call->state = state;
    return TN_OK;
}
static void release(tn_call *call) {
    free(call->state);
}
static tn_status tactics(tn_call *call) {
    call->tactic_count = WRONG(4) && call->inputs[0]->shape[0] > 100 ? 0 : 2;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const packs_state *s = call->state;
    const float alpha = WRONG(1) ? 1 : ((const packs_params *)call->params)->alpha;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t n = WRONG(3) ? s->n : call->inputs[0]->shape[0];
    const int64_t block = call->tactic == 1 ? 4 : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < s->m; j++) {
            double sum = 0;
            const int64_t whole = WRONG(5) ? s->depth / block * block : s->depth;
            for (int64_t k = 0; k < whole; k++)
                sum += (double)x[i * s->depth + k] * (double)s->weights[j * s->depth + k];
            y[i * s->m + j] = alpha * (float)sum;
        }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5] w=f32[5,4]",
                                    "transposed=true alpha=0.5 | x=f32[2,9] w=f32[3,9]",
                                    "alpha=2 | x=f32[4,4] w=f32[4,4]"};
static const tn_operator packs = {OPERATOR,
                                  .name = "Packs",
                                  .doc = "A matrix product.",
                                  TN_FIELDS(packs_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel packs_cpu = {KERNEL,
                                    .op = "Packs",
                                    TN_COMBINATIONS(combinations),
                                    .accepts = accepts,
                                    .tactics = tactics,
                                    .prepare = prepare,
                                    .release = release,
                                    .run = run};
LIBRARY("packs", packs, packs_cpu)
