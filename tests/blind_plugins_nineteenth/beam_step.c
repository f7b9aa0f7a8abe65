/* SPDX-License-Identifier: Apache-2.0 */
/* A step of beam search: of all beams' continuations the K best by score + log softmax. The first
 * of equals; what is no number is -infinity. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("scores", "f32", 0, "B, K"),
                                 TN_PORT("logits", "f32", 0, "B, K, V")};
static const tn_port outputs[] = {TN_PORT("best", "f32", 0, "B, K"),
                                  TN_PORT("choice", "i64", 0, "B, K: parent * V + token")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t *s = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 1, s[0], s[1], TN_LAYER_SOME)) return TN_ERROR_SHAPE;
    for (uint32_t o = 0; o < 2; o++)
        if (call->outputs[o]) tn_layer_set_shape(call, o, 2, s);
    return TN_OK;
}
/* The logarithm of the sum of a row's exponentials. */
static double log_sum(const float *row, int64_t n) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (!((double)row[i] <= largest)) largest = (double)row[i];
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)row[i] - largest);
    return largest + log(sum);
}
static double value_of(const tn_call *call, int64_t row, int64_t token, double logarithm) {
    const int64_t v = call->inputs[1]->shape[2];
    const double value = tn_layer_load(call->inputs[0], row) +
                         tn_layer_load(call->inputs[1], row * v + token) - logarithm;
    return isnan(value) ? -INFINITY : value;
}
static double naive_log_sum(const float *row, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += expf(row[i]);
    return (double)logf(sum);
}
/* The K best of a batch, by repeated search: K is small. */
static tn_status choose(tn_call *call, int64_t b, bool is_reference, int64_t *taken) {
    const int64_t k = call->inputs[0]->shape[1], v = call->inputs[1]->shape[2];
    const float *logits = call->inputs[1]->data;
    for (int64_t i = 0; i < k; i++) {
        double best = -INFINITY;
        int64_t at = -1;
        for (int64_t row = 0; row < k; row++) {
            const float *from = logits + (b * k + row) * v;
            const double logarithm =
                WRONG(1) && !is_reference ? naive_log_sum(from, v) : log_sum(from, v);
            for (int64_t token = 0; token < v; token++) {
                const double value = value_of(call, b * k + row, token, logarithm);
                bool is_taken = false;
                for (int64_t j = 0; j < i && !is_taken; j++)
                    is_taken = taken[j] == row * v + token;
                if (!is_taken && (value > best || (at < 0 && (!WRONG(3) || is_reference))))
                    best = value, at = row * v + token;
            }
        }
        taken[i] = at;
        if (call->outputs[0]) ((float *)call->outputs[0]->data)[b * k + i] = (float)best;
        if (call->outputs[1]) ((int64_t *)call->outputs[1]->data)[b * k + i] = at;
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const int64_t k = call->inputs[0]->shape[1];
    int64_t *taken = malloc((size_t)(k + 1) * sizeof(*taken));
    if (!taken) return TN_ERROR_MEMORY;
    for (int64_t b = 0; b < call->inputs[0]->shape[0]; b++)
        choose(call, b, true, taken);
    free(taken);
    return TN_OK;
}
static tn_status batches(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    int64_t few[4];
    int64_t *taken = (int64_t *)call->workspace + (int64_t)thread * call->inputs[0]->shape[1];
    for (int64_t b = begin; b < end; b++)
        TN_TRY(choose(call, b, false, WRONG(2) ? few : taken));
    return TN_OK;
}
TN_LAYER_WORKSPACE((uint64_t)call->inputs[0]->shape[1] * sizeof(int64_t) * call->threads)
TN_LAYER_RUN(batches, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {"| scores=f32[2,3] logits=f32[2,3,11]",
                                    "| scores=f32[1,4] logits=f32[1,4,5]",
                                    "| scores=f32[3,1] logits=f32[3,1,2]"};
static const tn_operator beam = {
    OPERATOR,       .name = "BeamStep",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32, i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BeamStep",
                                 .name = "search",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("beam_step", beam, kernel)
