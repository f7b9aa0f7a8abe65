/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says of the candidates that were compared for each node: one row for the tactics
 * that share kernel, types, formats and chain. Looks at the choice when it is made and changes
 * nothing; why a type was not used is lower_notes.c's matter.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_storages.h"
#include "builder/notes/lower_notes.h"
#include "builder/timing/timing.h"

static uint32_t time_source_of(const tn_lowering *lowering, const tn_candidate *candidate) {
    if (candidate->is_measured) return TN_LOWER_MEASURED;
    const bool is_timed = lowering->timing && !tn_timing_is_over_for_nodes(lowering);
    return is_timed ? TN_LOWER_PRUNED : TN_LOWER_ESTIMATED;
}

/* The chosen tactic stands for its group; else a measured one before others, then the faster. */
static bool is_better(const tn_candidate *a, const tn_candidate *than) {
    if (a->is_measured != than->is_measured) return a->is_measured;
    return a->cost < than->cost;
}

static size_t representative(const tn_lower_node *node, size_t first, size_t chosen) {
    size_t best = first;
    for (size_t i = first; i < node->candidate_count; i++) {
        if (!tn_lower_is_same_group(&node->candidates[i], &node->candidates[first])) continue;
        if (i == chosen) return i;
        if (is_better(&node->candidates[i], &node->candidates[best])) best = i;
    }
    return best;
}

static tn_status name_kernel(const tn_candidate *candidate, tn_arena *arena,
                             tn_lower_candidate *row) {
    if (!candidate->entry) return TN_OK;
    row->kernel = tn_arena_text(arena, candidate->entry->kernel->name);
    row->library = tn_arena_text(arena, candidate->entry->library->name);
    return row->kernel && row->library ? TN_OK : tn_fail_memory("the candidates of a report");
}

static void describe_storages(const tn_lowering *lowering, uint32_t index,
                              const tn_candidate *candidate, tn_lower_candidate *row) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_tensor_id read =
        node->input_count > 0 ? tn_lower_input(lowering, index, candidate, 0) : TN_NO_TENSOR;
    if (read != TN_NO_TENSOR) {
        row->input_type = tn_lower_type(lowering, read, candidate->inputs[0]);
        row->input_format = candidate->inputs[0].format;
    }
    const tn_tensor_id made =
        node->output_count > 0 ? tn_lower_output(lowering, index, candidate, 0) : TN_NO_TENSOR;
    if (made != TN_NO_TENSOR) {
        row->output_type = tn_lower_type(lowering, made, candidate->outputs[0]);
        row->output_format = candidate->outputs[0].format;
    }
}

static tn_status record_group(const tn_lowering *lowering, uint32_t index, size_t first,
                              size_t chosen, tn_arena *arena, tn_lower_candidate *row) {
    const tn_lower_node *node = &lowering->nodes[index];
    const size_t best = representative(node, first, chosen);
    const tn_candidate *candidate = &node->candidates[best];
    *row = (tn_lower_candidate){.chain_count = candidate->chain_count,
                                .tactic = candidate->tactic,
                                .is_device = tn_lower_is_on_device(candidate),
                                .is_chosen = best == chosen,
                                .time_source = time_source_of(lowering, candidate),
                                .nanoseconds = candidate->cost,
                                .noise = candidate->is_measured ? candidate->noise : 0};
    row->chain = tn_arena_copy(arena, candidate->chain ? candidate->chain->nodes : NULL,
                               candidate->chain_count * sizeof *row->chain);
    if (!row->chain) return tn_fail_memory("the candidates of a report");
    for (size_t i = first; i < node->candidate_count; i++) {
        if (!tn_lower_is_same_group(&node->candidates[i], candidate)) continue;
        row->tactic_count++;
        row->measured_count += node->candidates[i].is_measured;
    }
    describe_storages(lowering, index, candidate, row);
    return name_kernel(candidate, arena, row);
}

static tn_status record_node(const tn_lowering *lowering, uint32_t index, size_t chosen,
                             tn_arena *arena, tn_lower_candidate_list *out_list) {
    const tn_lower_node *node = &lowering->nodes[index];
    size_t groups = 0;
    for (size_t i = 0; i < node->candidate_count; i++)
        groups += tn_lower_is_first_of_group(node, i);
    out_list->items = tn_arena_allocate(arena, groups + 1, sizeof *out_list->items);
    if (!out_list->items) return tn_fail_memory("the candidates of a report");
    for (size_t i = 0; i < node->candidate_count; i++)
        if (tn_lower_is_first_of_group(node, i))
            TN_TRY(record_group(lowering, index, i, chosen, arena,
                                &out_list->items[out_list->count++]));
    return TN_OK;
}

tn_status tn_lower_record(const tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_lower_notes *notes) {
    const size_t nodes = lowering->graph->node_count;
    notes->candidates = tn_arena_allocate(arena, nodes + 1, sizeof *notes->candidates);
    if (!notes->candidates) return tn_fail_memory("the candidates of a report");
    for (uint32_t n = 0; n < nodes; n++) {
        if (lowering->graph->nodes[n].is_dead || choice[n] == TN_CHOOSE_NONE) continue;
        const tn_candidate *chosen = &lowering->nodes[n].candidates[choice[n]];
        if (chosen->kind == TN_STEP_KERNEL && !chosen->is_host)
            TN_TRY(record_node(lowering, n, choice[n], arena, &notes->candidates[n]));
    }
    return TN_OK;
}
