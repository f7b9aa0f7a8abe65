/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a candidate by itself; see candidate.h. */
#include "builder/lower/candidate.h"

#include <math.h>
#include <string.h>

bool tn_lower_is_on_device(const tn_candidate *candidate) {
    return candidate->entry && strcmp(candidate->entry->kernel->device, "cpu") != 0;
}

tn_tensor_id tn_lower_output(const tn_lowering *lowering, uint32_t node,
                             const tn_candidate *candidate, uint32_t index) {
    if (index == 0 && candidate->chain_count > tn_lower_before_count(candidate))
        node = candidate->chain->nodes[candidate->chain_count - 1];
    return lowering->graph->nodes[node].outputs[index];
}

uint32_t tn_lower_operand_count(const tn_candidate *candidate) {
    return candidate->chain ? candidate->chain->operand_counts[candidate->chain_count] : 0;
}

tn_tensor_id tn_lower_input(const tn_lowering *lowering, uint32_t node,
                            const tn_candidate *candidate, uint32_t input) {
    if (tn_lower_before_count(candidate) > 0 && input + 1 == candidate->chain->port)
        return candidate->chain->stored;
    return lowering->graph->nodes[node].inputs[input];
}

uint32_t tn_lower_before_count(const tn_candidate *candidate) {
    return candidate->chain ? candidate->chain->before_count : 0;
}

bool tn_lower_covers(const tn_candidate *a, const tn_candidate *b) {
    const uint32_t before = tn_lower_before_count(b), own = tn_lower_before_count(a);
    return a->chain_count - own >= b->chain_count - before && own >= before &&
           (before == 0 || a->chain->port == b->chain->port);
}

bool tn_lower_does_same(const tn_candidate *a, const tn_candidate *b) {
    return tn_lower_covers(a, b) && tn_lower_covers(b, a);
}

void tn_lower_candidates_remove(tn_lower_node *node, size_t index) {
    for (size_t i = index; i + 1 < node->candidate_count; i++)
        node->candidates[i] = node->candidates[i + 1];
    node->candidate_count--;
}

double tn_lower_candidates_least(const tn_lower_node *node) {
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        least = fmin(least, node->candidates[i].cost);
    return least;
}

bool tn_lower_is_first_of_group(const tn_lower_node *node, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (tn_lower_is_same_group(&node->candidates[i], &node->candidates[index])) return false;
    return true;
}
