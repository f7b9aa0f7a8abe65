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
#include "builder/timing/lower_rivals.h"
#include "builder/timing/timing.h"
#include "graph/body.h"
#include "builder/timing/timing_samples.h"
#include "plugin/devices.h"

#include <math.h>

/* Measured beside each other: what is at most so much slower than the best that does as much, and
 * than the best with the same types and formats. */
#define BESIDE_FACTOR      1.3
#define BESIDE_SAME_FACTOR 1.15
/* Up to how many times the best estimate promises most. */
#define PROMISING_FACTOR        2.0
#define DEVICE_PROMISING_FACTOR 3.0 /* estimates are coarser there */
/* How much slower than the best its first tactic may be for a kernel's others to come next, and
 * from where on they are left off: conversions take less than the difference. */
#define TACTICS_FACTOR 1.5
#define PRUNED_FACTOR  3.0
#define PRUNED_NS      20e3
/* The same of a kernel, for a shorter chain than it could do to be measured on the processor. */
#define SHORT_FACTOR 1.1
/* What a tactic that was not measured is thought to take, over the best that was. */
#define UNMEASURED_FACTOR 1.1

/* A kernel that takes so long to prepare, on average, compiles. */
#define SLOW_PREPARE_NS 20e6

enum {
    STAGE_FIRST,   /* the first tactics of what promises most */
    STAGE_TACTICS, /* the other tactics of those that turn out to be within a factor of the best */
    STAGE_SHORT,   /* with less of the chain than the kernel could do */
    STAGE_REST
};
/* In this order, of all nodes with a choice: kernels that compile wait where another one was
 * measured that reads and writes the same. */
static const struct {
    int stage;
    bool with_slow_prepare;
} stages[] = {{STAGE_FIRST, false}, {STAGE_TACTICS, false}, {STAGE_SHORT, false},
              {STAGE_FIRST, true},  {STAGE_TACTICS, true},  {STAGE_SHORT, true},
              {STAGE_REST, true}};
enum { STAGE_COUNT = sizeof stages / sizeof *stages };

/* Marks the nodes whose chains another node could do a part of. */
static tn_status find_contested(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    uint32_t *before = tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *before);
    bool *is_contested =
        tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *is_contested);
    if (!before || !is_contested) return tn_fail_memory("the order of timings");
    for (uint32_t n = 0; n < graph->node_count; n++) {
        before[n] = TN_NO_NODE;
        is_contested[n] = lowering->nodes[n].is_before;
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < lowering->nodes[n].chain_count; i++) {
            const uint32_t taker = i == 0 ? n : lowering->nodes[n].chain[i - 1];
            const uint32_t taken = lowering->nodes[n].chain[i];
            if (before[taken] != TN_NO_NODE && before[taken] != taker) is_contested[taken] = true;
            before[taken] = taker;
        }
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < lowering->nodes[n].chain_count; i++)
            if (is_contested[lowering->nodes[n].chain[i]])
                lowering->nodes[lowering->nodes[n].leader].is_chain_contested = true;
    return TN_OK;
}

/* A tactic of a kernel whose first one is far behind. */
static bool is_pruned(const tn_lower_node *node, const tn_candidate *candidate) {
    const double first = tn_lower_rivals_best_tactic(node, candidate),
                 best = tn_lower_rivals_best(node, candidate);
    return isfinite(first) && first > PRUNED_FACTOR * best && first - best > PRUNED_NS;
}

/* Whether it compiles, and another one with the same storages was measured. */
static bool may_wait(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    if (!candidate->entry ||
        !(tn_timing_prepare_ns(lowering, candidate->entry->kernel) > SLOW_PREPARE_NS))
        return false;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured && tn_lower_covers(&node->candidates[i], candidate) &&
            tn_lower_rivals_store_alike(&lowering->graph->nodes[index], &node->candidates[i],
                                        candidate))
            return true;
    return false;
}

/* Less of the chain than its kernel could do: where another node may do the rest, where more of it
 * failed, and on the processor, where a step of its own costs little, for the fastest kernels. */
static bool is_short_due(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    const double longer = tn_lower_rivals_best_chain(lowering, index, candidate);
    if (node->is_chain_contested || !isfinite(longer)) return true;
    return !tn_lower_is_on_device(candidate) &&
           longer <= SHORT_FACTOR * tn_lower_rivals_best(node, candidate);
}

/* `limit`: on what promises most. */
static bool is_due(const tn_lowering *lowering, uint32_t index, size_t at, int stage,
                   double limit) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_candidate *candidate = &node->candidates[at];
    if (candidate->is_measured ||
        tn_lower_rivals_is_whole(node, candidate) != (stage != STAGE_SHORT))
        return false;
    switch (stage) {
    case STAGE_FIRST:
        return candidate->cost <= limit && tn_lower_rivals_is_first(node, at);
    case STAGE_TACTICS:
        return isfinite(tn_lower_rivals_best_tactic(node, candidate)) &&
               tn_lower_rivals_best_tactic(node, candidate) <=
                   TACTICS_FACTOR * tn_lower_rivals_best(node, candidate);
    case STAGE_SHORT:
        return is_short_due(lowering, index, candidate);
    default:
        return !is_pruned(node, candidate);
    }
}

/* Takes out a candidate whose kernel failed, at all nodes that are equal. */
static void remove_candidate(tn_lowering *lowering, uint32_t leader, size_t index) {
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        tn_lower_node *node = &lowering->nodes[n];
        if (node->leader != leader) continue;
        for (size_t i = index; i + 1 < node->candidate_count; i++)
            node->candidates[i] = node->candidates[i + 1];
        node->candidate_count--;
    }
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
static tn_status pass_over(tn_lowering *lowering, uint32_t index, size_t candidate,
                           tn_status status) {
    tn_lower_node *node = &lowering->nodes[index];
    const bool is_on_device = tn_lower_is_on_device(&node->candidates[candidate]);
    if (lowering->options->progress && lowering->options->progress->is_cancelled) return status;
    if ((status == TN_ERROR_MEMORY && !is_on_device) || !has_other_single(node, candidate) ||
        (is_on_device && is_device_lost(lowering)))
        return status;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_WARNING,
                   "kernel '%s' is passed over for node '%s': %s",
                   node->candidates[candidate].entry->kernel->name,
                   lowering->graph->nodes[index].name, tn_last_error()->message);
    remove_candidate(lowering, index, candidate);
    return TN_OK;
}

static double least_cost(const tn_lower_node *node) {
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        least = fmin(least, node->candidates[i].cost);
    return least;
}

/* Of the candidates that there are. Not all are measured: those that are slower by far are not. */
static tn_status tell_measured(tn_lowering *lowering, size_t more) {
    tn_progress *progress = lowering->options->progress;
    if (!progress) return TN_OK;
    const uint64_t done = progress->done + more;
    return tn_progress_tell(progress, "measure", done < progress->count ? done : progress->count,
                            progress->count);
}

static tn_status time_node(tn_lowering *lowering, uint32_t index, int stage,
                           bool with_slow_prepare) {
    tn_lower_node *node = &lowering->nodes[index];
    const double factor =
        tn_lower_has_device(lowering) ? DEVICE_PROMISING_FACTOR : PROMISING_FACTOR;
    const double limit = factor * least_cost(node);
    for (size_t i = 0; i < node->candidate_count;) {
        const bool is_timed =
            is_due(lowering, index, i, stage, limit) &&
            (with_slow_prepare || !may_wait(lowering, index, &node->candidates[i]));
        const bool was_measured = node->candidates[i].is_measured;
        const tn_status status =
            is_timed ? tn_timing_candidate(lowering, index, &node->candidates[i]) : TN_OK;
        if (status != TN_OK) {
            TN_TRY(pass_over(lowering, index, i, status));
            continue;
        }
        if (node->candidates[i].is_measured && !was_measured) TN_TRY(tell_measured(lowering, 1));
        i++;
    }
    return TN_OK;
}

typedef struct timed_leaders {
    uint32_t *nodes, count;
} timed_leaders;

/* Nodes without a choice are timed last, for the report alone. */
static tn_status time_stages(tn_lowering *lowering, timed_leaders leaders) {
    for (int i = 0; i <= STAGE_COUNT; i++)
        for (uint32_t k = 0; k < leaders.count; k++) {
            const bool has_choice = lowering->nodes[leaders.nodes[k]].candidate_count > 1;
            if (has_choice != (i < STAGE_COUNT)) continue;
            TN_TRY(time_node(lowering, leaders.nodes[k],
                             i < STAGE_COUNT ? stages[i].stage : STAGE_REST,
                             i == STAGE_COUNT || stages[i].with_slow_prepare));
        }
    return TN_OK;
}

/* How much slower it is than the best that does as much; infinity where it could not be chosen, or
 * where it was measured in another build. What was disturbed may take as little as its floor. */
static double distance(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_graph_node *graph_node = &lowering->graph->nodes[index];
    const double least = fmin(candidate->floor, candidate->cost),
                 best = tn_lower_rivals_best(node, candidate);
    double same = INFINITY;
    if (!candidate->is_measured || candidate->is_remembered || !(least <= BESIDE_FACTOR * best))
        return INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            tn_lower_does_same(&node->candidates[i], candidate) &&
            tn_lower_rivals_store_alike(graph_node, &node->candidates[i], candidate))
            same = fmin(same, node->candidates[i].cost);
    return least <= BESIDE_SAME_FACTOR * same ? candidate->cost / best : INFINITY;
}

/* Those that could be chosen, the nearest first. */
static uint32_t list_near(const tn_lowering *lowering, uint32_t index, tn_candidate **candidates) {
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

static tn_status time_beside(tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    tn_candidate *candidates[TN_TIMING_MOST_OPEN];
    for (size_t i = 0; i < node->candidate_count; i++) /* other nodes may have some of them */
        TN_TRY(tn_timing_recall(lowering, index, &node->candidates[i]));
    while (true) {
        uint32_t failed = 0;
        const uint32_t count = list_near(lowering, index, candidates);
        const tn_status status = tn_timing_beside(lowering, index, candidates, count, &failed);
        if (status == TN_OK) return TN_OK;
        TN_TRY(pass_over(lowering, index, (size_t)(candidates[failed] - node->candidates), status));
    }
}

/* What was not measured must not win by a guess over what was: a tactic over those beside it, a
 * kernel over others. With less of the chain it takes about what it does with more. */
static double guess(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                    double highest) {
    const double group = tn_lower_rivals_best_tactic(&lowering->nodes[index], candidate);
    const double sibling = tn_lower_rivals_best_chain(lowering, index, candidate);
    if (isfinite(group)) return UNMEASURED_FACTOR * group;
    if (isfinite(sibling)) return sibling;
    return fmax(candidate->cost, UNMEASURED_FACTOR * highest);
}

static void guess_rest(const tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    double highest = 0;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) highest = fmax(highest, node->candidates[i].cost);
    for (size_t i = 0; i < node->candidate_count; i++)
        if (!node->candidates[i].is_measured && highest > 0)
            node->candidates[i].cost = guess(lowering, index, &node->candidates[i], highest);
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

static void log_unmeasured(const tn_lowering *lowering) {
    size_t count = 0, unmeasured = 0, nodes = 0;
    if (!tn_timing_is_over_for_nodes(lowering)) return;
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        const tn_lower_node *node = &lowering->nodes[n];
        size_t left = 0;
        for (size_t i = 0; i < node->candidate_count; i++)
            left += !node->candidates[i].is_measured;
        count += node->candidate_count;
        unmeasured += left;
        nodes += node->candidate_count > 1 && left == node->candidate_count;
    }
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

static size_t count_measured(const tn_lowering *lowering, timed_leaders leaders) {
    size_t count = 0;
    for (uint32_t k = 0; k < leaders.count; k++)
        for (size_t i = 0; i < lowering->nodes[leaders.nodes[k]].candidate_count; i++)
            count += lowering->nodes[leaders.nodes[k]].candidates[i].is_measured;
    return count;
}

static size_t count_candidates(const tn_lowering *lowering, timed_leaders leaders) {
    size_t count = 0;
    for (uint32_t k = 0; k < leaders.count; k++)
        count += lowering->nodes[leaders.nodes[k]].candidate_count;
    return count;
}

/* Until nothing more is due by what is known then: a later build with this cache finds the same. */
static tn_status time_all(tn_lowering *lowering, timed_leaders leaders) {
    size_t before = 0, after = count_measured(lowering, leaders);
    for (bool is_first = true; is_first || after != before; is_first = false) {
        before = after;
        TN_TRY(time_stages(lowering, leaders));
        TN_TRY(recall_all(lowering));
        after = count_measured(lowering, leaders);
        if (!is_first) continue;
        log_unmeasured(lowering);
        tn_timing_limit(lowering);
        for (uint32_t k = 0; k < leaders.count; k++) {
            TN_TRY(time_beside(lowering, leaders.nodes[k]));
            TN_TRY(tell_measured(lowering, 0));
        }
        TN_TRY(recall_all(lowering));
    }
    return TN_OK;
}

/* Nodes that run graphs of their own are chosen by rule: what those take is known to a run alone.
 */
static void leave_out_bodies(const tn_lowering *lowering, timed_leaders *leaders) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < leaders->count; k++)
        if (!tn_graph_node_has_bodies(&lowering->graph->nodes[leaders->nodes[k]]))
            leaders->nodes[kept++] = leaders->nodes[k];
    leaders->count = kept;
}

tn_status tn_lower_costs(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    timed_leaders leaders;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        lowering->nodes[n].leader = n;
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++) {
            tn_candidate *candidate = &lowering->nodes[n].candidates[i];
            candidate->cost = tn_lower_estimate(lowering, n, candidate);
        }
        sort_candidates(&lowering->nodes[n]);
    }
    if (!lowering->timing) return TN_OK;
    TN_TRY(tn_lower_equal(lowering, &leaders.nodes, &leaders.count));
    leave_out_bodies(lowering, &leaders);
    TN_TRY(find_contested(lowering));
    tn_timing_start_clock(lowering);
    TN_TRY(recall_all(lowering));
    mark_remembered(lowering);
    const size_t count = count_candidates(lowering, leaders);
    tn_progress *progress = lowering->options->progress;
    TN_TRY(tn_progress_tell(progress, "measure", count_measured(lowering, leaders), count));
    TN_TRY(time_all(lowering, leaders));
    TN_TRY(tn_progress_tell(progress, "measure", count, count));
    for (uint32_t n = 0; n < graph->node_count; n++)
        guess_rest(lowering, n);
    return TN_OK;
}
