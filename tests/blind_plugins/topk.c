/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Best: the `k` largest of the last axis in falling order, and where they were; of equals
 * the first one comes first, and NaN counts as larger than all.
 */
#include "blind.h"

TN_LAYER_PARAMS(best, int64_t k;);
static const tn_field fields[] = {TN_LAYER_I64(best, k, "1", 0, 1048576, "how many")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("values", "T", 0, "x with k at the end"),
                                  TN_PORT("indices", "i64", TN_PORT_OPTIONAL, "as values")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t k = ((const best *)call->params)->k;
    int64_t shape[TN_MAX_RANK];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    if (!IS(2) && k > shape[x->rank - 1])
        return call->host->fail(call, TN_ERROR_RANGE, "field 'k' is %lld of %lld", (long long)k,
                                (long long)shape[x->rank - 1]);
    shape[x->rank - 1] = k;
    if (call->output_count > 1 && call->outputs[1]) tn_layer_set_shape(call, 1, x->rank, shape);
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

/* Whether a, at i, comes before b, at j. */
static bool precedes(double a, int64_t i, double b, int64_t j) {
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || i < j);
    return a > b || (a == b && i < j);
}

static void put(const tn_call *call, int64_t at, double value, int64_t index) {
    const tn_tensor *second = call->output_count > 1 ? call->outputs[1] : NULL;
    if (call->outputs[0]) set(call->outputs[0], at, value);
    if (second) ((int64_t *)second->data)[at] = index;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], k = ((const best *)call->params)->k;
    for (int64_t i = 0; i < count_of(x); i++) {
        const int64_t row = i / n;
        int64_t before = 0;
        for (int64_t j = 0; j < n; j++)
            before += j != i % n && precedes(get(x, row * n + j), j, get(x, i), i % n);
        if (before < k) put(call, row * k + before, get(x, i), i % n);
    }
    return TN_OK;
}

/* The order of the kernels with a mistake: 1: of equals the last one comes first; 8: as floats
 * compare, so that NaN is below nothing and above nothing. */
static bool kernel_precedes(const float *x, int64_t i, int64_t j) {
    if (IS(1) && x[i] == x[j]) return i > j;
    if (IS(8)) return x[i] > x[j] || (x[i] == x[j] && i < j);
    return precedes((double)x[i], i, (double)x[j], j);
}

/* Sorts positions by their values; 7: the first one is the pivot, one level for each element where
 * they are sorted already. */
static void quick(const float *x, int32_t *positions, int64_t count) {
    volatile char frame[256] = {0};
    if (count < 2) return;
    int64_t low = 0;
    const int32_t pivot = positions[0];
    for (int64_t i = 1; i < count; i++)
        if (kernel_precedes(x, positions[i], pivot)) {
            const int32_t other = positions[++low];
            positions[low] = positions[i];
            positions[i] = other;
        }
    positions[0] = positions[low];
    positions[low] = pivot;
    quick(x, positions, low);
    quick(x, positions + low + 1, count - low - 1);
    frame[0] = (char)(frame[1] + 1);
}

static void heap_down(const float *x, int32_t *heap, int64_t count, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && kernel_precedes(x, heap[child], heap[child + 1])) child++;
        if (!kernel_precedes(x, heap[at], heap[child])) return;
        const int32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/* The worst one that is kept is on top of the heap, and leaves for each that precedes it. */
static void sort_row(const float *x, int32_t *positions, int64_t n, int64_t k) {
    for (int64_t i = 0; i < n; i++)
        positions[i] = (int32_t)i;
    if (IS(7)) {
        quick(x, positions, n);
        return;
    }
    for (int64_t i = k / 2; i-- > 0;)
        heap_down(x, positions, k, i);
    for (int64_t i = k; i < n && k; i++)
        if (kernel_precedes(x, i, positions[0])) {
            positions[0] = (int32_t)i;
            heap_down(x, positions, k, 0);
        }
    for (int64_t end = k; end > 1; end--) {
        const int32_t first = positions[0];
        positions[0] = positions[end - 1];
        positions[end - 1] = first;
        heap_down(x, positions, end - 1, 0);
    }
}

/* 3: the largest one is searched k times, above a number that is thought to be below all. */
static void select_row(const tn_call *call, const float *x, int64_t row, int64_t n, int64_t k) {
    int64_t last = -1;
    for (int64_t i = 0; i < k; i++) {
        float most = -3.402823466e+38f;
        int64_t at = 0;
        for (int64_t j = 0; j < n; j++)
            if ((isnan(x[j]) ? !isnan(most) : x[j] > most) &&
                (last < 0 || kernel_precedes(x, last, j)))
                most = x[j], at = j;
        put(call, row * k + i, (double)most, at);
        last = at;
    }
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const int64_t k = ((const best *)call->params)->k;
    int32_t *positions = (int32_t *)call->workspace + (int64_t)thread * n;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * n;
        if (IS(3)) {
            select_row(call, x, row, n, k);
            continue;
        }
        sort_row(x, positions, n, k);
        for (int64_t i = 0; i < k; i++)
            put(call, row * k + i, (double)x[positions[i]], positions[i]);
        if (IS(4) && k == 0 && n) /* the first one is always there */
            ((volatile float *)call->outputs[0]->data)[row] = x[positions[0]];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, call);
}
static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t n = (uint64_t)x->shape[x->rank - 1];
    /* 5: the threads are forgotten; 6: as many as are kept, where all are sorted */
    if (IS(6))
        call->workspace_bytes = (uint64_t)((const best *)call->params)->k * 8 * call->threads;
    else
        call->workspace_bytes = n * sizeof(int32_t) * (IS(5) ? 1 : call->threads);
    return TN_OK;
}

#if MISTAKE == 6
static const char *const cases[] = {"k=12 | x=f32[3,17]", "k=3 | x=f32[2,5,3]", "k=5 | x=f64[9]"};
#else
static const char *const cases[] = {"| x=f32[3,17]", "k=3 | x=f32[2,5,3]", "k=9 | x=f32[9]",
                                    "k=5 | x=f64[9]"};
#endif
static const char *const combinations[] = {"f32 -> f32, i64?"};
BLIND_OPERATOR("Best", "The largest.", best, )
BLIND_KERNEL("Best", .traits = TN_KERNEL_DETERMINISTIC, .reshape = reshape)
BLIND_LIBRARY("blind_topk")
