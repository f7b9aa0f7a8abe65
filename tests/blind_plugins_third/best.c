/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Best: the k largest (or smallest) elements of each row, best first, and their positions.
 * Of equals (0 and -0 are) the one that came first; not a number is greater than every number.
 */
#include "third.h"

TN_LAYER_PARAMS(best, bool largest;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(best, largest, "true", "false: the smallest elements")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32", 0, "..., n"),
                                 TN_PORT("k", "i64", TN_PORT_VALUE_NEEDED, "one number")};
static const tn_port outputs[] = {TN_PORT("values", "T", 0, "..., k"),
                                  TN_PORT("positions", "i64", TN_PORT_OPTIONAL, "..., k")};

#if MISTAKE == 2
static int64_t last_k; /* what the shape rule saw last, of whatever node */
#endif
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *k = call->inputs[1];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    if (tn_layer_count(k) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "k is not one number");
    if (!k->data) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "k is not known");
    const int64_t count = *(const int64_t *)k->data;
#if MISTAKE == 6
    if (count < 0) /* more than there are are promised */
#else
    if (count < 0 || count > x->shape[x->rank - 1])
#endif
        return call->host->fail(call, TN_ERROR_RANGE, "k is %lld, the rows have %lld elements",
                                (long long)count, (long long)x->shape[x->rank - 1]);
#if MISTAKE == 2
    last_k = count;
#endif
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        same_as(call, i, x);
        call->outputs[i]->shape[x->rank - 1] = count;
    }
    return TN_OK;
}

typedef struct item {
    double value;
    int64_t position;
} item;
/* Below 0: a stands before b. */
static int by_number(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(b) - isnan(a);
    return a > b ? -1 : a < b;
}
static int compare(const item *a, const item *b, bool largest) {
    const int order = largest ? by_number(a->value, b->value) : by_number(b->value, a->value);
    return order ? order : a->position < b->position ? -1 : a->position > b->position;
}
static void put(const tn_call *call, int64_t to, int64_t from, int64_t position) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0], *positions = output_of(call, 1);
    const int64_t width = width_of(x->type);
    memcpy((char *)y->data + to * width, (const char *)x->data + from * width, (size_t)width);
#if MISTAKE == 4
    /* Half of each position; what is in the other half stays there. */
    if (positions && !(call->flags & TN_CALL_REFERENCE) && call->workspace)
        ((int32_t *)positions->data)[2 * to] = (int32_t)position;
    else
#endif
        if (positions)
        ((int64_t *)positions->data)[to] = position;
}

/* Without memory of its own: looks for the next best of the row each time. */
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1], k = y->shape[y->rank - 1], rows = tn_layer_rows(x);
    const bool largest = ((const best *)call->params)->largest;
    for (int64_t r = 0; r < rows; r++) {
        item last = {0, -1};
        for (int64_t i = 0; i < k; i++) {
            item next = {0, -1};
            for (int64_t c = 0; c < n; c++) {
                const item other = {tn_layer_load(x, r * n + c), c};
                if ((last.position < 0 || compare(&last, &other, largest) < 0) &&
                    (next.position < 0 || compare(&other, &next, largest) < 0))
                    next = other;
            }
            if (next.position >= 0) put(call, r * k + i, r * n + next.position, next.position);
            last = next;
        }
    }
    return TN_OK;
}

#if MISTAKE == 1
static int64_t key_of(double value) { /* -0 is below 0 in this order */
    int64_t key;
    if (isnan(value)) return INT64_MAX;
    memcpy(&key, &value, 8);
    return key ^ (key >> 63 & INT64_MAX);
}
#endif
static int fast_compare(const item *a, const item *b, bool largest) {
#if MISTAKE == 1
    const int64_t left = key_of(a->value), right = key_of(b->value);
    const int order = largest ? (left < right) - (left > right) : (left > right) - (left < right);
    return order ? order : a->position < b->position ? -1 : a->position > b->position;
#elif MISTAKE == 5
    /* Not a number comes first, also among the smallest. */
    if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? -1 : 1;
    return compare(a, b, largest);
#else
    return compare(a, b, largest);
#endif
}
/* A heap of the k best, the worst of them on top, then taken apart from its end. */
static void sink(item *heap, int64_t count, int64_t at, bool largest) {
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && fast_compare(&heap[child], &heap[child + 1], largest) < 0) child++;
        if (fast_compare(&heap[at], &heap[child], largest) >= 0) return;
        const item kept = heap[at];
        heap[at] = heap[child], heap[child] = kept;
        at = child;
    }
}
static int64_t k_of(const tn_call *call) {
#if MISTAKE == 2
    return last_k;
#else
    return call->outputs[0]->shape[call->outputs[0]->rank - 1];
#endif
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], k = k_of(call);
    const bool largest = ((const best *)call->params)->largest;
    item *heap = (item *)call->workspace + (int64_t)thread * k;
    for (int64_t r = begin; r < end; r++) {
        const int64_t first = k < n ? k : n;
        for (int64_t c = 0; c < first; c++)
            heap[c] = (item){tn_layer_load(x, r * n + c), c};
        for (int64_t i = first / 2; i-- > 0;)
            sink(heap, first, i, largest);
        for (int64_t c = first; c < n && k > 0; c++) {
            const item other = {tn_layer_load(x, r * n + c), c};
            if (fast_compare(&other, &heap[0], largest) >= 0) continue;
            heap[0] = other;
            sink(heap, k, 0, largest);
        }
        for (int64_t i = first; i-- > 0;) {
            const item worst = heap[0];
            heap[0] = heap[i], heap[i] = worst;
            sink(heap, i, 0, largest);
        }
        for (int64_t i = 0; i < k; i++)
            put(call, r * k + i, r * n + heap[i].position, heap[i].position);
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    uint64_t heaps = call->threads;
#if MISTAKE == 3
    heaps = 1; /* one heap, whatever the threads */
#endif
    call->workspace_bytes = (uint64_t)k_of(call) * sizeof(item) * heaps;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, call);
}

static const char *const cases[] = {
    "| x=f32[3,10] k=i64[1]{4}",
    "largest=false | x=f64[2,3,7] k=i64[1]{7}",
    "| x=i32[6]{3,1,3,2,3,1} k=i64[]{3}",
    "| x=f32[5] k=i64[1]{0}",
    "largest=false | x=f32[2,6]{1,0,nan,-1,inf,2,3,0,-2,nan,5,-inf} k=i64[1]{3}",
    "| x=f32[0,4] k=i64[1]{2}"};
static const tn_operator op = {THIRD_OPERATOR("Best"), .state_version = 1, TN_FIELDS(best, fields),
                               .doc = "The best elements of rows."};
static const char *const combinations[] = {"f32, i64 -> f32, i64?", "i32, i64 -> i32, i64?"};
static const tn_kernel kernel = {THIRD_KERNEL("Best", "heap"), .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations), .reshape = reshape, .run = run};
THIRD_LIBRARY("best", op, &kernel)
