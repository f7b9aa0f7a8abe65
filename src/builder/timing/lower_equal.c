/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal nodes: those whose candidates have the same timing keys one by one, so the same operator,
 * fields, shapes, types, formats, chain and kernels. The first one, their leader, is measured, and
 * all others have its times: they cannot be given different kernels by noise.
 */
#include "base/hash.h"
#include "base/status.h"
#include "builder/timing/timing.h"

#include <math.h>
#include <stdlib.h>

typedef struct equal_key {
    uint64_t key;
    uint32_t node;
    double weight; /* of a leader: what its nodes take, by the least cost of its candidates */
} equal_key;

static tn_status key_of(const tn_lowering *lowering, uint32_t index, uint64_t *out_key) {
    const tn_lower_node *node = &lowering->nodes[index];
    uint64_t all = tn_hash_add_u64(0, node->candidate_count);
    for (size_t i = 0; i < node->candidate_count; i++) {
        uint64_t key = 0;
        TN_TRY(tn_timing_key(lowering, index, &node->candidates[i], &key));
        all = tn_hash_add_u64(tn_hash_add_u64(all, key), node->candidates[i].kind);
    }
    *out_key = all;
    return TN_OK;
}

static int compare_keys(const void *a, const void *b) {
    const equal_key *left = a, *right = b;
    if (left->key != right->key) return left->key < right->key ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static int compare_weights(const void *a, const void *b) {
    const equal_key *left = a, *right = b;
    if (left->weight != right->weight) return left->weight > right->weight ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static double least_cost(const tn_lower_node *node) {
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        least = fmin(least, node->candidates[i].cost);
    return isfinite(least) ? least : 0;
}

/* Those with candidates and known shapes; others are their own leaders. */
static tn_status list_keys(tn_lowering *lowering, equal_key *keys, size_t *out_count) {
    const tn_graph *graph = lowering->graph;
    *out_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        lowering->nodes[n].leader = n;
        lowering->nodes[n].equal_count = 1;
        if (graph->nodes[n].is_dead || !lowering->nodes[n].is_shaped ||
            lowering->nodes[n].candidate_count == 0)
            continue;
        keys[*out_count].node = n;
        TN_TRY(key_of(lowering, n, &keys[*out_count].key));
        ++*out_count;
    }
    return TN_OK;
}

tn_status tn_lower_equal(tn_lowering *lowering, uint32_t **out_leaders, uint32_t *out_count) {
    const size_t nodes = lowering->graph->node_count;
    equal_key *keys = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *keys);
    uint32_t *leaders = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *leaders);
    size_t count = 0;
    uint32_t leader_count = 0;
    if (!keys || !leaders) return tn_fail_memory("the order of timings");
    TN_TRY(list_keys(lowering, keys, &count));
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (leader_count == 0 || keys[i].key != keys[leader_count - 1].key) {
            keys[leader_count++] = keys[i];
            continue;
        }
        lowering->nodes[keys[i].node].leader = keys[leader_count - 1].node;
        lowering->nodes[keys[leader_count - 1].node].equal_count++;
    }
    for (uint32_t i = 0; i < leader_count; i++)
        keys[i].weight =
            least_cost(&lowering->nodes[keys[i].node]) * lowering->nodes[keys[i].node].equal_count;
    qsort(keys, leader_count, sizeof *keys, compare_weights);
    for (uint32_t i = 0; i < leader_count; i++)
        leaders[i] = keys[i].node;
    *out_leaders = leaders;
    *out_count = leader_count;
    return TN_OK;
}
