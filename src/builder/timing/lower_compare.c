/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate beside the others of its node; see lower_compare.h. */
#include "builder/timing/lower_compare.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/timing.h"

#include <math.h>
#include <string.h>

bool tn_lower_compare_store_alike(const tn_graph_node *node, const tn_candidate *a,
                                  const tn_candidate *b) {
    const size_t ports = (size_t)node->input_count + node->output_count;
    return memcmp(a->inputs, b->inputs, ports * sizeof *a->inputs) == 0;
}

bool tn_lower_compare_is_same_use(const tn_graph_node *node, const tn_candidate *a,
                                  const tn_candidate *b) {
    return a->is_measured && b->is_measured && tn_lower_does_same(a, b) && a->kind == b->kind &&
           tn_lower_compare_store_alike(node, a, b);
}

bool tn_lower_compare_is_lowest(const tn_lowering *lowering, uint32_t node,
                                const tn_candidate *candidate) {
    const tn_graph_node *of = &lowering->graph->nodes[node];
    const tn_type lowest = lowering->precision->lower_type;
    for (uint32_t i = 0; i < of->input_count; i++)
        if (candidate->inputs[i].type == lowest) return true;
    for (uint32_t i = 0; i < of->output_count; i++)
        if (candidate->outputs[i].type == lowest) return true;
    return false;
}

/* Chains before an input are compared like kernels: none stands for another one. */
static bool has_same_before(const tn_candidate *a, const tn_candidate *b) {
    const uint32_t count = tn_lower_before_count(a);
    return count == tn_lower_before_count(b) && (count == 0 || a->chain->port == b->chain->port);
}

/* The same kernel with the same storages, whatever it does of the chain after it. */
static bool is_sibling(const tn_graph_node *node, const tn_candidate *a, const tn_candidate *b) {
    return a->entry == b->entry && a->kind == b->kind && has_same_before(a, b) &&
           tn_lower_compare_store_alike(node, a, b);
}

static double best_tactic_of(const tn_lower_node *node, const tn_candidate *candidate) {
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            tn_lower_is_same_group(&node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

static double best_chain_of(const tn_lowering *lowering, uint32_t index,
                            const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            is_sibling(&lowering->graph->nodes[index], &node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

/* The time with the chain that is nearest in length, of two the longer one; infinity: none was
 * measured. */
static double nearest_chain_of(const tn_lowering *lowering, uint32_t index,
                               const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    double nearest = INFINITY, cost = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *other = &node->candidates[i];
        const double more = (double)other->chain_count - candidate->chain_count;
        const double distance = more > 0 ? more - 0.5 : -more;
        if (!other->is_measured || distance > nearest ||
            (distance == nearest && other->cost >= cost) ||
            !is_sibling(&lowering->graph->nodes[index], other, candidate))
            continue;
        nearest = distance;
        cost = other->cost;
    }
    return cost;
}

double tn_lower_compare_best(const tn_lower_node *node, const tn_candidate *candidate) {
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured && tn_lower_covers(&node->candidates[i], candidate))
            best = fmin(best, node->candidates[i].cost);
    return best;
}

/* Whether it does as much of the chain as its kernel can: a step of its own for the rest costs more
 * than a longer chain, nearly always. */
static bool is_whole(const tn_lower_node *node, const tn_candidate *candidate) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].entry == candidate->entry &&
            has_same_before(&node->candidates[i], candidate) &&
            node->candidates[i].chain_count > candidate->chain_count)
            return false;
    return true;
}

/* A tactic of a kernel whose first one is far behind. */
static bool is_pruned(const tn_lower_node *node, const tn_candidate *candidate) {
    const double first = best_tactic_of(node, candidate),
                 best = tn_lower_compare_best(node, candidate);
    return isfinite(first) && first > tn_timing_policy.pruned_factor * best &&
           first - best > tn_timing_policy.pruned_ns;
}

/* Whether it compiles, and another one with the same storages was measured. */
static bool may_wait(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    if (!candidate->entry || !(tn_timing_prepare_ns(lowering, candidate->entry->kernel) >
                               tn_timing_policy.slow_prepare_ns))
        return false;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured && tn_lower_covers(&node->candidates[i], candidate) &&
            tn_lower_compare_store_alike(&lowering->graph->nodes[index], &node->candidates[i],
                                         candidate))
            return true;
    return false;
}

/* Less of the chain than its kernel could do: where another node may do the rest, where more of it
 * failed, and on the processor, where a step of its own costs little, for the fastest kernels. */
static bool is_short_due(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         bool is_contested) {
    const tn_lower_node *node = &lowering->nodes[index];
    const double longer = best_chain_of(lowering, index, candidate);
    if (is_contested || !isfinite(longer)) return true;
    return !tn_lower_is_on_device(candidate) &&
           longer <= tn_timing_policy.short_factor * tn_lower_compare_best(node, candidate);
}

bool tn_lower_compare_is_due(const tn_lowering *lowering, uint32_t index, size_t at,
                             const tn_lower_due *due) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_candidate *candidate = &node->candidates[at];
    if (candidate->is_measured ||
        (due->is_without_lowest && tn_lower_compare_is_lowest(lowering, index, candidate)) ||
        is_whole(node, candidate) != (due->stage.stage != TN_STAGE_SHORT) ||
        (!due->stage.with_slow_prepare && may_wait(lowering, index, candidate)))
        return false;
    switch (due->stage.stage) {
    case TN_STAGE_FIRST:
        return candidate->cost <= due->limit_ns && tn_lower_is_first_of_group(node, at);
    case TN_STAGE_TACTICS:
        return isfinite(best_tactic_of(node, candidate)) &&
               best_tactic_of(node, candidate) <=
                   tn_timing_policy.tactics_factor * tn_lower_compare_best(node, candidate);
    case TN_STAGE_SHORT:
        return is_short_due(lowering, index, candidate, due->is_contested);
    default:
        return !is_pruned(node, candidate);
    }
}

/* How much slower it is than the best that does as much; infinity where it could not be chosen, or
 * where it was measured in another build. What was disturbed may take as little as its floor. */
static double distance(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_graph_node *graph_node = &lowering->graph->nodes[index];
    const double least = fmin(candidate->floor, candidate->cost),
                 best = tn_lower_compare_best(node, candidate);
    double same = INFINITY;
    if (!candidate->is_measured || candidate->is_remembered ||
        !(least <= tn_timing_policy.beside_factor * best))
        return INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            tn_lower_does_same(&node->candidates[i], candidate) &&
            tn_lower_compare_store_alike(graph_node, &node->candidates[i], candidate))
            same = fmin(same, node->candidates[i].cost);
    return least <= tn_timing_policy.beside_same_factor * same ? candidate->cost / best : INFINITY;
}

uint32_t tn_lower_compare_list_near(const tn_lowering *lowering, uint32_t index,
                                    tn_candidate **candidates) {
    const tn_lower_node *node = &lowering->nodes[index];
    double distances[TN_TIMING_MOST_OPEN];
    uint32_t count = 0;
    for (size_t i = 0; i < node->candidate_count; i++) {
        const double own = distance(lowering, index, &node->candidates[i]);
        uint32_t at = count;
        if (!isfinite(own)) continue;
        if (count == TN_TIMING_MOST_OPEN && own >= distances[count - 1]) continue;
        if (count < TN_TIMING_MOST_OPEN)
            count++;
        else
            at--;
        for (; at > 0 && distances[at - 1] > own; at--) {
            distances[at] = distances[at - 1];
            candidates[at] = candidates[at - 1];
        }
        distances[at] = own;
        candidates[at] = &node->candidates[i];
    }
    return count;
}

/* What was not measured must not win by a guess over what was: a tactic over those beside it, a
 * kernel over others. With another part of the chain it takes about what it does with the nearest
 * one: of a library's kernels an operand can cost as much as the product. */
static double guess(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                    double highest) {
    const double group = best_tactic_of(&lowering->nodes[index], candidate);
    const double sibling = nearest_chain_of(lowering, index, candidate);
    if (isfinite(group)) return tn_timing_policy.unmeasured_factor * group;
    if (isfinite(sibling)) return sibling;
    return fmax(candidate->cost, tn_timing_policy.unmeasured_factor * highest);
}

/* The fastest that was measured on the processor, or on the device. */
static const tn_candidate *fastest_of(const tn_lower_node *node, bool is_on_device) {
    const tn_candidate *fastest = NULL;
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *candidate = &node->candidates[i];
        if (candidate->is_measured && tn_lower_is_on_device(candidate) == is_on_device &&
            (!fastest || candidate->cost < fastest->cost))
            fastest = candidate;
    }
    return fastest;
}

void tn_lower_compare_find_ratios(tn_lowering *lowering) {
    for (int is_on_device = 0; is_on_device < 2; is_on_device++) {
        double measured = 0, estimated = 0;
        for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
            const tn_candidate *fastest = fastest_of(&lowering->nodes[n], is_on_device);
            if (!fastest) continue;
            measured += fastest->cost;
            estimated += tn_lower_estimate(lowering, n, fastest);
        }
        lowering->ratios[is_on_device] = measured > 0 && estimated > 0 ? measured / estimated : 1;
    }
}

void tn_lower_compare_guess_rest(const tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    double highest = 0;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) highest = fmax(highest, node->candidates[i].cost);
    for (size_t i = 0; i < node->candidate_count; i++) {
        tn_candidate *candidate = &node->candidates[i];
        if (candidate->is_measured) continue;
        candidate->cost *= lowering->ratios[tn_lower_is_on_device(candidate)];
        if (highest > 0) candidate->cost = guess(lowering, index, candidate, highest);
    }
}
