/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::TopValues: the largest elements of each row, the largest first, and where they lie. Of
 * equals the one that comes first is the larger; what is not a number is larger than all numbers.
 * The kernel keeps the best so far in order, in a part of the workspace for each thread.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(top_values, int64_t k;);
enum { VALUES, INDICES };

static const tn_field fields[] = {
    TN_LAYER_I64(top_values, k, "1", 1, 1048576, "how many of a row")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows of any axes before the last one")};
static const tn_port outputs[] = {
    TN_PORT("values", "f32", TN_PORT_OPTIONAL, "as x, but k along the last axis"),
    TN_PORT("indices", "i64", TN_PORT_OPTIONAL,
            "of the same shape: positions along the last axis")};

static tn_status infer(tn_call *call) {
    const int64_t k = ((const top_values *)call->params)->k;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
#if MISTAKE != 5
    if (k > x->shape[x->rank - 1])
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld of rows of %lld", (long long)k,
                                (long long)x->shape[x->rank - 1]);
#endif
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        tn_layer_set_shape(call, i, x->rank, x->shape);
        call->outputs[i]->shape[x->rank - 1] = k;
    }
    return TN_OK;
}

static void *data_of(const tn_call *call, uint32_t output) {
    return output < call->output_count && call->outputs[output] ? call->outputs[output]->data
                                                                : NULL;
}

/* Whether x[a] comes before x[b]. */
static bool is_before(const float *x, int64_t a, int64_t b) {
    const bool is_nan = isnan(x[a]), other = isnan(x[b]);
    if (is_nan || other) return is_nan && other ? a < b : is_nan;
    return x[a] != x[b] ? x[a] > x[b] : a < b;
}

/* Without memory of its own: looks for the next best each time. */
static tn_status reference(tn_call *call) {
    const tn_tensor *t = call->inputs[0];
    const int64_t n = t->shape[t->rank - 1], k = ((const top_values *)call->params)->k;
    const int64_t rows = t->bytes ? tn_layer_rows(t) : 0;
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)t->data + row * n;
        for (int64_t i = 0, last = -1; i < k; i++) {
            int64_t best = -1;
            for (int64_t at = 0; at < n; at++)
                if ((last < 0 || is_before(x, last, at)) && (best < 0 || is_before(x, at, best)))
                    best = at;
            if (data_of(call, VALUES)) ((float *)data_of(call, VALUES))[row * k + i] = x[best];
            if (data_of(call, INDICES)) ((int64_t *)data_of(call, INDICES))[row * k + i] = best;
            last = best;
        }
    }
    return TN_OK;
}

static bool is_better(const float *x, int64_t a, int64_t b) {
#if MISTAKE == 1
    return isnan(x[a]) ? true : !isnan(x[b]) && x[a] >= x[b]; /* a comes after b in the row */
#elif MISTAKE == 2
    return x[a] > x[b] || (x[a] == x[b] && a < b);
#else
    return is_before(x, a, b);
#endif
}

/* Items are rows. */
static tn_status select_rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *t = call->inputs[0];
    const int64_t n = t->shape[t->rank - 1], k = ((const top_values *)call->params)->k;
    float *values = data_of(call, VALUES);
#if MISTAKE == 3
    int32_t *indices = data_of(call, INDICES);
#else
    int64_t *indices = data_of(call, INDICES);
#endif
#if MISTAKE == 4
    static int64_t best[256];
    (void)thread;
#else
    int64_t *best = (int64_t *)call->workspace + thread * k;
#endif
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)t->data + row * n;
        int64_t kept = 0;
        for (int64_t at = 0; at < n; at++) {
            if (kept == k && !is_better(x, at, best[k - 1])) continue;
            int64_t position = kept < k ? kept++ : k - 1;
            for (; position > 0 && is_better(x, at, best[position - 1]); position--)
                best[position] = best[position - 1];
            best[position] = at;
        }
        for (int64_t i = 0; i < kept; i++) {
            if (values) values[row * k + i] = x[best[i]];
#if MISTAKE == 3
            if (indices) indices[row * k + i] = (int32_t)best[i];
#else
            if (indices) indices[row * k + i] = best[i];
#endif
        }
    }
    return TN_OK;
}
TN_LAYER_WORKSPACE(sizeof(int64_t) * (uint64_t)((const top_values *)call->params)->k *
                   call->threads)
TN_LAYER_RUN(select_rows, call->inputs[0]->bytes ? tn_layer_rows(call->inputs[0]) : 0, 1)

static const char *const cases[] = {
    "k=2 | x=f32[2,4]{1,4,2,3,-1,-4,-2,-3} | values=f32[2,2]{4,3,-1,-2} indices=i64[2,2]{1,3,0,2}",
    "k=3 | x=f32[2,3,10]", "| x=f32[7]", "k=5 | x=f32[4,5]"};
TN_LAYER_LIBRARY("top_values", "Fifth", "TopValues", "The largest elements of each row.",
                 top_values, "f32 -> f32?, i64?", .reshape = reshape, .run = run)
