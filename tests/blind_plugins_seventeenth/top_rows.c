/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest elements of each row, and where they are: the largest first, of equal ones the
 * earlier first. NaN is above all. By insertion or by selection, whichever is faster. */
#include "seventeenth.h"

static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|i64", 0, "rank 1 or more"),
    TN_PORT("k", "i64", TN_PORT_VALUE_NEEDED, "a scalar, at most the last extent of x")};
static const tn_port outputs[] = {TN_PORT("values", "T", TN_PORT_OPTIONAL, "rows, k"),
                                  TN_PORT("indices", "i64", TN_PORT_OPTIONAL, "rows, k")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 1));
    const tn_tensor *x = call->inputs[0];
    if (!tn_layer_fits(call, 1, 0, NULL)) return TN_ERROR_SHAPE;
    const int64_t k = *(const int64_t *)call->inputs[1]->data;
    if (k < 0 || k > x->shape[x->rank - 1])
        return call->host->fail(call, TN_ERROR_RANGE, "k is %lld, rows have %lld", (long long)k,
                                (long long)x->shape[x->rank - 1]);
    int64_t shape[TN_MAX_RANK];
    memcpy(shape, x->shape, x->rank * sizeof(shape[0]));
    shape[x->rank - 1] = k;
    TN_TRY(set_shape(call, 1, x->rank, shape));
    return set_shape(call, 0, x->rank, shape);
}

/* Whether element a of a row is above element b, whatever their positions. */
static bool is_above(const tn_tensor *x, int64_t a, int64_t b, bool is_kernel) {
    if (x->type == TN_I64 && !(is_kernel && WRONG(1)))
        return ((const int64_t *)x->data)[a] > ((const int64_t *)x->data)[b];
    const double v = tn_layer_load(x, a), w = tn_layer_load(x, b);
    return v > w || (isnan(v) && !isnan(w) && !(is_kernel && WRONG(2)));
}

static int64_t k_of(const tn_call *call) {
    const tn_tensor *y = output(call, 0) ? output(call, 0) : output(call, 1);
    return y ? y->shape[y->rank - 1] : 0;
}

/* Positions in the tensor of the k largest of the row from `begin` on. */
static void insert(const tn_call *call, int64_t begin, int64_t *best, int64_t k, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    int64_t count = 0;
    for (int64_t i = begin; i < begin + x->shape[x->rank - 1]; i++) {
        int64_t at = count < k ? count++ : is_above(x, i, best[k - 1], is_kernel) ? k - 1 : k;
        if (at == k) continue;
        for (; at > 0 && is_above(x, i, best[at - 1], is_kernel); at--)
            best[at] = best[at - 1];
        best[at] = i;
    }
}

/* Whether a comes before b: it is above, or equal and earlier. */
static bool precedes(const tn_tensor *x, int64_t a, int64_t b) {
    if (is_above(x, a, b, true)) return true;
    return !is_above(x, b, a, true) && (WRONG(4) ? a > b : a < b);
}

/* The best one of those behind the last that was selected, k times. */
static void select_best(const tn_call *call, int64_t begin, int64_t *best, int64_t k) {
    const tn_tensor *x = call->inputs[0];
    const int64_t end = begin + x->shape[x->rank - 1];
    for (int64_t j = 0; j < k; j++) {
        int64_t found = -1;
        for (int64_t i = begin; i < end; i++)
            if ((j == 0 || precedes(x, best[j - 1], i)) && (found < 0 || precedes(x, i, found)))
                found = i;
        best[j] = found < 0 ? begin : found;
    }
}

static void write_row(const tn_call *call, int64_t r, const int64_t *best, int64_t k) {
    const tn_tensor *x = call->inputs[0], *values = output(call, 0), *indices = output(call, 1);
    for (int64_t j = 0; j < k; j++) {
        if (values && x->type == TN_I64)
            ((int64_t *)values->data)[r * k + j] = ((const int64_t *)x->data)[best[j]];
        else if (values)
            ((float *)values->data)[r * k + j] = ((const float *)x->data)[best[j]];
        if (indices) ((int64_t *)indices->data)[r * k + j] = best[j] - r * x->shape[x->rank - 1];
    }
}

static tn_status reference(tn_call *call) {
    const int64_t k = k_of(call), n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    if (k == 0) return TN_OK;
    int64_t *best = call->host->allocate(call->host, (uint64_t)k * sizeof(*best), 64);
    if (!best) return TN_ERROR_MEMORY;
    for (int64_t r = 0; r < tn_layer_rows(call->inputs[0]); r++) {
        insert(call, r * n, best, k, false);
        write_row(call, r, best, k);
    }
    call->host->deallocate(call->host, best);
    return TN_OK;
}

static tn_status tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}

TN_LAYER_WORKSPACE((uint64_t)k_of(call) * sizeof(int64_t) * call->threads)

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t k = k_of(call), n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    int64_t *best = (int64_t *)call->workspace + (WRONG(3) ? 0 : (int64_t)thread * k);
    for (int64_t r = begin; r < end; r++) {
        if (call->tactic == 1)
            select_best(call, r * n, best, k);
        else
            insert(call, r * n, best, k, true);
        write_row(call, r, best, k);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = k_of(call) > 0 ? tn_layer_rows(call->inputs[0]) : 0;
    return call->host->parallel_for(call, count, 1, rows, call);
}

static const char *const cases[] = {
    "| x=f32[3,9] k=i64[]{4}",
    "| x=i64[2,2,5] k=i64[]{2}",
    "| x=f32[7]{1,3,2,3,-1,3,0} k=i64[]{7}",
    "| x=i64[3]{9007199254740992,9007199254740993,-5} k=i64[]{1}",
};
static const tn_operator top_rows = {
    OPERATOR,       .name = "TopRows",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32|i64, i64 -> f32|i64?, i64?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "TopRows",
                                 .device = "cpu",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .tactics = tactics,
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("top_rows", top_rows, kernel)
