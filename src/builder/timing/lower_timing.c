/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates are measured, and in which order: the time for it may be short, so that what
 * decides most comes first, of all nodes before the rest of any, and of nodes that take longest
 * before others. Those that could be chosen are then measured beside each other. What is left at
 * the end is guessed from what was measured beside it. How a candidate is measured is timing.c's
 * matter, estimates are lower_cost.c's, and what equal measurements mean for the choice
 * lower_level.c's.
 */
#include "base/status.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_rates.h"
#include "graph/body.h"
#include "plugin/devices.h"

#include <math.h>

/* What is measured for a whole graph. */
typedef struct timed_graph {
    tn_lowering *lowering;
    tn_lower_leaders leaders;
    bool *is_contested; /* by leader's node: another node could do a part of its chain */
} timed_graph;

/* Marks the nodes whose chains another node could do a part of. */
static tn_status find_contested(timed_graph *timed) {
    const tn_lowering *lowering = timed->lowering;
    const uint32_t nodes = (uint32_t)lowering->graph->node_count;
    uint32_t *before = tn_arena_allocate(lowering->arena, nodes + 1u, sizeof *before);
    bool *is_taken_twice = tn_arena_allocate(lowering->arena, nodes + 1u, sizeof *is_taken_twice);
    timed->is_contested = tn_arena_allocate(lowering->arena, nodes + 1u, sizeof(bool));
    if (!before || !is_taken_twice || !timed->is_contested)
        return tn_fail_memory("the order of timings");
    for (uint32_t n = 0; n < nodes; n++) {
        before[n] = TN_NO_NODE;
        is_taken_twice[n] = tn_lower_run_of(lowering, n)->is_before;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        const tn_lower_run *run = tn_lower_run_of(lowering, n);
        for (uint32_t i = 0; i < run->absorbed_count; i++) {
            const uint32_t taker = i == 0 ? n : run->nodes[i - 1], taken = run->nodes[i];
            if (before[taken] != TN_NO_NODE && before[taken] != taker) is_taken_twice[taken] = true;
            before[taken] = taker;
        }
    }
    for (uint32_t n = 0; n < nodes; n++) {
        const tn_lower_run *run = tn_lower_run_of(lowering, n);
        for (uint32_t i = 0; i < run->absorbed_count; i++)
            if (is_taken_twice[run->nodes[i]]) timed->is_contested[timed->leaders.leader[n]] = true;
    }
    return TN_OK;
}

static bool has_other_single(const tn_lower_node *node, size_t index) {
    for (size_t i = 0; i < node->candidate_count; i++)
        if (i != index && node->candidates[i].chain_count == 0) return true;
    return node->candidates[index].chain_count > 0 && node->candidate_count > 1;
}

/* Whether the build's device is lost to this process: no other kernel would run there. */
static bool is_device_lost(const tn_lowering *lowering) {
    tn_error_copy error;
    if (!tn_lower_has_device(lowering)) return false;
    tn_error_save(&error);
    const bool is_lost = tn_device_alive(lowering->options->device) != TN_OK;
    tn_error_restore(&error);
    return is_lost;
}

/* A kernel that fails is passed over while there is another one; the last one's failure is the
 * build's. So is one that asks for more memory than its device has: another may do with less. */
static tn_status pass_over(const timed_graph *timed, uint32_t index, size_t candidate,
                           tn_status status) {
    const tn_lowering *lowering = timed->lowering;
    const tn_lower_node *node = &lowering->nodes[index];
    const bool is_on_device = tn_lower_is_on_device(&node->candidates[candidate]);
    if (lowering->options->progress && lowering->options->progress->is_cancelled) return status;
    if ((status == TN_ERROR_MEMORY && !is_on_device) || !has_other_single(node, candidate) ||
        (is_on_device && is_device_lost(lowering)))
        return status;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_WARNING,
                   "kernel '%s' is passed over for node '%s': %s",
                   node->candidates[candidate].entry->kernel->name,
                   lowering->graph->nodes[index].name, tn_last_error()->message);
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) /* at all nodes that are equal */
        if (timed->leaders.leader[n] == index)
            tn_lower_candidates_remove(&lowering->nodes[n], candidate);
    return TN_OK;
}

/* Of the candidates that there are. Not all are measured: those that are slower by far are not. */
static tn_status tell_measured(tn_lowering *lowering, size_t more) {
    tn_progress *progress = lowering->options->progress;
    if (!progress) return TN_OK;
    const uint64_t done = progress->done + more;
    return tn_progress_tell(progress, "measure", done < progress->count ? done : progress->count,
                            progress->count);
}

/* How long a candidate may take by its estimate to promise most. */
static double find_limit(const tn_lowering *lowering, uint32_t index, bool is_without_lowest) {
    const tn_lower_node *node = &lowering->nodes[index];
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (!is_without_lowest ||
            !tn_lower_compare_is_lowest(lowering, index, &node->candidates[i]))
            least = fmin(least, node->candidates[i].cost);
    return least * (tn_lower_has_device(lowering) ? tn_timing_policy.device_promising_factor
                                                  : tn_timing_policy.promising_factor);
}

static tn_status time_node(const timed_graph *timed, uint32_t index, tn_timing_stage stage,
                           bool is_without_lowest) {
    tn_lowering *lowering = timed->lowering;
    tn_lower_node *node = &lowering->nodes[index];
    const tn_lower_due due = {stage, find_limit(lowering, index, is_without_lowest),
                              timed->is_contested[index], is_without_lowest};
    for (size_t i = 0; i < node->candidate_count;) {
        tn_candidate *candidate = &node->candidates[i];
        const bool was_measured = candidate->is_measured;
        tn_status status = TN_OK;
        if (tn_lower_compare_is_due(lowering, index, i, &due))
            status = tn_timing_candidate(lowering, index, candidate,
                                         tn_lower_compare_best(node, candidate));
        if (status != TN_OK) {
            TN_TRY(pass_over(timed, index, i, status));
            continue;
        }
        if (candidate->is_measured && !was_measured) TN_TRY(tell_measured(lowering, 1));
        i++;
    }
    return TN_OK;
}

static tn_status time_stage(const timed_graph *timed, tn_timing_stage stage, bool has_choice,
                            bool is_without_lowest) {
    for (uint32_t k = 0; k < timed->leaders.count; k++) {
        const uint32_t node = timed->leaders.nodes[k];
        if ((timed->lowering->nodes[node].candidate_count > 1) == has_choice)
            TN_TRY(time_node(timed, node, stage, is_without_lowest));
    }
    return TN_OK;
}

/* On a device with 16-bit kernels it is not sure that 8 bits win: what does without them comes
 * first, all stages of it, so that where the time is short the network is the one that a build
 * without 8 bits makes in that time. Nodes without a choice are last, for the report alone. */
static tn_status time_stages(const timed_graph *timed) {
    const tn_lowering *lowering = timed->lowering;
    const bool has_half =
        tn_lower_has_device(lowering) && lowering->precision->second_type != TN_NONE;
    for (int is_without = has_half; is_without >= 0; is_without--)
        for (int i = 0; i < TN_TIMING_STAGES; i++)
            TN_TRY(time_stage(timed, tn_timing_policy.stages[i], true, is_without));
    return time_stage(timed, (tn_timing_stage){TN_STAGE_REST, true}, false, false);
}

static tn_status time_beside(const timed_graph *timed, uint32_t index) {
    tn_lowering *lowering = timed->lowering;
    tn_lower_node *node = &lowering->nodes[index];
    tn_candidate *candidates[TN_TIMING_MOST_OPEN];
    for (size_t i = 0; i < node->candidate_count; i++) /* other nodes may have some of them */
        TN_TRY(tn_timing_recall(lowering, index, &node->candidates[i]));
    while (true) {
        uint32_t failed = 0;
        const uint32_t count = tn_lower_compare_list_near(lowering, index, candidates);
        const tn_status status = tn_timing_beside(lowering, index, candidates, count, &failed);
        if (status == TN_OK) return TN_OK;
        TN_TRY(pass_over(timed, index, (size_t)(candidates[failed] - node->candidates), status));
    }
}

/* Equal nodes share their timings: all read what the cache says, as a later build with this cache
 * will. */
static tn_status recall_all(tn_lowering *lowering) {
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++)
            TN_TRY(tn_timing_recall(lowering, n, &lowering->nodes[n].candidates[i]));
    return TN_OK;
}

static void mark_remembered(const tn_lowering *lowering) {
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++)
            lowering->nodes[n].candidates[i].is_remembered =
                lowering->nodes[n].candidates[i].is_measured;
}

/* Whether it has a choice, could be measured, and has no candidate that was. */
static bool is_left_out(const tn_lowering *lowering, uint32_t index) {
    const tn_lower_node *node = &lowering->nodes[index];
    bool can_time = false;
    for (size_t i = 0; i < node->candidate_count; i++) {
        if (node->candidates[i].is_measured) return false;
        can_time = can_time || tn_timing_can(lowering, index, &node->candidates[i]);
    }
    return can_time && node->candidate_count > 1;
}

/* Where the time is over. */
static void note_unmeasured(tn_lowering *lowering) {
    size_t count = 0, unmeasured = 0, nodes = 0;
    if (!tn_timing_is_over_for_nodes(lowering) || lowering->options->no_timing) return;
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        const tn_lower_node *node = &lowering->nodes[n];
        for (size_t i = 0; i < node->candidate_count; i++)
            unmeasured += !node->candidates[i].is_measured;
        count += node->candidate_count;
        nodes += is_left_out(lowering, n);
    }
    lowering->has_unmeasured_nodes = nodes > 0;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_INFO,
                   "the time for measuring is over: %zu of %zu candidates were not measured, at "
                   "%zu nodes none",
                   unmeasured, count, nodes);
}

/* By estimate: what promises most is measured first, and is preferred among equals. */
static void sort_candidates(tn_lower_node *node) {
    for (size_t i = 1; i < node->candidate_count; i++) {
        const tn_candidate moved = node->candidates[i];
        size_t at = i;
        for (; at > 0 && node->candidates[at - 1].cost > moved.cost; at--)
            node->candidates[at] = node->candidates[at - 1];
        node->candidates[at] = moved;
    }
}

static size_t count_measured(const timed_graph *timed) {
    size_t count = 0;
    for (uint32_t k = 0; k < timed->leaders.count; k++) {
        const tn_lower_node *node = &timed->lowering->nodes[timed->leaders.nodes[k]];
        for (size_t i = 0; i < node->candidate_count; i++)
            count += node->candidates[i].is_measured;
    }
    return count;
}

static size_t count_candidates(const timed_graph *timed) {
    size_t count = 0;
    for (uint32_t k = 0; k < timed->leaders.count; k++)
        count += timed->lowering->nodes[timed->leaders.nodes[k]].candidate_count;
    return count;
}

/* Until nothing more is due by what is known then: a later build with this cache finds the same. */
static tn_status time_all(const timed_graph *timed) {
    tn_lowering *lowering = timed->lowering;
    size_t before = 0, after = count_measured(timed);
    for (bool is_first = true; is_first || after != before; is_first = false) {
        before = after;
        TN_TRY(time_stages(timed));
        TN_TRY(recall_all(lowering));
        after = count_measured(timed);
        if (!is_first) continue;
        note_unmeasured(lowering);
        tn_timing_limit(lowering);
        for (uint32_t k = 0; k < timed->leaders.count; k++) {
            TN_TRY(time_beside(timed, timed->leaders.nodes[k]));
            TN_TRY(tell_measured(lowering, 0));
        }
        TN_TRY(recall_all(lowering));
    }
    return TN_OK;
}

/* Nodes that run graphs of their own are chosen by rule: what those take is known to a run alone.
 */
static void leave_out_bodies(timed_graph *timed) {
    tn_lower_leaders *leaders = &timed->leaders;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < leaders->count; k++)
        if (!tn_graph_node_has_bodies(&timed->lowering->graph->nodes[leaders->nodes[k]]))
            leaders->nodes[kept++] = leaders->nodes[k];
    leaders->count = kept;
}

static void estimate_all(const tn_lowering *lowering) {
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        tn_lower_node *node = &lowering->nodes[n];
        for (size_t i = 0; i < node->candidate_count; i++)
            node->candidates[i].cost = tn_lower_estimate(lowering, n, &node->candidates[i]) *
                                       tn_timing_fit_of(lowering, n, &node->candidates[i]);
        sort_candidates(node);
    }
}

tn_status tn_lower_costs(tn_lowering *lowering) {
    timed_graph timed = {.lowering = lowering};
    TN_TRY(tn_timing_rates_find(lowering));
    lowering->ratios[0] = lowering->ratios[1] = 1;
    estimate_all(lowering);
    if (!lowering->timing) return TN_OK;
    TN_TRY(tn_lower_equal(lowering, &timed.leaders));
    leave_out_bodies(&timed);
    TN_TRY(find_contested(&timed));
    TN_TRY(recall_all(lowering));
    mark_remembered(lowering);
    const size_t count = count_candidates(&timed);
    tn_progress *progress = lowering->options->progress;
    TN_TRY(tn_progress_tell(progress, "measure", count_measured(&timed), count));
    TN_TRY(time_all(&timed));
    TN_TRY(tn_progress_tell(progress, "measure", count, count));
    TN_TRY(tn_timing_fit_keep(lowering));
    if (!lowering->options->no_timing) tn_lower_compare_find_ratios(lowering);
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        tn_lower_compare_guess_rest(lowering, n);
    return TN_OK;
}
