/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of convolutions; see cudnn_conv_plan.h. Tactics are the engine configurations for the
 * convolution with its epilogue in one operation, then those for the convolution alone. The ways of
 * the problems that were asked for last are kept in one table of the process.
 */
#include "common/cuda/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "common/cuda/cudnn_ways.h"
#include "common/cuda/launch.h"

#include <mutex>
#include <stdlib.h>
#include <string.h>

/* A batch of compilations: enough for the threads to end at about the same time. */
enum { MOST_KEPT = 512, BATCH_A_THREAD = 4, MOST_BATCH = 128 };

/* Guarded by the mutex, what they point at too; in the order in which they came. */
static std::mutex table_mutex;
static tn_cudnn_ways *table[MOST_KEPT];
static uint32_t table_count;
static uint64_t use_count;
/* Tactics are being timed: two of one problem were asked for. */
static bool is_timing;

/* ----------------------------------------------------------------------------------------------
 * the table */

static tn_cudnn_ways *find(const int64_t *key) {
    for (uint32_t i = 0; i < table_count; i++)
        if (memcmp(table[i]->key, key, sizeof(table[i]->key)) == 0) return table[i];
    return NULL;
}

static void drop_oldest(void) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < table_count; i++)
        if (table[i]->last_use < table[oldest]->last_use) oldest = i;
    tn_cudnn_ways_clear(table[oldest]);
    free(table[oldest]);
    memmove((void *)&table[oldest], (const void *)&table[oldest + 1],
            (table_count - oldest - 1) * sizeof(table[0]));
    table_count--;
}

/* Null when there is no memory, or cuDNN does not know the GPU. */
static tn_cudnn_ways *find_or_ask(tn_call *call, const tn_cudnn_problem *problem,
                                  const int64_t *key) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    cudnnBackendDescriptor_t properties = tn_cudnn_properties(cudnn, call->device->index, NULL);
    tn_cudnn_ways *found = find(key);
    if (!found) {
        if (!properties) return NULL;
        found = (tn_cudnn_ways *)calloc(1, sizeof(*found));
        if (!found) return NULL;
        if (table_count == MOST_KEPT) drop_oldest();
        tn_cudnn_ways_ask(cudnn, properties, problem, key, found);
        table[table_count++] = found;
    }
    found->last_use = ++use_count;
    return found;
}

uint32_t tn_cudnn_conv_plan_count(tn_call *call, const tn_cudnn_problem *problem) {
    int64_t key[TN_CUDNN_KEY_NUMBERS];
    tn_cudnn_ways_key(call, problem, key);
    const std::lock_guard<std::mutex> guard(table_mutex);
    tn_cudnn_ways *ways = find_or_ask(call, problem, key);
    if (!ways) return 1;
    ways->is_counted = true;
    return ways->count ? ways->count : 1;
}

/* ----------------------------------------------------------------------------------------------
 * compiling */

typedef struct batch {
    const tn_cudnn *cudnn;
    uint32_t device, count;
    tn_cudnn_ways *ways[MOST_BATCH];
    uint32_t indices[MOST_BATCH];
} batch;

static tn_status settle_some(void *user, int64_t begin, int64_t end, uint32_t thread) TN_NOEXCEPT {
    const batch *work = (const batch *)user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_cudnn_way_settle(work->cudnn, work->device, work->ways[i], work->indices[i]);
    return TN_OK;
}

static void add_new(tn_cudnn_ways *ways, uint32_t first, uint32_t limit, batch *work) {
    for (uint32_t i = first; i < ways->count && work->count < limit; i++) {
        if (ways->ways[i].state != TN_CUDNN_WAY_NEW) continue;
        work->ways[work->count] = ways;
        work->indices[work->count++] = i;
    }
}

/* Settles a way; while tactics are timed, the next ones with it. */
static void settle(tn_call *call, tn_cudnn_ways *ways, uint32_t index) {
    batch work = {};
    if (ways->ways[index].state != TN_CUDNN_WAY_NEW) return;
    work.cudnn = tn_cudnn_open(call->host);
    work.device = call->device->index;
    add_new(ways, index, 1, &work);
    const uint32_t threads = call->threads > 1 ? call->threads : 1;
    const uint32_t limit =
        threads < MOST_BATCH / BATCH_A_THREAD ? threads * BATCH_A_THREAD : (uint32_t)MOST_BATCH;
    if (is_timing && ways->is_counted) {
        add_new(ways, index + 1, limit, &work);
        for (uint32_t i = 0; i < table_count && work.count < limit; i++)
            if (table[i] != ways && table[i]->is_counted &&
                table[i]->key[13] == (int64_t)work.device)
                add_new(table[i], 0, limit, &work);
    }
    if (work.count == 1 || threads == 1)
        (void)settle_some(&work, 0, 1, 0);
    else
        (void)call->host->parallel_for(call, work.count, 1, settle_some, &work);
}

/* Says whether tactics are being timed, by who asks for what. */
static void note_taken(tn_cudnn_ways *ways, uint32_t index) {
    if (ways->first_taken == UINT32_MAX)
        ways->first_taken = index;
    else if (ways->first_taken != index)
        is_timing = true;
    if (!ways->is_counted) is_timing = false;
}

/* ----------------------------------------------------------------------------------------------
 * plans */

static cudnnStatus_t finish(const tn_cudnn *cudnn, const tn_cudnn_problem *problem, bool is_fused,
                            cudnnBackendDescriptor_t made, tn_cudnn_conv_plan *plan) {
    const cudnnStatus_t status = tn_cudnn_plan_workspace(cudnn, made, &plan->workspace_bytes);
    if (status != CUDNN_STATUS_SUCCESS) {
        tn_cudnn_destroy(cudnn, made);
        return status;
    }
    plan->cudnn = cudnn;
    plan->plan = made;
    tn_cudnn_conv_plan_describe(problem, is_fused, plan);
    return CUDNN_STATUS_SUCCESS;
}

/* What another process compiled, without asking cuDNN for its ways. */
static bool read_stored(const tn_call *call, const tn_cudnn_problem *problem, const int64_t *key,
                        tn_cudnn_conv_plan *plan) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    const uint32_t device = call->device->index;
    const tn_cudnn_store_key stored = tn_cudnn_ways_store_key(cudnn, device, key, call->tactic);
    cudnnBackendDescriptor_t properties = tn_cudnn_properties(cudnn, device, NULL), made = NULL;
    bool is_fused = false;
    uint64_t bytes = 0;
    char *text = NULL;
    if (!properties || !tn_cudnn_store_read(&stored, &is_fused, &text, &bytes)) return false;
    const cudnnStatus_t status = tn_cudnn_plan_read(cudnn, properties, text, bytes, &made);
    free(text);
    return status == CUDNN_STATUS_SUCCESS &&
           finish(cudnn, problem, is_fused, made, plan) == CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t make(tn_call *call, tn_cudnn_ways *ways, uint32_t index,
                          tn_cudnn_conv_plan *plan) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    cudnnBackendDescriptor_t made = NULL;
    settle(call, ways, index);
    const cudnnStatus_t status = tn_cudnn_way_plan(cudnn, call->device->index, ways, index, &made);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    return finish(cudnn, &ways->problem, ways->ways[index].is_fused, made, plan);
}

static tn_status fail(tn_call *call, const tn_cudnn_ways *ways, cudnnStatus_t status) {
    const tn_cudnn_graph *graph = ways ? &ways->graphs[0] : NULL;
    if (graph && graph->status != CUDNN_STATUS_SUCCESS)
        return tn_cudnn_check(call, graph->status, graph->failed);
    if (ways && call->tactic < ways->count &&
        ways->ways[call->tactic].state == TN_CUDNN_WAY_REFUSED)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "cuDNN: planning a convolution: %s %s",
                                tn_cudnn_open(call->host)->cudnnGetErrorString(status),
                                ways->ways[call->tactic].reason);
    return tn_cudnn_check(call, status, "planning a convolution");
}

tn_status tn_cudnn_conv_plan_make(tn_call *call, const tn_cudnn_problem *problem, bool is_exact,
                                  tn_cudnn_conv_plan *plan) {
    int64_t key[TN_CUDNN_KEY_NUMBERS];
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    tn_cudnn_ways_key(call, problem, key);
    const std::lock_guard<std::mutex> guard(table_mutex);
    if (!find(key) && read_stored(call, problem, key, plan)) return TN_OK;
    tn_cudnn_ways *ways = find_or_ask(call, problem, key);
    if (!ways) return fail(call, NULL, CUDNN_STATUS_ALLOC_FAILED);
    if (is_exact && call->tactic >= ways->count)
        return ways->count ? call->host->fail(
                                 call, TN_ERROR_UNSUPPORTED,
                                 "cuDNN has %u ways of doing this convolution, number %u is asked",
                                 ways->count, call->tactic)
                           : fail(call, ways, status);
    const uint32_t first = call->tactic < ways->count ? call->tactic : 0;
    const uint32_t last = is_exact ? first + 1 : ways->count;
    if (is_exact) note_taken(ways, first);
    for (uint32_t i = first; i < last; i++) {
        status = make(call, ways, i, plan);
        if (status == CUDNN_STATUS_SUCCESS) return TN_OK;
    }
    return fail(call, ways, status);
}

void tn_cudnn_conv_plan_clear(tn_cudnn_conv_plan *plan) {
    if (plan->plan) tn_cudnn_destroy(plan->cudnn, plan->plan);
    *plan = {};
}

#endif
