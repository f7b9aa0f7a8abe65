/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK by keys (kit/order/order.h): a lane's keys are offered to a heap of the best k, block by
 * block; most blocks have none that is better than the worst of these.
 */
#include "kit/operator/layer.h"
#include "kit/order/order.h"
#include "top_k/top_k.h"
#include <tenon/kit/parallel.h>

typedef struct top_k_job {
    const tn_order_functions *functions;
    const tn_tensor *x, *values, *indices; /* outputs may be null */
    tn_lanes lanes;
    int64_t k;
    tn_order_best best;
    char *heaps;
    uint64_t heap_bytes; /* of a thread */
} top_k_job;

static uint64_t heap_bytes(const tn_order_functions *functions, int64_t k) {
    return ((uint64_t)k * functions->entry_bytes + 63) / 64 * 64;
}

static tn_status top_k_reshape(tn_call *call) {
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    int64_t k = 0;
    TN_TRY(tn_top_k_read(call, &lanes, &axis, &k));
    if (k > INT64_MAX / 4096)
        return call->host->fail(call, TN_ERROR_MEMORY, "%lld elements are too many to sort",
                                (long long)k);
    call->workspace_bytes =
        call->threads * heap_bytes(tn_order_of(call->user, call->inputs[0]->type, lanes.count), k);
    return TN_OK;
}

static void fill_heap(const top_k_job *job, int64_t first, void *heap) {
    _Alignas(64) uint64_t keys[TN_ORDER_BLOCK];
    const size_t bytes = tn_element_bytes(job->x->type);
    int64_t held = 0;
    for (int64_t at = 0; at < job->lanes.count; at += TN_ORDER_BLOCK) {
        const int64_t left = job->lanes.count - at;
        const int64_t some = left < TN_ORDER_BLOCK ? left : TN_ORDER_BLOCK;
        const char *from =
            (const char *)job->x->data + (size_t)(first + at * job->lanes.inner) * bytes;
        job->functions->read(job->x->type, from, job->lanes.inner, some, job->best, keys);
        held = job->functions->offer(keys, some, at, job->k, held, heap);
    }
    job->functions->finish(heap, held);
}

/* An item is a lane. */
static tn_status choose_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const top_k_job *job = user;
    const size_t bytes = tn_element_bytes(job->x->type);
    const int64_t inner = job->lanes.inner;
    void *heap = job->heaps + thread * job->heap_bytes;
    for (int64_t lane = begin; lane < end; lane++) {
        const int64_t from = tn_lanes_first(&job->lanes, lane);
        const int64_t to = lane / inner * job->k * inner + lane % inner;
        fill_heap(job, from, heap);
        for (int64_t i = 0; i < job->k; i++) {
            const int64_t number = job->functions->number(heap, i), at = to + i * inner;
            if (job->indices) ((int64_t *)job->indices->data)[at] = number;
            if (job->values)
                memcpy((char *)job->values->data + (size_t)at * bytes,
                       (const char *)job->x->data + (size_t)(from + number * inner) * bytes, bytes);
        }
    }
    return TN_OK;
}

static tn_status top_k_run(tn_call *call) {
    enum { GRAIN = 8192 };
    top_k_job job = {.x = call->inputs[0],
                     .values = call->outputs[0],
                     .indices = tn_infer_output(call, 1),
                     .best = tn_top_k_is_largest(call) ? TN_ORDER_LARGEST : TN_ORDER_SMALLEST,
                     .heaps = call->workspace};
    uint32_t axis = 0;
    TN_TRY(tn_top_k_read(call, &job.lanes, &axis, &job.k));
    if (tn_element_count(job.x) == 0 || job.k == 0) return TN_OK;
    job.functions = tn_order_of(call->user, job.x->type, job.lanes.count);
    job.heap_bytes = heap_bytes(job.functions, job.k);
    return call->host->parallel_for(call, job.lanes.outer * job.lanes.inner,
                                    tn_parallel_grain(GRAIN, job.lanes.count), choose_lanes, &job);
}

TN_LEVEL_KERNELS_OF(, tn_top_k, TN_LEVELS(tn_order), "", 1, "TopK", "keys",
                    "A heap of keys for each lane.", .traits = TN_KERNEL_DETERMINISTIC,
                    .reshape = top_k_reshape, .run = top_k_run);
