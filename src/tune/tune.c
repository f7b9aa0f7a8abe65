/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_build: a builder that runs the networks which it considers, through an engine, and learns what
 * their steps take there. Inputs are made up, at the optimum of the profile.
 */
#include "base/clock.h"
#include "base/status.h"
#include "builder/builder.h"
#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plugin/runtime.h"
#include "run/profile_steps.h"
#include "tensor/shape.h"
#include "tensor/type.h"

#include <tenon/engine.h>

#include <math.h>

/* A network that runs to be timed. */
typedef struct network {
    tn_runtime *runtime;
    tn_engine *engine;
    tn_context *context;
    void **inputs;
    double least_ns[2]; /* of the runs of one race, the shortest first */
    uint32_t run_count;
} network;

static void close_network(void *opened) {
    network *known = opened;
    const tn_allocator *allocator = tn_runtime_allocator(known->runtime);
    for (uint32_t i = 0; known->inputs && i < tn_engine_input_count(known->engine); i++)
        tn_deallocate(allocator, known->inputs[i]);
    tn_deallocate(allocator, known->inputs);
    tn_context_destroy(known->context);
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
    return tn_context_bind_input(opened->context, index, data, bytes);
}

/* Its first run warms it. */
static tn_status start_network(network *opened, const tn_plan *plan) {
    TN_TRY(tn_engine_load_plan(opened->runtime, plan, NULL, &opened->engine));
    TN_TRY(tn_context_create(opened->engine, &opened->context));
    const uint32_t count = tn_engine_input_count(opened->engine);
    opened->inputs = tn_allocate_zero(tn_runtime_allocator(opened->runtime), count + (size_t)1,
                                      sizeof *opened->inputs);
    if (!opened->inputs) return tn_fail_memory("inputs");
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(bind_input(opened, i));
    return tn_context_run(opened->context);
}

static tn_status open_network(tn_runtime *runtime, const tn_plan *plan, void **out_network) {
    network *opened = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof *opened);
    if (!opened) return tn_fail_memory("a network");
    opened->runtime = runtime;
    const tn_status status = start_network(opened, plan);
    if (status == TN_OK)
        *out_network = opened;
    else
        close_network(opened);
    return status;
}

static tn_status run_once(network *opened) {
    const double before_ns = (double)tn_now_ns();
    TN_TRY(tn_context_run(opened->context));
    const double ns = (double)tn_now_ns() - before_ns;
    opened->run_count++;
    opened->least_ns[1] = fmin(opened->least_ns[1], fmax(opened->least_ns[0], ns));
    opened->least_ns[0] = fmin(opened->least_ns[0], ns);
    return TN_OK;
}

/* Whether the two shortest runs agree. */
static bool is_known(const network *opened) {
    return opened->run_count >= tn_timing_policy.trial_runs &&
           opened->least_ns[1] <= opened->least_ns[0] * (1 + tn_timing_policy.trial_tolerance);
}

/* Begins its profile anew: the networks of a race run equally often. */
static tn_status begin_race(network *opened, bool has_steps) {
    opened->run_count = 0;
    opened->least_ns[0] = opened->least_ns[1] = INFINITY;
    TN_TRY(tn_context_set_profiling(opened->context, false));
    return has_steps ? tn_context_set_profiling(opened->context, true) : TN_OK;
}

/* What its steps take at least, in all. A load of tenths of a second leaves alone each step in some
 * run long before it leaves alone a run. */
static double read_steps(const network *opened, double *out_step_ns) {
    double sum = 0;
    if (!out_step_ns) return opened->least_ns[0];
    for (uint32_t entry = 0; entry < tn_context_profile_count(opened->context); entry++) {
        const double ns = (double)tn_context_profile(opened->context, entry)->minimum_ns;
        out_step_ns[tn_context_profile_step(opened->context, entry)] = ns;
        sum += ns;
    }
    return sum;
}

static tn_status race(void *const *networks, uint32_t count, double *const *out_step_ns,
                      bool *out_is_faster) {
    network *const *raced = (network *const *)networks;
    const double end_ns = (double)tn_now_ns() + count * tn_timing_policy.trial_ns;
    bool is_over = false;
    double sums[2] = {0, 0};
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
        sums[i] = read_steps(raced[i], out_step_ns[i]);
    *out_is_faster = count > 1 && sums[1] < sums[0] * (1 - tn_timing_policy.trial_gain);
    return TN_OK;
}

tn_status tn_build(tn_graph *graph, const tn_builder_options *options, tn_plan **out_plan) {
    static const tn_plan_runner runner = {open_network, close_network, race};
    return tn_build_with(graph, options, NULL, &runner, out_plan);
}
