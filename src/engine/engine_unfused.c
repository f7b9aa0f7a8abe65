/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was fused when the plan was built need not fit every shape of a run: an operand that turns
 * out to be broadcast, a window that describes itself in another manner. For such shapes an engine
 * has a second one of the same graph, which absorbs all that it does but the nodes that were found
 * broken. It shares graph and packed weights, and is made when it is needed first.
 */
#include "base/status.h"
#include "engine/engine_private.h"

#include <string.h>

static tn_status mark_broken(tn_engine *engine, const bool *is_broken) {
    const size_t count = engine->graph->node_count;
    const bool *before = engine->lender->is_unfused;
    bool *is_unfused = tn_arena_allocate(engine->arena, count + 1, sizeof(*is_unfused));
    if (!is_unfused) return tn_fail_memory("an engine");
    for (size_t n = 0; n < count; n++)
        is_unfused[n] = is_broken[n] || (before && before[n]);
    engine->is_unfused = is_unfused;
    return TN_OK;
}

void tn_engine_borrow(tn_engine *engine, tn_engine *lender) {
    engine->lender = lender;
    engine->contents = lender->contents;
    engine->graph = lender->graph;
    engine->plan = lender->plan;
    engine->device = lender->device;
    engine->packed = lender->packed;
    engine->profile = lender->profile;
    engine->is_checked = lender->is_checked;
    engine->device_allocator = lender->device_allocator;
    engine->allows_not_finite = lender->allows_not_finite;
    engine->checked_dump = lender->checked_dump;
}

static tn_status set_up_unfused(tn_engine *engine, const bool *is_broken) {
    tn_engine_loading loading = {.engine = engine};
    TN_TRY(tn_arena_create(engine->allocator, &engine->arena));
    tn_status status = mark_broken(engine, is_broken);
    if (status == TN_OK) status = tn_engine_infer_profile(&loading);
    if (status == TN_OK) status = tn_engine_lower(&loading, engine->lender->program->threads);
    if (status == TN_OK) status = tn_engine_complete(&loading);
    tn_profile_shapes_deinit(&loading.shapes);
    tn_arena_destroy(loading.arena);
    return status;
}

static tn_status create_unfused(tn_engine *fused, const bool *is_broken, tn_engine **out_engine) {
    tn_error_copy error;
    tn_engine *engine = tn_engine_new(fused->runtime);
    if (!engine) return tn_fail_memory("an engine");
    tn_engine_borrow(engine, fused);
    const tn_status status = set_up_unfused(engine, is_broken);
    if (status == TN_OK) {
        *out_engine = engine;
        return TN_OK;
    }
    tn_error_save(&error);
    tn_engine_release(engine);
    tn_error_restore(&error);
    return status;
}

tn_status tn_engine_find_unfused(tn_engine *engine, const bool *is_broken, tn_engine **out_engine) {
    tn_status status = TN_OK;
    pthread_mutex_lock(&engine->splitting);
    if (!engine->unfused) status = create_unfused(engine, is_broken, &engine->unfused);
    if (status == TN_OK) *out_engine = engine->unfused;
    pthread_mutex_unlock(&engine->splitting);
    return status;
}
