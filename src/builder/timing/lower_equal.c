/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal nodes: those whose candidates have the same timing keys one by one, so the same operator,
 * fields, shapes, types, formats, chain and kernels. The first one, their leader, is measured, and
 * all others have its times: they cannot be given different kernels by noise.
 */
#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/lower_facts.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing.h"

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
    return node->candidate_count > 0 ? tn_lower_candidates_least(node) : 0;
}

/* Those with candidates and known shapes; others are their own leaders. */
static tn_status list_keys(const tn_lowering *lowering, tn_lower_leaders *leaders, equal_key *keys,
                           size_t *out_count) {
    const tn_graph *graph = lowering->graph;
    *out_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        leaders->leader[n] = n;
        leaders->equal_count[n] = 1;
        if (graph->nodes[n].is_dead || !lowering->facts->is_shaped[n] ||
            lowering->nodes[n].candidate_count == 0)
            continue;
        keys[*out_count].node = n;
        TN_TRY(key_of(lowering, n, &keys[*out_count].key));
        ++*out_count;
    }
    return TN_OK;
}

/* Of sorted keys: the first of each come to the front. */
static uint32_t find_leaders(tn_lower_leaders *leaders, equal_key *keys, size_t count) {
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (found == 0 || keys[i].key != keys[found - 1].key) {
            keys[found++] = keys[i];
            continue;
        }
        leaders->leader[keys[i].node] = keys[found - 1].node;
        leaders->equal_count[keys[found - 1].node]++;
    }
    return found;
}

tn_status tn_lower_equal(const tn_lowering *lowering, tn_lower_leaders *out_leaders) {
    const size_t nodes = lowering->graph->node_count;
    equal_key *keys = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *keys);
    tn_lower_leaders leaders = {0};
    size_t count = 0;
    leaders.nodes = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *leaders.nodes);
    leaders.leader = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *leaders.leader);
    leaders.equal_count = tn_arena_allocate(lowering->arena, nodes + 1, sizeof(uint32_t));
    if (!keys || !leaders.nodes || !leaders.leader || !leaders.equal_count)
        return tn_fail_memory("the order of timings");
    TN_TRY(list_keys(lowering, &leaders, keys, &count));
    qsort(keys, count, sizeof *keys, compare_keys);
    leaders.count = find_leaders(&leaders, keys, count);
    for (uint32_t i = 0; i < leaders.count; i++)
        keys[i].weight =
            least_cost(&lowering->nodes[keys[i].node]) * leaders.equal_count[keys[i].node];
    qsort(keys, leaders.count, sizeof *keys, compare_weights);
    for (uint32_t i = 0; i < leaders.count; i++)
        leaders.nodes[i] = keys[i].node;
    *out_leaders = leaders;
    return TN_OK;
}
