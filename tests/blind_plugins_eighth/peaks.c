/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::Peaks: the best scores of a map above a threshold, best first, and where they are. How
 * many there are only a run knows. */
#include <math.h>
#include <stdlib.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(peaks, float threshold; int64_t limit;);
static const tn_field fields[] = {
    TN_LAYER_F32(peaks, threshold, "0", 0, 0, "scores have to be above it"),
    TN_LAYER_I64(peaks, limit, "100", 1, 1000000, "the most that are given")};
static const tn_port inputs[] = {TN_PORT("scores", "f32", 0, "rows, classes; NaN is no score")};
static const tn_port outputs[] = {
    TN_PORT("best", "f32", TN_PORT_SIZED_BY_RUN, "the scores; equal ones in the map's order"),
    TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL,
            "found, 2: row and class")};

static tn_status infer(tn_call *call) {
    const int64_t limit = ((const peaks *)call->params)->limit;
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
#if MISTAKE == 3
    const int64_t all = call->inputs[0]->shape[0];
#else
    const int64_t all = tn_layer_count(call->inputs[0]);
#endif
    const int64_t bound = all < limit ? all : limit;
    if (call->output_count > 1 && call->outputs[1]) TN_LAYER_SET_SHAPE(call, 1, bound, 2);
    return call->outputs[0] ? TN_LAYER_SET_SHAPE(call, 0, bound) : TN_OK;
}

typedef struct candidate {
    double score;
    int64_t at;
} candidate;
static int compare(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void put(tn_call *call, int64_t found, float score, int64_t at) {
    const int64_t classes = call->inputs[0]->shape[1];
    tn_tensor *positions = call->output_count > 1 ? call->outputs[1] : NULL;
    if (call->outputs[0]) ((float *)call->outputs[0]->data)[found] = score;
    if (!positions) return;
    ((int64_t *)positions->data)[2 * found] = at / classes;
    ((int64_t *)positions->data)[2 * found + 1] = at % classes;
}
static void put_count(tn_call *call, int64_t found) {
    if (call->outputs[0]) call->outputs[0]->shape[0] = found;
    if (call->output_count < 2 || !call->outputs[1]) return;
    call->outputs[1]->shape[0] = found;
    call->outputs[1]->shape[1] = 2;
}

/* Without memory: the next best each time. */
static tn_status reference(tn_call *call) {
    const peaks *p = call->params;
    const float *scores = call->inputs[0]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
    candidate last = {INFINITY, -1};
    int64_t found = 0;
    for (; found < p->limit; found++) {
        candidate next = {-INFINITY, count};
        for (int64_t i = 0; i < count; i++) {
            const candidate other = {(double)scores[i], i};
            if (scores[i] > p->threshold && compare(&last, &other) < 0 &&
                compare(&other, &next) < 0)
                next = other;
        }
        if (next.at == count) break;
        put(call, found, scores[next.at], next.at);
        last = next;
    }
    put_count(call, found);
    return TN_OK;
}

#if MISTAKE == 1
static int compare_kernel(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->at > b->at ? -1 : a->at < b->at;
}
#else
#define compare_kernel compare
#endif
#if MISTAKE == 7
static candidate *scratch;
static int64_t scratch_count;
#endif
#if MISTAKE == 8
typedef struct memory {
    int64_t count;
} memory;
static tn_status open_context(tn_call *call) {
    memory *m = call->host->allocate(call->host, sizeof(*m), 64);
    if (!m) return TN_ERROR_MEMORY;
    m->count = 0;
    call->context = m;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
#endif

static tn_status reshape(tn_call *call) {
    const uint64_t count = (uint64_t)tn_layer_count(call->inputs[0]);
#if MISTAKE == 6
    call->workspace_bytes = count * sizeof(double);
#elif MISTAKE == 7
    (void)count;
#elif MISTAKE == 50
    const uint64_t limit = (uint64_t)((const peaks *)call->params)->limit;
    call->workspace_bytes = (count < limit ? count : limit) * sizeof(candidate);
#else
    call->workspace_bytes = count * sizeof(candidate);
#endif
#if MISTAKE == 8
    memory *m = call->context;
    if (m->count == 0) m->count = (int64_t)count;
#endif
    return TN_OK;
}

#if MISTAKE == 50
/* A heap of the best ones with the worst on top; emptied from behind. */
static void sink(candidate *heap, int64_t count, int64_t at) {
    for (int64_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && compare(&heap[child + 1], &heap[child]) > 0) child++;
        if (compare(&heap[child], &heap[at]) <= 0) return;
        const candidate moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}
static tn_status run(tn_call *call) {
    const peaks *p = call->params;
    const float *scores = call->inputs[0]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
    candidate *heap = call->workspace;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        const candidate next = {(double)scores[i], i};
        if (!(scores[i] > p->threshold)) continue;
        if (kept < p->limit) {
            heap[kept++] = next;
            for (int64_t at = kept / 2; kept == p->limit && at-- > 0;)
                sink(heap, kept, at);
        } else if (compare(&next, heap) < 0) {
            heap[0] = next;
            sink(heap, kept, 0);
        }
    }
    for (int64_t at = kept / 2; at-- > 0;)
        sink(heap, kept, at);
    put_count(call, kept);
    while (kept > 0) {
        const candidate worst = heap[0];
        heap[0] = heap[--kept];
        sink(heap, kept, 0);
        put(call, kept, scores[worst.at], worst.at);
    }
    return TN_OK;
}
#else
static tn_status run(tn_call *call) {
    const peaks *p = call->params;
    const float *scores = call->inputs[0]->data;
#if MISTAKE == 8
    const int64_t count = ((const memory *)call->context)->count;
#else
    const int64_t count = tn_layer_count(call->inputs[0]);
#endif
#if MISTAKE == 7
    if (scratch_count < count) {
        free(scratch);
        scratch = malloc((size_t)count * sizeof(*scratch));
        scratch_count = scratch ? count : 0;
        if (!scratch) return TN_ERROR_MEMORY;
    }
    candidate *all = scratch;
#else
    candidate *all = call->workspace;
#endif
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
#if MISTAKE == 5
        if (scores[i] <= p->threshold) continue;
#else
        if (!(scores[i] > p->threshold)) continue;
#endif
        all[kept++] = (candidate){(double)scores[i], i};
    }
    if (kept > 0) qsort(all, (size_t)kept, sizeof(*all), compare_kernel);
    if (kept > p->limit) kept = p->limit;
#if MISTAKE == 4
    const int64_t classes = call->inputs[0]->shape[1];
    for (int64_t i = 0; i < kept; i++) {
        if (call->outputs[0]) ((float *)call->outputs[0]->data)[i] = scores[all[i].at];
        ((int64_t *)call->outputs[1]->data)[2 * i] = all[i].at / classes;
        ((int64_t *)call->outputs[1]->data)[2 * i + 1] = all[i].at % classes;
    }
#else
    for (int64_t i = 0; i < kept; i++)
        put(call, i, scores[all[i].at], all[i].at);
#endif
#if MISTAKE == 2
    if (call->outputs[0]) call->outputs[0]->shape[0] = kept;
#else
    put_count(call, kept);
#endif
    return TN_OK;
}
#endif

static const char *const cases[] = {
    "threshold=0.3 | scores=f32[2,3]{0.5,0.2,0.9,0.3,0.5,0.1} | best=f32[3]{0.9,0.5,0.5} "
    "positions=i64[3,2]{0,2,0,0,1,1}",
    "limit=4 threshold=-0.5 | scores=f32[5,7]", "| scores=f32[9,11]",
    "limit=1000 threshold=-100 | scores=f32[17,5]", "| scores=f32[0,4]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "Peaks",
                               .doc = "The best scores above a threshold.",
                               TN_FIELDS(peaks, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, i64?"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "Peaks",
                                 .device = "cpu",
                                 .name = "sorted",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 8
                                 .open = open_context,
                                 .close = close_context,
#endif
                                 .reshape = reshape,
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_peaks", "1.0", operators, kernels)
