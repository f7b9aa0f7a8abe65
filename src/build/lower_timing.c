/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates are measured, and in which order: the time for it may be short, so that what
 * decides most comes first, of all nodes before the rest of any. What is left at the end is guessed
 * from what was measured beside it. How a candidate is measured is timing.c's matter, estimates are
 * lower_cost.c's.
 */
#include "base/status.h"
#include "build/lower_rivals.h"
#include "build/timing.h"
#include "plugin/devices.h"

#include <math.h>

/* How much slower than the best one may be and still be measured again. */
#define RIVAL_FACTOR 2.0
#define RIVAL_ROUNDS 2
/* Up to how many times the best estimate promises most. */
#define PROMISING_FACTOR        2.0
#define DEVICE_PROMISING_FACTOR 3.0 /* estimates are coarser there */
/* How much slower than the best its first tactic may be for a kernel's others to come next, and
 * from where on they are left off on a device: conversions there take less than the difference. */
#define NEAR_FACTOR     1.5
#define HOPELESS_FACTOR 3.0
#define HOPELESS_NS     20e3
/* What a tactic that was not measured is thought to take, over the best that was. */
#define UNMEASURED_FACTOR 1.1

/* A kernel that takes so long to get ready, on average, is dear: it compiles. */
#define DEAR_NS 20e6

enum {
    TURN_FIRST, /* the first tactics of what promises most */
    TURN_NEAR,  /* the other tactics of those that turn out to be near the best */
    TURN_SHORT, /* with less of the chain than the kernel could do */
    TURN_REST
};
/* In this order, of all nodes with a choice: dear kernels wait where another one was measured that
 * reads and writes the same. */
static const struct {
    int turn;
    bool is_dear_too;
} turns[] = {{TURN_FIRST, false}, {TURN_NEAR, false}, {TURN_SHORT, false}, {TURN_FIRST, true},
             {TURN_NEAR, true},   {TURN_SHORT, true}, {TURN_REST, true}};
enum { TURN_COUNT = sizeof turns / sizeof *turns };

/* Marks the nodes that several could take into their chains. */
static tn_status find_contested(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    uint32_t *before = tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *before);
    lowering->is_contested =
        tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof *lowering->is_contested);
    if (!before || !lowering->is_contested) return tn_fail_memory("the order of timings");
    for (uint32_t n = 0; n < graph->node_count; n++)
        before[n] = TN_NO_NODE;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < lowering->nodes[n].chain_count; i++) {
            const uint32_t taker = i == 0 ? n : lowering->nodes[n].chain[i - 1];
            const uint32_t taken = lowering->nodes[n].chain[i];
            if (before[taken] != TN_NO_NODE && before[taken] != taker)
                lowering->is_contested[taken] = true;
            before[taken] = taker;
        }
    return TN_OK;
}

static bool is_chain_contested(const tn_lowering *lowering, uint32_t index) {
    const tn_lower_node *node = &lowering->nodes[index];
    for (uint32_t i = 0; i < node->chain_count; i++)
        if (lowering->is_contested[node->chain[i]]) return true;
    return false;
}

/* A tactic of a kernel whose first one is far behind. */
static bool is_hopeless(const tn_lower_node *node, const tn_candidate *candidate) {
    const double first = tn_lower_rivals_best_tactic(node, candidate),
                 best = tn_lower_rivals_best(node, candidate);
    return tn_lower_is_on_device(candidate) && isfinite(first) && first > HOPELESS_FACTOR * best &&
           first - best > HOPELESS_NS;
}

/* Whether it is dear, and another one with the same storages was measured. */
static bool may_wait(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_lower_node *node = &lowering->nodes[index];
    if (!candidate->entry || !(tn_timing_prepare_ns(lowering, candidate->entry->kernel) > DEAR_NS))
        return false;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured &&
            node->candidates[i].chain_count >= candidate->chain_count &&
            tn_lower_rivals_store_alike(&lowering->graph->nodes[index], &node->candidates[i],
                                        candidate))
            return true;
    return false;
}

/* `limit`: on what promises most. */
static bool is_due(const tn_lowering *lowering, uint32_t index, size_t at, int turn, double limit) {
    const tn_lower_node *node = &lowering->nodes[index];
    const tn_candidate *candidate = &node->candidates[at];
    if (candidate->is_measured || tn_lower_rivals_is_whole(node, candidate) != (turn != TURN_SHORT))
        return false;
    switch (turn) {
    case TURN_FIRST:
        return candidate->cost <= limit && tn_lower_rivals_is_first(node, at);
    case TURN_NEAR:
        return isfinite(tn_lower_rivals_best_tactic(node, candidate)) &&
               tn_lower_rivals_best_tactic(node, candidate) <=
                   NEAR_FACTOR * tn_lower_rivals_best(node, candidate);
    case TURN_SHORT:
        return is_chain_contested(lowering, index) ||
               !isfinite(tn_lower_rivals_best_chain(lowering, index, candidate));
    default:
        return !is_hopeless(node, candidate);
    }
}

/* Takes out a candidate whose kernel failed. */
static void remove_candidate(tn_lower_node *node, size_t index) {
    for (size_t i = index; i + 1 < node->candidate_count; i++)
        node->candidates[i] = node->candidates[i + 1];
    node->candidate_count--;
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

/* A kernel that fails is passed over while there is another way; the last one's failure is the
 * build's. So is one that asks for more memory than its device has: another may do with less. */
static tn_status pass_over(tn_lowering *lowering, uint32_t index, size_t candidate,
                           tn_status status) {
    tn_lower_node *node = &lowering->nodes[index];
    const bool is_on_device = tn_lower_is_on_device(&node->candidates[candidate]);
    if ((status == TN_ERROR_MEMORY && !is_on_device) || !has_other_single(node, candidate) ||
        (is_on_device && is_device_lost(lowering)))
        return status;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_WARNING,
                   "kernel '%s' is passed over for node '%s': %s",
                   node->candidates[candidate].entry->kernel->name,
                   lowering->graph->nodes[index].name, tn_last_error()->message);
    remove_candidate(node, candidate);
    return TN_OK;
}

static double least_cost(const tn_lower_node *node) {
    double least = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        least = fmin(least, node->candidates[i].cost);
    return least;
}

static tn_status time_node(tn_lowering *lowering, uint32_t index, int turn, bool is_dear_too) {
    tn_lower_node *node = &lowering->nodes[index];
    const double factor =
        tn_lower_has_device(lowering) ? DEVICE_PROMISING_FACTOR : PROMISING_FACTOR;
    const double limit = factor * least_cost(node);
    for (size_t i = 0; i < node->candidate_count;) {
        const bool is_timed = is_due(lowering, index, i, turn, limit) &&
                              (is_dear_too || !may_wait(lowering, index, &node->candidates[i]));
        const tn_status status =
            is_timed ? tn_timing_candidate(lowering, index, &node->candidates[i]) : TN_OK;
        if (status == TN_OK)
            i++;
        else
            TN_TRY(pass_over(lowering, index, i, status));
    }
    return TN_OK;
}

/* Nodes without a choice are timed last, for the report alone. */
static tn_status time_nodes(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++)
            TN_TRY(tn_timing_recall(lowering, n, &lowering->nodes[n].candidates[i]));
    for (int i = 0; i <= TURN_COUNT; i++)
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const bool has_choice = lowering->nodes[n].candidate_count > 1;
            if (!graph->nodes[n].is_dead && has_choice == (i < TURN_COUNT))
                TN_TRY(time_node(lowering, n, i < TURN_COUNT ? turns[i].turn : TURN_REST,
                                 i == TURN_COUNT || turns[i].is_dear_too));
        }
    return TN_OK;
}

/* Those near the best are measured again, some time after the first, so that a moment in which the
 * machine did something else does not decide. */
static tn_status time_rivals(tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    double best = INFINITY;
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured) best = fmin(best, node->candidates[i].cost);
    for (size_t i = 0; node->candidate_count > 1 && i < node->candidate_count;) {
        const bool is_rival =
            node->candidates[i].is_fresh && node->candidates[i].cost <= RIVAL_FACTOR * best;
        const tn_status status =
            is_rival ? tn_timing_again(lowering, index, &node->candidates[i]) : TN_OK;
        if (status == TN_OK)
            i++;
        else
            TN_TRY(pass_over(lowering, index, i, status));
    }
    return TN_OK;
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

/* Equal nodes share their timings: all read what the cache says in the end, as a later build with
 * this cache will. */
static tn_status settle_node(tn_lowering *lowering, uint32_t index) {
    tn_lower_node *node = &lowering->nodes[index];
    for (size_t i = 0; i < node->candidate_count; i++)
        if (node->candidates[i].is_measured)
            TN_TRY(tn_timing_candidate(lowering, index, &node->candidates[i]));
    guess_rest(lowering, index);
    return TN_OK;
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

tn_status tn_lower_costs(tn_lowering *lowering) {
    const tn_graph *graph = lowering->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < lowering->nodes[n].candidate_count; i++) {
            tn_candidate *candidate = &lowering->nodes[n].candidates[i];
            candidate->cost = tn_lower_estimate(lowering, n, candidate);
        }
    if (!lowering->timing) return TN_OK;
    TN_TRY(find_contested(lowering));
    tn_timing_start_clock(lowering);
    TN_TRY(time_nodes(lowering));
    log_unmeasured(lowering);
    tn_timing_limit(lowering);
    for (int round = 0; round < RIVAL_ROUNDS; round++)
        for (uint32_t n = 0; n < graph->node_count; n++)
            TN_TRY(time_rivals(lowering, n));
    for (uint32_t n = 0; n < graph->node_count; n++)
        TN_TRY(settle_node(lowering, n));
    return TN_OK;
}
