/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of timing, one object: what is measured, in which order, for how long, and what a
 * difference means. Values and their reasons are in timing_policy.c. Factors are over the best time
 * that it names, shares are of the time for all measuring, noise and tolerances are relative.
 */
#ifndef TN_BUILDER_TIMING_TIMING_POLICY_H
#define TN_BUILDER_TIMING_TIMING_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Up to so many candidates are open and measured beside each other. */
#define TN_TIMING_MOST_OPEN 12

/* The order: all nodes have their part of a stage before the next one begins. */
enum {
    TN_STAGE_FIRST,   /* the first tactics of what promises most */
    TN_STAGE_TACTICS, /* the other tactics of those that turn out to be within a factor of the best
                       */
    TN_STAGE_SHORT,   /* with less of the chain than the kernel could do */
    TN_STAGE_REST
};
typedef struct tn_timing_stage {
    int stage;
    bool with_slow_prepare; /* kernels that compile are no longer left out */
} tn_timing_stage;
#define TN_TIMING_STAGES 7

/* What a device takes for a step, and moves in a nanosecond. */
typedef struct tn_timing_rate {
    double step_ns;
    double bytes_a_ns; /* read and written */
} tn_timing_rate;
typedef struct tn_timing_rates {
    tn_timing_rate host, device, transfer;
    tn_timing_rate memory;     /* the processor's, of what is not in its caches */
    double weights_bytes_a_ns; /* at which runs read the network's constants: of measured costs */
} tn_timing_rates;

/* When enough is known of something that runs again and again. */
typedef struct tn_timing_bounds {
    uint32_t at_least, at_most; /* samples */
    double tolerance;           /* in which the two shortest agree; above 0 */
    double enough_ns;           /* of samples for each work, once there are at_least; 0: no bound */
    uint32_t prune_after;       /* samples */
    double pruned_factor; /* over another work that does as much: what is slower is left off */
    double best_ns;       /* of such another one, that is not among the works; 0, infinity: none */
    double end_ns;        /* when the time is over */
} tn_timing_bounds;

struct tn_timing_policy {
    /* What is measured, in which order. */
    tn_timing_stage stages[TN_TIMING_STAGES];
    double promising_factor, device_promising_factor;
    double tactics_factor;
    double pruned_factor, pruned_ns;
    double short_factor;
    double slow_prepare_ns;
    double beside_factor, beside_same_factor;
    double unmeasured_factor;
    /* For how long. */
    double all_s, device_all_s;
    double rounds_share, conversion_share;
    uint64_t open_bytes, most_bytes;
    uint32_t most_trials;
    double trials_share, device_trials_share;
    double trial_ns, trial_share;
    uint32_t trial_runs, trial_most_runs;
    double trial_tolerance;
    double trial_quickest_share;
    uint32_t trial_least_quickest;
    double trial_gain, device_trial_gain, trial_eagerness;
    double device_trial_sample_ns;
    uint32_t device_trial_runs;
    uint32_t trial_eagerness_powers;
    tn_timing_bounds alone, alone_on_device, beside;
    double conversion_enough_ns;
    /* How a sample is taken. */
    double sample_ns, device_sample_ns;
    uint32_t most_runs, device_most_runs;
    double warmed_ns, long_run_ns;
    uint32_t most_disturbed;
    double wait_share, slow_pace;
    double prune_tolerance;
    uint32_t captured_runs;
    double device_warm_ns;
    uint32_t device_warm_samples;
    double device_pruned_ns;
    uint32_t period;
    /* What a difference means. */
    double least_noise, most_noise;
    double least_difference;
    double without_openmp_factor;
    double team_ns;
    double made_ns, made_plain_ns, runs_a_size;
    double rank_share;
    uint32_t rank_limit;
    uint64_t resident_bytes;
    /* Estimates of what is not measured. */
    tn_timing_rates rates;
    uint64_t rate_bytes, most_weights_bytes;
    uint32_t weights_passes;
    double least_fit, most_fit;
    double work_a_byte, device_work_a_byte;
    double rank_factor, tactic_factor;
    double blocked_factor, narrow_device_factor, tf32_factor;
    uint32_t baseline_lanes, channel_lanes, wide_lanes;
    double depthwise_linear_factor, library_ns;
    double channels_last_factor, unsuited_factor;
    double fallback_factor, reference_factor;
    double unknown_bytes;
    double impossible_ns;
};
extern const struct tn_timing_policy tn_timing_policy;

#endif
