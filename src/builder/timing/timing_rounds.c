/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeated runs of one or several works, one sample of each in every round: what changes the
 * machine's speed meanwhile meets all of them alike, and a moment in which it does something else
 * does not decide. Rounds go on until the shortest samples of each agree. See timing_private.h.
 */
#include "base/status.h"
#include "builder/timing/timing_private.h"

#include <math.h>

/* A sample on the processor takes so long at least, so that neither the clock nor the look at what
 * disturbed it counts, but not many runs. */
#define SAMPLE_NS   50e3
#define COUNT_LIMIT 50
/* What runs longer than this has cold caches in any case. */
#define WARMED_NS 5e6
/* Samples of one that was disturbed in all of them: a load that comes and goes leaves it alone in
 * some. */
#define DISTURBED_LIMIT 10
/* In which two samples agree of what is left off. */
#define PRUNE_TOLERANCE 0.03
/* What runs longer is run once more after the first. */
#define LONG_RUN_NS 200e6

tn_timing_policy tn_timing_policy_alone(const tn_lowering *lowering, bool is_remote) {
    const double end_ns = lowering->timing->nodes_end_ns;
    if (is_remote) return (tn_timing_policy){5, 15, 0.01, TN_TIMING_RUN_NS, 1, 4, 0, end_ns};
    return (tn_timing_policy){2, 30, 0.03, TN_TIMING_RUN_NS, 2, 2, 0, end_ns};
}

tn_timing_policy tn_timing_policy_of_conversions(const tn_lowering *lowering, bool is_remote) {
    tn_timing_policy policy = tn_timing_policy_alone(lowering, is_remote);
    if (!is_remote) policy.enough_ns = TN_TIMING_RUN_NS / 5; /* many, and they vary little */
    policy.end_ns = lowering->timing->end_ns;
    return policy;
}

tn_timing_policy tn_timing_policy_beside(const tn_lowering *lowering) {
    return (tn_timing_policy){20, 100, 0.01, 0, 3, 1.1, 0, lowering->timing->rounds_end_ns};
}

static tn_status run_on_host(const tn_lowering *lowering, const tn_timing_work *work, int count,
                             tn_timing_sample *out_sample) {
    tn_timing_watch watch;
    tn_timing_watch_start(lowering, &watch);
    for (int i = 0; i < count; i++)
        TN_TRY(work->once(lowering, work));
    *out_sample = tn_timing_watch_stop(lowering, &watch);
    out_sample->ns /= count;
    out_sample->waited_ns /= count;
    return TN_OK;
}

static tn_status take_sample(const tn_lowering *lowering, tn_timing_work *work, bool is_cold) {
    tn_timing_sample sample = {0};
    if (work->is_remote)
        TN_TRY(tn_timing_device_sample(lowering, work, &sample.ns));
    else {
        if (is_cold && !(work->samples.least > WARMED_NS)) TN_TRY(work->once(lowering, work));
        TN_TRY(run_on_host(lowering, work, work->count, &sample));
    }
    sample.ns = nearbyint(sample.ns); /* reports show whole nanoseconds */
    tn_timing_samples_add(&work->samples, sample);
    return TN_OK;
}

tn_status tn_timing_warm_up(tn_lowering *lowering, tn_timing_work *work,
                            const tn_timing_policy *policy) {
    tn_timing_sample first = {0};
    work->count = 1;
    if (work->is_remote) return tn_timing_device_warm_up(lowering, work, policy);
    TN_TRY(run_on_host(lowering, work, 1, &first));
    tn_timing_follow_threads(lowering);
    TN_TRY(tn_progress_again(lowering->options->progress));
    if (first.ns > LONG_RUN_NS) tn_timing_samples_add(&work->samples, first);
    if (first.ns > 0 && SAMPLE_NS / first.ns > 1)
        work->count = (int)fmin(SAMPLE_NS / first.ns, COUNT_LIMIT);
    return TN_OK;
}

static bool does_as_much(const tn_timing_work *other, const tn_timing_work *work) {
    return !other->candidate || !work->candidate ||
           tn_lower_covers(other->candidate, work->candidate);
}

/* Slower by far than another one that does at least as much, whatever disturbed it. */
static bool is_pruned(tn_timing_work *const *works, uint32_t count, const tn_timing_work *work,
                      const tn_timing_policy *policy) {
    double best = policy->best_ns > 0 ? policy->best_ns : INFINITY;
    if (work->samples.count < policy->prune_after ||
        (work->samples.clean_count > 0 && policy->prune_after > 1 &&
         !tn_timing_samples_agree(&work->samples, PRUNE_TOLERANCE)))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (does_as_much(works[i], work) && works[i]->samples.count > 0)
            best = fmin(best, works[i]->samples.least);
    return tn_timing_samples_floor(&work->samples) > policy->pruned_factor * best;
}

static bool is_one_disturbed(tn_timing_work *const *works, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (works[i]->samples.clean_count == 0) return true;
    return false;
}

static bool is_settled(tn_timing_work *const *works, uint32_t count,
                       const tn_timing_policy *policy) {
    for (uint32_t i = 0; i < count; i++)
        if (!tn_timing_samples_agree(&works[i]->samples, policy->tolerance) &&
            !is_pruned(works, count, works[i], policy))
            return false;
    return true;
}

/* Whether a round is due after so many, which took so long without what others had of the time. */
static bool is_due(const tn_lowering *lowering, tn_timing_work *const *works, uint32_t count,
                   const tn_timing_policy *policy, uint32_t round, double taken_ns) {
    const bool is_long = works[0]->samples.count > 0 && works[0]->samples.least > LONG_RUN_NS;
    if (round == 0) return true;
    if (round >= policy->at_most || tn_timing_now_ns(lowering) >= policy->end_ns) return false;
    if (is_settled(works, count, policy) && (round >= policy->at_least || is_long)) return false;
    return round < policy->at_least || !(policy->enough_ns > 0) ||
           taken_ns < policy->enough_ns * count ||
           (round < DISTURBED_LIMIT && is_one_disturbed(works, count));
}

static double least_sum(tn_timing_work *const *works, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += works[i]->samples.least * works[i]->count * works[i]->samples.count;
    return sum;
}

tn_status tn_timing_rounds(tn_lowering *lowering, tn_timing_work *const *works, uint32_t count,
                           const tn_timing_policy *policy, uint32_t *out_failed) {
    for (uint32_t round = 0; is_due(lowering, works, count, policy, round, least_sum(works, count));
         round++)
        for (uint32_t i = 0; i < count; i++) {
            const tn_status status = is_pruned(works, count, works[i], policy)
                                         ? TN_OK
                                         : take_sample(lowering, works[i], count > 1 || round == 0);
            *out_failed = i;
            TN_TRY(status);
            TN_TRY(tn_progress_again(lowering->options->progress));
        }
    return TN_OK;
}
