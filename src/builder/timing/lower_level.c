/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What measured costs mean for the choice. Two that differ by less than their noise, or by less
 * than matters, are equal, and the one that is better by rule is taken: the one that does more of
 * its chain, then the one with the lower estimate, which comes first in the node's list.
 */
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing_policy.h"

#include <math.h>

static double tolerance(const tn_candidate *a, const tn_candidate *b) {
    return fmax(tn_timing_policy.least_difference, fmax(a->noise, b->noise));
}

/* What reading takes of what it makes weights larger by. */
static double memory_cost(const tn_lowering *lowering, const tn_candidate *candidate) {
    return lowering->is_resident || tn_lower_is_on_device(candidate)
               ? 0
               : candidate->grown_bytes / lowering->rates->weights_bytes_a_ns;
}

static double ranked_cost(const tn_lowering *lowering, const tn_candidate *candidate) {
    const uint32_t rank = candidate->rank < tn_timing_policy.rank_limit
                              ? candidate->rank
                              : tn_timing_policy.rank_limit;
    return candidate->cost * (1 + tn_timing_policy.rank_share * rank) +
           memory_cost(lowering, candidate);
}

static bool has_measured(const tn_lower_node *node) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) return true;
    return false;
}

/* Of those that do most of the chain the fastest; null: none was run. */
static const tn_candidate *best_fused(const tn_lower_node *node) {
    const tn_candidate *best = NULL;
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *candidate = &node->candidates[i];
        if (candidate->chain_count == 0 || !candidate->is_measured) continue;
        if (!best || candidate->chain_count > best->chain_count ||
            (candidate->chain_count == best->chain_count && candidate->cost < best->cost))
            best = candidate;
    }
    return best;
}

/* Among those that could stand for each other, the first one that is equal to the fastest has the
 * fastest one's cost, and what else is equal to it costs more. */
static double level_same(const tn_graph_node *graph_node, const tn_lower_node *node, size_t index,
                         const double *ranked) {
    const tn_candidate *own = &node->candidates[index];
    size_t best = index, first = node->candidate_count;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (tn_lower_compare_is_same_use(graph_node, &node->candidates[i], own) &&
            ranked[i] < ranked[best])
            best = i;
    for (size_t i = 0; i < node->candidate_count && first == node->candidate_count; i++)
        if (tn_lower_compare_is_same_use(graph_node, &node->candidates[i], own) &&
            ranked[i] <=
                (1 + tolerance(&node->candidates[i], &node->candidates[best])) * ranked[best])
            first = i;
    if (index == first) return ranked[best];
    return fmax(ranked[index], (1 + tolerance(own, &node->candidates[first])) * ranked[best]);
}

void tn_lower_level(const tn_lowering *lowering, uint32_t index, double *ranked,
                    double *out_costs) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_candidate *fused = best_fused(node);
    const bool is_by_estimate = !has_measured(node); /* which has the rule in it */
    for (size_t i = 0; i < node->candidate_count; i++)
        ranked[i] =
            is_by_estimate ? node->candidates[i].cost : ranked_cost(lowering, &node->candidates[i]);
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *candidate = &node->candidates[i];
        out_costs[i] = candidate->is_measured
                           ? level_same(&lowering->graph->nodes[index], node, i, ranked)
                           : ranked[i];
        if (fused && candidate->chain_count < fused->chain_count)
            out_costs[i] *= 1 + tolerance(candidate, fused);
    }
}

bool tn_lower_is_made_again(const tn_lowering *lowering, uint32_t index, const tn_kernel *kernel) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (!kernel->reshape || node->input_count == 0 || node->inputs[0] == TN_NO_TENSOR) return false;
    const tn_inferred_tensor *least = &lowering->points[TN_POINT_MINIMUM]->tensors[node->inputs[0]];
    const tn_inferred_tensor *most = &lowering->points[TN_POINT_MAXIMUM]->tensors[node->inputs[0]];
    if (!least->is_known || !most->is_known) return false;
    for (uint32_t axis = 1; axis < least->storage.shape.rank; axis++)
        if (least->storage.shape.extents[axis] != most->storage.shape.extents[axis]) return true;
    return false;
}

double tn_lower_made_cost(const tn_lowering *lowering, uint32_t index,
                          const tn_candidate *candidate) {
    const tn_kernel *kernel = candidate->entry ? candidate->entry->kernel : NULL;
    if (!lowering->options->no_timing || !kernel || kernel->prepare ||
        !(kernel->traits & TN_KERNEL_OPENMP) || !tn_lower_is_made_again(lowering, index, kernel))
        return 0;
    return tn_timing_policy.made_plain_ns / tn_timing_policy.runs_a_size;
}

/* Estimates are of one thread, and kernels are made on all of them: both are shared alike. */
static double new_shape_cost(const tn_lowering *lowering, uint32_t made) {
    return lowering->options->no_timing
               ? made * tn_timing_policy.made_ns / tn_timing_policy.runs_a_size
               : 0;
}

bool tn_lower_is_worth_loading(double cost, double without_cost) {
    return without_cost > cost * tn_timing_policy.without_openmp_factor;
}

bool tn_lower_is_worth_openmp(const tn_lowering *lowering, const tn_lower_openmp *openmp,
                              double cost, double without_cost) {
    const double team =
        lowering->options->threads > 1 ? openmp->steps * tn_timing_policy.team_ns : 0;
    return tn_lower_is_worth_loading(cost, without_cost) &&
           without_cost > cost + team + new_shape_cost(lowering, openmp->made);
}

double tn_lower_left_out_cost(void) {
    return tn_timing_policy.impossible_ns;
}
