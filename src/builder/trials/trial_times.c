/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What steps take in networks. A machine that others share is slower by a tenth for seconds, so
 * what a race gives is scaled by what its best network took then, and the mean of all races in
 * which a candidate ran is what is known of it.
 */
#include "builder/trials/trial_times.h"

#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/lower_compare.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_cache.h"
#include "builder/timing/timing_policy.h"

/* --- what the choice asks --- */

static double ratio_of(double in_place, double isolated) {
    return isolated > 0 && in_place > 0 ? in_place / isolated : 0;
}

static double ratio_of_all(const tn_trial_sums *known) {
    return ratio_of(known->in_place, known->isolated);
}

double tn_lower_trials_cost(const tn_lowering *lowering, uint32_t node, size_t candidate,
                            double cost, bool is_short) {
    const struct tn_lower_trials *trials = lowering->trials;
    if (!trials) return cost;
    if (trials->is_by_estimates)
        return tn_lower_estimate(lowering, node, &lowering->nodes[node].candidates[candidate]);
    if (trials->candidates[node][candidate].races > 0)
        return trials->candidates[node][candidate].ns;
    double ratio = trials->ratios[node];
    if (ratio == 0) ratio = ratio_of_all(&trials->kernels);
    return ratio == 0 ? cost : cost * ratio * (is_short ? 1 : trials->eagerness);
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
    *out_cost = trials ? trials->reformats[reformat_at(lowering, tensor, from, to)].ns : 0;
    if (*out_cost > 0) return TN_OK;
    TN_TRY(
        tn_lower_reformat_cost(lowering, tensor, storages[0], storages[1], out_cost, &is_measured));
    double ratio = trials ? ratio_of_all(&trials->conversions) : 0;
    if (trials && ratio == 0) ratio = ratio_of_all(&trials->kernels);
    if (ratio > 0) *out_cost *= ratio;
    return TN_OK;
}

/* --- what a program took --- */

/* The candidate whose step it is; null: a conversion, or a node that does not run. */
static const tn_candidate *candidate_of(const tn_lowering *lowering, const uint32_t *choice,
                                        const tn_program_step *step) {
    return step->node == TN_NO_NODE ? NULL
                                    : &lowering->nodes[step->node].candidates[choice[step->node]];
}

static tn_storage storage_of(const tn_program_value *value, const tn_lowering *lowering) {
    const tn_type own = lowering->facts->types[value->tensor];
    return (tn_storage){value->type == own ? TN_NONE : value->type, value->format, value->space};
}

static void note_ns(tn_in_place *known, tn_trial_sums *all, double isolated, double ns) {
    const double change = (ns - known->ns) / ++known->races;
    all->isolated += known->races == 1 ? isolated : 0;
    all->in_place += change;
    known->ns += change;
}

static tn_in_place *reformat_of(const tn_lowering *lowering, const tn_program *program,
                                const tn_program_step *step) {
    const tn_program_value *from = &program->values[step->inputs[0]],
                           *to = &program->values[step->outputs[0]];
    const size_t at = reformat_at(lowering, from->tensor,
                                  tn_lower_storage_number(lowering, storage_of(from, lowering)),
                                  tn_lower_storage_number(lowering, storage_of(to, lowering)));
    return &lowering->trials->reformats[at];
}

static tn_status note_reformat(tn_lowering *lowering, const tn_program *program,
                               const tn_program_step *step, double ns) {
    const tn_program_value *from = &program->values[step->inputs[0]],
                           *to = &program->values[step->outputs[0]];
    double isolated = 0;
    bool is_measured = false;
    TN_TRY(tn_lower_reformat_cost(lowering, from->tensor, storage_of(from, lowering),
                                  storage_of(to, lowering), &isolated, &is_measured));
    note_ns(reformat_of(lowering, program, step), &lowering->trials->conversions, isolated, ns);
    return TN_OK;
}

static void note_candidate(tn_lowering *lowering, uint32_t node, uint32_t number, double ns) {
    struct tn_lower_trials *trials = lowering->trials;
    tn_in_place *known = &trials->candidates[node][number];
    const double cost = lowering->nodes[node].candidates[number].cost;
    note_ns(known, &trials->kernels, cost, ns);
    const double ratio = ratio_of(known->ns, cost);
    if (ratio > 0 && (trials->ratios[node] == 0 || ratio < trials->ratios[node]))
        trials->ratios[node] = ratio;
}

static tn_status note_steps(tn_lowering *lowering, const uint32_t *choice, const tn_trial *raced,
                            double scale) {
    for (uint32_t i = 0; i < raced->program.step_count; i++) {
        const tn_program_step *step = &raced->program.steps[i];
        const double ns = raced->ns[i] * scale;
        if (ns <= 0) continue;
        if (step->node == TN_NO_NODE)
            TN_TRY(note_reformat(lowering, &raced->program, step, ns));
        else
            note_candidate(lowering, step->node, choice[step->node], ns);
    }
    return TN_OK;
}

double tn_trial_known_ns(const tn_lowering *lowering, const uint32_t *choice,
                         const tn_program *program, double *const *costs) {
    double sum = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const tn_program_step *step = &program->steps[i];
        if (step->node == TN_NO_NODE)
            sum += reformat_of(lowering, program, step)->ns;
        else if (costs)
            sum += costs[step->node][choice[step->node]];
        else
            sum += lowering->trials->candidates[step->node][choice[step->node]].ns;
    }
    return sum;
}

/* What a race tells, in the time of what is known of the best. */
tn_status tn_trial_note_race(tn_lowering *lowering, const uint32_t *choice, const tn_trial *tried,
                             const uint32_t *best_choice) {
    const tn_trial *best = &lowering->trials->best;
    double best_ns = 0;
    if (!best->arena) return note_steps(lowering, choice, tried, 1);
    for (uint32_t i = 0; i < best->program.step_count; i++)
        best_ns += best->ns[i];
    const double scale =
        best_ns > 0 ? tn_trial_known_ns(lowering, best_choice, &best->program, NULL) / best_ns : 1;
    TN_TRY(note_steps(lowering, choice, tried, scale));
    return note_steps(lowering, best_choice, best, scale);
}

/* --- the timing cache: a second build with the same one has the same times --- */

static uint64_t add_value(const tn_lowering *lowering, uint64_t key,
                          const tn_program_value *value) {
    const tn_shape *shape = &lowering->points[1]->tensors[value->tensor].storage.shape;
    key = tn_timing_key_storage(lowering, tn_hash_add_u64(key, value->tensor), value->tensor,
                                storage_of(value, lowering));
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        key = tn_hash_add_u64(key, (uint64_t)shape->extents[axis]);
    return key;
}

/* 0: what a step's time depends on is not known beyond this build. */
tn_status tn_trial_key(const tn_lowering *lowering, const uint32_t *choice,
                       const tn_program *program, uint64_t *out_key) {
    uint64_t key = tn_hash_add_text(tn_timing_key_device(lowering, 0, false), "a network");
    *out_key = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const tn_program_step *step = &program->steps[i];
        tn_candidate *candidate = (tn_candidate *)candidate_of(lowering, choice, step);
        uint64_t own = 0;
        if (candidate) TN_TRY(tn_timing_key(lowering, step->node, candidate, &own));
        if (candidate && candidate->is_unkeyed) return TN_OK;
        key = tn_hash_add_u64(key, own);
        for (uint32_t port = 0; port < step->input_count; port++)
            if (step->inputs[port] != TN_NO_VALUE)
                key = add_value(lowering, key, &program->values[step->inputs[port]]);
        for (uint32_t port = 0; port < step->output_count; port++)
            if (step->outputs[port] != TN_NO_VALUE)
                key = add_value(lowering, key, &program->values[step->outputs[port]]);
    }
    *out_key = key;
    return TN_OK;
}

static bool recall_one(const tn_lowering *lowering, uint64_t key, double *out_ns) {
    tn_timing_result result;
    if (!lowering->options->cache || !tn_timing_cache_get(lowering->options->cache, key, &result))
        return false;
    *out_ns = result.ns;
    return true;
}

/* Of what a race gave; 0: it is known to this build alone. */
static uint64_t key_of_race(const tn_lowering *lowering, const tn_trial *tried) {
    const tn_trial *best = &lowering->trials->best;
    if (tried->key == 0 || (best->arena && best->key == 0)) return 0;
    return tn_hash_add_u64(best->arena ? best->key : 0, tried->key);
}

/* The times of a race: those of the steps of `tried`, and after them those of the best. */
static double *time_of(const tn_lowering *lowering, const tn_trial *tried, uint32_t number) {
    const uint32_t own = tried->program.step_count;
    return number < own ? &tried->ns[number] : &lowering->trials->best.ns[number - own];
}

static uint32_t time_count(const tn_lowering *lowering, const tn_trial *tried) {
    const tn_trial *best = &lowering->trials->best;
    return tried->program.step_count + (best->arena ? best->program.step_count : 0);
}

bool tn_trial_recall(const tn_lowering *lowering, const tn_trial *tried) {
    const uint64_t key = key_of_race(lowering, tried);
    const uint32_t count = time_count(lowering, tried);
    for (uint32_t i = 0; i < count; i++)
        if (key == 0 || !recall_one(lowering, tn_hash_add_u64(key, i), time_of(lowering, tried, i)))
            return false;
    return true;
}

tn_status tn_trial_keep(const tn_lowering *lowering, const tn_trial *tried) {
    tn_timing_cache *cache = lowering->options->cache;
    const uint64_t key = key_of_race(lowering, tried);
    const uint32_t count = cache && key != 0 ? time_count(lowering, tried) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const double ns = *time_of(lowering, tried, i);
        TN_TRY(tn_timing_cache_set(cache, tn_hash_add_u64(key, i),
                                   (tn_timing_result){.ns = ns, .floor_ns = ns}));
    }
    return TN_OK;
}
