/* SPDX-License-Identifier: Apache-2.0 */
/* Above: the numbers and the values of the elements above a threshold, the largest first, of equal
 * ones that with the lower number; NaN is above nothing. */
#include "ninth.h"

TN_LAYER_PARAMS(above, float threshold; int64_t most;);
static const tn_field fields[] = {
    TN_LAYER_F32(above, threshold, "0", -1e9, 1e9, "what is larger is found"),
    TN_LAYER_I64(above, most, "100", 0, 1000000, "how many at most")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {
    TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN, "in linear order of x"),
    TN_PORT("values", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "as many")};

static tn_status infer(tn_call *call) {
    const above *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t bound = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->shape[i] == 0) bound = 0;
    for (uint32_t i = 0; i < x->rank && bound > 0 && bound < p->most; i++)
        if (__builtin_mul_overflow(bound, x->shape[i], &bound)) bound = p->most;
    if (bound > p->most) bound = p->most;
    for (uint32_t o = 0; o < call->output_count; o++)
        if (call->outputs[o]) TN_LAYER_SET_SHAPE(call, o, bound);
    return TN_OK;
}

typedef struct hit {
    float value;
    int64_t position;
} hit;
static int compare(const void *left, const void *right) {
    const hit *a = left, *b = right;
    if (WRONG(1)) return (int)(b->value - a->value);
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}
/* By gaps that become smaller: without memory of its own. */
static void sort_by_gaps(hit *hits, int64_t count) {
    for (int64_t gap = count / 2; gap > 0; gap /= 2)
        for (int64_t i = gap; i < count; i++) {
            const hit moved = hits[i];
            int64_t at = i;
            for (; at >= gap && hits[at - gap].value < moved.value; at -= gap)
                hits[at] = hits[at - gap];
            hits[at] = moved;
        }
}
/* As long as qsort has no argument for it. */
static const float *compared;
static int compare_positions(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    if (compared[a] != compared[b]) return compared[a] > compared[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

static void answer(const tn_call *call, const hit *hits, int64_t count) {
    const int64_t most = ((const above *)call->params)->most;
    const int64_t kept = count < most ? count : most;
    tn_tensor *positions = call->outputs[0];
    tn_tensor *values = call->output_count > 1 ? call->outputs[1] : NULL;
    for (int64_t i = 0; i < kept; i++) {
        if (positions) ((int64_t *)positions->data)[i] = hits[i].position;
        if (values) ((float *)values->data)[i] = hits[i].value;
    }
    if (positions) positions->shape[0] = kept;
    if (values) values->shape[0] = kept;
}

static tn_status reference(tn_call *call) {
    const above *p = call->params;
    const float *x = call->inputs[0]->data;
    const int64_t n = tn_layer_count(call->inputs[0]);
    hit *hits = call->host->allocate(call->host, (uint64_t)(n + 1) * sizeof(hit), 64);
    if (!hits) return TN_ERROR_MEMORY;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] > p->threshold)) continue;
        int64_t at = count++;
        for (; at > 0 && hits[at - 1].value < x[i] && n <= 4096; at--)
            hits[at] = hits[at - 1];
        hits[at] = (hit){x[i], i};
    }
    if (n > 4096) { /* by merging */
        for (int64_t width = 1; width < count; width *= 2) {
            hit *next = call->host->allocate(call->host, (uint64_t)(n + 1) * sizeof(hit), 64);
            if (!next) {
                call->host->deallocate(call->host, hits);
                return TN_ERROR_MEMORY;
            }
            for (int64_t low = 0; low < count; low += 2 * width) {
                const int64_t middle = low + width < count ? low + width : count;
                const int64_t high = low + 2 * width < count ? low + 2 * width : count;
                for (int64_t i = low, a = low, b = middle; i < high; i++)
                    next[i] = b >= high || (a < middle && hits[a].value >= hits[b].value)
                                  ? hits[a++]
                                  : hits[b++];
            }
            call->host->deallocate(call->host, hits);
            hits = next;
        }
    }
    answer(call, hits, count);
    call->host->deallocate(call->host, hits);
    return TN_OK;
}

static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)(tn_layer_count(call->inputs[0]) + 1) * (sizeof(hit) + 8);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const above *p = call->params;
    const float *x = call->inputs[0]->data;
    const int64_t n = tn_layer_count(call->inputs[0]);
    hit *hits = call->workspace;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (WRONG(5) ? x[i] >= p->threshold && x[i] != 0 : x[i] > p->threshold)
            hits[count++] = (hit){x[i], i};
    if (WRONG(3)) { /* sorts numbers in place of pairs */
        int64_t *order = (int64_t *)(void *)(hits + n + 1);
        for (int64_t i = 0; i < count; i++)
            order[i] = hits[i].position;
        compared = x;
        qsort(order, (size_t)count, sizeof(int64_t), compare_positions);
        for (int64_t i = 0; i < count; i++)
            hits[i] = (hit){x[order[i]], order[i]};
    } else if (WRONG(2))
        sort_by_gaps(hits, count);
    else
        qsort(hits, (size_t)count, sizeof(hit), compare);
    if (WRONG(4) && count == 0) {
        if (call->outputs[0]) call->outputs[0]->shape[0] = 0;
        return TN_OK;
    }
    if (WRONG(6)) { /* as the first output says */
        answer(call, hits, count);
        if (call->outputs[0] && call->output_count > 1 && call->outputs[1])
            call->outputs[1]->shape[0] = call->outputs[0]->shape[0] = count;
        return TN_OK;
    }
    answer(call, hits, count);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,4]", "threshold=-1000 most=20 | x=f32[2,5]"};
static const tn_operator above_operator = {
    OPERATOR,          .state_version = 1,  .name = "Above", TN_FIELDS(above, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,  .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64, f32?"};
static const tn_kernel above_cpu = {KERNEL,
                                    .op = "Above",
                                    .name = "sorted",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .reshape = reshape,
                                    .run = run};
LIBRARY("ninth_found", above_operator, above_cpu)
