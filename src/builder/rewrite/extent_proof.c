/* SPDX-License-Identifier: Apache-2.0 */
/* Inference at shapes in which extents that may differ do: see extent_proof.h. Which, probe.c says.
 */
#include "builder/rewrite/extent_proof.h"
#include "base/status.h"

static tn_status infer_extents(tn_extent_proof *proof, const tn_probe *probe,
                               const tn_profile_shapes *shapes, uint32_t number, tn_arena *arena) {
    const tn_graph *graph = probe->graph;
    tn_inference *inference = &proof->probes[proof->probe_count];
    tn_shape *extents = tn_arena_allocate(arena, graph->input_count + 1, sizeof *extents);
    const void **values = tn_arena_allocate(arena, graph->input_count + 1, sizeof *values);
    if (!extents || !values) return tn_fail_memory("the shapes of a profile");
    for (size_t i = 0; i < graph->input_count; i++) {
        extents[i] = tn_probe_further(probe, i, number, shapes->round);
        values[i] = probe->profiles[i].optimum_value;
    }
    tn_status status = tn_inference_init(inference, graph, &shapes->known_plan);
    if (status == TN_OK) status = tn_inference_run(inference, extents, values);
    if (status == TN_OK) {
        proof->probe_count++;
        return TN_OK;
    }
    tn_inference_deinit(inference);
    *inference = (tn_inference){0};
    return status;
}

tn_status tn_extent_proof_init(tn_extent_proof *proof, const tn_graph *graph,
                               const tn_plan_profile *profiles, const tn_profile_shapes *shapes,
                               tn_arena *arena) {
    tn_probe probe;
    *proof = (tn_extent_proof){0};
    TN_TRY(tn_probe_init(&probe, graph, profiles, arena));
    proof->is_varying = tn_probe_is_varying(&probe);
    for (size_t i = 0; i < graph->input_count; i++)
        proof->has_values = proof->has_values || profiles[i].optimum_value;
    for (uint32_t i = 0; proof->is_varying && i < TN_PROOF_PROBES; i++) {
        const tn_status status = infer_extents(proof, &probe, shapes, i, arena);
        if (status == TN_ERROR_MEMORY) return status;
        if (status != TN_OK) tn_error_clear(); /* shapes that the network refuses */
    }
    return TN_OK;
}

void tn_extent_proof_deinit(tn_extent_proof *proof) {
    for (uint32_t i = 0; i < proof->probe_count; i++)
        tn_inference_deinit(&proof->probes[i]);
    *proof = (tn_extent_proof){0};
}

uint32_t tn_extent_points(const tn_pass_context *context,
                          const tn_inference *out_points[TN_PROOF_POINTS]) {
    uint32_t count = TN_POINTS;
    for (uint32_t i = 0; i < TN_POINTS; i++)
        out_points[i] = context->points[i];
    for (uint32_t i = 0; context->proof && i < context->proof->probe_count; i++)
        out_points[count++] = &context->proof->probes[i];
    return count;
}

/* Whether what all points agree on holds for all shapes. */
static bool is_proof(const tn_pass_context *context) {
    if (context->proof) return !context->proof->is_varying || context->proof->probe_count > 0;
    for (size_t i = 0; i < context->graph->input_count; i++)
        if (!context->is_fixed_input[i]) return false;
    return true;
}

/* The extent at a point; false: it is not known there. */
static bool extent_at(const tn_pass_context *context, const tn_inference *point, tn_tensor_id id,
                      uint32_t axis, int64_t *out_extent) {
    const tn_graph_tensor *tensor = &context->graph->tensors[id];
    const tn_shape *shape = &tensor->shape;
    if (!tensor->is_constant) {
        if (!tn_pass_is_shaped(context, id) || !point->tensors[id].is_known) return false;
        shape = &point->tensors[id].storage.shape;
    }
    *out_extent = axis < shape->rank ? shape->extents[axis] : -1;
    return axis < shape->rank;
}

bool tn_extent_is_equal(const tn_pass_context *context, tn_tensor_id a, uint32_t axis_a,
                        tn_tensor_id b, uint32_t axis_b) {
    const tn_inference *points[TN_PROOF_POINTS];
    const uint32_t count = tn_extent_points(context, points);
    int64_t left = 0, right = 0;
    if (!is_proof(context)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!extent_at(context, points[i], a, axis_a, &left) ||
            !extent_at(context, points[i], b, axis_b, &right) || left != right)
            return false;
    const bool may_vary = context->proof && context->proof->has_values;
    return !may_vary || (a == b && axis_a == axis_b) || tn_extent_fixed(context, a, axis_a) >= 0;
}

int64_t tn_extent_fixed(const tn_pass_context *context, tn_tensor_id tensor, uint32_t axis) {
    const tn_inference *points[TN_PROOF_POINTS];
    const uint32_t count = tn_extent_points(context, points);
    int64_t first = 0, other = 0;
    if (context->graph->tensors[tensor].is_constant)
        return extent_at(context, NULL, tensor, axis, &first) ? first : -1;
    if (!is_proof(context) || !extent_at(context, points[0], tensor, axis, &first)) return -1;
    for (uint32_t i = 1; i < count; i++)
        if (!extent_at(context, points[i], tensor, axis, &other) || other != first) return -1;
    return first;
}
