/* SPDX-License-Identifier: Apache-2.0 */
/* What candidates and conversions cost by what ran so far; see trials.c. */
#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing_policy.h"
#include "builder/trials/trials_private.h"

#include <math.h>

/* --- what the choice asks --- */

static double ratio_of(double in_place, double isolated) {
    return isolated > 0 && in_place > 0 ? in_place / isolated : 0;
}

static double ratio_of_all(const tn_trial_sums *known) {
    return ratio_of(known->in_place, known->isolated);
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
    return (without & TN_WITHOUT_LOWEST && tn_lower_compare_is_lowest(lowering, node, candidate)) ||
           (without & TN_WITHOUT_PARTIAL && is_partial(&lowering->nodes[node], candidate));
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

bool tn_lower_is_by_estimates(const tn_lowering *lowering) {
    return lowering->options->no_timing || (lowering->trials && lowering->trials->is_by_estimates);
}

double tn_lower_trials_cost(const tn_lowering *lowering, uint32_t node, size_t candidate,
                            double cost) {
    const struct tn_lower_trials *trials = lowering->trials;
    if (!trials || !lowering->facts->is_shaped[node]) return cost;
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
static void note_share(double *known, tn_trial_sums *all, double isolated, double share) {
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

tn_status tn_trial_note(tn_lowering *lowering, const uint32_t *choice, const tn_trial *tried) {
    struct tn_lower_trials *trials = lowering->trials;
    const double first_ns = tried->all_ns / tried->share;
    if (trials->first_ns == 0 || first_ns < trials->first_ns) trials->first_ns = first_ns;
    for (uint32_t i = 0; i < tried->program.step_count; i++) {
        const tn_program_step *step = &tried->program.steps[i];
        const double share = tried->ns[i] / first_ns;
        if (share <= 0) continue;
        if (step->node == TN_NO_NODE)
            TN_TRY(note_reformat(lowering, &tried->program, step, share));
        else if (lowering->facts->is_shaped[step->node])
            note_candidate(lowering, step->node, choice[step->node], share);
    }
    tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                   "trial %u: the network takes %.1f us, %.4f of the first one", trials->count,
                   tried->all_ns * 1e-3, tried->share);
    return TN_OK;
}
