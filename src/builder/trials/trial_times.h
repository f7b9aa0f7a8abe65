/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of networks that ran as trials, and what the choice makes of it. Within trials/. */
#ifndef TENON_BUILDER_TRIAL_TIMES_H
#define TENON_BUILDER_TRIAL_TIMES_H

#include "builder/lower/lower_facts.h"

/* A choice as a network. */
typedef struct tn_trial {
    tn_program program;
    tn_arena *arena;
    void *network; /* the runner's; null: not open */
    uint64_t key;  /* 0: what its times depend on is not known beyond this build */
    double *ns;    /* by step; 0: it does not run */
} tn_trial;

/* What steps that ran took alone, and in a network. */
typedef struct tn_trial_sums {
    double isolated, in_place;
} tn_trial_sums;

/* What a candidate or a conversion took in networks: the mean of so many races. */
typedef struct tn_in_place {
    double ns;
    uint32_t races;
} tn_in_place;

/* What is known of networks that ran. */
struct tn_lower_trials {
    tn_in_place **candidates; /* by node */
    tn_in_place *reformats;   /* [tensor][from][to], as the choice's problem has them */
    double *ratios; /* by node: what one took in a network over what it took alone, the least; 0:
                       nothing is known */
    tn_trial_sums kernels, conversions;
    double eagerness; /* of the cost of what did not run yet */
    bool is_by_estimates;
    tn_trial best;    /* of those that ran */
    uint32_t *chosen; /* the choices that were tried, one after the other */
    bool *has_run;    /* of each: some fail, or come too late */
    uint32_t count;
};

/* What the race of `tried` with the best so far gave, their `ns`, joins what is known. */
tn_status tn_trial_note_race(tn_lowering *lowering, const uint32_t *choice, const tn_trial *tried,
                             const uint32_t *best_choice);
/* What the steps of a choice that ran take, in nanoseconds, by all races so far. With `costs`, of
 * each node's candidates, kernels by those. */
double tn_trial_known_ns(const tn_lowering *lowering, const uint32_t *choice,
                         const tn_program *program, double *const *costs);

/* Of what a choice's times depend on; 0: that is not known beyond this build. */
tn_status tn_trial_key(const tn_lowering *lowering, const uint32_t *choice,
                       const tn_program *program, uint64_t *out_key);
/* The timing cache: the same race of a build before, and this one for later builds. */
bool tn_trial_recall(const tn_lowering *lowering, const tn_trial *tried);
tn_status tn_trial_keep(const tn_lowering *lowering, const tn_trial *tried);

#endif
