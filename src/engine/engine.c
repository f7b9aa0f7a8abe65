/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: ports, counts and its end. engine_private.h says where the parts are. */
#include "base/status.h"
#include "base/text.h"
#include "engine/engine_private.h"
#include "engine/engine_source.h"
#include "plan/refit/refit_index.h"

#include <tenon/plugin/sequence.h>

#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * ports */

static tn_profile_input show_profile(const char *name, const tn_plan_profile *profile) {
    if (profile->is_free) return (tn_profile_input){0};
    return (tn_profile_input){.size = sizeof(tn_profile_input),
                              .rank = profile->optimum.rank,
                              .name = name,
                              .minimum = profile->minimum.extents,
                              .optimum = profile->optimum.extents,
                              .maximum = profile->maximum.extents,
                              .minimum_value = profile->minimum_value,
                              .optimum_value = profile->optimum_value,
                              .maximum_value = profile->maximum_value};
}

/* What the model does not say of an output, the plan does. */
static void show_shape(tn_port_info *output, const tn_plan_output *known) {
    if (output->rank != UINT32_MAX || !known->has_shape) return;
    output->rank = known->shape.rank;
    output->extents = known->shape.extents;
}

tn_status tn_engine_make_ports(const tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    const tn_graph *graph = engine->graph;
    engine->inputs =
        tn_arena_allocate(engine->arena, graph->input_count + 1, sizeof(*engine->inputs));
    engine->outputs =
        tn_arena_allocate(engine->arena, graph->output_count + 1, sizeof(*engine->outputs));
    engine->profiles =
        tn_arena_allocate(engine->arena, graph->input_count + 1, sizeof(*engine->profiles));
    if (!engine->inputs || !engine->outputs || !engine->profiles)
        return tn_fail_memory("an engine's ports");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        engine->inputs[i] = *tn_graph_input(graph, i);
        engine->inputs[i].is_value = engine->plan.is_value_input[i];
        engine->profiles[i] = show_profile(engine->inputs[i].name, &engine->contents.profiles[i]);
        engine->has_value_inputs |= engine->plan.is_value_input[i];
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        engine->outputs[i] = *tn_graph_output(graph, i);
        const tn_tensor *known = loading->linear[graph->outputs[i]];
        if (engine->outputs[i].kind) {
            const tn_tensor *items =
                &loading->shapes.points[1]->tensors[graph->outputs[i]].storage.tensor;
            engine->outputs[i].type = items->type;
            engine->outputs[i].key_type = tn_map_key_type(items);
            engine->outputs[i].rank = UINT32_MAX;
            continue;
        }
        engine->outputs[i].type =
            known ? known->type : engine->program->values[engine->program->output_values[i]].type;
        show_shape(&engine->outputs[i], &engine->contents.outputs[i]);
    }
    return TN_OK;
}

uint32_t tn_engine_input_count(const tn_engine *engine) {
    return engine ? (uint32_t)engine->graph->input_count : 0;
}
uint32_t tn_engine_output_count(const tn_engine *engine) {
    return engine ? (uint32_t)engine->graph->output_count : 0;
}

const tn_port_info *tn_engine_input(const tn_engine *engine, uint32_t index) {
    return index < tn_engine_input_count(engine) ? &engine->inputs[index] : NULL;
}

const tn_port_info *tn_engine_output(const tn_engine *engine, uint32_t index) {
    return index < tn_engine_output_count(engine) ? &engine->outputs[index] : NULL;
}

tn_status tn_engine_get_model_info(const tn_engine *engine, tn_model_info *out_info) {
    return tn_graph_get_model_info(engine ? engine->graph : NULL, out_info);
}

const tn_profile_input *tn_engine_profile(const tn_engine *engine, uint32_t input) {
    if (input >= tn_engine_input_count(engine)) return NULL;
    return engine->profiles[input].size > 0 ? &engine->profiles[input] : NULL;
}

static tn_status find_port(const tn_engine *engine, const tn_port_info *ports, uint32_t count,
                           const char *kind, const char *name, uint32_t *out_index) {
    tn_nearest nearest;
    tn_text names;
    if (!name || !out_index) return tn_fail(TN_ERROR_ARGUMENT, "the name of an %s is null", kind);
    tn_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(ports[i].name, name) == 0) {
            *out_index = i;
            return TN_OK;
        }
        tn_nearest_offer(&nearest, ports[i].name);
    }
    tn_text_init(&names, engine->allocator);
    for (uint32_t i = 0; i < count; i++)
        tn_text_add_format(&names, i ? ", '%s'" : "'%s'", ports[i].name);
    const tn_status status =
        tn_error_mend_nearest(tn_fail(TN_ERROR_NOT_FOUND, "there is no %s '%s'; there are: %s",
                                      kind, name, names.data ? names.data : "none"),
                              "; ", nearest.best);
    tn_text_deinit(&names);
    return status;
}

tn_status tn_engine_find_input(const tn_engine *engine, const char *name, uint32_t *out_index) {
    if (!engine) return tn_fail(TN_ERROR_ARGUMENT, "the engine is null");
    return find_port(engine, engine->inputs, tn_engine_input_count(engine), "input", name,
                     out_index);
}

tn_status tn_engine_find_output(const tn_engine *engine, const char *name, uint32_t *out_index) {
    if (!engine) return tn_fail(TN_ERROR_ARGUMENT, "the engine is null");
    return find_port(engine, engine->outputs, tn_engine_output_count(engine), "output", name,
                     out_index);
}

/* ----------------------------------------------------------------------------------------------
 * life */

tn_engine *tn_engine_retain(tn_engine *engine) {
    if (engine) atomic_fetch_add(&engine->references, 1);
    return engine;
}

void tn_engine_release(tn_engine *engine) {
    if (!engine || atomic_fetch_sub(&engine->references, 1) != 1) return;
    tn_engine_release(engine->unfused);
    tn_engine_release_profiles(engine);
    if (!engine->loaded) tn_engine_unprepare(engine);
    tn_engine_release_bodies(engine);
    if (!engine->loaded) tn_engine_close_device(engine);
    if (!engine->lender && !engine->loaded) { /* else both are that engine's */
        tn_packed_store_destroy(engine->packed);
        tn_refit_index_destroy(engine->refit);
        tn_plan_contents_deinit(&engine->contents);
    }
    tn_engine_source_release(engine->runtime, engine->plan_copy, engine->plan_mapped_bytes);
    tn_deallocate(engine->allocator, engine->report);
    if (engine->loaded)
        tn_engine_release_refits(engine);
    else
        tn_arena_destroy(engine->arena);
    pthread_mutex_destroy(&engine->opening);
    pthread_mutex_destroy(&engine->splitting);
    pthread_mutex_destroy(&engine->reporting);
    tn_threads_release(engine->shared_threads);
    if (engine->plan_descriptor >= 0 && !engine->lender) close(engine->plan_descriptor);
    tn_runtime *runtime = engine->runtime;
    void (*const release_plan)(void *user) = engine->release_plan;
    void *release_user = engine->release_user;
    tn_deallocate(engine->allocator, engine);
    tn_runtime_release(runtime);
    if (release_plan) release_plan(release_user);
}
