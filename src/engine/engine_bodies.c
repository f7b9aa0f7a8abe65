/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of an engine's nodes: an engine each, on the plan within the plan, made when the nodes
 * are prepared. Bodies of nodes that run by their reference run by references and need none.
 */
#include "base/status.h"
#include "engine/engine_private.h"

/* As the network around it was loaded: the same checks, the same libraries allowed. */
static tn_engine_options options_of(const tn_engine_loading *loading) {
    const uint32_t kept =
        TN_ENGINE_EXACT | TN_ENGINE_CHECKED | TN_ENGINE_CHECKED_ANY_NUMBER | TN_ENGINE_ISOLATED;
    const tn_engine *engine = loading->engine;
    tn_engine_options options = {0};
    if (loading->options) options = *loading->options;
    options.size = sizeof(options);
    options.flags &= kept;
    options.threads = engine->pool.threads;
    options.checked_dump = engine->checked_dump;
    options.isolation_helper = engine->isolation_helper;
    options.device = "cpu";
    return options;
}

/* An engine that stands in for another has that one's; there they are loaded before. */
static tn_status load_body(const tn_engine_loading *loading, const tn_graph_body *body,
                           tn_engine_body *own) {
    const tn_engine *engine = loading->engine;
    const tn_engine_options options = options_of(loading);
    tn_engine *there = engine->lender ? tn_engine_find_body(engine->lender, &body->view) : NULL;
    own->body = body;
    own->engine = tn_engine_retain(there);
    if (there) return TN_OK;
    return engine->is_isolated ? tn_engine_load_bytes(engine->runtime, body->plan, body->plan_bytes,
                                                      &options, &own->engine)
                               : tn_engine_load_lent(engine->runtime, body->plan, body->plan_bytes,
                                                     &options, &own->engine);
}

/* Null: the step has none. */
static const tn_graph_node *node_with_bodies(const tn_engine *engine, const tn_engine_step *step) {
    if (step->step->kind != TN_STEP_KERNEL || step->step->is_host) return NULL;
    const tn_graph_node *node = &engine->graph->nodes[step->step->node];
    return tn_graph_node_has_bodies(node) ? node : NULL;
}

/* A helper process sees the elements, but no heap. */
static tn_status check_strings(const tn_engine *engine, const tn_engine_step *step) {
    const tn_graph_node *node = &engine->graph->nodes[step->step->node];
    bool is_any = false;
    for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        is_any = is_any || (id != TN_NO_TENSOR && engine->graph->tensors[id].type == TN_STRING);
    }
    if (!is_any) return TN_OK;
    return tn_error_in(
        tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED, "what runs in a helper process has no strings"),
                      ": ",
                      "load the plan "
                      "without isolation"),
        .node = node->name);
}

/* How many bodies need an engine: those of references run by references. */
static tn_status count_bodies(tn_engine *engine, uint32_t *out_count) {
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        const tn_engine_step *step = &engine->steps[i];
        const tn_graph_node *node = node_with_bodies(engine, step);
        uint32_t field = 0;
        if (step->is_isolated && !engine->is_serving) TN_TRY(check_strings(engine, step));
        if (node && step->is_isolated && !engine->is_serving)
            return tn_error_in(
                tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                                      "what runs in a helper process cannot run the graphs in its "
                                      "fields"),
                              ": ", "load the plan without isolation"),
                .node = node->name);
        engine->has_bodies = engine->has_bodies || node;
        while (node && step->entry && tn_graph_next_body(node, &field))
            ++*out_count;
    }
    return TN_OK;
}

static tn_status load_bodies(const tn_engine_loading *loading, const tn_engine_step *step) {
    tn_engine *engine = loading->engine;
    const tn_graph_node *node = node_with_bodies(engine, step);
    tn_graph_body *body;
    uint32_t field = 0;
    while (node && step->entry && (body = tn_graph_next_body(node, &field)) != NULL) {
        const tn_status status = load_body(loading, body, &engine->bodies[engine->body_count]);
        if (status != TN_OK)
            return tn_error_in(tn_error_at(status, "body '%s'", body->view.name),
                               .node = node->name);
        engine->body_count++;
    }
    return TN_OK;
}

tn_status tn_engine_load_bodies(const tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    uint32_t count = 0;
    TN_TRY(count_bodies(engine, &count));
    if (count == 0 || engine->is_serving) return TN_OK;
    engine->bodies = tn_arena_allocate(engine->arena, count, sizeof(*engine->bodies));
    if (!engine->bodies) return tn_fail_memory("an engine");
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        TN_TRY(load_bodies(loading, &engine->steps[i]));
    return TN_OK;
}

void tn_engine_release_bodies(tn_engine *engine) {
    for (uint32_t i = 0; i < engine->body_count; i++)
        tn_engine_release(engine->bodies[i].engine);
}

tn_engine *tn_engine_find_body(const tn_engine *engine, const tn_body_graph *body) {
    for (uint32_t i = 0; i < engine->body_count; i++)
        if (&engine->bodies[i].body->view == body) return engine->bodies[i].engine;
    return NULL;
}
