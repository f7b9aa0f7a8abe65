/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest elements of each row, the best first; of equals the one that comes first. NaN is
 * the lowest. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, n"),
                                 TN_PORT("k", "i64", TN_PORT_VALUE_NEEDED, "1: how many")};
static const tn_port outputs[] = {TN_PORT("values", "f32", 0, "rows, k"),
                                  TN_PORT("indices", "i64", 0, "rows, k")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, 1)) return TN_ERROR_SHAPE;
    if (!call->inputs[1]->data) return call->host->fail(call, TN_ERROR_STATE, "'k' is not known");
    const int64_t k = *(const int64_t *)call->inputs[1]->data, *in = call->inputs[0]->shape;
    if (k < 0 || (k > in[1] && !WRONG(3)))
        return call->host->fail(call, TN_ERROR_RANGE, "'k' is %lld of %lld", (long long)k,
                                (long long)in[1]);
    for (uint32_t o = 0; o < 2; o++)
        if (call->outputs[o]) TN_LAYER_SET_SHAPE(call, o, in[0], k);
    return TN_OK;
}
static bool is_before(const float *row, int64_t a, int64_t b) {
    if (isnan(row[a]) || isnan(row[b]))
        return isnan(row[a]) == isnan(row[b]) ? a < b : isnan(row[b]);
    return row[a] > row[b] || (row[a] == row[b] && a < b);
}
static void put(const tn_call *call, int64_t at, const float *row, int64_t index) {
    if (call->outputs[0]) ((float *)call->outputs[0]->data)[at] = row[index];
    if (call->outputs[1]) ((int64_t *)call->outputs[1]->data)[at] = index;
}
static int64_t wanted(const tn_call *call) {
    return *(const int64_t *)call->inputs[1]->data;
}
static tn_status reference(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], n = call->inputs[0]->shape[1];
    const int64_t k = wanted(call);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = (const float *)call->inputs[0]->data + r * n;
        for (int64_t i = 0; i < n; i++) {
            int64_t rank = 0;
            for (int64_t j = 0; j < n; j++)
                rank += j != i && is_before(row, j, i);
            if (rank < k) put(call, r * k + rank, row, i);
        }
    }
    return TN_OK;
}

static bool goes_before(const float *row, int64_t a, int64_t b) {
    if (WRONG(1)) return row[a] > row[b] || (row[a] == row[b] && a < b);
    if (WRONG(2) && row[a] == row[b]) return a > b;
    return is_before(row, a, b);
}
/* Each thread keeps the indices of its best ones, sorted by insertion. */
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[0]->shape[1], k = wanted(call);
    int64_t *best = (int64_t *)call->workspace + (WRONG(5) ? 0 : (int64_t)thread * k);
    for (int64_t r = begin; r < end; r++) {
        const float *row = (const float *)call->inputs[0]->data + r * n;
        int64_t held = 0;
        for (int64_t i = 0; i < n && k > 0; i++) {
            if (held == k && !goes_before(row, i, best[k - 1])) continue;
            int64_t at = held < k ? held++ : k - 1;
            for (; at > 0 && goes_before(row, i, best[at - 1]); at--)
                best[at] = best[at - 1];
            best[at] = i;
        }
        for (int64_t i = 0; i < k; i++)
            put(call, r * k + i, row, best[i]);
        for (int64_t i = 0; WRONG(4) && call->outputs[1] && i < k; i++)
            ((int64_t *)call->outputs[1]->data)[r * k + i] += r * n;
    }
    return TN_OK;
}
TN_LAYER_WORKSPACE((uint64_t)wanted(call) * sizeof(int64_t) * (WRONG(5) ? 1 : call->threads))
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {
#if MISTAKE != 4
    "| x=f32[5,9] k=i64[1]{3}", "| x=f32[40,17] k=i64[1]{16}",
#endif
    "| x=f32[1,33] k=i64[1]{5}", "| x=f32[1,4] k=i64[1]{4}"};
static const tn_operator top = {
    OPERATOR,       .name = "TopRows",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32, i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "TopRows",
                                 .name = "insertion",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("top_k", top, kernel)
