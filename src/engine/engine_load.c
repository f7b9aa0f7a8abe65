/* SPDX-License-Identifier: Apache-2.0 */
/* Loading an engine: its options, the plan's bytes, and the steps from there to a whole engine,
 * which are other files' matter: engine_private.h names them. */
#include "base/status.h"
#include "engine/engine_private.h"
#include "helper/helper_process.h"
#include "engine/engine_source.h"
#include "plan/layout.h"
#include <tenon/engine.h>

#include <string.h>

static tn_status read_plan(tn_engine *engine, tn_engine_source *from,
                           const tn_engine_options *options) {
    const tn_plan_read_options read = {.is_exact = options->flags & TN_ENGINE_EXACT,
                                       .device = options->device,
                                       .pieces = from->pieces,
                                       .verifies_all = options->flags & TN_ENGINE_VERIFY_ALL,
                                       .allowed_count = options->allowed_count,
                                       .allowed = options->allowed};
    tn_status status = tn_arena_create(engine->allocator, &engine->arena);
    if (status != TN_OK) {
        tn_file_unmap(&from->file);
        return status;
    }
    TN_TRY(tn_plan_read(engine->runtime, &from->file, from->name, &read, &engine->contents));
    engine->graph = engine->contents.graph;
    engine->device = engine->contents.device.device;
    return tn_inference_plan_create(engine->graph, engine->arena, &engine->plan);
}

tn_status tn_engine_infer_profile(tn_engine_loading *loading) {
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
    engine->is_isolated = options->flags & TN_ENGINE_ISOLATED;
    engine->isolation_limit_ms = options->isolation_limit_ms == UINT32_MAX ? 0
                                 : options->isolation_limit_ms ? options->isolation_limit_ms
                                                               : 10000;
    TN_TRY(tn_device_allocator_read(options->device_allocator, &engine->device_allocator));
    engine->shared_threads = tn_threads_retain(options->shared_threads);
    if (engine->shared_threads && options->threads > tn_threads_count(options->shared_threads))
        return tn_fail(TN_ERROR_ARGUMENT, "%u threads were asked for, of %u that are shared",
                       options->threads, tn_threads_count(options->shared_threads));
    engine->is_exact = options->flags & TN_ENGINE_EXACT;
    engine->is_checked = options->flags & TN_ENGINE_CHECKED;
    engine->allows_not_finite = options->flags & TN_ENGINE_CHECKED_ANY_NUMBER;
    if (options->checked_dump) {
        engine->checked_dump = tn_arena_text(engine->arena, options->checked_dump);
        if (!engine->checked_dump) return tn_fail_memory("an engine");
    }
    return engine->is_isolated ? tn_helper_program(engine->arena, options->isolation_helper,
                                                   &engine->isolation_helper)
                               : TN_OK;
}

/* A helper process has one profile, and need not be the first one's. */
static tn_status take_profile(tn_engine *engine, uint32_t profile) {
    tn_plan_contents *contents = &engine->contents;
    if (profile >= contents->profile_count)
        return tn_fail(TN_ERROR_ARGUMENT, "there is no profile %u: the plan has %u", profile,
                       contents->profile_count);
    engine->profile = profile;
    engine->profile_count = engine->is_serving ? 1 : contents->profile_count;
    contents->profiles += profile * engine->graph->input_count;
    return TN_OK;
}

static tn_status prepare_loading(tn_engine_loading *loading, const tn_engine_options *options) {
    tn_engine *engine = loading->engine;
    loading->is_exact = options->flags & TN_ENGINE_EXACT;
    loading->options = options;
    TN_TRY(take_options(engine, options));
    TN_TRY(tn_engine_find_refit(engine));
    TN_TRY(tn_engine_infer_profile(loading));
    TN_TRY(tn_engine_choose_program(loading, options));
    TN_TRY(tn_packed_store_create(engine->allocator, &engine->packed));
    tn_packed_store_share(engine->packed, tn_runtime_weights(engine->runtime));
    tn_packed_store_lend(engine->packed, engine->program->packed_count, engine->program->packed);
    TN_TRY(tn_engine_complete(loading));
    return tn_engine_load_profiles(loading);
}

tn_status tn_engine_complete(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    TN_TRY(tn_engine_make_ports(loading));
    if (!engine->is_serving) TN_TRY(tn_engine_open_device(engine));
    TN_TRY(tn_engine_load_bodies(loading));
    TN_TRY(tn_engine_prepare(loading));
    return tn_engine_upload_constants(loading);
}

static tn_status set_up_engine(tn_engine *engine, tn_engine_source *from,
                               const tn_engine_options *options) {
    tn_engine_loading loading = {
        .engine = engine, .note = from->note, .note_user = from->note_user};
    const bool is_file = from->file.is_mapped || from->mapped_bytes > 0;
    TN_TRY(read_plan(engine, from, options));
    TN_TRY(take_profile(engine, from->profile));
    const tn_status status = prepare_loading(&loading, options);
    tn_profile_shapes_deinit(&loading.shapes);
    tn_arena_destroy(loading.arena);
    if (from->is_serving) return status;
    return is_file ? tn_error_in(status, .file = from->name)
                   : tn_error_at(status, "%s", from->name);
}

static tn_status read_engine_options(const tn_engine_options *given,
                                     tn_engine_options *out_options) {
    TN_TRY(tn_options_read(out_options, sizeof(*out_options), given, "the engine options"));
    if (out_options->allowed)
        TN_TRY(tn_options_check_array(out_options->allowed_count, out_options->allowed,
                                      "allowed libraries"));
    TN_TRY(tn_options_check_threads(out_options->threads, "the engine options"));
    return tn_options_check_flags(out_options->flags,
                                  TN_ENGINE_EXACT | TN_ENGINE_CHECKED |
                                      TN_ENGINE_CHECKED_ANY_NUMBER | TN_ENGINE_ISOLATED |
                                      TN_ENGINE_VERIFY_ALL,
                                  "the engine options");
}

tn_engine *tn_engine_new(tn_runtime *runtime) {
    tn_engine *engine = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof(*engine));
    if (!engine) return NULL;
    atomic_init(&engine->references, 1);
    engine->profile_count = 1;
    pthread_mutex_init(&engine->opening, NULL);
    pthread_mutex_init(&engine->splitting, NULL);
    pthread_mutex_init(&engine->reporting, NULL);
    engine->runtime = tn_runtime_retain(runtime);
    engine->allocator = tn_runtime_allocator(runtime);
    engine->plan_descriptor = -1;
    return engine;
}

/* Takes over the source. */
static tn_status load_source(tn_runtime *runtime, tn_engine_source *from,
                             const tn_engine_options *options, tn_engine **out_engine) {
    tn_engine *engine = tn_engine_new(runtime);
    if (!engine) {
        tn_engine_source_close(runtime, from);
        return tn_fail_memory("an engine");
    }
    engine->plan_copy = from->copy;
    engine->plan_mapped_bytes = from->mapped_bytes;
    engine->plan_descriptor = from->descriptor;
    engine->is_serving = from->is_serving;
    const tn_status status = set_up_engine(engine, from, options);
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
    tn_engine_source from = {.name = path, .descriptor = -1};
    tn_engine_options known;
    if (!runtime || !path || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_engine_load needs a runtime, a path and a pointer for the engine");
    TN_TRY(read_engine_options(options, &known));
    TN_TRY(tn_engine_source_open_file(runtime, path, &known, &from));
    return load_source(runtime, &from, &known, out_engine);
}

tn_status tn_engine_load_serving(tn_runtime *runtime, const char *path,
                                 const tn_engine_options *options, uint32_t profile,
                                 tn_engine_note note, void *user, tn_engine **out_engine) {
    tn_engine_source from = {.name = "the helper process' plan",
                             .descriptor = -1,
                             .is_serving = true,
                             .profile = profile,
                             .note = note,
                             .note_user = user};
    TN_TRY(tn_engine_source_open_file(runtime, path, options, &from));
    return load_source(runtime, &from, options, out_engine);
}

tn_status tn_engine_load_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                               const tn_engine_options *options, tn_engine **out_engine) {
    tn_engine_source from = {.name = "plan in memory", .descriptor = -1};
    tn_engine_options known;
    if (!runtime || (!data && bytes) || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_engine_load_bytes needs a runtime, data and a pointer for the engine");
    TN_TRY(read_engine_options(options, &known));
    TN_TRY(tn_engine_source_copy(runtime, data, bytes, &known, &from));
    return load_source(runtime, &from, &known, out_engine);
}

tn_status tn_engine_load_borrowed(tn_runtime *runtime, const void *data, uint64_t bytes,
                                  const tn_engine_options *options, void (*release)(void *user),
                                  void *user, tn_engine **out_engine) {
    tn_engine_source from = {
        .file = {.data = data, .bytes = bytes}, .name = "borrowed plan", .descriptor = -1};
    tn_engine_options known;
    tn_engine *engine = NULL;
    if (!runtime || !data || !out_engine)
        return tn_fail(
            TN_ERROR_ARGUMENT,
            "tn_engine_load_borrowed needs a runtime, data and a pointer for the engine");
    if ((uintptr_t)data % TN_PLAN_WEIGHT_ALIGNMENT != 0)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "borrowed memory at %p is not aligned to %u bytes: align it, or use "
                       "tn_engine_load_bytes, which copies",
                       data, TN_PLAN_WEIGHT_ALIGNMENT);
    TN_TRY(read_engine_options(options, &known));
    TN_TRY(tn_engine_source_open_memory(data, bytes, &known, &from));
    TN_TRY(load_source(runtime, &from, &known, &engine));
    engine->release_plan = release;
    engine->release_user = user;
    *out_engine = engine;
    return TN_OK;
}

static void give_plan_back(void *user) {
    tn_plan_destroy(user);
}

tn_status tn_engine_load_plan(tn_runtime *runtime, const tn_plan *plan,
                              const tn_engine_options *options, tn_engine **out_engine) {
    tn_engine_source from = {.name = "plan in memory", .descriptor = -1};
    tn_engine_options known;
    tn_engine *engine = NULL;
    uint64_t bytes;
    if (!runtime || !plan || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_engine_load_plan needs a runtime, a plan and a pointer for the engine");
    TN_TRY(read_engine_options(options, &known));
    TN_TRY(tn_plan_share(plan, known.flags & TN_ENGINE_ISOLATED, &from.pieces));
    if (!from.pieces) {
        const void *data = tn_plan_bytes(plan, &bytes);
        from.file = (tn_file){.data = data, .bytes = (size_t)bytes};
    }
    tn_status status =
        from.pieces ? TN_OK
                    : tn_engine_source_open_memory(from.file.data, from.file.bytes, &known, &from);
    if (status == TN_OK) status = load_source(runtime, &from, &known, &engine);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        give_plan_back((tn_plan *)(uintptr_t)plan);
        tn_error_restore(&error);
        return status;
    }
    engine->release_plan = give_plan_back;
    engine->release_user = (void *)(uintptr_t)plan;
    *out_engine = engine;
    return TN_OK;
}

tn_status tn_engine_load_lent(tn_runtime *runtime, const void *data, size_t bytes,
                              const tn_engine_options *options, tn_engine **out_engine) {
    tn_engine_source from = {
        .file = {.data = data, .bytes = bytes}, .name = "plan of a body", .descriptor = -1};
    return load_source(runtime, &from, options, out_engine);
}
