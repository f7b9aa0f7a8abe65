/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials: programs of some choices are run whole, and what their steps take there is what the next
 * choice goes by (trials_costs.c). A candidate that is timed by itself finds its tensors in the
 * caches of the core that it runs on; in a network they were written by other steps, in part by
 * other cores, and its weights have left the nearest caches. What a step took in a network is known
 * of what ran. Others of its node are thought to take as much longer in the network as that one
 * did, in every other choice less a little, so that those that are nearly as good run, too. The
 * second network is what estimates would choose: where a load disturbed the times, all builds have
 * that. Where the time was over before each node had something measured it is the first one, and
 * what is chosen where there is no time for any: the measured choice has to beat it. The next one
 * does as much of each chain as its kernels can. Where the build may use less precision one, and on
 * another device the only other one, is the best that does without it: what is allowed makes no
 * network slower; swaps come after that (trials_swaps.c). Nodes whose shapes a run decides keep
 * what estimates say: how much they have to do with made-up inputs says nothing, and is often
 * nothing.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "builder/trials/trials_private.h"

#include <math.h>
#include <string.h>

/* Networks of which the second runs whenever the first did: what was measured, and what estimates
 * say. */
enum { COMPARED = 2 };

/* --- trials --- */

static tn_status open_network(const tn_lowering *lowering, tn_trial *tried) {
    const tn_lower_runner *runner = lowering->options->runner;
    return tried->network ? TN_OK : runner->open(runner->user, &tried->program, &tried->network);
}

/* `out_ratio`: what it takes over what the best so far takes, beside each other; 1 where it is the
 * first. */
static tn_status race(tn_lowering *lowering, tn_trial *tried, double *out_ratio) {
    const tn_lower_runner *runner = lowering->options->runner;
    tn_trial *best = &lowering->trials->best;
    const bool is_first = !best->arena;
    const double before_ns = tn_timing_now_ns(lowering);
    TN_TRY(open_network(lowering, tried));
    if (!is_first) TN_TRY(open_network(lowering, best));
    void *const networks[2] = {is_first ? tried->network : best->network, tried->network};
    /* A device's steps run beside each other: they are not asked for. */
    const bool has_steps = !tn_lower_has_device(lowering);
    double *const step_ns[2] = {!has_steps ? NULL
                                : is_first ? tried->ns
                                           : best->ns,
                                has_steps ? tried->ns : NULL};
    double ns[2] = {0, 0};
    TN_TRY(runner->race(networks, is_first ? 1 : 2, tn_timing_trial_ns(lowering), step_ns, ns));
    lowering->trials->race_ns = tn_timing_now_ns(lowering) - before_ns;
    tried->all_ns = is_first ? ns[0] : ns[1];
    *out_ratio = tried->all_ns / ns[0];
    return TN_OK;
}

static bool is_faster(const tn_lowering *lowering, double ratio) {
    return ratio < 1 - (tn_lower_has_device(lowering) ? tn_timing_policy.device_trial_gain
                                                      : tn_timing_policy.trial_gain);
}

/* What seems to be faster has to be so again: of many that are as good, one would seem better by
 * chance each time. */
static tn_status race_twice(tn_lowering *lowering, tn_trial *tried, double *out_ratio) {
    double again = 1;
    TN_TRY(race(lowering, tried, out_ratio));
    if (!is_faster(lowering, *out_ratio)) return TN_OK;
    TN_TRY(race(lowering, tried, &again));
    *out_ratio = sqrt(*out_ratio * again);
    return TN_OK;
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

/* Whether there is no time for the last of the choices so far: what begins has to end in time. What
 * is compared with the first network is no less of a plan than that. */
static bool is_too_late(const tn_lowering *lowering) {
    const struct tn_lower_trials *trials = lowering->trials;
    const double left_ns = tn_timing_trials_end_ns(lowering) - tn_timing_now_ns(lowering);
    if (trials->count > 1 && trials->count <= COMPARED) return false;
    return left_ns <= 0 || left_ns < trials->race_ns;
}

/* Whether a choice is not worth looking for, since it could not run. What a cache remembers of
 * networks takes no time: where none was raced all of them count. */
static bool is_next_too_late(const tn_lowering *lowering) {
    const struct tn_lower_trials *trials = lowering->trials;
    return trials->race_ns > 0 &&
           tn_timing_now_ns(lowering) + trials->race_ns > tn_timing_trials_end_ns(lowering);
}

/* Against the best so far; is the best afterwards where it is faster. */
static tn_status run_trial(tn_lowering *lowering, const uint32_t *choice, tn_trial *tried,
                           uint32_t *best_choice, bool *out_is_over) {
    struct tn_lower_trials *trials = lowering->trials;
    const size_t nodes = lowering->graph->node_count;
    const tn_trial *against = trials->best.arena ? &trials->best : NULL;
    double ratio = 1;
    if (trials->count < tn_timing_policy.most_trials)
        memcpy(trials->chosen + trials->count * nodes, choice, nodes * sizeof *choice);
    trials->count++;
    TN_TRY(prepare(lowering, choice, tried));
    if (!tn_trial_recall(lowering, against, tried, &ratio)) {
        *out_is_over = is_too_late(lowering);
        if (*out_is_over) return TN_OK;
        TN_TRY(race_twice(lowering, tried, &ratio));
        TN_TRY(tn_trial_keep(lowering, against, tried, ratio));
    }
    tried->share = against ? against->share * ratio : 1;
    TN_TRY(tn_trial_note(lowering, choice, tried));
    if (against && !is_faster(lowering, ratio)) return TN_OK;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG, "trial %u is the best so far",
                   trials->count);
    memcpy(best_choice, choice, nodes * sizeof *choice);
    close(lowering, &trials->best);
    trials->best = *tried;
    *tried = (tn_trial){0};
    return TN_OK;
}

tn_status tn_trial_try(tn_lowering *lowering, const uint32_t *choice, uint32_t *best_choice,
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
    trials->shares = tn_arena_allocate(arena, nodes + 1, sizeof *trials->shares);
    trials->ratios = tn_arena_allocate(arena, nodes + 1, sizeof(double));
    trials->reformats = tn_arena_allocate(
        arena, (lowering->graph->tensor_count + 1) * storages * storages, sizeof(double));
    trials->chosen =
        tn_arena_allocate(arena, nodes * tn_timing_policy.most_trials + 1, sizeof *trials->chosen);
    if (!trials->shares || !trials->ratios || !trials->reformats || !trials->chosen)
        return tn_fail_memory("trials");
    for (size_t n = 0; n < nodes; n++) {
        trials->shares[n] =
            tn_arena_allocate(arena, lowering->nodes[n].candidate_count + 1, sizeof(double));
        if (!trials->shares[n]) return tn_fail_memory("trials");
    }
    lowering->trials = trials;
    return TN_OK;
}

/* What a build that measures nothing would choose: the same in each build, whatever else the
 * machine does. */
static tn_status find_by_estimates(tn_lowering *lowering, uint32_t *next) {
    struct tn_lower_trials *trials = lowering->trials;
    trials->is_by_estimates = true;
    const tn_status status = tn_lower_choose(lowering, next);
    trials->is_by_estimates = false;
    return status;
}

/* The best without some candidates, once: more of them may lead the search astray, and times of
 * single kernels leave out what they cost each other. */
static tn_status find_without(tn_lowering *lowering, uint32_t without, uint32_t *next,
                              bool *out_is_new) {
    struct tn_lower_trials *trials = lowering->trials;
    if (*out_is_new || trials->were_without & without) return TN_OK;
    trials->were_without |= without;
    trials->without = without;
    trials->power = 0;
    const tn_status status = tn_lower_choose(lowering, next);
    trials->without = 0;
    *out_is_new = status == TN_OK && !is_tried(trials, next, lowering->graph->node_count);
    return status;
}

/* The next choice that did not run; false: there is none. Costs as they are and eager ones take
 * turns, so that what was learned is put together before the time is over; then come ever more
 * eager ones. */
static tn_status find_next(tn_lowering *lowering, uint32_t *next, bool *out_is_new) {
    struct tn_lower_trials *trials = lowering->trials;
    const bool is_eager = trials->count % 2 == 0,
               has_steps = !tn_lower_has_device(lowering); /* whose times the others go by */
    const size_t nodes = lowering->graph->node_count;
    *out_is_new = false;
    trials->power = 0;
    if (trials->count == 1 && has_steps) {
        TN_TRY(lowering->has_unmeasured_nodes ? tn_lower_choose(lowering, next)
                                              : find_by_estimates(lowering, next));
        *out_is_new = !is_tried(trials, next, nodes);
    }
    if (lowering->precision->lower_type != TN_NONE)
        TN_TRY(find_without(lowering, TN_WITHOUT_LOWEST, next, out_is_new));
    if (has_steps) TN_TRY(find_without(lowering, TN_WITHOUT_PARTIAL, next, out_is_new));
    for (uint32_t i = 0; has_steps && i <= tn_timing_policy.trial_eagerness_powers && !*out_is_new;
         i++) {
        if (i > 0 && is_next_too_late(lowering)) break;
        trials->power = i == 0 ? is_eager : i == 1 ? !is_eager : i;
        TN_TRY(tn_lower_choose(lowering, next));
        *out_is_new = !is_tried(trials, next, nodes);
    }
    return TN_OK;
}

static tn_status try_all(tn_lowering *lowering, uint32_t *choice, uint32_t *next) {
    bool is_over = false, is_new = true;
    if (lowering->has_unmeasured_nodes && !tn_lower_has_device(lowering))
        TN_TRY(find_by_estimates(lowering, choice));
    memcpy(next, choice, lowering->graph->node_count * sizeof *next);
    while (is_new) {
        TN_TRY(tn_progress_tell(lowering->options->progress, "choose", 0, 2));
        if (lowering->trials->count == 0) tn_timing_delay_trials(lowering);
        TN_TRY(tn_trial_try(lowering, next, choice, &is_over));
        if (is_over || lowering->trials->count == tn_timing_policy.most_trials ||
            (lowering->trials->count >= COMPARED && is_next_too_late(lowering)))
            break;
        TN_TRY(find_next(lowering, next, &is_new));
    }
    if (is_over || !tn_lower_has_device(lowering)) return TN_OK;
    tn_timing_limit_trials(lowering);
    return tn_trial_swaps(lowering, choice, next);
}

static bool has_alternatives(const tn_lowering *lowering) {
    for (size_t n = 0; n < lowering->graph->node_count; n++)
        if (lowering->facts->is_shaped[n] && lowering->nodes[n].candidate_count > 1) return true;
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
