/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of all tensors at a profile's three points, by inference. Two kinds of networks cannot
 * be inferred whole before a run: those with an input whose value decides shapes and is not given,
 * and those with an input of which nothing is declared. What comes after such an input is then
 * treated as what comes after an output sized by run: inferred where it can be, and not relied on.
 *
 * What numbers stand for open extents at the points is probe.c's. A graph that cannot be inferred
 * with different extents apart has them equal, or one of them 1: nothing more is known of it.
 */
#include "program/profile.h"
#include "base/status.h"
#include "program/probe.h"

#include <string.h>

static const void *value_at(const tn_plan_profile *profile, int point) {
    if (point == TN_POINT_MINIMUM) return profile->minimum_value;
    return point == TN_POINT_MAXIMUM ? profile->maximum_value : profile->optimum_value;
}

static bool is_known_input(const tn_graph *graph, const tn_inference_plan *plan,
                           const tn_plan_profile *profiles, size_t input, bool with_free) {
    const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[input]];
    if (profiles[input].is_free && (!with_free || !tensor->has_shape)) return false;
    return !plan->is_value_input[input] || profiles[input].optimum_value;
}

static bool reads_marked(const tn_graph_node *node, const bool *is_marked) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_marked[node->inputs[i]]) return true;
    return false;
}

/* Widens `is_after_run` by all that comes after an input that is not known, and makes the plan that
 * the inferences run with: nobody waits for values that are not there. */
static tn_status mark_unknown(tn_profile_shapes *shapes, const tn_graph *graph,
                              const tn_plan_profile *profiles, bool with_free, tn_arena *arena) {
    const tn_inference_plan *plan = &shapes->plan;
    bool *is_after = tn_arena_copy(arena, plan->is_after_run, graph->node_count * sizeof(bool));
    bool *is_host = tn_arena_copy(arena, plan->is_host_node, graph->node_count * sizeof(bool));
    bool *is_value = tn_arena_copy(arena, plan->is_value_input, graph->input_count * sizeof(bool));
    bool *is_marked = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_after || !is_host || !is_value || !is_marked)
        return tn_fail_memory("the shapes of a profile");
    for (size_t i = 0; i < graph->input_count; i++) {
        if (is_known_input(graph, plan, profiles, i, with_free)) continue;
        shapes->is_partial = true;
        is_marked[graph->inputs[i]] = true;
        if (!profiles[i].optimum_value) is_value[i] = false;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead || !reads_marked(node, is_marked)) continue;
        is_after[n] = true;
        is_host[n] = false;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_marked[node->outputs[i]] = true;
    }
    shapes->is_unknown = is_marked;
    shapes->plan.is_after_run = is_after;
    shapes->known_plan = shapes->plan;
    shapes->known_plan.is_host_node = is_host;
    shapes->known_plan.is_value_input = is_value;
    return TN_OK;
}

static tn_status run_point(tn_profile_shapes *shapes, const tn_probe *probe, int point, int round) {
    const tn_graph *graph = probe->graph;
    tn_shape *extents = tn_allocate_zero(graph->allocator, graph->input_count + 1, sizeof *extents);
    const void **values =
        tn_allocate_zero(graph->allocator, graph->input_count + 1, sizeof *values);
    tn_status status = TN_OK;
    if (!extents || !values) TN_GO(tn_fail_memory("the shapes of a profile"));
    for (size_t i = 0; i < graph->input_count; i++) {
        extents[i] = tn_probe_shape(probe, i, point, round);
        values[i] = value_at(&probe->profiles[i], point);
    }
    TN_GO(tn_inference_init(&shapes->inferences[point], graph, &shapes->known_plan));
    TN_GO(tn_inference_run(&shapes->inferences[point], extents, values));
    shapes->points[point] = &shapes->inferences[point];
done:
    tn_deallocate(graph->allocator, (void *)values);
    tn_deallocate(graph->allocator, extents);
    return status;
}

static bool has_free(const tn_graph *graph, const tn_plan_profile *profiles) {
    for (size_t i = 0; i < graph->input_count; i++)
        if (profiles[i].is_free) return true;
    return false;
}

/* Whether anything at all differs between the points. */
static bool is_varying(const tn_probe *probe) {
    for (size_t i = 0; i < probe->graph->input_count; i++)
        if (probe->profiles[i].optimum_value) return true;
    return tn_probe_is_varying(probe);
}

static void forget_point(tn_profile_shapes *shapes, int point) {
    tn_inference_deinit(&shapes->inferences[point]);
    shapes->points[point] = NULL;
}

static void forget_points(tn_profile_shapes *shapes) {
    for (int point = 0; point < TN_POINTS; point++)
        forget_point(shapes, point);
}

/* The three points of the profile. */
static tn_status run_ends(tn_profile_shapes *shapes, const tn_probe *probe, int round) {
    const bool is_free = has_free(probe->graph, probe->profiles);
    TN_TRY(tn_error_at(run_point(shapes, probe, TN_POINT_OPTIMUM, round), "%s",
                       is_free ? "at extent 1 for those without a profile"
                               : "at the profile's optimum"));
    for (int point = 0; point < TN_POINTS; point++)
        shapes->points[point] = shapes->points[TN_POINT_OPTIMUM];
    if (!is_varying(probe)) return TN_OK;
    TN_TRY(
        tn_error_at(run_point(shapes, probe, TN_POINT_MINIMUM, round), "at the profile's minimum"));
    return tn_error_at(run_point(shapes, probe, TN_POINT_MAXIMUM, round),
                       "at the profile's maximum");
}

/* That it fails there says of the network that its extents are not independent. */
static tn_status run_apart(tn_profile_shapes *shapes, const tn_probe *probe, int round) {
    tn_error_copy before;
    shapes->points[TN_POINT_APART] = shapes->points[TN_POINT_MAXIMUM];
    if (!tn_probe_is_apart(probe)) return TN_OK;
    tn_error_save(&before);
    const tn_status status = run_point(shapes, probe, TN_POINT_APART, round);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    tn_error_restore(&before);
    forget_point(shapes, TN_POINT_APART);
    shapes->points[TN_POINT_APART] = shapes->points[TN_POINT_MAXIMUM];
    return TN_OK;
}

/* Free extents that are too small, or that something does not divide, are tried at others. The
 * reason that counts is the first one; `*out_is_partly`: some number fits. */
static tn_status run_points(tn_profile_shapes *shapes, const tn_graph *graph,
                            const tn_plan_profile *profiles, tn_arena *arena, bool *out_is_partly) {
    const int rounds = has_free(graph, profiles) ? TN_PROBE_ROUNDS : 1;
    tn_error_copy first;
    tn_probe probe;
    TN_TRY(tn_probe_init(&probe, graph, profiles, arena));
    tn_status status = TN_OK, reason = TN_OK;
    for (int round = 0; round < rounds; round++) {
        forget_points(shapes);
        status = run_ends(shapes, &probe, round);
        shapes->round = round;
        if (status == TN_OK) return run_apart(shapes, &probe, round);
        if (status == TN_ERROR_MEMORY) return status;
        *out_is_partly = *out_is_partly || shapes->points[TN_POINT_MINIMUM];
        if (round == 0) {
            reason = status;
            tn_error_save(&first);
        }
    }
    tn_error_restore(&first);
    return reason;
}

tn_status tn_profile_shapes_init(tn_profile_shapes *shapes, const tn_graph *graph,
                                 const tn_plan_profile *profiles, tn_arena *arena) {
    tn_error_copy before;
    bool is_partly = false;
    memset(shapes, 0, sizeof *shapes);
    TN_TRY(tn_inference_plan_create(graph, arena, &shapes->plan));
    tn_inference_plan plan = shapes->plan;
    TN_TRY(mark_unknown(shapes, graph, profiles, true, arena));
    tn_error_save(&before);
    tn_status status = run_points(shapes, graph, profiles, arena, &is_partly);
    if (status == TN_OK) tn_error_restore(&before);
    /* Free extents that work at one number and not at another: nothing can be said after them. */
    if (status != TN_OK && status != TN_ERROR_MEMORY && is_partly && has_free(graph, profiles)) {
        tn_error_restore(&before);
        forget_points(shapes);
        shapes->plan = plan;
        status = mark_unknown(shapes, graph, profiles, false, arena);
        if (status == TN_OK) status = run_points(shapes, graph, profiles, arena, &is_partly);
    }
    if (status != TN_OK) tn_profile_shapes_deinit(shapes);
    return status;
}

void tn_profile_shapes_deinit(tn_profile_shapes *shapes) {
    forget_points(shapes);
    memset(shapes, 0, sizeof *shapes);
}
