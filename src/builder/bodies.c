/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies: each becomes a plan of its own, within the plan of the network. It is built for the types
 * and shapes that the shape rule of its operator asked for at the points of the profile; extents
 * that differed between them are open. The body's network runs on the processor, in 32-bit floats
 * where the network around it has 8-bit integers: calibration does not look into bodies.
 */
#include "builder/builder.h"
#include "base/status.h"
#include "builder/build_state.h"
#include "graph/body.h"

#include <string.h>

void tn_bodies_record(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        tn_graph_body *body;
        if (graph->nodes[n].is_dead) continue;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL)
            body->is_recording = true;
    }
}

/* The inputs of the body's graph as they were asked for; where nobody could ask yet, of the types
 * that they are declared with. */
static tn_status set_inputs(const tn_graph_body *body, bool is_after_run) {
    tn_graph *graph = body->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        const tn_body_input *noted = &body->inputs[i];
        if (noted->type == TN_NONE && (tensor->type == TN_NONE || !is_after_run))
            return tn_fail(TN_ERROR_PLUGIN,
                           "the type of input '%s' is not known: the operator's shape rule did "
                           "not ask for the shapes of this body",
                           tensor->name);
        if (noted->type != TN_NONE) tensor->type = noted->type;
        tensor->has_shape = noted->has_rank && !is_after_run;
        tensor->shape = tensor->has_shape ? noted->shape : (tn_shape){0};
    }
    return TN_OK;
}

static tn_builder_options options_of(const tn_builder_options *given) {
    const uint32_t kept = TN_BUILD_REFERENCE | TN_BUILD_NO_FUSION | TN_BUILD_NO_TIMING |
                          TN_BUILD_CHECKED | TN_BUILD_KEEP_HALF;
    return (tn_builder_options){
        .size = sizeof(tn_builder_options),
        .threads = given->threads,
        .flags = given->flags & kept, /* what is to be refitted is marked already */
        .timing_seconds = given->timing_seconds,
        .without_rewrite_count = given->without_rewrite_count,
        .without_rewrites = given->without_rewrites,
        .progress = given->progress,
        .progress_user = given->progress_user,
        .precision = given->precision == TN_PRECISION_I8 ? TN_PRECISION_F32 : given->precision};
}

/* A body that does not take the shapes that it may be given, like a branch for others, is built
 * without shapes: a run that leads there fails then, or is given those that it takes. */
static tn_status build_as_asked(const tn_graph_body *body, bool is_after_run,
                                const tn_builder_options *options, tn_timing_cache *cache,
                                tn_plan **out_plan) {
    tn_error_copy before;
    TN_TRY(set_inputs(body, is_after_run));
    const tn_status status = tn_build_body(body->graph, options, cache, out_plan);
    if ((status != TN_ERROR_SHAPE && status != TN_ERROR_RANGE) || is_after_run) return status;
    tn_error_save(&before);
    TN_TRY(set_inputs(body, true));
    const tn_status again = tn_build_body(body->graph, options, cache, out_plan);
    if (again == TN_OK) return TN_OK;
    tn_error_restore(&before);
    return status;
}

static tn_status build_body(tn_graph_body *body, bool is_after_run,
                            const tn_builder_options *options, tn_timing_cache *cache) {
    tn_plan *plan;
    uint64_t bytes;
    body->is_recording = false;
    TN_TRY(build_as_asked(body, is_after_run, options, cache, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    body->own_plan = tn_allocate_aligned(body->graph->allocator, (size_t)bytes, 64);
    if (body->own_plan) memcpy(body->own_plan, data, (size_t)bytes);
    body->plan = body->own_plan;
    body->plan_bytes = (size_t)bytes;
    tn_plan_destroy(plan);
    return body->own_plan ? TN_OK : tn_fail_memory("a body");
}

/* What a body captured has a type where its shape is not known yet. */
static void note_captured_types(const tn_graph_node *node, const tn_inference *known,
                                const tn_graph_body *body) {
    const uint32_t first = node->input_count - body->view.capture_offset;
    for (uint32_t i = 0; i < body->view.capture_count; i++) {
        const tn_tensor_id id = node->inputs[first + i];
        const tn_tensor_id inner = body->graph->inputs[body->view.input_count + i];
        const tn_type type = known->tensors[id].storage.tensor.type;
        if (body->graph->tensors[inner].type == TN_NONE) body->graph->tensors[inner].type = type;
    }
}

static tn_status build_bodies(const tn_graph_node *node, const tn_inference *known,
                              bool is_after_run, const tn_builder_options *options,
                              tn_timing_cache *cache) {
    uint32_t field = 0;
    tn_graph_body *body;
    while ((body = tn_graph_next_body(node, &field)) != NULL) {
        note_captured_types(node, known, body);
        tn_status status = build_body(body, is_after_run, options, cache);
        if (status == TN_OK) continue;
        status = tn_error_at(status, "body '%s'", body->view.name);
        return tn_error_in(status, .node = node->name);
    }
    return TN_OK;
}

tn_status tn_bodies_build(build_state *state) {
    const tn_graph *graph = state->graph;
    const tn_builder_options own = options_of(state->options);
    for (size_t n = 0; n < graph->node_count; n++) {
        bool is_after_run = false;
        for (uint32_t p = 0; p < state->sets.count; p++)
            is_after_run = is_after_run || state->profiles[p].shapes.plan.is_after_run[n];
        if (!graph->nodes[n].is_dead)
            TN_TRY(build_bodies(&graph->nodes[n],
                                state->profiles[0].shapes.points[TN_POINT_OPTIMUM], is_after_run,
                                &own, state->cache));
    }
    return TN_OK;
}
