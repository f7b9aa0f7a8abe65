/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: loading a plan, ports and counts. engine_private.h says where the parts are. */
#include "base/status.h"
#include "base/text.h"
#include "run/engine_private.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * ports */

static tn_status make_ports(const tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    const tn_graph *graph = engine->graph;
    engine->inputs =
        tn_arena_allocate(engine->arena, graph->input_count + 1, sizeof(*engine->inputs));
    engine->outputs =
        tn_arena_allocate(engine->arena, graph->output_count + 1, sizeof(*engine->outputs));
    if (!engine->inputs || !engine->outputs) return tn_fail_memory("an engine's ports");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        engine->inputs[i] = *tn_graph_input(graph, i);
        engine->inputs[i].is_value = engine->plan.is_value_input[i];
        engine->has_value_inputs |= engine->plan.is_value_input[i];
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        engine->outputs[i] = *tn_graph_output(graph, i);
        const tn_tensor *known = loading->linear[graph->outputs[i]];
        engine->outputs[i].type =
            known ? known->type : engine->program->values[engine->program->output_values[i]].type;
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
        tn_fail(TN_ERROR_NOT_FOUND, "there is no %s '%s'; there are: %s%s%s%s", kind, name,
                names.data ? names.data : "none", nearest.best ? "; the nearest is '" : "",
                nearest.best ? nearest.best : "", nearest.best ? "'" : "");
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

const char *tn_engine_report(const tn_engine *engine) {
    return engine ? engine->report : "{}";
}

/* ----------------------------------------------------------------------------------------------
 * life */

static tn_status read_plan(tn_engine *engine, tn_file *file, const char *name,
                           const tn_engine_options *options) {
    const tn_plan_read_options read = {.is_exact = options->flags & TN_ENGINE_EXACT,
                                       .device = options->device,
                                       .allowed_count = options->allowed_count,
                                       .allowed = options->allowed};
    tn_status status = tn_arena_create(engine->allocator, &engine->arena);
    if (status != TN_OK) {
        tn_file_unmap(file);
        return status;
    }
    TN_TRY(tn_plan_read(engine->runtime, file, name, &read, &engine->contents));
    engine->graph = engine->contents.graph;
    engine->device = engine->contents.device.device;
    return tn_inference_plan_create(engine->graph, engine->arena, &engine->plan);
}

static tn_status infer_profile(tn_engine_loading *loading) {
    const tn_engine *engine = loading->engine;
    TN_TRY(tn_arena_create(engine->allocator, &loading->arena));
    TN_TRY(tn_profile_shapes_init(&loading->shapes, engine->graph, engine->contents.profiles,
                                  loading->arena));
    loading->linear = tn_arena_allocate(loading->arena, engine->graph->tensor_count + 1,
                                        sizeof(*loading->linear));
    if (!loading->linear) return tn_fail_memory("an engine");
    for (size_t i = 0; i < engine->graph->tensor_count; i++) {
        const tn_inferred_tensor *inferred = &loading->shapes.points[1]->tensors[i];
        loading->linear[i] = inferred->is_known ? &inferred->storage.tensor : NULL;
    }
    return TN_OK;
}

static tn_status take_options(tn_engine *engine, const tn_engine_options *options) {
    engine->is_checked = options->flags & TN_ENGINE_CHECKED;
    engine->allows_not_finite = options->flags & TN_ENGINE_CHECKED_ANY_NUMBER;
    if (!options->checked_dump) return TN_OK;
    engine->checked_dump = tn_arena_text(engine->arena, options->checked_dump);
    return engine->checked_dump ? TN_OK : tn_fail_memory("an engine");
}

static tn_status get_ready(tn_engine_loading *loading, const tn_engine_options *options) {
    tn_engine *engine = loading->engine;
    TN_TRY(take_options(engine, options));
    TN_TRY(infer_profile(loading));
    TN_TRY(tn_engine_choose_program(loading, options->threads));
    TN_TRY(tn_packed_store_create(engine->allocator, &engine->packed));
    TN_TRY(make_ports(loading));
    TN_TRY(tn_engine_open_device(engine));
    TN_TRY(tn_engine_prepare(loading));
    TN_TRY(tn_engine_upload_constants(loading));
    return tn_engine_make_report(engine);
}

static tn_status set_up(tn_engine *engine, tn_file *file, const char *name,
                        const tn_engine_options *options) {
    tn_engine_loading loading = {.engine = engine};
    TN_TRY(read_plan(engine, file, name, options));
    const tn_status status = get_ready(&loading, options);
    tn_profile_shapes_deinit(&loading.shapes);
    tn_arena_destroy(loading.arena);
    return tn_error_at(status, "%s", name);
}

/* Takes over the file. */
static tn_status load(tn_runtime *runtime, tn_file *file, const char *name,
                      const tn_engine_options *given, tn_engine **out_engine) {
    tn_engine_options options = {0};
    if (given && (given->size < sizeof(given->size) || given->size > UINT16_MAX)) {
        tn_file_unmap(file);
        return tn_fail(TN_ERROR_ARGUMENT, "the engine options' `size` is not set");
    }
    if (given)
        memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
    tn_engine *engine = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof(*engine));
    if (!engine) {
        tn_file_unmap(file);
        return tn_fail_memory("an engine");
    }
    atomic_init(&engine->references, 1);
    pthread_mutex_init(&engine->opening, NULL);
    engine->runtime = tn_runtime_retain(runtime);
    engine->allocator = tn_runtime_allocator(runtime);
    const tn_status status = set_up(engine, file, name, &options);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_engine_release(engine);
        tn_error_restore(&error);
        return status;
    }
    *out_engine = engine;
    return TN_OK;
}

tn_status tn_engine_load(tn_runtime *runtime, const char *path, const tn_engine_options *options,
                         tn_engine **out_engine) {
    tn_file file = {0};
    if (!runtime || !path || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_engine_load needs a runtime, a path and a place for the engine");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    return load(runtime, &file, path, options, out_engine);
}

tn_status tn_engine_load_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                               const tn_engine_options *options, tn_engine **out_engine) {
    tn_file file = {0};
    if (!runtime || (!data && bytes) || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_engine_load_bytes needs a runtime, data and a place for the engine");
    TN_TRY(tn_file_copy(tn_runtime_allocator(runtime), data, bytes, &file));
    return load(runtime, &file, "plan in memory", options, out_engine);
}

tn_engine *tn_engine_retain(tn_engine *engine) {
    if (engine) atomic_fetch_add(&engine->references, 1);
    return engine;
}

void tn_engine_release(tn_engine *engine) {
    if (!engine || atomic_fetch_sub(&engine->references, 1) != 1) return;
    tn_engine_unprepare(engine);
    tn_engine_close_device(engine);
    tn_packed_store_destroy(engine->packed);
    tn_plan_contents_deinit(&engine->contents);
    tn_deallocate(engine->allocator, engine->report);
    tn_arena_destroy(engine->arena);
    pthread_mutex_destroy(&engine->opening);
    tn_runtime *runtime = engine->runtime;
    tn_deallocate(engine->allocator, engine);
    tn_runtime_release(runtime);
}
