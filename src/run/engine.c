/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: loading a plan, choosing the program that fits this machine, ports and counts.
 * Preparing is engine_prepare.c. */
#include "base/status.h"
#include "base/text.h"
#include "build/lower.h"
#include "device/cpu/cpu.h"
#include "run/engine_private.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the program */

static const tn_program *find_program(const tn_plan_contents *contents, const char *fingerprint,
                                      uint32_t threads) {
    for (uint32_t i = 0; i < contents->program_count; i++) {
        const tn_program *program = contents->programs[i];
        if (strcmp(program->fingerprint, fingerprint) == 0 &&
            (threads == 0 || program->threads == threads))
            return program;
    }
    return NULL;
}

/* No stored program was made for this device: chooses anew, by rule. */
static tn_status lower_again(tn_engine *engine, uint32_t threads) {
    tn_profile_shapes shapes = {0};
    tn_program *program = tn_arena_allocate(engine->arena, 1, sizeof(*program));
    if (!program) return tn_fail_memory("a program");
    TN_TRY(tn_runtime_load_companions(engine->runtime));
    tn_cpu_pool_init(&engine->pool, threads);
    tn_status status =
        tn_profile_shapes_init(&shapes, engine->graph, engine->contents.profiles, engine->arena);
    if (status == TN_OK) {
        const tn_lower_options options = {.threads = threads,
                                          .no_timing = true,
                                          .forced = tn_runtime_forced_kernels(engine->runtime),
                                          .pool = &engine->pool};
        status =
            tn_lower(engine->graph, &shapes.plan, shapes.points, &options, engine->arena, program);
    }
    tn_profile_shapes_deinit(&shapes);
    engine->program = program;
    return status;
}

static tn_status choose_program(tn_engine *engine, uint32_t threads) {
    const tn_device *cpu = tn_runtime_cpu(engine->runtime);
    const char *fingerprint = cpu->fingerprint(cpu);
    engine->program = find_program(&engine->contents, fingerprint, threads);
    if (!engine->program) {
        const uint32_t stored =
            engine->contents.program_count ? engine->contents.programs[0]->threads : 0;
        TN_TRY(lower_again(engine, threads ? threads : stored ? stored : tn_cpu_core_count()));
    }
    tn_cpu_pool_init(&engine->pool, engine->program->threads);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * ports */

static tn_status make_ports(tn_engine *engine) {
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
        const uint32_t value = engine->program->output_values[i];
        if (value != TN_NO_VALUE && engine->program->values[value].type != TN_NONE)
            engine->outputs[i].type = engine->program->values[value].type;
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
    return engine->report;
}

/* ----------------------------------------------------------------------------------------------
 * life */

static tn_status set_up(tn_engine *engine, tn_file *file, const char *name,
                        const tn_engine_options *options) {
    const tn_plan_read_options read = {.is_exact = options->flags & TN_ENGINE_EXACT,
                                       .allowed_count = options->allowed_count,
                                       .allowed = options->allowed};
    tn_status status = tn_arena_create(engine->allocator, &engine->arena);
    if (status != TN_OK) {
        tn_file_unmap(file);
        return status;
    }
    TN_TRY(tn_plan_read(engine->runtime, file, name, &read, &engine->contents));
    engine->graph = engine->contents.graph;
    TN_TRY(tn_inference_plan_create(engine->graph, engine->arena, &engine->plan));
    TN_TRY(choose_program(engine, options->threads));
    TN_TRY(tn_packed_store_create(engine->allocator, &engine->packed));
    TN_TRY(make_ports(engine));
    TN_TRY(tn_engine_prepare(engine));
    return tn_engine_make_report(engine);
}

/* Takes over the file. */
static tn_status load(tn_runtime *runtime, tn_file *file, const char *name,
                      const tn_engine_options *given, tn_engine **out_engine) {
    tn_engine_options options = {0};
    if (given)
        memcpy(&options, given, given->size < sizeof(options) ? given->size : sizeof(options));
    tn_engine *engine = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof(*engine));
    if (!engine) {
        tn_file_unmap(file);
        return tn_fail_memory("an engine");
    }
    atomic_init(&engine->references, 1);
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
    tn_packed_store_destroy(engine->packed);
    tn_plan_contents_deinit(&engine->contents);
    tn_deallocate(engine->allocator, engine->report);
    tn_arena_destroy(engine->arena);
    tn_runtime *runtime = engine->runtime;
    tn_deallocate(engine->allocator, engine);
    tn_runtime_release(runtime);
}
