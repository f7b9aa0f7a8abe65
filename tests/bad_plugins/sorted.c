/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Sorted, the elements of the last axis from the least to the greatest, NaN behind all, equal
 * ones in their order; and on demand where they were. The mistakes are those of comparisons. */
#include "mistake.h"

#include <math.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., n")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x"),
                                  TN_PORT("from", "i32", TN_PORT_OPTIONAL, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    for (uint32_t k = 0; k < call->output_count; k++) {
        if (!call->outputs[k]) continue;
        call->outputs[k]->rank = x->rank;
        for (uint32_t i = 0; i < x->rank; i++)
            call->outputs[k]->shape[i] = x->shape[i];
    }
    return TN_OK;
}

static int32_t key_of(float value) {
    int32_t key;
    memcpy(&key, &value, sizeof(key));
    return key ^ (key >> 31 & INT32_MAX);
}

/* Whether element i of a row comes before element k. */
static bool precedes(const float *x, int32_t i, int32_t k, bool is_kernel) {
    if (WITH(minus_zero_is_less) && is_kernel && !isnan(x[i]) && !isnan(x[k]) && x[i] != x[k])
        return x[i] < x[k];
    if (WITH(minus_zero_is_less) && is_kernel && !isnan(x[i]) && !isnan(x[k]))
        return key_of(x[i]) < key_of(x[k]) || (key_of(x[i]) == key_of(x[k]) && i < k);
    if (WITH(nan_where_it_is) && is_kernel) return x[i] < x[k] || (!(x[k] < x[i]) && i < k);
    if (isnan(x[i]) || isnan(x[k])) return isnan(x[k]) && (!isnan(x[i]) || i < k);
    if (x[i] == x[k]) return WITH(last_of_equals_first) && is_kernel ? i > k : i < k;
    return x[i] < x[k];
}

/* Heap sort: the greatest is on top. */
static void sink(const float *x, int32_t *heap, int32_t count, int32_t at, bool is_kernel) {
    for (int32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && precedes(x, heap[child], heap[child + 1], is_kernel)) child++;
        if (precedes(x, heap[child], heap[at], is_kernel)) return;
        const int32_t kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
    }
}
static void sort_by_heap(const float *x, int32_t *positions, int32_t count, bool is_kernel) {
    for (int32_t i = count / 2; i-- > 0;)
        sink(x, positions, count, i, is_kernel);
    for (int32_t end = count; end > 1; end--) {
        const int32_t greatest = positions[0];
        positions[0] = positions[end - 1];
        positions[end - 1] = greatest;
        sink(x, positions, end - 1, 0, is_kernel);
    }
}

/* One level for each element where they are sorted already. */
static void sort_by_first(const float *x, int32_t *positions, int32_t count) {
    volatile char frame[512] = {0};
    int32_t low = 0;
    if (count < 2) return;
    const int32_t pivot = positions[0];
    for (int32_t i = 1; i < count; i++)
        if (precedes(x, positions[i], pivot, true)) {
            const int32_t kept = positions[++low];
            positions[low] = positions[i];
            positions[i] = kept;
        }
    positions[0] = positions[low];
    positions[low] = pivot;
    sort_by_first(x, positions, low);
    sort_by_first(x, positions + low + 1, count - low - 1);
    frame[0] = frame[1];
}

static tn_status sort(tn_call *call, int32_t *positions, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int32_t n = (int32_t)x->shape[x->rank - 1];
    for (int64_t at = 0, count = count_of(x); at < count; at += n) {
        const float *row = (const float *)x->data + at;
        for (int32_t i = 0; i < n; i++)
            positions[i] = i;
        if (WITH(sorts_by_first) && is_kernel)
            sort_by_first(row, positions, n);
        else
            sort_by_heap(row, positions, n, is_kernel);
        for (int32_t i = 0; i < n; i++)
            ((float *)call->outputs[0]->data)[at + i] = row[positions[i]];
        if (call->output_count > 1 && call->outputs[1])
            memcpy((int32_t *)call->outputs[1]->data + at, positions,
                   (size_t)n * sizeof(*positions));
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t bytes = (uint64_t)x->shape[x->rank - 1] * sizeof(int32_t);
    int32_t *positions = call->host->allocate(call->host, bytes + 64, 64);
    if (!positions) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a row");
    const tn_status status = sort(call, positions, false);
    call->host->deallocate(call->host, positions);
    return status;
}
static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->workspace_bytes = (uint64_t)x->shape[x->rank - 1] * sizeof(int32_t);
    return TN_OK;
}
/* The row's memory, where run asks for it itself. */
static tn_status sort_all(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const uint64_t bytes = (uint64_t)x->shape[x->rank - 1] * sizeof(int32_t);
    int32_t *positions = call->host->allocate(call->host, bytes + 64, 64);
    if (!positions) return TN_ERROR_MEMORY;
    (void)sort(call, positions, true);
    call->host->deallocate(call->host, positions);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    if (!WITH(drops_status)) return sort(call, call->workspace, true);
    call->host->parallel_for(call, 1, 1, sort_all, call);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,10]", "| x=f32[2,2,7]"};
static const tn_operator sorted = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Sorted",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, i32?"};
static const tn_kernel sorted_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Sorted",
                                     .device = "cpu",
                                     .name = "heap",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .reshape = reshape,
                                     .run = run};
static const tn_operator *const operators[] = {&sorted};
static const tn_kernel *const kernels[] = {&sorted_cpu};
TN_LIBRARY("bad_sorted", "1", operators, kernels)
