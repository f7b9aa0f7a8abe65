/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_build: a builder that runs the networks which it considers, through an engine, and learns what
 * they and their steps take there. Inputs are made up, at the optimum of the profile.
 */
#include "tune/tune.h"
#include "base/clock.h"
#include "base/status.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plugin/devices.h"
#include "plugin/runtime.h"
#include "run/profile_steps.h"
#include "tensor/shape.h"
#include "tensor/type.h"
#include "tune/tune_device.h"

#include <tenon/engine.h>

#include <math.h>

/* Of a race's runs, the quickest: more than the policy's share of the most runs. */
enum { MOST_KEPT = 64 };

/* A network that runs to be timed. */
typedef struct network {
    tn_runtime *runtime;
    tn_engine *engine;
    tn_context *context;
    tn_tune_device device;             /* where that is not the processor */
    void **inputs;                     /* of the host */
    double quickest_ns[MOST_KEPT + 1]; /* of the runs of one race, the shortest first */
    uint32_t run_count, kept_count;
} network;

static void close_network(void *opened) {
    network *known = opened;
    const tn_allocator *allocator = tn_runtime_allocator(known->runtime);
    for (uint32_t i = 0; known->inputs && i < tn_engine_input_count(known->engine); i++)
        tn_deallocate(allocator, known->inputs[i]);
    tn_deallocate(allocator, known->inputs);
    tn_context_destroy(known->context);
    tn_tune_device_close(&known->device);
    tn_engine_release(known->engine);
    tn_deallocate(allocator, known);
}

static tn_status bind_input(network *opened, uint32_t index) {
    const tn_port_info *port = tn_engine_input(opened->engine, index);
    const tn_profile_input *range = tn_engine_profile(opened->engine, index);
    size_t bytes = 0;
    tn_shape shape;
    if (!range || range->optimum_value)
        return tn_fail(TN_ERROR_UNSUPPORTED, "input '%s' cannot be made up", port->name);
    TN_TRY(tn_shape_set(&shape, range->rank, range->optimum));
    TN_TRY(tn_format_bytes(TN_LINEAR, port->type, &shape, &bytes));
    void *data = tn_allocate_zero(tn_runtime_allocator(opened->runtime), bytes + 1, 1);
    if (!data) return tn_fail_memory("an input");
    opened->inputs[index] = data;
    tn_timing_fill(&(tn_tensor){.type = port->type, .data = data, .bytes = bytes});
    TN_TRY(tn_context_set_shape(opened->context, index, range->rank, range->optimum));
    return opened->device.device ? tn_tune_device_bind_input(&opened->device, index, data, bytes)
                                 : tn_context_bind_input(opened->context, index, data, bytes);
}

/* Its first run warms it. */
static tn_status start_network(network *opened, const tn_plan *plan, const tn_device *device) {
    const tn_allocator *allocator = tn_runtime_allocator(opened->runtime);
    char name[TN_DEVICE_NAME_BYTES];
    tn_device_name(device, name);
    /* On the very device; and a kernel that now says no must not make another network of it. */
    const tn_engine_options options = {
        .size = sizeof options, .device = name, .flags = TN_ENGINE_EXACT};
    TN_TRY(tn_engine_load_plan(opened->runtime, plan, &options, &opened->engine));
    TN_TRY(tn_context_create(opened->engine, &opened->context));
    if (tn_device_is_remote(device))
        TN_TRY(tn_tune_device_open(&opened->device, allocator, device, opened->engine,
                                   opened->context));
    const uint32_t count = tn_engine_input_count(opened->engine);
    opened->inputs = tn_allocate_zero(allocator, count + (size_t)1, sizeof *opened->inputs);
    if (!opened->inputs) return tn_fail_memory("inputs");
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(bind_input(opened, i));
    return opened->device.device ? tn_tune_device_start(&opened->device, opened->engine)
                                 : tn_context_run(opened->context);
}

static tn_status open_network(tn_runtime *runtime, const tn_plan *plan, const tn_device *device,
                              void **out_network) {
    network *opened = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof *opened);
    if (!opened) return tn_fail_memory("a network");
    opened->runtime = runtime;
    const tn_status status = start_network(opened, plan, device);
    if (status == TN_OK)
        *out_network = opened;
    else
        close_network(opened);
    return status;
}

static tn_status run_here(network *opened, double *out_ns) {
    const double before_ns = (double)tn_now_ns();
    TN_TRY(tn_context_run(opened->context));
    *out_ns = (double)tn_now_ns() - before_ns;
    return TN_OK;
}

static tn_status run_once(network *opened) {
    double ns = 0;
    if (opened->device.device)
        TN_TRY(tn_tune_device_sample(&opened->device, &ns));
    else
        TN_TRY(run_here(opened, &ns));
    opened->run_count++;
    uint32_t at = opened->kept_count;
    for (; at > 0 && opened->quickest_ns[at - 1] > ns; at--)
        opened->quickest_ns[at] = opened->quickest_ns[at - 1];
    opened->quickest_ns[at] = ns;
    if (opened->kept_count < MOST_KEPT) opened->kept_count++;
    return TN_OK;
}

/* Whether the two shortest runs agree. */
static bool is_known(const network *opened) {
    if (opened->device.device) return opened->run_count >= tn_timing_policy.device_trial_runs;
    return opened->run_count >= tn_timing_policy.trial_runs &&
           opened->quickest_ns[1] <=
               opened->quickest_ns[0] * (1 + tn_timing_policy.trial_tolerance);
}

/* Begins its profile anew: the networks of a race run equally often. */
static tn_status begin_race(network *opened, bool has_steps) {
    opened->run_count = opened->kept_count = 0;
    TN_TRY(tn_context_set_profiling(opened->context, false));
    return has_steps ? tn_context_set_profiling(opened->context, true) : TN_OK;
}

/* What its steps take at least, in all. A load of tenths of a second leaves alone each step in some
 * run long before it leaves alone a run. */
static double read_steps(const network *opened, double *out_step_ns) {
    double sum = 0;
    for (uint32_t entry = 0; entry < tn_context_profile_count(opened->context); entry++) {
        const double ns = (double)tn_context_profile(opened->context, entry)->minimum_ns;
        out_step_ns[tn_context_profile_step(opened->context, entry)] = ns;
        sum += ns;
    }
    return sum;
}

/* What whole runs take: the mean of the quickest ones; 0: there are too few for that. */
static double read_runs(const network *opened) {
    const uint32_t wanted = (uint32_t)(opened->run_count * tn_timing_policy.trial_quickest_share),
                   count = wanted < MOST_KEPT ? wanted : MOST_KEPT;
    double sum = 0;
    if (count < tn_timing_policy.trial_least_quickest) return 0;
    for (uint32_t i = 0; i < count; i++)
        sum += opened->quickest_ns[i];
    return sum / count;
}

/* What it takes, and its steps. The least times of many steps are luck in part, and do not have
 * what lies between steps: the more steps, the less their sum says. That part is shared by the
 * steps where enough whole runs are known. */
static double read_time(const network *opened, double *out_step_ns) {
    if (!out_step_ns) return opened->quickest_ns[0];
    const uint32_t steps = tn_context_profile_count(opened->context);
    const double whole = read_runs(opened), sum = read_steps(opened, out_step_ns);
    for (uint32_t entry = 0; entry < steps; entry++)
        out_step_ns[tn_context_profile_step(opened->context, entry)] +=
            fmax(whole - sum, 0) / steps;
    return whole > 0 ? whole : sum;
}

static tn_status race(void *const *networks, uint32_t count, double most_ns,
                      double *const *out_step_ns, double *out_ns) {
    network *const *raced = (network *const *)networks;
    const double end_ns = (double)tn_now_ns() + count * most_ns;
    bool is_over = false;
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(begin_race(raced[i], out_step_ns[i]));
    for (uint32_t round = 0; !is_over; round++) {
        for (uint32_t i = 0; i < count; i++)
            TN_TRY(run_once(raced[(i + round) % count]));
        is_over = (is_known(raced[0]) && is_known(raced[count - 1])) ||
                  round + 1 == tn_timing_policy.trial_most_runs ||
                  (round > 0 && (double)tn_now_ns() >= end_ns);
    }
    for (uint32_t i = 0; i < count; i++)
        out_ns[i] = read_time(raced[i], out_step_ns[i]);
    return TN_OK;
}

tn_status tn_tune_build(tn_graph *graph, const tn_builder_options *options, tn_timing_cache *cache,
                        tn_plan **out_plan) {
    static const tn_plan_runner runner = {open_network, close_network, race};
    return tn_build_with(graph, options, cache, &runner, out_plan);
}

tn_status tn_build(tn_graph *graph, const tn_builder_options *options, tn_plan **out_plan) {
    return tn_tune_build(graph, options, NULL, out_plan);
}
