/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate beside the others of its node; see lower_rivals.h. */
#include "builder/timing/lower_rivals.h"

#include <math.h>
#include <string.h>

/* Tactics of one kernel with the same storages and the same chain share what says so. */
static bool is_same_group(const tn_candidate *a, const tn_candidate *b) {
    return a->inputs == b->inputs;
}

bool tn_lower_rivals_is_first(const tn_lower_node *node, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (is_same_group(&node->candidates[i], &node->candidates[index])) return false;
    return true;
}

bool tn_lower_rivals_store_alike(const tn_graph_node *node, const tn_candidate *a,
                                 const tn_candidate *b) {
    const size_t ports = (size_t)node->input_count + node->output_count;
    return memcmp(a->inputs, b->inputs, ports * sizeof *a->inputs) == 0;
}

/* Chains before an input are compared like kernels: none stands for another one. */
static bool has_same_before(const tn_candidate *a, const tn_candidate *b) {
    const uint32_t count = tn_lower_before_count(a);
    return count == tn_lower_before_count(b) && (count == 0 || a->chain->port == b->chain->port);
}

/* The same kernel with the same storages, whatever it does of the chain after it. */
static bool is_sibling(const tn_graph_node *node, const tn_candidate *a, const tn_candidate *b) {
    return a->entry == b->entry && a->kind == b->kind && has_same_before(a, b) &&
           tn_lower_rivals_store_alike(node, a, b);
}

double tn_lower_rivals_best_tactic(const tn_lower_node *node, const tn_candidate *candidate) {
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured && is_same_group(&node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

double tn_lower_rivals_best_chain(const tn_lowering *lowering, uint32_t index,
                                  const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            is_sibling(&lowering->graph->nodes[index], &node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

double tn_lower_rivals_best(const tn_lower_node *node, const tn_candidate *candidate) {
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured && tn_lower_covers(&node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

bool tn_lower_rivals_is_whole(const tn_lower_node *node, const tn_candidate *candidate) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].entry == candidate->entry &&
            has_same_before(&node->candidates[i], candidate) &&
            node->candidates[i].chain_count > candidate->chain_count)
            return false;
    return true;
}
