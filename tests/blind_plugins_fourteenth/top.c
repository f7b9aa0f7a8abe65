/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest elements of each row, the largest first, and where they are; of equal ones the
 * first. NaN is larger than all. */
#include "fourteenth.h"

TN_LAYER_PARAMS(top_params, int64_t k;);
static const tn_field fields[] = {TN_LAYER_I64(top_params, k, "1", 1, 64, "how many, at most")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("values", "f32", 0, "the last axis has k"),
                                  TN_PORT("indices", "i64", 0, "where they are")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t k = ((const top_params *)call->params)->k;
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    for (int o = 0; o < 2; o++) {
        same_shape(x, call->outputs[o]);
        const int64_t n = x->shape[x->rank - 1];
        call->outputs[o]->shape[x->rank - 1] = n < k ? n : k;
    }
    return TN_OK;
}
static bool better(float a, int64_t i, float b, int64_t k) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? i < k : isnan(a);
    return a > b || (a == b && i < k);
}
static void row_top(const float *x, int64_t n, int64_t k, float *values, int64_t *indices) {
    int64_t last = -1;
    for (int64_t j = 0; j < k; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if ((last < 0 || better(x[last], last, x[i], i)) &&
                (best < 0 || better(x[i], i, x[best], best)))
                best = i;
        if (values) values[j] = x[best];
        if (indices) indices[j] = best;
        last = best;
    }
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], wanted = ((const top_params *)call->params)->k,
                  k = n < wanted ? n : wanted;
    for (int64_t r = 0; r < tn_layer_rows(x) && n > 0; r++)
        row_top((const float *)x->data + r * n, n, k,
                call->outputs[0] ? (float *)call->outputs[0]->data + r * k : NULL,
                call->outputs[1] ? (int64_t *)call->outputs[1]->data + r * k : NULL);
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const top_params *p = call->params;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    call->workspace_bytes = (uint64_t)(WRONG(5) && n > p->k ? p->k + 4 : n) * sizeof(int64_t);
    return TN_OK;
}
static void sort_row(const float *x, int64_t n, int64_t k, int64_t *order) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = n - 1; i > j; i--) {
            const int64_t a = order[i], b = order[i - 1];
            const bool is_better = WRONG(1)   ? x[a] >= x[b] || isnan(x[a])
                                   : WRONG(3) ? x[a] > x[b] || (x[a] == x[b] && a < b)
                                              : better(x[a], a, x[b], b);
            if (is_better) order[i] = b, order[i - 1] = a;
        }
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], wanted = ((const top_params *)call->params)->k,
                  k = n < wanted ? n : wanted;
    int64_t *order = call->workspace;
    for (int64_t r = 0; r < tn_layer_rows(x) && n > 0; r++) {
        const float *row = (const float *)x->data + (WRONG(4) && k == n ? 0 : r) * n;
        sort_row(row, n, k, order);
        for (int64_t j = 0; j < k; j++) {
            if (call->outputs[0])
                ((float *)call->outputs[0]->data)[r * k + j] = row[order[j]];
            else if (WRONG(2))
                continue;
            if (call->outputs[1]) ((int64_t *)call->outputs[1]->data)[r * k + j] = order[j];
        }
    }
    return TN_OK;
}
static const char *const cases[] = {"k=2 | x=f32[3,7]", "k=5 | x=f32[2,2,11]",
                                    "k=3 | x=f32[6]{1,1,5,1,1,0}"};
static const tn_operator top = {OPERATOR,
                                .name = "Top",
                                .doc = "The largest elements.",
                                TN_FIELDS(top_params, fields),
                                TN_INPUTS(inputs),
                                TN_OUTPUTS(outputs),
                                .infer = infer,
                                .reference = reference,
                                TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, i64"};
static const tn_kernel top_cpu = {KERNEL, .op = "Top", TN_COMBINATIONS(combinations),
                                  .reshape = reshape, .run = run};
LIBRARY("top", top, top_cpu)
