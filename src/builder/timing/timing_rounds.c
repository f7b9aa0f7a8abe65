/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeated runs of one or several works, one sample of each in every round: what changes the
 * machine's speed meanwhile meets all of them alike, and a moment in which it does something else
 * does not decide. Rounds go on until the shortest samples of each agree. See timing_private.h.
 */
#include "base/status.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"

#include <math.h>

tn_timing_bounds tn_timing_bounds_alone(const tn_lowering *lowering, bool is_remote) {
    tn_timing_bounds bounds = is_remote ? tn_timing_policy.alone_on_device : tn_timing_policy.alone;
    bounds.end_ns = lowering->timing->clock.nodes_end_ns;
    return bounds;
}

tn_timing_bounds tn_timing_bounds_of_conversions(const tn_lowering *lowering, bool is_remote) {
    tn_timing_bounds bounds = tn_timing_bounds_alone(lowering, is_remote);
    if (!is_remote) bounds.enough_ns = tn_timing_policy.conversion_enough_ns;
    bounds.end_ns = lowering->timing->clock.end_ns;
    return bounds;
}

tn_timing_bounds tn_timing_bounds_beside(const tn_lowering *lowering) {
    tn_timing_bounds bounds = tn_timing_policy.beside;
    bounds.end_ns = lowering->timing->clock.rounds_end_ns;
    return bounds;
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
    const double pace = out_sample->is_disturbed ? 1 : tn_timing_pace(lowering);
    if (pace > tn_timing_policy.slow_pace) {
        out_sample->is_disturbed = true;
        out_sample->waited_ns = out_sample->ns * (1 - 1 / pace);
    }
    return TN_OK;
}

static tn_status take_sample(const tn_lowering *lowering, tn_timing_work *work, bool is_cold) {
    tn_timing_sample sample = {0};
    if (work->is_remote)
        TN_TRY(tn_timing_device_sample(lowering, work, &sample.ns));
    else {
        if (is_cold && !(work->samples.least > tn_timing_policy.warmed_ns))
            TN_TRY(work->once(lowering, work));
        TN_TRY(run_on_host(lowering, work, work->count, &sample));
    }
    sample.ns = nearbyint(sample.ns); /* reports show whole nanoseconds */
    tn_timing_samples_add(&work->samples, sample);
    return TN_OK;
}

tn_status tn_timing_warm_up(tn_lowering *lowering, tn_timing_work *work,
                            const tn_timing_bounds *bounds) {
    tn_timing_sample first = {0};
    work->count = 1;
    if (work->is_remote) return tn_timing_device_warm_up(lowering, work, bounds);
    TN_TRY(run_on_host(lowering, work, 1, &first));
    tn_timing_follow_threads(lowering);
    TN_TRY(tn_progress_again(lowering->options->progress));
    if (first.ns > tn_timing_policy.long_run_ns) tn_timing_samples_add(&work->samples, first);
    if (first.ns > 0 && tn_timing_policy.sample_ns / first.ns > 1)
        work->count = (int)fmin(tn_timing_policy.sample_ns / first.ns, tn_timing_policy.most_runs);
    return TN_OK;
}

static bool does_as_much(const tn_timing_work *other, const tn_timing_work *work) {
    return !other->candidate || !work->candidate ||
           tn_lower_covers(other->candidate, work->candidate);
}

/* Slower by far than another one that does at least as much, whatever disturbed it. */
static bool is_pruned(tn_timing_work *const *works, uint32_t count, const tn_timing_work *work,
                      const tn_timing_bounds *bounds) {
    double best = bounds->best_ns > 0 ? bounds->best_ns : INFINITY;
    if (work->samples.count < bounds->prune_after ||
        (work->samples.clean_count > 0 && bounds->prune_after > 1 &&
         !tn_timing_samples_agree(&work->samples, tn_timing_policy.prune_tolerance)))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (does_as_much(works[i], work) && works[i]->samples.count > 0)
            best = fmin(best, works[i]->samples.least);
    return tn_timing_samples_floor(&work->samples) > bounds->pruned_factor * best;
}

static bool is_one_disturbed(tn_timing_work *const *works, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (works[i]->samples.clean_count == 0) return true;
    return false;
}

static bool is_settled(tn_timing_work *const *works, uint32_t count,
                       const tn_timing_bounds *bounds) {
    for (uint32_t i = 0; i < count; i++)
        if (!tn_timing_samples_agree(&works[i]->samples, bounds->tolerance) &&
            !is_pruned(works, count, works[i], bounds))
            return false;
    return true;
}

/* Whether a round is due after so many, which took so long without what others had of the time. */
static bool is_due(const tn_lowering *lowering, tn_timing_work *const *works, uint32_t count,
                   const tn_timing_bounds *bounds, uint32_t round, double taken_ns) {
    const bool is_long =
        works[0]->samples.count > 0 && works[0]->samples.least > tn_timing_policy.long_run_ns;
    if (round == 0) return true;
    if (round >= bounds->at_most || tn_timing_now_ns(lowering) >= bounds->end_ns) return false;
    if (is_settled(works, count, bounds) && (round >= bounds->at_least || is_long)) return false;
    return round < bounds->at_least || !(bounds->enough_ns > 0) ||
           taken_ns < bounds->enough_ns * count ||
           (round < tn_timing_policy.most_disturbed && is_one_disturbed(works, count));
}

static double least_sum(tn_timing_work *const *works, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += works[i]->samples.least * works[i]->count * works[i]->samples.count;
    return sum;
}

tn_status tn_timing_rounds(tn_lowering *lowering, tn_timing_work *const *works, uint32_t count,
                           const tn_timing_bounds *bounds, uint32_t *out_failed) {
    for (uint32_t round = 0; is_due(lowering, works, count, bounds, round, least_sum(works, count));
         round++)
        for (uint32_t i = 0; i < count; i++) {
            const tn_status status = is_pruned(works, count, works[i], bounds)
                                         ? TN_OK
                                         : take_sample(lowering, works[i], count > 1 || round == 0);
            *out_failed = i;
            TN_TRY(status);
            TN_TRY(tn_progress_again(lowering->options->progress));
        }
    return TN_OK;
}
