/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials: programs of some choices are run whole, and what their steps take there is what the next
 * choice goes by. A candidate that is timed by itself finds its tensors in the caches of the core
 * that it runs on; in a network they were written by other steps, in part by other cores, and its
 * weights have left the nearest caches. What a step took in a network is known of what ran. Others
 * of its node are thought to take as much longer in the network as that one did, less a little, so
 * that those that are nearly as good run, too; the last choice goes without that. The second
 * network is what estimates would choose: where a load disturbed the times, all builds have that.
 *
 * Each network runs in turns with the best so far; trial_times.c keeps what the races give, and
 * what is known in the end decides.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "builder/trials/trial_times.h"

#include <math.h>
#include <string.h>

/* --- trials --- */

static tn_status open_network(const tn_lowering *lowering, tn_trial *tried) {
    const tn_lower_runner *runner = lowering->options->runner;
    return tried->network ? TN_OK : runner->open(runner->user, &tried->program, &tried->network);
}

static tn_status race(tn_lowering *lowering, tn_trial *tried) {
    const tn_lower_runner *runner = lowering->options->runner;
    tn_trial *best = &lowering->trials->best;
    TN_TRY(open_network(lowering, tried));
    if (best->arena) TN_TRY(open_network(lowering, best));
    void *const networks[2] = {tried->network, best->network};
    double *const ns[2] = {tried->ns, best->ns};
    return runner->race(networks, best->arena ? 2 : 1, ns);
}

static void close(const tn_lowering *lowering, tn_trial *tried) {
    const tn_lower_runner *runner = lowering->options->runner;
    if (tried->network) runner->close(tried->network);
    tn_arena_destroy(tried->arena);
    *tried = (tn_trial){0};
}

static tn_status prepare(tn_lowering *lowering, const uint32_t *choice, tn_trial *tried) {
    TN_TRY(tn_arena_create(lowering->graph->allocator, &tried->arena));
    TN_TRY(tn_lower_emit(lowering, choice, tried->arena, &tried->program));
    tried->ns =
        tn_arena_allocate(tried->arena, tried->program.step_count + (size_t)1, sizeof(double));
    if (!tried->ns) return tn_fail_memory("the trial of a choice");
    return tn_trial_key(lowering, choice, &tried->program, &tried->key);
}

/* With the best so far; is the best afterwards where it takes less. */
static tn_status run_trial(tn_lowering *lowering, const uint32_t *choice, tn_trial *tried,
                           uint32_t *best_choice, bool *out_is_over) {
    struct tn_lower_trials *trials = lowering->trials;
    const size_t nodes = lowering->graph->node_count;
    const uint32_t number = trials->count++;
    memcpy(trials->chosen + number * nodes, choice, nodes * sizeof *choice);
    TN_TRY(prepare(lowering, choice, tried));
    if (!tn_trial_recall(lowering, tried)) {
        *out_is_over = tn_timing_now_ns(lowering) >= tn_timing_trials_end_ns(lowering);
        if (*out_is_over) return TN_OK;
        TN_TRY(race(lowering, tried));
        TN_TRY(tn_trial_keep(lowering, tried));
    }
    TN_TRY(tn_trial_note_race(lowering, choice, tried, best_choice));
    trials->has_run[number] = true;
    const double ns = tn_trial_known_ns(lowering, choice, &tried->program, NULL),
                 best_ns = trials->best.arena ? tn_trial_known_ns(lowering, best_choice,
                                                                  &trials->best.program, NULL)
                                              : INFINITY;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                   "trial %u: the steps of the network take %.1f us, those of the best %.1f",
                   number + 1, ns * 1e-3, fmin(ns, best_ns) * 1e-3);
    if (ns >= best_ns) return TN_OK;
    memcpy(best_choice, choice, nodes * sizeof *choice);
    close(lowering, &trials->best);
    trials->best = *tried;
    *tried = (tn_trial){0};
    return TN_OK;
}

/* *out_is_over: networks cannot be run, or not any more. */
static tn_status try_choice(tn_lowering *lowering, const uint32_t *choice, uint32_t *best_choice,
                            bool *out_is_over) {
    tn_trial tried = {0};
    const tn_status status = run_trial(lowering, choice, &tried, best_choice, out_is_over);
    close(lowering, &tried);
    if (status == TN_OK || status == TN_ERROR_MEMORY || status == TN_ERROR_CANCELLED) return status;
    tn_error_clear();
    /* The network takes no made-up inputs, and times alone decide; or a kernel that did not run
     * before fails, which others need not. */
    *out_is_over = lowering->trials->count == 1;
    return TN_OK;
}

static bool is_tried(const struct tn_lower_trials *trials, const uint32_t *choice, size_t nodes) {
    for (uint32_t i = 0; i < trials->count; i++)
        if (memcmp(trials->chosen + i * nodes, choice, nodes * sizeof *choice) == 0) return true;
    return false;
}

static tn_status begin_trials(tn_lowering *lowering) {
    const size_t nodes = lowering->graph->node_count, storages = tn_lower_storage_count(lowering);
    tn_arena *arena = lowering->arena;
    struct tn_lower_trials *trials = tn_arena_allocate(arena, 1, sizeof *trials);
    if (!trials) return tn_fail_memory("trials");
    trials->candidates = tn_arena_allocate(arena, nodes + 1, sizeof *trials->candidates);
    trials->ratios = tn_arena_allocate(arena, nodes + 1, sizeof *trials->ratios);
    trials->reformats =
        tn_arena_allocate(arena, (lowering->graph->tensor_count + 1) * storages * storages,
                          sizeof *trials->reformats);
    trials->has_run =
        tn_arena_allocate(arena, tn_timing_policy.most_trials + (size_t)1, sizeof *trials->has_run);
    trials->chosen =
        tn_arena_allocate(arena, nodes * tn_timing_policy.most_trials + 1, sizeof *trials->chosen);
    if (!trials->candidates || !trials->ratios || !trials->reformats || !trials->has_run ||
        !trials->chosen)
        return tn_fail_memory("trials");
    for (size_t n = 0; n < nodes; n++) {
        trials->candidates[n] = tn_arena_allocate(arena, lowering->nodes[n].candidate_count + 1,
                                                  sizeof **trials->candidates);
        if (!trials->candidates[n]) return tn_fail_memory("trials");
    }
    lowering->trials = trials;
    return TN_OK;
}

/* What estimates would choose: the same in each build, whatever else the machine does. */
static tn_status find_by_estimates(tn_lowering *lowering, uint32_t *next) {
    struct tn_lower_trials *trials = lowering->trials;
    trials->is_by_estimates = true;
    const tn_status status = tn_lower_choose(lowering, next);
    trials->is_by_estimates = false;
    return status;
}

/* The next choice that did not run; false: there is none. */
static tn_status find_next(tn_lowering *lowering, uint32_t *next, bool *out_is_new) {
    struct tn_lower_trials *trials = lowering->trials;
    const bool is_last = trials->count + 1 == tn_timing_policy.most_trials;
    const double eager = tn_timing_policy.trial_eagerness,
                 eagerness[3] = {is_last ? 1 : eager, 1, eager * eager};
    *out_is_new = false;
    if (trials->count == 1) {
        TN_TRY(find_by_estimates(lowering, next));
        *out_is_new = !is_tried(trials, next, lowering->graph->node_count);
    }
    for (int i = 0; i < 3 && !*out_is_new; i++) {
        trials->eagerness = eagerness[i];
        TN_TRY(tn_lower_choose(lowering, next));
        *out_is_new = !is_tried(trials, next, lowering->graph->node_count);
    }
    return TN_OK;
}

/* By what is known now, as the choice takes it: what is equal is not told apart. */
static tn_status level_all(tn_lowering *lowering, double **costs) {
    lowering->trials->eagerness = 1;
    for (uint32_t n = 0; n < lowering->graph->node_count; n++) {
        const size_t count = lowering->nodes[n].candidate_count;
        costs[n] = tn_arena_allocate(lowering->arena, 2 * count + 1, sizeof(double));
        if (!costs[n]) return tn_fail_memory("trials");
        tn_lower_level(lowering, n, costs[n] + count, costs[n]);
    }
    return TN_OK;
}

/* Of those that ran: what ran later may have changed what is known of its steps. */
static tn_status take_best(tn_lowering *lowering, uint32_t *choice) {
    const struct tn_lower_trials *trials = lowering->trials;
    const size_t nodes = lowering->graph->node_count;
    double best_ns = INFINITY,
           **costs = tn_arena_allocate(lowering->arena, nodes + 1, sizeof *costs);
    if (!costs) return tn_fail_memory("trials");
    TN_TRY(level_all(lowering, costs));
    for (uint32_t i = 0; i < trials->count; i++) {
        const uint32_t *tried_choice = trials->chosen + i * nodes;
        tn_trial tried = {0};
        if (!trials->has_run[i]) continue;
        const tn_status status = prepare(lowering, tried_choice, &tried);
        const double ns =
            status ? 0 : tn_trial_known_ns(lowering, tried_choice, &tried.program, costs);
        close(lowering, &tried);
        TN_TRY(status);
        if (ns >= best_ns) continue;
        best_ns = ns;
        memcpy(choice, tried_choice, nodes * sizeof *choice);
    }
    return TN_OK;
}

static tn_status try_all(tn_lowering *lowering, uint32_t *choice, uint32_t *next) {
    bool is_over = false, is_new = true;
    memcpy(next, choice, lowering->graph->node_count * sizeof *next);
    while (is_new) {
        TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 0, 2));
        TN_TRY(try_choice(lowering, next, choice, &is_over));
        if (is_over || lowering->trials->count == tn_timing_policy.most_trials) break;
        TN_TRY(find_next(lowering, next, &is_new));
    }
    return take_best(lowering, choice);
}

static bool has_alternatives(const tn_lowering *lowering) {
    for (size_t n = 0; n < lowering->graph->node_count; n++)
        if (lowering->nodes[n].candidate_count > 1) return true;
    return false;
}

tn_status tn_lower_try(tn_lowering *lowering, uint32_t *choice) {
    const tn_lower_options *options = lowering->options;
    if (!options->runner || !lowering->timing || !has_alternatives(lowering)) return TN_OK;
    uint32_t *next =
        tn_arena_allocate(lowering->arena, lowering->graph->node_count + 1, sizeof *next);
    if (!next) return tn_fail_memory("trials");
    TN_TRY(begin_trials(lowering));
    tn_lower_options quiet = *options;
    quiet.notes = NULL; /* they are of the last choice */
    lowering->options = &quiet;
    const tn_status status = try_all(lowering, choice, next);
    close(lowering, &lowering->trials->best);
    lowering->options = options;
    return status;
}
