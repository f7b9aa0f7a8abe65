/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of convolutions; see cudnn_conv_plan.h. Tactics are the engine configurations for the
 * convolution with its epilogue in one operation, then those for the convolution alone. The
 * candidates of the problems that were asked for last are kept in one table of the process.
 */
#include "kit/cuda/cudnn/cudnn_conv.h"
#if TN_HAS_CUDNN
#include "kit/cuda/cudnn/cudnn_candidates.h"
#include <tenon/kit/cuda/launch.h>

#include <atomic>
#include <mutex>
#include <stdlib.h>
#include <string.h>

/* cuDNN compiles on few threads at once: four take 0.4 of the time of one, sixteen no less. */
enum { MOST_KEPT = 512, LANES = 4, BATCH = 48, MOST_DEVICES = 64 };

/* Guarded by the mutex, what they point at too; in the order in which they came. */
static std::mutex table_mutex;
static tn_cudnn_candidates *table[MOST_KEPT];
static uint32_t table_count;
static uint64_t use_count;
/* Tactics are being timed: what was made last of a problem whose candidates were counted was given
 * up before the next was asked for. An engine keeps what it makes. */
static bool is_timing, has_made;
static std::atomic<const tn_cudnn_conv_plan *> last_made;
/* Of each GPU, made when they are needed first; they plan and run nothing. */
static cudnnHandle_t handles[MOST_DEVICES][LANES];

/* ----------------------------------------------------------------------------------------------
 * the table */

static tn_status get_planner(tn_call *call, uint32_t lane, tn_cudnn_planner *out_planner) {
    const tn_cudnn *cudnn = tn_cudnn_open(call->host);
    const uint32_t device = call->device->index;
    if (!cudnn || device >= MOST_DEVICES)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "cuDNN is not there");
    cudnnHandle_t *handle = &handles[device][lane];
    if (!*handle) {
        const tn_status status =
            tn_cudnn_check(call, cudnn->cudnnCreate(handle), "making a handle");
        if (status != TN_OK) {
            *handle = NULL;
            return status;
        }
    }
    *out_planner = {cudnn, *handle, device};
    return TN_OK;
}

static tn_cudnn_candidates *find(const int64_t *key) {
    for (uint32_t i = 0; i < table_count; i++)
        if (memcmp(table[i]->key, key, sizeof(table[i]->key)) == 0) return table[i];
    return NULL;
}

static void drop_oldest(void) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < table_count; i++)
        if (table[i]->last_use < table[oldest]->last_use) oldest = i;
    tn_cudnn_candidates_clear(table[oldest]);
    free(table[oldest]);
    memmove((void *)&table[oldest], (const void *)&table[oldest + 1],
            (table_count - oldest - 1) * sizeof(table[0]));
    table_count--;
}

/* Null when there is no memory. */
static tn_cudnn_candidates *find_or_ask(const tn_cudnn_planner *planner,
                                        const tn_cudnn_problem *problem, const int64_t *key) {
    tn_cudnn_candidates *found = find(key);
    if (!found) {
        found = (tn_cudnn_candidates *)calloc(1, sizeof(*found));
        if (!found) return NULL;
        if (table_count == MOST_KEPT) drop_oldest();
        tn_cudnn_candidates_ask(planner, problem, key, found);
        table[table_count++] = found;
    }
    found->last_use = ++use_count;
    return found;
}

/* How many candidates there are is kept too, so that the next build need not ask: as text under a
 * number that no candidate has. */
static const uint32_t COUNT_INDEX = 1000;

static uint32_t read_count(const tn_cudnn_planner *planner, const int64_t *key) {
    const tn_cudnn_store_key stored = tn_cudnn_candidates_store_key(planner, key, COUNT_INDEX);
    bool is_fused = false;
    uint64_t bytes = 0;
    char *text = NULL;
    if (!tn_cudnn_store_read(&stored, &is_fused, &text, &bytes)) return 0;
    const uint32_t count = bytes == 1 && text[0] > 'a' && text[0] <= 'a' + TN_CUDNN_MOST_CANDIDATES
                               ? (uint32_t)(text[0] - 'a')
                               : 0;
    free(text);
    return count;
}

static void write_count(const tn_cudnn_planner *planner, const int64_t *key, uint32_t count) {
    const tn_cudnn_store_key stored = tn_cudnn_candidates_store_key(planner, key, COUNT_INDEX);
    const char text = (char)('a' + count);
    if (count > 0) (void)tn_cudnn_store_write(&stored, false, &text, 1);
}

tn_status tn_cudnn_conv_plan_count(tn_call *call, const tn_cudnn_problem *problem) {
    int64_t key[TN_CUDNN_KEY_NUMBERS];
    tn_cudnn_planner planner;
    tn_cudnn_candidates_key(call, problem, key);
    const std::lock_guard<std::mutex> guard(table_mutex);
    const tn_status status = get_planner(call, 0, &planner);
    if (status != TN_OK) return status;
    call->tactic_count = find(key) ? 0 : read_count(&planner, key);
    if (call->tactic_count > 0) return TN_OK;
    tn_cudnn_candidates *candidates = find_or_ask(&planner, problem, key);
    if (!candidates)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for cuDNN's proposals");
    if (!candidates->is_counted) write_count(&planner, key, candidates->count);
    candidates->is_counted = true;
    call->tactic_count = candidates->count ? candidates->count : 1;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * compiling */

typedef struct batch {
    uint32_t lanes, count;
    tn_cudnn_planner planners[LANES];
    std::atomic<uint32_t> next;
    tn_cudnn_candidates *candidates[BATCH];
    uint32_t indices[BATCH];
} batch;

/* Items are lanes: each takes candidates until there are no more. */
static tn_status settle_some(void *user, int64_t begin, int64_t end, uint32_t thread) TN_NOEXCEPT {
    batch *work = (batch *)user;
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++) {
        (void)cudaSetDevice((int)work->planners[lane].device);
        for (uint32_t i; (i = work->next++) < work->count;)
            tn_cudnn_candidate_settle(&work->planners[lane], work->candidates[i], work->indices[i]);
    }
    return TN_OK;
}

static void add_new(tn_cudnn_candidates *candidates, uint32_t index, batch *work) {
    if (index >= candidates->count ||
        candidates->candidates[index].state != TN_CUDNN_CANDIDATE_NEW || work->count == BATCH)
        return;
    work->candidates[work->count] = candidates;
    work->indices[work->count++] = index;
}

/* Builds do not come to all kernels and types at once. */
static bool is_alike(const tn_cudnn_candidates *a, const tn_cudnn_candidates *b) {
    return a->problem.storage == b->problem.storage && a->problem.y_type == b->problem.y_type &&
           a->problem.kind->may_round == b->problem.kind->may_round;
}

/* Settles a candidate; while tactics are timed, the next ones with it: builds time the first
 * candidates of all problems, then what is left of a problem. */
static tn_status settle(tn_call *call, tn_cudnn_candidates *candidates, uint32_t index) {
    batch work = {};
    if (candidates->candidates[index].state != TN_CUDNN_CANDIDATE_NEW) return TN_OK;
    add_new(candidates, index, &work);
    if (is_timing && candidates->is_counted && call->threads > 1) {
        for (uint32_t i = index + 1; index > 0 && i < candidates->count; i++)
            add_new(candidates, i, &work);
        for (uint32_t i = 0; index == 0 && i < table_count; i++)
            if (table[i] != candidates && table[i]->is_counted && is_alike(table[i], candidates) &&
                table[i]->key[TN_CUDNN_KEY_DEVICE] == candidates->key[TN_CUDNN_KEY_DEVICE])
                add_new(table[i], 0, &work);
    }
    work.lanes = work.count < (uint32_t)LANES ? work.count : (uint32_t)LANES;
    for (uint32_t lane = 0; lane < work.lanes; lane++) {
        const tn_status status = get_planner(call, lane, &work.planners[lane]);
        if (status != TN_OK) return status;
    }
    if (work.lanes == 1) return settle_some(&work, 0, 1, 0);
    return call->host->parallel_for(call, work.lanes, 1, settle_some, &work);
}

/* Before a plan is made for a state. */
static void note_asked(const tn_cudnn_candidates *candidates) {
    is_timing = candidates->is_counted && has_made && last_made == NULL;
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

/* What another process compiled, without asking cuDNN for its candidates. */
static bool read_stored(const tn_call *call, const tn_cudnn_planner *planner,
                        const tn_cudnn_problem *problem, const int64_t *key,
                        tn_cudnn_conv_plan *plan) {
    const tn_cudnn_store_key stored = tn_cudnn_candidates_store_key(planner, key, call->tactic);
    cudnnBackendDescriptor_t made = NULL;
    bool is_fused = false;
    uint64_t bytes = 0;
    char *text = NULL;
    if (!tn_cudnn_store_read(&stored, &is_fused, &text, &bytes)) return false;
    const cudnnStatus_t status =
        tn_cudnn_plan_read(planner->cudnn, planner->handle, text, bytes, &made);
    free(text);
    return status == CUDNN_STATUS_SUCCESS &&
           finish(planner->cudnn, problem, is_fused, made, plan) == CUDNN_STATUS_SUCCESS;
}

static tn_status make(tn_call *call, const tn_cudnn_planner *planner,
                      tn_cudnn_candidates *candidates, uint32_t index, tn_cudnn_conv_plan *plan) {
    cudnnBackendDescriptor_t made = NULL;
    const tn_cudnn_candidate *candidate = &candidates->candidates[index];
    const tn_status settled = settle(call, candidates, index);
    if (settled != TN_OK) return settled;
    if (candidate->state == TN_CUDNN_CANDIDATE_REFUSED)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "cuDNN: planning a convolution: %s %s",
                                planner->cudnn->cudnnGetErrorString(candidate->status),
                                candidate->reason);
    cudnnStatus_t status = tn_cudnn_candidate_plan(planner, candidates, index, &made);
    if (status == CUDNN_STATUS_SUCCESS)
        status = finish(planner->cudnn, &candidates->problem, candidate->is_fused, made, plan);
    return tn_cudnn_check(call, status, "planning a convolution");
}

static tn_status make_any(tn_call *call, const tn_cudnn_planner *planner,
                          tn_cudnn_candidates *candidates, bool is_exact,
                          tn_cudnn_conv_plan *plan) {
    const tn_cudnn_graph *plain = &candidates->graphs[0];
    if (candidates->count == 0 && plain->status != CUDNN_STATUS_SUCCESS)
        return tn_cudnn_check(call, plain->status, plain->failed);
    if (candidates->count == 0 || (is_exact && call->tactic >= candidates->count))
        return call->host->fail(
            call, TN_ERROR_UNSUPPORTED,
            "cuDNN has %u candidates of doing this convolution, number %u is asked",
            candidates->count, call->tactic);
    const uint32_t first = call->tactic < candidates->count ? call->tactic : 0;
    const uint32_t last = is_exact ? first + 1 : candidates->count;
    tn_status status = TN_OK;
    if (is_exact) note_asked(candidates);
    for (uint32_t i = first; i < last; i++) {
        status = make(call, planner, candidates, i, plan);
        if (status == TN_OK) break;
    }
    return status;
}

tn_status tn_cudnn_conv_plan_make(tn_call *call, const tn_cudnn_problem *problem, bool is_exact,
                                  tn_cudnn_conv_plan *plan) {
    int64_t key[TN_CUDNN_KEY_NUMBERS];
    tn_cudnn_planner planner;
    tn_cudnn_candidates_key(call, problem, key);
    const std::lock_guard<std::mutex> guard(table_mutex);
    const tn_status status = get_planner(call, 0, &planner);
    if (status != TN_OK) return status;
    if (!find(key) && read_stored(call, &planner, problem, key, plan)) return TN_OK;
    tn_cudnn_candidates *candidates = find_or_ask(&planner, problem, key);
    if (!candidates)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for cuDNN's proposals");
    const tn_status made = make_any(call, &planner, candidates, is_exact, plan);
    if (made == TN_OK && is_exact) {
        has_made = true;
        last_made = plan;
    }
    return made;
}

void tn_cudnn_conv_plan_clear(tn_cudnn_conv_plan *plan) {
    const tn_cudnn_conv_plan *same = plan;
    last_made.compare_exchange_strong(same, NULL);
    if (plan->plan) tn_cudnn_destroy(plan->cudnn, plan->plan);
    *plan = {};
}

#endif
