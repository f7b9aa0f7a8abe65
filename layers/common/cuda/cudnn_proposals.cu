/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cuDNN proposes for a problem, kept for the next who asks: the builder asks for each tactic
 * and each context, and networks repeat their layers. See cudnn_conv_plan.h.
 */
#if __has_include(<cudnn.h>)
#include "common/cuda/cudnn_conv_plan.h"

#include <mutex>
#include <new>
#include <string.h>

enum { MOST_KEPT = 64, MOST_FUSED = 5, MOST_PLAIN = 5, MOST_PLAIN_BESIDE_FUSED = 2 };

/* All that graphs and proposals depend on; zeroed first, so that bytes compare. */
struct problem_key {
    tn_cudnn_tensor x, w, y;
    tn_cudnn_convolution convolution;
    uint32_t device, activation, has_residual, has_bias, is_folded, may_round;
    float alpha, beta;
};

struct tn_cudnn_proposals {
    problem_key key;
    uint64_t users, last_use; /* guarded by the table's mutex */
    tn_cudnn_proposal fused, plain;
};

/* Guarded by the mutex. Those that nobody uses stay until their place is needed. */
static std::mutex table_mutex;
static tn_cudnn_proposals *table[MOST_KEPT];
static uint64_t use_count;

static void make_key(const tn_call *call, const tn_cudnn_problem *problem, problem_key *key) {
    memset((void *)key, 0, sizeof(*key));
    memcpy((void *)&key->x, &problem->x, sizeof(key->x));
    memcpy((void *)&key->w, &problem->w, sizeof(key->w));
    memcpy((void *)&key->y, &problem->y, sizeof(key->y));
    memcpy((void *)&key->convolution, &problem->convolution, sizeof(key->convolution));
    key->device = call->device->index;
    key->activation = problem->epilogue.activation;
    key->has_residual = problem->epilogue.residual != UINT32_MAX;
    key->has_bias = problem->has_bias;
    key->is_folded = problem->is_folded;
    key->may_round = problem->kind->may_round;
    key->alpha = problem->epilogue.alpha;
    key->beta = problem->epilogue.beta;
}

/* Asks for the configurations of one graph. A graph that cuDNN refuses has none. */
static void propose(const tn_call *call, const tn_cudnn_problem *problem, cudnnHandle_t handle,
                    bool is_fused, uint32_t limit, tn_cudnn_proposal *proposal) {
    const bool is_strict = problem->storage == TN_F32 && !problem->kind->may_round;
    proposal->graph.cudnn = tn_cudnn_open(call->host);
    if (tn_cudnn_proposal_describe(problem, is_fused, proposal) &&
        tn_cudnn_graph_finish(&proposal->graph, handle) == CUDNN_STATUS_SUCCESS)
        proposal->count =
            tn_cudnn_graph_configs(&proposal->graph, is_strict, limit, proposal->configs);
}

static void destroy(tn_cudnn_proposals *proposals) {
    tn_cudnn_graph_clear(&proposals->fused.graph);
    tn_cudnn_graph_clear(&proposals->plain.graph);
    delete proposals;
}

/* A place in the table: a free one, or that of the longest unused; null when all are in use. */
static tn_cudnn_proposals **find_place(void) {
    tn_cudnn_proposals **best = NULL;
    for (tn_cudnn_proposals *&place : table) {
        if (!place) return &place;
        if (place->users == 0 && (!best || place->last_use < (*best)->last_use)) best = &place;
    }
    if (best) {
        destroy(*best);
        *best = NULL;
    }
    return best;
}

static tn_cudnn_proposals *find(const problem_key *key) {
    for (tn_cudnn_proposals *proposals : table)
        if (proposals && memcmp(&proposals->key, key, sizeof(*key)) == 0) return proposals;
    return NULL;
}

tn_status tn_cudnn_proposals_retain(tn_call *call, const tn_cudnn_problem *problem,
                                    cudnnHandle_t handle, tn_cudnn_proposals **out_proposals) {
    problem_key key;
    make_key(call, problem, &key);
    const std::lock_guard<std::mutex> guard(table_mutex);
    tn_cudnn_proposals *found = find(&key);
    if (!found) {
        found = new (std::nothrow) tn_cudnn_proposals();
        if (!found) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for cuDNN's plans");
        memcpy((void *)&found->key, &key, sizeof(key));
        propose(call, problem, handle, true, MOST_FUSED, &found->fused);
        propose(call, problem, handle, false,
                found->fused.count ? MOST_PLAIN_BESIDE_FUSED : MOST_PLAIN, &found->plain);
        tn_cudnn_proposals **place = find_place();
        if (place) *place = found;
    }
    found->users++;
    found->last_use = ++use_count;
    *out_proposals = found;
    return TN_OK;
}

void tn_cudnn_proposals_release(tn_cudnn_proposals *proposals) {
    if (!proposals) return;
    const std::lock_guard<std::mutex> guard(table_mutex);
    if (--proposals->users > 0) return;
    for (const tn_cudnn_proposals *kept : table)
        if (kept == proposals) return;
    destroy(proposals);
}

const tn_cudnn_proposal *tn_cudnn_proposals_get(const tn_cudnn_proposals *proposals,
                                                bool is_fused) {
    return is_fused ? &proposals->fused : &proposals->plain;
}

#endif
