/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing: see timing.h. What a candidate takes alone and beside others, from the cache or measured;
 * the clock of the time that all of it may take.
 */
#include "builder/timing/timing.h"
#include "base/status.h"
#include "builder/lower/lower_facts.h"
#include "builder/timing/timing_cache.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"

#include <math.h>

static void start_clock(tn_lowering *lowering) {
    const bool has_device = tn_lower_has_device(lowering);
    const double asked = lowering->options->timing_seconds,
                 usual = has_device ? tn_timing_policy.device_all_s : tn_timing_policy.all_s;
    const uint32_t shares = lowering->options->timing_shares;
    struct tn_timing_clock *clock = &lowering->timing->clock;
    const double all_ns = (asked > 0 ? asked : usual) * 1e9 / (shares > 0 ? shares : 1);
    clock->begin_ns = clock->end_ns = clock->nodes_end_ns = clock->trials_end_ns =
        tn_timing_now_ns(lowering);
    if (lowering->options->no_timing) return; /* it is over at once */
    clock->all_ns = all_ns;
    clock->trials_end_ns = clock->begin_ns + all_ns;
    const double share =
        has_device ? tn_timing_policy.device_trials_share : tn_timing_policy.trials_share;
    clock->end_ns = clock->trials_end_ns - (lowering->options->runner ? share * all_ns : 0);
    clock->nodes_end_ns =
        clock->end_ns - tn_timing_policy.conversion_share * (clock->end_ns - clock->begin_ns);
}

tn_status tn_timing_begin(tn_lowering *lowering) {
    const bool knows_times = lowering->options->cache || !lowering->options->no_timing;
    if (!knows_times || lowering->options->reference_only) return TN_OK;
    struct tn_timing *timing = tn_arena_allocate(lowering->arena, 1, sizeof *timing);
    if (!timing) return tn_fail_memory("timing");
    TN_TRY(tn_timing_cache_open(lowering->graph->runtime, NULL, &timing->own_cache));
    timing->cache = lowering->options->cache ? lowering->options->cache : timing->own_cache;
    lowering->timing = timing;
    start_clock(lowering);
    return TN_OK;
}

double tn_timing_trials_end_ns(const tn_lowering *lowering) {
    return lowering->timing->clock.trials_end_ns;
}

double tn_timing_trial_ns(const tn_lowering *lowering) {
    const struct tn_timing_clock *clock = &lowering->timing->clock;
    return fmin(tn_timing_policy.trial_ns, tn_timing_policy.trial_share * clock->all_ns);
}

void tn_timing_delay_trials(tn_lowering *lowering) {
    struct tn_timing_clock *clock = &lowering->timing->clock;
    clock->trials_end_ns += fmax(tn_timing_now_ns(lowering) - clock->end_ns, 0);
}

void tn_timing_limit_trials(tn_lowering *lowering) {
    struct tn_timing_clock *clock = &lowering->timing->clock;
    const double now_ns = tn_timing_now_ns(lowering), so_far_ns = now_ns - clock->begin_ns,
                 least_ns = tn_timing_policy.device_trials_share * clock->all_ns;
    clock->trials_end_ns = fmin(clock->trials_end_ns, now_ns + fmax(so_far_ns, least_ns));
}

void tn_timing_limit(tn_lowering *lowering) {
    struct tn_timing_clock *clock = &lowering->timing->clock;
    const double now_ns = tn_timing_now_ns(lowering), so_far_ns = now_ns - clock->begin_ns,
                 least_ns = tn_timing_policy.rounds_share * (clock->end_ns - clock->begin_ns);
    clock->rounds_end_ns = now_ns + (so_far_ns > least_ns ? so_far_ns : least_ns);
    if (clock->rounds_end_ns > clock->nodes_end_ns) clock->rounds_end_ns = clock->nodes_end_ns;
}

void tn_timing_end(tn_lowering *lowering) {
    struct tn_timing *timing = lowering->timing;
    if (!timing) return;
    tn_timing_shares_log(lowering);
    for (size_t i = 0; i < TN_TIMING_MOST_OPEN; i++)
        tn_timing_free_blocks(lowering->graph->allocator, &timing->blocks[i]);
    tn_deallocate(lowering->graph->allocator, timing->beside_keys);
    tn_timing_leave_threads(&timing->threads);
    tn_timing_end_device(lowering);
    tn_timing_cache_close(timing->own_cache);
    lowering->timing = NULL;
}

bool tn_timing_is_over(const tn_lowering *lowering) {
    return tn_timing_now_ns(lowering) >= lowering->timing->clock.end_ns;
}

bool tn_timing_is_over_for_nodes(const tn_lowering *lowering) {
    return tn_timing_now_ns(lowering) >= lowering->timing->clock.nodes_end_ns;
}

static void add_run_share(const tn_lowering *lowering, const tn_candidate *candidate,
                          double begin_ns) {
    tn_timing_shares_add(&lowering->timing->shares, candidate->entry->kernel, 0, 0,
                         tn_timing_now_ns(lowering) - begin_ns);
}

/* Alone. */
static tn_status measure(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         double best_ns, tn_timing_samples *out_samples, double *out_grown_bytes) {
    struct tn_timing *timing = lowering->timing;
    tn_timing_subject *subject = &timing->subjects[0];
    tn_timing_work *const works[] = {&subject->work};
    tn_timing_bounds bounds = tn_timing_bounds_alone(lowering, tn_lower_is_on_device(candidate));
    uint32_t failed = 0;
    bounds.best_ns = best_ns;
    TN_TRY(tn_timing_subject_open(lowering, index, candidate, &timing->blocks[0], subject));
    const double begin_ns = tn_timing_now_ns(lowering);
    tn_status status = tn_timing_warm_up(lowering, &subject->work, &bounds);
    if (status == TN_OK) status = tn_timing_rounds(lowering, works, 1, &bounds, &failed);
    *out_samples = subject->work.samples;
    *out_grown_bytes = subject->grown_bytes;
    add_run_share(lowering, candidate, begin_ns);
    tn_timing_subject_close(lowering, subject);
    return status;
}

/* Extents that a network leaves open stand for themselves here, and those of them that do not go
 * together make tensors that no run has. */
static bool is_too_large(const tn_lowering *lowering, const tn_graph_node *node) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR)
            bytes += lowering->facts->tensors[node->inputs[i]]->bytes;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            bytes += lowering->facts->tensors[node->outputs[i]]->bytes;
    return bytes > tn_timing_policy.most_bytes;
}

/* Only real kernels on known shapes; an output sized by a run has a shape that the run writes.
 * Strings have neither drawn values nor heaps here. */
bool tn_timing_can(const tn_lowering *lowering, uint32_t index, const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (!candidate->entry || candidate->kind != TN_STEP_KERNEL || candidate->is_host ||
        !lowering->facts->is_shaped[index] || !lowering->timing)
        return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (tn_graph_output_port(node->entry->op, i)->flags & TN_PORT_SIZED_BY_RUN) return false;
    return !tn_lower_is_host_only(lowering, index) && !is_too_large(lowering, node);
}

static tn_timing_cache *cache_of(const tn_lowering *lowering, const tn_candidate *candidate) {
    return candidate->is_unkeyed ? lowering->timing->own_cache : lowering->timing->cache;
}

static void take(tn_candidate *candidate, const tn_timing_result *result) {
    candidate->cost = result->ns;
    candidate->noise = result->noise;
    candidate->floor = result->floor_ns;
    candidate->grown_bytes = result->grown_bytes;
}

static tn_status keep_time(const tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                           tn_timing_result result) {
    uint64_t key = 0;
    take(candidate, &result);
    TN_TRY(tn_timing_key(lowering, index, candidate, &key));
    return tn_timing_cache_set(cache_of(lowering, candidate), key, result);
}

tn_status tn_timing_recall(tn_lowering *lowering, uint32_t index, tn_candidate *candidate) {
    uint64_t key = 0;
    tn_timing_result result;
    if (!tn_timing_can(lowering, index, candidate)) return TN_OK;
    TN_TRY(tn_timing_key(lowering, index, candidate, &key));
    candidate->is_measured = tn_timing_cache_get(cache_of(lowering, candidate), key, &result);
    if (!candidate->is_measured) return TN_OK;
    take(candidate, &result);
    return TN_OK;
}

tn_status tn_timing_candidate(tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                              double best_ns) {
    tn_timing_samples samples = {0};
    double grown_bytes = 0;
    TN_TRY(tn_timing_recall(lowering, index, candidate));
    if (candidate->is_measured || !tn_timing_can(lowering, index, candidate) ||
        tn_timing_is_over_for_nodes(lowering))
        return TN_OK;
    TN_TRY(measure(lowering, index, candidate, best_ns, &samples, &grown_bytes));
    candidate->is_measured = true;
    return keep_time(lowering, index, candidate,
                     (tn_timing_result){samples.least, tn_timing_samples_noise(&samples),
                                        tn_timing_samples_floor(&samples), grown_bytes});
}

static bool was_beside(const struct tn_timing *timing, uint64_t key) {
    for (size_t i = 0; i < timing->beside_count; i++)
        if (timing->beside_keys[i] == key) return true;
    return false;
}

static tn_status note_beside(tn_lowering *lowering, uint64_t key) {
    struct tn_timing *timing = lowering->timing;
    TN_TRY(tn_grow(lowering->graph->allocator, (void **)&timing->beside_keys,
                   &timing->beside_capacity, timing->beside_count + 1,
                   sizeof *timing->beside_keys));
    timing->beside_keys[timing->beside_count++] = key;
    return TN_OK;
}

/* Whether some of its samples were undisturbed. */
static bool is_sure(const tn_candidate *candidate) {
    return candidate->floor >= candidate->cost;
}

/* How much faster the machine was when those of the round that are known better from before were
 * measured: the geometric mean. They are the measure for the rest, so that one candidate's time
 * compares with all that it was ever measured beside. Of the undisturbed those are known better
 * that were measured beside others before; of the disturbed, which all took about as much longer,
 * those with an undisturbed time from before. */
static tn_status pace_of(const tn_lowering *lowering, uint32_t index,
                         tn_candidate *const *candidates, uint32_t count,
                         tn_timing_work *const *works, bool is_disturbed, double *out_pace) {
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tn_timing_samples *samples = &works[i]->samples;
        uint64_t key = 0;
        TN_TRY(tn_timing_key(lowering, index, candidates[i], &key));
        const bool is_known =
            was_beside(lowering->timing, key) || (is_disturbed && is_sure(candidates[i]));
        if (!is_known || (samples->clean_count < 2) != is_disturbed || !(samples->least > 0) ||
            !(candidates[i]->cost > 0))
            continue;
        sum += log(candidates[i]->cost / samples->least);
        known++;
    }
    *out_pace = known > 0 ? exp(sum / known) : 1;
    return TN_OK;
}

/* Disturbed samples are an upper bound, and too long as the others' of their round are. */
static tn_status keep_disturbed(tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                                const tn_timing_samples *samples, double pace) {
    const double floor = fmax(tn_timing_samples_floor(samples), candidate->floor),
                 ns = fmax(nearbyint(fmin(pace, 1) * samples->least), floor);
    if (is_sure(candidate) || ns >= candidate->cost) return TN_OK;
    return keep_time(
        lowering, index, candidate,
        (tn_timing_result){ns, tn_timing_samples_noise(samples), floor, candidate->grown_bytes});
}

/* Those that were measured beside each other compare with each other, not with what they took
 * alone, when the machine may have been faster. `paces`: of the undisturbed, and of the disturbed.
 */
static tn_status keep_beside(tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                             const tn_timing_samples *samples, const double *paces) {
    uint64_t key = 0;
    TN_TRY(tn_timing_key(lowering, index, candidate, &key));
    if (samples->count == 0 || was_beside(lowering->timing, key)) return TN_OK;
    if (samples->clean_count < 2)
        return keep_disturbed(lowering, index, candidate, samples, paces[1]);
    const double ns = nearbyint(paces[0] * samples->least);
    TN_TRY(note_beside(lowering, key));
    return keep_time(
        lowering, index, candidate,
        (tn_timing_result){ns, tn_timing_samples_noise(samples), ns, candidate->grown_bytes});
}

static tn_status keep_all_beside(tn_lowering *lowering, uint32_t index,
                                 tn_candidate *const *candidates, uint32_t count,
                                 tn_timing_work *const *works) {
    double paces[2];
    for (int i = 0; i < 2; i++)
        TN_TRY(pace_of(lowering, index, candidates, count, works, i == 1, &paces[i]));
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(keep_beside(lowering, index, candidates[i], &works[i]->samples, paces));
    return TN_OK;
}

/* Opens candidates, as many as memory and time allow, and runs them to warm up. */
static tn_status open_beside(tn_lowering *lowering, uint32_t index, tn_candidate *const *candidates,
                             const tn_timing_bounds *bounds, uint32_t count, uint32_t *out_opened,
                             uint32_t *out_failed) {
    struct tn_timing *timing = lowering->timing;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        tn_timing_subject *subject = &timing->subjects[i];
        if ((i >= 2 && bytes > tn_timing_policy.open_bytes) ||
            tn_timing_now_ns(lowering) >= bounds->end_ns)
            break;
        *out_failed = i;
        const tn_status status =
            tn_timing_subject_open(lowering, index, candidates[i], &timing->blocks[i], subject);
        if (status == TN_ERROR_MEMORY && i > 0) { /* alone it had enough */
            tn_error_clear();
            break;
        }
        TN_TRY(status);
        *out_opened = i + 1;
        bytes += subject->bytes;
        TN_TRY(tn_timing_warm_up(lowering, &subject->work, bounds));
    }
    return TN_OK;
}

static void close_beside(tn_lowering *lowering, uint32_t opened) {
    struct tn_timing *timing = lowering->timing;
    for (uint32_t i = 0; i < opened; i++) {
        tn_timing_subject_close(lowering, &timing->subjects[i]);
        if (i > 0) tn_timing_free_blocks(lowering->graph->allocator, &timing->blocks[i]);
    }
}

tn_status tn_timing_beside(tn_lowering *lowering, uint32_t index, tn_candidate *const *candidates,
                           uint32_t count, uint32_t *out_failed) {
    struct tn_timing *timing = lowering->timing;
    const tn_timing_bounds bounds = tn_timing_bounds_beside(lowering);
    tn_timing_work *works[TN_TIMING_MOST_OPEN];
    uint32_t opened = 0;
    if (count == 0 || (count == 1 && candidates[0]->noise <= bounds.tolerance) ||
        tn_timing_now_ns(lowering) >= bounds.end_ns)
        return TN_OK;
    if (count > TN_TIMING_MOST_OPEN) count = TN_TIMING_MOST_OPEN;
    tn_status status =
        open_beside(lowering, index, candidates, &bounds, count, &opened, out_failed);
    for (uint32_t i = 0; i < opened; i++)
        works[i] = &timing->subjects[i].work;
    if (status == TN_OK && opened > 0)
        status = tn_timing_rounds(lowering, works, opened, &bounds, out_failed);
    if (status == TN_OK) status = keep_all_beside(lowering, index, candidates, opened, works);
    close_beside(lowering, opened);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * what each kernel had of the time, for the log: preparing, which for a library may be compiling,
 * and running */

void tn_timing_shares_add(tn_timing_shares *shares, const tn_kernel *kernel, uint32_t count,
                          double prepare_ns, double run_ns) {
    uint32_t i = 0;
    while (i < shares->count && shares->items[i].kernel != kernel)
        i++;
    if (i == TN_TIMING_SHARES) return;
    if (i == shares->count) shares->items[shares->count++].kernel = kernel;
    shares->items[i].count += count;
    shares->items[i].prepare_ns += prepare_ns;
    shares->items[i].run_ns += run_ns;
}

double tn_timing_prepare_ns(const tn_lowering *lowering, const tn_kernel *kernel) {
    const tn_timing_shares *shares = &lowering->timing->shares;
    for (uint32_t i = 0; i < shares->count; i++)
        if (shares->items[i].kernel == kernel)
            return shares->items[i].prepare_ns / shares->items[i].count;
    return 0;
}

void tn_timing_shares_log(const tn_lowering *lowering) {
    const tn_timing_shares *shares = &lowering->timing->shares;
    for (uint32_t i = 0; i < shares->count; i++)
        tn_runtime_log(lowering->graph->runtime, TN_LOG_DEBUG,
                       "measured: %s %s %u times, %.2f s preparing, %.2f s running",
                       shares->items[i].kernel->op, shares->items[i].kernel->name,
                       shares->items[i].count, shares->items[i].prepare_ns * 1e-9,
                       shares->items[i].run_ns * 1e-9);
}
