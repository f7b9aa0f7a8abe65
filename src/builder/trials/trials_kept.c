/* SPDX-License-Identifier: Apache-2.0 */
/* What the timing cache keeps of networks: a second build with the same one has the same times. */
#include "base/hash.h"
#include "base/status.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_cache.h"
#include "builder/trials/trials_private.h"

static uint64_t add_value(const tn_lowering *lowering, uint64_t key,
                          const tn_program_value *value) {
    const tn_shape *shape = &lowering->points[1]->tensors[value->tensor].storage.shape;
    key = tn_timing_key_storage(lowering, tn_hash_add_u64(key, value->tensor), value->tensor,
                                tn_trial_storage(value, lowering));
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
        tn_candidate *candidate = (tn_candidate *)tn_trial_candidate(lowering, choice, step);
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

/* Whether what a race gave is known beyond this build; `against` null: of one alone. */
static bool is_kept(const tn_trial *against, const tn_trial *tried) {
    return tried->key != 0 && (!against || against->key != 0);
}

/* The steps' times come first, and then that of the whole. */
bool tn_trial_recall(const tn_lowering *lowering, const tn_trial *against, tn_trial *tried,
                     double *out_ratio) {
    const uint32_t steps = tried->program.step_count;
    *out_ratio = 1;
    if (!is_kept(against, tried)) return false;
    for (uint32_t i = 0; i < steps; i++)
        if (!recall_one(lowering, tn_hash_add_u64(tried->key, i), &tried->ns[i])) return false;
    return recall_one(lowering, tn_hash_add_u64(tried->key, steps), &tried->all_ns) &&
           (!against || recall_one(lowering, tn_hash_add_u64(against->key, tried->key), out_ratio));
}

static tn_status keep_one(const tn_lowering *lowering, uint64_t key, double value) {
    return tn_timing_cache_set(lowering->options->cache, key,
                               (tn_timing_result){.ns = value, .floor_ns = value});
}

tn_status tn_trial_keep(const tn_lowering *lowering, const tn_trial *against, const tn_trial *tried,
                        double ratio) {
    const uint32_t steps = tried->program.step_count;
    if (!lowering->options->cache || !is_kept(against, tried)) return TN_OK;
    for (uint32_t i = 0; i < steps; i++)
        TN_TRY(keep_one(lowering, tn_hash_add_u64(tried->key, i), tried->ns[i]));
    TN_TRY(keep_one(lowering, tn_hash_add_u64(tried->key, steps), tried->all_ns));
    return against ? keep_one(lowering, tn_hash_add_u64(against->key, tried->key), ratio) : TN_OK;
}
