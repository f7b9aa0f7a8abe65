/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of all tensors at a profile's three points, by inference. Two kinds of networks cannot
 * be inferred whole before a run: those with an input whose value decides shapes and is not given,
 * and those with an input of which nothing is declared. What comes after such an input is then
 * treated as what comes after an output sized by run: inferred where it can be, and not relied on.
 *
 * An extent that no profile bounds is tried at 1 and once more at another number, so that nobody
 * takes an extent of 1 for a property of the network.
 */
#include "program/profile.h"
#include "base/status.h"

#include <string.h>

enum { MINIMUM = 0, OPTIMUM = 1, MAXIMUM = 2 };
/* What free extents are tried at beside 1: not a multiple of what networks use. */
#define OTHER_EXTENT 7

static const void *value_at(const tn_plan_profile *profile, int point) {
    if (point == MINIMUM) return profile->minimum_value;
    return point == OPTIMUM ? profile->optimum_value : profile->maximum_value;
}

static tn_shape shape_at(const tn_graph_tensor *tensor, const tn_plan_profile *profile, int point) {
    tn_shape shape = point == MINIMUM   ? profile->minimum
                     : point == OPTIMUM ? profile->optimum
                                        : profile->maximum;
    if (!profile->is_free || point != MAXIMUM || !tensor->has_shape) return shape;
    for (uint32_t axis = 0; axis < shape.rank; axis++)
        if (tensor->shape.extents[axis] < 0) shape.extents[axis] = OTHER_EXTENT;
    return shape;
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
    shapes->plan.is_after_run = is_after;
    shapes->known_plan = shapes->plan;
    shapes->known_plan.is_host_node = is_host;
    shapes->known_plan.is_value_input = is_value;
    return TN_OK;
}

static tn_status run_point(tn_profile_shapes *shapes, const tn_graph *graph,
                           const tn_plan_profile *profiles, int point) {
    tn_shape *extents = tn_allocate_zero(graph->allocator, graph->input_count + 1, sizeof *extents);
    const void **values =
        tn_allocate_zero(graph->allocator, graph->input_count + 1, sizeof *values);
    tn_status status = TN_OK;
    if (!extents || !values) TN_GO(tn_fail_memory("the shapes of a profile"));
    for (size_t i = 0; i < graph->input_count; i++) {
        extents[i] = shape_at(&graph->tensors[graph->inputs[i]], &profiles[i], point);
        values[i] = value_at(&profiles[i], point);
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
static bool is_varying(const tn_graph *graph, const tn_plan_profile *profiles) {
    for (size_t i = 0; i < graph->input_count; i++)
        if (!tn_profile_is_fixed(&profiles[i]) || profiles[i].optimum_value) return true;
    return false;
}

static void forget_points(tn_profile_shapes *shapes) {
    for (int point = MINIMUM; point <= MAXIMUM; point++) {
        tn_inference_deinit(&shapes->inferences[point]);
        shapes->points[point] = NULL;
    }
}

static tn_status run_points(tn_profile_shapes *shapes, const tn_graph *graph,
                            const tn_plan_profile *profiles) {
    TN_TRY(tn_error_at(run_point(shapes, graph, profiles, OPTIMUM), "%s",
                       has_free(graph, profiles) ? "at extent 1 for those without a profile"
                                                 : "at the profile's optimum"));
    shapes->points[MINIMUM] = shapes->points[MAXIMUM] = shapes->points[OPTIMUM];
    if (!is_varying(graph, profiles)) return TN_OK;
    TN_TRY(tn_error_at(run_point(shapes, graph, profiles, MINIMUM), "at the profile's minimum"));
    return tn_error_at(run_point(shapes, graph, profiles, MAXIMUM), "at the profile's maximum");
}

tn_status tn_profile_shapes_init(tn_profile_shapes *shapes, const tn_graph *graph,
                                 const tn_plan_profile *profiles, tn_arena *arena) {
    tn_error_copy before;
    memset(shapes, 0, sizeof *shapes);
    TN_TRY(tn_inference_plan_create(graph, arena, &shapes->plan));
    tn_inference_plan plan = shapes->plan;
    TN_TRY(mark_unknown(shapes, graph, profiles, true, arena));
    tn_error_save(&before);
    tn_status status = run_points(shapes, graph, profiles);
    /* Free extents that work at 1 and not elsewhere: nothing can be said after them. */
    if (status != TN_OK && status != TN_ERROR_MEMORY && shapes->points[MINIMUM] &&
        has_free(graph, profiles)) {
        tn_error_restore(&before);
        forget_points(shapes);
        shapes->plan = plan;
        status = mark_unknown(shapes, graph, profiles, false, arena);
        if (status == TN_OK) status = run_points(shapes, graph, profiles);
    }
    if (status != TN_OK) tn_profile_shapes_deinit(shapes);
    return status;
}

void tn_profile_shapes_deinit(tn_profile_shapes *shapes) {
    forget_points(shapes);
    memset(shapes, 0, sizeof *shapes);
}
