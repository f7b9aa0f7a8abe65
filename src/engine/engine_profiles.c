/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The further profiles of a plan: an engine each, of the same graph, with the program that was
 * chosen for that profile. They share the graph, its constants (the device's copies as well) and
 * the packed weights with the first one, which owns them, and are prepared when it is loaded: what
 * fails, fails there, and contexts find them without a lock.
 */
#include "base/status.h"
#include "engine/engine_private.h"

#include <tenon/profiles.h>

static void borrow(tn_engine *engine, tn_engine *first, uint32_t profile) {
    tn_engine_borrow(engine, first);
    engine->profile = profile;
    engine->contents.profiles += profile * first->graph->input_count;
    engine->is_isolated = first->is_isolated;
    engine->isolation_helper = first->isolation_helper;
    engine->isolation_limit_ms = first->isolation_limit_ms;
    engine->plan_descriptor = first->plan_descriptor;
}

static tn_status set_up_profile(tn_engine *engine, const tn_engine_loading *first) {
    tn_engine_loading loading = {
        .engine = engine, .is_exact = first->is_exact, .options = first->options};
    TN_TRY(tn_arena_create(engine->allocator, &engine->arena));
    tn_status status = tn_engine_infer_profile(&loading);
    if (status == TN_OK) status = tn_engine_choose_program(&loading, first->options);
    if (status == TN_OK)
        tn_packed_store_lend(engine->packed, engine->program->packed_count,
                             engine->program->packed);
    if (status == TN_OK) status = tn_engine_complete(&loading);
    tn_profile_shapes_deinit(&loading.shapes);
    tn_arena_destroy(loading.arena);
    return status;
}

tn_status tn_engine_load_profiles(const tn_engine_loading *loading) {
    tn_engine *first = loading->engine;
    const uint32_t count = first->profile_count;
    if (count == 1) return TN_OK;
    first->profile_engines =
        tn_arena_allocate(first->arena, count, sizeof(*first->profile_engines));
    if (!first->profile_engines) return tn_fail_memory("an engine");
    first->profile_engines[0] = first;
    for (uint32_t p = 1; p < count; p++) {
        tn_engine *engine = first->profile_engines[p] = tn_engine_new(first->runtime);
        if (!engine) return tn_fail_memory("an engine");
        borrow(engine, first, p);
        TN_TRY(tn_error_at(set_up_profile(engine, loading), "profile %u", p));
    }
    return TN_OK;
}

void tn_engine_release_profiles(tn_engine *engine) {
    for (uint32_t p = engine->profile_engines ? engine->profile_count : 1; p-- > 1;)
        tn_engine_release(engine->profile_engines[p]);
}

uint32_t tn_engine_profile_count(const tn_engine *engine) {
    return engine ? engine->profile_count : 0;
}

const tn_profile_input *tn_engine_profile_of(const tn_engine *engine, uint32_t profile,
                                             uint32_t input) {
    if (profile >= tn_engine_profile_count(engine)) return NULL;
    return tn_engine_profile(engine->profile_engines ? engine->profile_engines[profile] : engine,
                             input);
}
