/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, one query after another: keys are weighted by a softmax that is computed as they come.
 * A query that may see no key is 0. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, bool causal; float scale;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, causal, "false", "the last query sees all keys, each before it one less"),
    TN_LAYER_F32(params, scale, "0", 0, 1000, "of the products; 0: 1 / sqrt(features)"),
};
static const tn_port inputs[] = {
    TN_PORT("q", "f32", 0, "heads, queries, features"),
    TN_PORT("k", "f32", 0, "heads, keys, features"), TN_PORT("v", "f32", 0, "heads, keys, values"),
    TN_PORT("mask", "bool", TN_PORT_OPTIONAL, "queries, keys: which may be seen")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "heads, queries, values")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], TN_LAYER_ANY,
                       call->inputs[0]->shape[2]) ||
        !TN_LAYER_FITS(call, 2, call->inputs[0]->shape[0], call->inputs[1]->shape[1],
                       TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 3, call->inputs[0]->shape[1], call->inputs[1]->shape[1]))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[1],
                              call->inputs[2]->shape[2]);
}

/* Adds a value of weight exp(score) to `sums`, which has the weights' sum behind the values. */
static void add(double *sums, int64_t values, double *largest, double score, const float *v,
                bool is_kernel) {
    if (score > *largest) {
        const double factor = exp(*largest - score);
        for (int64_t i = 0; i < values + !(is_kernel && WRONG(2)); i++)
            sums[i] *= factor;
        *largest = score;
    }
    const double weight = exp(score - *largest);
    for (int64_t i = 0; i < values; i++)
        sums[i] += weight * (double)v[i];
    sums[values] += weight;
}

static void query(const tn_call *call, int64_t item, double *sums, bool is_kernel) {
    const params *p = call->params;
    const int64_t queries = call->inputs[0]->shape[1], features = call->inputs[0]->shape[2];
    const int64_t keys = call->inputs[1]->shape[1], values = call->inputs[2]->shape[2];
    const int64_t head = item / queries, at = item % queries;
    const float *q = (const float *)call->inputs[0]->data + item * features;
    const uint8_t *mask = tn_layer_data(call, 3);
    const double scale = p->scale > 0 ? (double)p->scale : 1 / sqrt((double)features);
    const int64_t seen = is_kernel && WRONG(3) ? at + 1 : at + 1 + keys - queries;
    double largest = (double)-INFINITY;
    memset(sums, 0, (size_t)(values + 1) * sizeof(*sums));
    for (int64_t k = 0; k < keys && (!p->causal || k < seen); k++) {
        if (mask && !mask[at * (is_kernel && WRONG(4) ? queries : keys) + k]) continue;
        const float *of_key = (const float *)call->inputs[1]->data + (head * keys + k) * features;
        double score = 0;
        for (int64_t i = 0; i < features; i++)
            score += (double)q[i] * (double)of_key[i];
        score = features > 0 ? score * scale : 0;
        if (score == (double)-INFINITY) continue;
        add(sums, values, &largest, score,
            (const float *)call->inputs[2]->data + (head * keys + k) * values, is_kernel);
    }
    const bool is_empty = sums[values] == 0 && !(is_kernel && WRONG(1));
    for (int64_t i = 0; i < values; i++)
        tn_layer_store(call->outputs[0], item * values + i, is_empty ? 0 : sums[i] / sums[values]);
}

static tn_status reference(tn_call *call) {
    const uint64_t values = (uint64_t)call->inputs[2]->shape[2];
    double *sums = call->host->allocate(call->host, (values + 1) * sizeof(*sums), 64);
    if (!sums) return TN_ERROR_MEMORY;
    for (int64_t i = 0; i < extent(call->inputs[0], 0, 2); i++)
        query(call, i, sums, false);
    call->host->deallocate(call->host, sums);
    return TN_OK;
}

TN_LAYER_WORKSPACE((uint64_t)(call->inputs[2]->shape[2] + 1) * sizeof(double) * call->threads)

static tn_status queries(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    double *sums = (double *)call->workspace + thread * (call->inputs[2]->shape[2] + 1);
    for (int64_t i = begin; i < end; i++)
        query(call, i, sums, true);
    return TN_OK;
}
TN_LAYER_RUN(queries, extent(call->inputs[0], 0, 2), 1)

static const char *const cases[] = {
    "| q=f32[2,3,4] k=f32[2,5,4] v=f32[2,5,3]",
    "causal=true scale=0.5 | q=f32[1,4,2] k=f32[1,4,2] v=f32[1,4,2]",
    "| q=f32[2,3,2] k=f32[2,4,2] v=f32[2,4,5] mask=bool[3,4]{1,0,1,0,1,1,1,1,0,1,0,0}",
};
TN_LAYER_LIBRARY("attend", "Seventeenth", "Attend", "Attention.", params,
                 "f32, f32, f32, bool? -> f32", .reshape = reshape, .run = run)
