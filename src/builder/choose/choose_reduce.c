/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates can be in a best choice: the search is for those alone. Kernels and tactics that
 * read and write the same differ in cost alone, and many are slower than any conversions could make
 * up for. What a choice has to do without is so, too: a search that tries pairs of neighbours would
 * try such candidates with all that are beside them, which took seconds.
 */
#include "base/status.h"
#include "builder/choose/choose.h"

#include <math.h>

static bool is_same_list(const tn_choose_use *a, const tn_choose_use *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i].tensor != b[i].tensor || a[i].storage != b[i].storage) return false;
    return true;
}

/* Whether one could stand for the other in any choice: they differ in cost alone. */
static bool is_same_use(const tn_choose_candidate *a, const tn_choose_candidate *b) {
    if (a->chain_count != b->chain_count || a->input_count != b->input_count ||
        a->output_count != b->output_count || !is_same_list(a->inputs, b->inputs, a->input_count) ||
        !is_same_list(a->outputs, b->outputs, a->output_count))
        return false;
    for (uint32_t i = 0; i < a->chain_count; i++)
        if (a->chain[i] != b->chain[i]) return false;
    return true;
}

static bool uses_any(const tn_choose_candidate *candidate, uint32_t storages) {
    for (uint32_t i = 0; i < candidate->input_count; i++)
        if (storages >> candidate->inputs[i].storage & 1) return true;
    for (uint32_t i = 0; i < candidate->output_count; i++)
        if (storages >> candidate->outputs[i].storage & 1) return true;
    return false;
}

/* By tensor: what its conversions cost at most, whoever writes and reads it. */
static double *list_conversions(tn_arena *arena, const tn_choose_problem *problem) {
    const size_t storages = problem->storage_count;
    double *most = tn_arena_allocate(arena, problem->tensor_count + 1u, sizeof *most);
    for (size_t t = 0; most && t < problem->tensor_count; t++)
        for (size_t from = 0; from < storages; from++) {
            double sum = 0;
            for (size_t to = 0; to < storages; to++)
                sum += problem->reformat[(t * storages + from) * storages + to];
            most[t] = fmax(most[t], sum);
        }
    return most;
}

static double with_conversions(const tn_choose_candidate *candidate, const double *conversions) {
    double sum = candidate->cost;
    for (uint32_t i = 0; i < candidate->input_count; i++)
        sum += conversions[candidate->inputs[i].tensor];
    for (uint32_t i = 0; i < candidate->output_count; i++)
        sum += conversions[candidate->outputs[i].tensor];
    return sum;
}

/* By node: what it costs at most to have it done by itself, in whatever choice. */
static double *list_bounds(tn_arena *arena, const tn_choose_problem *problem, uint32_t left_out) {
    const double *conversions = list_conversions(arena, problem);
    double *bounds = tn_arena_allocate(arena, problem->node_count + 1u, sizeof *bounds);
    if (!conversions) return NULL;
    for (uint32_t n = 0; bounds && n < problem->node_count; n++) {
        bounds[n] = INFINITY;
        for (uint32_t c = 0; c < problem->nodes[n].candidate_count; c++) {
            const tn_choose_candidate *candidate = &problem->nodes[n].candidates[c];
            if (candidate->chain_count == 0 && !uses_any(candidate, left_out))
                bounds[n] = fmin(bounds[n], with_conversions(candidate, conversions));
        }
    }
    return bounds;
}

/* Whether its nodes could be done one by one for less, whatever that converts. */
static bool is_pruned(const tn_choose_candidate *candidate, uint32_t node, const double *bounds) {
    double bound = bounds[node];
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        bound += bounds[candidate->chain[i]];
    return candidate->cost > bound;
}

/* The node's candidates without those that use a storage of `left_out`, without those that another
 * one with the same use is as good as, and without those that are in no best choice; their numbers
 * in `numbers`. */
static uint32_t reduce_node(const tn_choose_problem *whole, uint32_t index, uint32_t left_out,
                            const double *bounds, tn_choose_candidate *kept, uint32_t *numbers) {
    const tn_choose_node *node = &whole->nodes[index];
    uint32_t count = 0;
    for (uint32_t c = 0; c < node->candidate_count; c++) {
        const tn_choose_candidate *candidate = &node->candidates[c];
        uint32_t i = 0;
        if (uses_any(candidate, left_out) || is_pruned(candidate, index, bounds)) continue;
        while (i < count && !is_same_use(&kept[i], candidate))
            i++;
        if (i < count && kept[i].cost <= candidate->cost) continue;
        if (i == count) count++;
        kept[i] = *candidate;
        numbers[i] = c;
    }
    return count;
}

tn_status tn_choose_reduce(tn_arena *arena, const tn_choose_problem *whole, uint32_t left_out,
                           tn_choose_problem *out_reduced, uint32_t ***out_numbers) {
    tn_choose_node *nodes = tn_arena_allocate(arena, whole->node_count + 1u, sizeof *nodes);
    uint32_t **numbers = tn_arena_allocate(arena, whole->node_count + 1u, sizeof *numbers);
    const double *bounds = list_bounds(arena, whole, left_out);
    if (!nodes || !numbers || !bounds) return tn_fail_memory("the choice of kernels");
    for (uint32_t n = 0; n < whole->node_count; n++) {
        const size_t count = (size_t)whole->nodes[n].candidate_count + 1;
        tn_choose_candidate *kept = tn_arena_allocate(arena, count, sizeof *kept);
        numbers[n] = tn_arena_allocate(arena, count, sizeof **numbers);
        if (!kept || !numbers[n]) return tn_fail_memory("the choice of kernels");
        nodes[n] =
            (tn_choose_node){reduce_node(whole, n, left_out, bounds, kept, numbers[n]), kept};
    }
    *out_reduced = *whole;
    out_reduced->nodes = nodes;
    *out_numbers = numbers;
    return TN_OK;
}
