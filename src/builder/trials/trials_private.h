/* SPDX-License-Identifier: Apache-2.0 */
/* A choice that runs as a network (trials.c), swaps of single kernels (trials_swaps.c), what others
 * cost by what ran (trials_costs.c), and what the timing cache keeps of it (trials_kept.c). Private
 * to this folder. */
#ifndef TN_BUILDER_TRIALS_TRIALS_PRIVATE_H
#define TN_BUILDER_TRIALS_TRIALS_PRIVATE_H

#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_private.h"

/* A choice as a network. */
typedef struct tn_trial {
    tn_program program;
    tn_arena *arena;
    void *network; /* the runner's; null: not open */
    uint64_t key;  /* 0: what its times depend on is not known beyond this build */
    double *ns;    /* by step, of the race that gave them; 0: it does not run */
    double all_ns; /* of the network, likewise */
    double share;  /* of what the first network took, when both ran as fast as they can */
} tn_trial;

/* What steps that ran took alone, and in a network, as shares of it. */
typedef struct tn_trial_sums {
    double isolated, in_place;
} tn_trial_sums;

/* What a choice may be asked to do without: candidates with the least exact type, and those that do
 * less of a chain than the same kernel could. */
enum { TN_WITHOUT_LOWEST = 1, TN_WITHOUT_PARTIAL = 2 };

/* What is known of networks that ran; 0: nothing. A machine with neighbours takes twice as long for
 * seconds: what a step takes is known as a share of what the first network would have taken. */
struct tn_lower_trials {
    double first_ns;   /* what that takes, where nothing disturbs: the unit of all shares */
    double **shares;   /* by node and candidate */
    double *ratios;    /* by node: the share of one over what it took alone, the least */
    double *reformats; /* shares [tensor][from][to], as the choice's problem has them */
    tn_trial_sums kernels, conversions;
    double race_ns; /* that the last race took, opening its networks too */
    uint32_t power; /* of the eagerness, for what did not run yet */
    bool is_by_estimates;
    uint32_t without, were_without; /* of the choice that is asked for, and of all before: by bit */
    tn_trial best;                  /* of those that ran */
    uint32_t *chosen;               /* the first choices that ran, one after the other */
    uint32_t count;                 /* of all that ran */
};

/* --- trials.c --- */
/* Runs a choice against the best one so far; where it is faster it is the best one, and in
 * `best_choice`. *out_is_over: networks cannot be run, or not any more. */
tn_status tn_trial_try(tn_lowering *lowering, const uint32_t *choice, uint32_t *best_choice,
                       bool *out_is_over);

/* --- trials_swaps.c --- */
/* Improves the best choice node by node, as long as that helps and time is left; `next`: scratch,
 * a choice, too. */
tn_status tn_trial_swaps(tn_lowering *lowering, uint32_t *choice, uint32_t *next);

/* --- trials_costs.c --- */
/* Learns from a network that ran; `share` is set. */
tn_status tn_trial_note(tn_lowering *lowering, const uint32_t *choice, const tn_trial *tried);

/* The candidate whose step it is; null: a conversion, or a node that does not run. */
static inline const tn_candidate *tn_trial_candidate(const tn_lowering *lowering,
                                                     const uint32_t *choice,
                                                     const tn_program_step *step) {
    return step->node == TN_NO_NODE ? NULL
                                    : &lowering->nodes[step->node].candidates[choice[step->node]];
}

static inline tn_storage tn_trial_storage(const tn_program_value *value,
                                          const tn_lowering *lowering) {
    const tn_type own = lowering->facts->types[value->tensor];
    return (tn_storage){value->type == own ? TN_NONE : value->type, value->format, value->space};
}

/* --- trials_kept.c --- */
/* What its times are kept under; 0: what a step's time depends on is not known beyond this build.
 */
tn_status tn_trial_key(const tn_lowering *lowering, const uint32_t *choice,
                       const tn_program *program, uint64_t *out_key);
/* What a race against another network (null: alone) gave before, and what it took over what the
 * other one took; false: it is not known. */
bool tn_trial_recall(const tn_lowering *lowering, const tn_trial *against, tn_trial *tried,
                     double *out_ratio);
tn_status tn_trial_keep(const tn_lowering *lowering, const tn_trial *against, const tn_trial *tried,
                        double ratio);

#endif
