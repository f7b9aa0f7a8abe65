/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials: programs of some choices are run whole, and what their steps take there is what the next
 * choice goes by. A candidate that is timed by itself finds its tensors in the caches of the core
 * that it runs on; in a network they were written by other steps, in part by other cores, and its
 * weights have left the nearest caches. What a step took in a network is known of what ran. Others
 * of its node are thought to take as much longer in the network as that one did, less a little, so
 * that those that are nearly as good run, too; the last choice goes without that. The second
 * network is what estimates would choose: where a load disturbed the times, all builds have that.
 * Where the build may use less precision the third one, and on another device the only other one,
 * is the best that does without it: what is allowed makes no network slower.
 */
#include "base/hash.h"
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "builder/trials/trials_private.h"

#include <math.h>
#include <string.h>

/* What steps that ran took alone, and in a network, as shares of it. */
typedef struct sums {
    double isolated, in_place;
} sums;

/* What a choice may be asked to do without: candidates with the least exact type, and those that do
 * less of a chain than the same kernel could. */
enum { LOWEST = 1, PARTIAL = 2 };

/* What is known of networks that ran; 0: nothing. A machine with neighbours takes twice as long for
 * seconds: what a step takes is known as a share of what the first network would have taken. */
struct tn_lower_trials {
    double first_ns;   /* what that takes, where nothing disturbs: the unit of all shares */
    double **shares;   /* by node and candidate */
    double *ratios;    /* by node: the share of one over what it took alone, the least */
    double *reformats; /* shares [tensor][from][to], as the choice's problem has them */
    sums kernels, conversions;
    uint32_t power; /* of the eagerness, for what did not run yet */
    bool is_by_estimates;
    uint32_t without, were_without; /* of the choice that is asked for, and of all before: by bit */
    tn_trial best;                  /* of those that ran */
    uint32_t *chosen;               /* the choices that ran, one after the other */
    uint32_t count;
};

/* --- what the choice asks --- */

static double ratio_of(double in_place, double isolated) {
    return isolated > 0 && in_place > 0 ? in_place / isolated : 0;
}

static double ratio_of_all(const sums *known) {
    return ratio_of(known->in_place, known->isolated);
}

/* Whether a candidate stores something in the least exact type that the build may use. */
static bool is_lowest(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate) {
    const tn_graph_node *of = &lowering->graph->nodes[node];
    const tn_type lowest = lowering->precision->lower_type;
    for (uint32_t i = 0; i < of->input_count; i++)
        if (candidate->inputs[i].type == lowest) return true;
    for (uint32_t i = 0; i < of->output_count; i++)
        if (candidate->outputs[i].type == lowest) return true;
    return false;
}

/* Whether the same tactic of its kernel does more of the node's chain. */
static bool is_partial(const tn_lower_node *node, const tn_candidate *candidate) {
    for (size_t i = 0; i < node->candidate_count; i++) {
        const tn_candidate *other = &node->candidates[i];
        if (other->entry == candidate->entry && other->tactic == candidate->tactic &&
            other->chain_count > candidate->chain_count && candidate->entry)
            return true;
    }
    return false;
}

static bool is_left_out(const tn_lowering *lowering, uint32_t node, size_t number) {
    const uint32_t without = lowering->trials->without;
    const tn_candidate *candidate = &lowering->nodes[node].candidates[number];
    return (without & LOWEST && is_lowest(lowering, node, candidate)) ||
           (without & PARTIAL && is_partial(&lowering->nodes[node], candidate));
}

/* From 0 to below 1, another one for each trial, node and candidate. */
static double draw(const struct tn_lower_trials *trials, uint32_t node, size_t candidate) {
    const uint64_t hash = tn_hash_add_u64(tn_hash_add_u64(trials->count, node), candidate);
    return (double)(hash >> 11) * 0x1p-53;
}

/* Of the cost of what did not run. Where all that is promising ran, chance decides what is. */
static double eagerness_for(const tn_lowering *lowering, uint32_t node, size_t candidate) {
    const struct tn_lower_trials *trials = lowering->trials;
    const tn_lower_node *of = &lowering->nodes[node];
    if (trials->power > 1)
        return pow(tn_timing_policy.trial_eagerness, trials->power * draw(trials, node, candidate));
    if (trials->power == 0 || is_partial(of, &of->candidates[candidate])) return 1;
    return tn_timing_policy.trial_eagerness;
}

double tn_lower_trials_cost(const tn_lowering *lowering, uint32_t node, size_t candidate,
                            double cost) {
    const struct tn_lower_trials *trials = lowering->trials;
    if (!trials) return cost;
    if (is_left_out(lowering, node, candidate)) return tn_lower_left_out_cost();
    if (trials->is_by_estimates)
        return tn_lower_estimate(lowering, node, &lowering->nodes[node].candidates[candidate]);
    if (trials->shares[node][candidate] > 0)
        return trials->shares[node][candidate] * trials->first_ns;
    double ratio = trials->ratios[node];
    if (ratio == 0) ratio = ratio_of_all(&trials->kernels);
    if (ratio == 0) return cost;
    return cost * ratio * trials->first_ns * eagerness_for(lowering, node, candidate);
}

static size_t reformat_at(const tn_lowering *lowering, tn_tensor_id tensor, uint32_t from,
                          uint32_t to) {
    const size_t storages = tn_lower_storage_count(lowering);
    return (tensor * storages + from) * storages + to;
}

tn_status tn_lower_trials_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, uint32_t from,
                                        uint32_t to, double *out_cost) {
    const struct tn_lower_trials *trials = lowering->trials;
    const tn_storage storages[2] = {tn_lower_storage_at(lowering, from),
                                    tn_lower_storage_at(lowering, to)};
    bool is_measured = false;
    if (trials && trials->is_by_estimates) {
        *out_cost = tn_lower_estimate_reformat(lowering, tensor, storages[0], storages[1]);
        return TN_OK;
    }
    *out_cost =
        trials ? trials->reformats[reformat_at(lowering, tensor, from, to)] * trials->first_ns : 0;
    if (*out_cost > 0) return TN_OK;
    TN_TRY(
        tn_lower_reformat_cost(lowering, tensor, storages[0], storages[1], out_cost, &is_measured));
    double ratio = trials ? ratio_of_all(&trials->conversions) : 0;
    if (trials && ratio == 0) ratio = ratio_of_all(&trials->kernels);
    if (ratio > 0) *out_cost *= ratio * trials->first_ns;
    return TN_OK;
}

/* --- what a program took --- */

/* The least share counts. */
static void note_share(double *known, sums *all, double isolated, double share) {
    all->isolated += *known > 0 ? 0 : isolated;
    all->in_place += *known > 0 ? fmin(share - *known, 0) : share;
    if (*known == 0 || share < *known) *known = share;
}

static tn_status note_reformat(tn_lowering *lowering, const tn_program *program,
                               const tn_program_step *step, double share) {
    const tn_program_value *from = &program->values[step->inputs[0]],
                           *to = &program->values[step->outputs[0]];
    const tn_storage storages[2] = {tn_trial_storage(from, lowering),
                                    tn_trial_storage(to, lowering)};
    const size_t at =
        reformat_at(lowering, from->tensor, tn_lower_storage_number(lowering, storages[0]),
                    tn_lower_storage_number(lowering, storages[1]));
    double isolated = 0;
    bool is_measured = false;
    TN_TRY(tn_lower_reformat_cost(lowering, from->tensor, storages[0], storages[1], &isolated,
                                  &is_measured));
    note_share(&lowering->trials->reformats[at], &lowering->trials->conversions, isolated, share);
    return TN_OK;
}

static void note_candidate(tn_lowering *lowering, uint32_t node, uint32_t number, double share) {
    struct tn_lower_trials *trials = lowering->trials;
    const double cost = lowering->nodes[node].candidates[number].cost,
                 ratio = ratio_of(share, cost);
    note_share(&trials->shares[node][number], &trials->kernels, cost, share);
    if (ratio > 0 && (trials->ratios[node] == 0 || ratio < trials->ratios[node]))
        trials->ratios[node] = ratio;
}

static tn_status note_steps(tn_lowering *lowering, const uint32_t *choice, const tn_trial *tried) {
    struct tn_lower_trials *trials = lowering->trials;
    const double first_ns = tried->all_ns / tried->share;
    if (trials->first_ns == 0 || first_ns < trials->first_ns) trials->first_ns = first_ns;
    for (uint32_t i = 0; i < tried->program.step_count; i++) {
        const tn_program_step *step = &tried->program.steps[i];
        const double share = tried->ns[i] / first_ns;
        if (share <= 0) continue;
        if (step->node == TN_NO_NODE)
            TN_TRY(note_reformat(lowering, &tried->program, step, share));
        else
            note_candidate(lowering, step->node, choice[step->node], share);
    }
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                   "trial %u: the network takes %.1f us, %.4f of the first one", trials->count,
                   tried->all_ns * 1e-3, tried->share);
    return TN_OK;
}

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
    TN_TRY(runner->race(networks, is_first ? 1 : 2, step_ns, ns));
    tried->all_ns = is_first ? ns[0] : ns[1];
    *out_ratio = tried->all_ns / ns[0];
    return TN_OK;
}

/* What seems to be faster has to be so again: of many that are as good, one would seem better by
 * chance each time. */
static tn_status race_twice(tn_lowering *lowering, tn_trial *tried, double *out_ratio) {
    double again = 1;
    TN_TRY(race(lowering, tried, out_ratio));
    if (*out_ratio >= 1 - tn_timing_policy.trial_gain) return TN_OK;
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

/* Against the best so far; is the best afterwards where it is faster. */
static tn_status run_trial(tn_lowering *lowering, const uint32_t *choice, tn_trial *tried,
                           uint32_t *best_choice, bool *out_is_over) {
    struct tn_lower_trials *trials = lowering->trials;
    const size_t nodes = lowering->graph->node_count;
    const tn_trial *against = trials->best.arena ? &trials->best : NULL;
    double ratio = 1;
    memcpy(trials->chosen + trials->count++ * nodes, choice, nodes * sizeof *choice);
    TN_TRY(prepare(lowering, choice, tried));
    if (!tn_trial_recall(lowering, against, tried, &ratio)) {
        *out_is_over = tn_timing_now_ns(lowering) >= tn_timing_trials_end_ns(lowering);
        if (*out_is_over) return TN_OK;
        TN_TRY(race_twice(lowering, tried, &ratio));
        TN_TRY(tn_trial_keep(lowering, against, tried, ratio));
    }
    tried->share = against ? against->share * ratio : 1;
    TN_TRY(note_steps(lowering, choice, tried));
    if (against && ratio >= 1 - tn_timing_policy.trial_gain) return TN_OK;
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG, "trial %u is the best so far",
                   trials->count);
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

/* What estimates would choose: the same in each build, whatever else the machine does. */
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
    if (trials->count == 1 && has_steps) {
        TN_TRY(find_by_estimates(lowering, next));
        *out_is_new = !is_tried(trials, next, nodes);
    }
    if (lowering->precision->lower_type != TN_NONE)
        TN_TRY(find_without(lowering, LOWEST, next, out_is_new));
    if (has_steps) TN_TRY(find_without(lowering, PARTIAL, next, out_is_new));
    for (uint32_t i = 0; has_steps && i <= tn_timing_policy.trial_eagerness_powers && !*out_is_new;
         i++) {
        trials->power = i == 0 ? is_eager : i == 1 ? !is_eager : i;
        TN_TRY(tn_lower_choose(lowering, next));
        *out_is_new = !is_tried(trials, next, nodes);
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
    return TN_OK;
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
