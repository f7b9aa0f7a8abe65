/* SPDX-License-Identifier: Apache-2.0 */
/* A refit as callers see it: which constants, their new data, and what becomes of them. Public
 * side: tenon/refit.h. */
#include <tenon/refit.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "engine/refit/refit_layer.h"
#include "plan/refit/refit_index.h"
#include "tensor/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct tn_refit {
    tn_runtime *runtime; /* counted */
    const tn_allocator *allocator;
    tn_engine *engine;         /* counted; null: of a file */
    tn_file file;              /* a plan's; empty: the engine's */
    tn_refit_index *own_index; /* of the file */
    const tn_refit_index *index;
    const unsigned char *plan;
    size_t plan_bytes;
    void **values; /* by constant; null: not set */
};

static uint32_t count_of(const tn_refit_index *index) {
    return index ? tn_refit_index_count(index) : 0;
}

static const tn_port_info *info_at(const tn_refit_index *index, uint32_t number) {
    return number < count_of(index) ? &tn_refit_index_at(index, number)->info : NULL;
}

uint32_t tn_engine_refit_count(const tn_engine *engine) {
    return engine ? count_of(engine->refit) : 0;
}

const tn_port_info *tn_engine_refit_constant(const tn_engine *engine, uint32_t index) {
    return engine ? info_at(engine->refit, index) : NULL;
}

uint32_t tn_refit_count(const tn_refit *refit) {
    return refit ? count_of(refit->index) : 0;
}

const tn_port_info *tn_refit_constant(const tn_refit *refit, uint32_t index) {
    return refit ? info_at(refit->index, index) : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * life */

static tn_refit *new_refit(tn_runtime *runtime) {
    tn_refit *refit = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof(*refit));
    if (!refit) return NULL;
    refit->runtime = tn_runtime_retain(runtime);
    refit->allocator = tn_runtime_allocator(runtime);
    return refit;
}

void tn_refit_destroy(tn_refit *refit) {
    if (!refit) return;
    tn_runtime *runtime = refit->runtime;
    for (uint32_t i = 0; refit->values && i < count_of(refit->index); i++)
        tn_deallocate(refit->allocator, refit->values[i]);
    tn_deallocate(refit->allocator, refit->values);
    tn_refit_index_destroy(refit->own_index);
    tn_file_unmap(&refit->file);
    tn_engine_release(refit->engine);
    tn_deallocate(refit->allocator, refit);
    tn_runtime_release(runtime);
}

static tn_status open_engine(tn_refit *refit, tn_engine *engine) {
    const tn_graph *plan = engine->contents.graph;
    refit->engine = tn_engine_retain(engine);
    refit->index = engine->refit;
    if (!refit->index) return TN_OK;
    refit->plan = plan->files[0].data;
    refit->plan_bytes = plan->files[0].bytes;
    return TN_OK;
}

static tn_status open_file(tn_refit *refit, const char *path) {
    TN_TRY(tn_file_map(refit->allocator, path, &refit->file));
    refit->plan = refit->file.data;
    refit->plan_bytes = refit->file.bytes;
    TN_TRY(tn_error_at(tn_refit_index_create(refit->allocator, refit->plan, refit->plan_bytes,
                                             false, &refit->own_index),
                       "%s", path));
    refit->index = refit->own_index;
    return TN_OK;
}

static tn_status make_values(tn_refit *refit) {
    const uint32_t count = count_of(refit->index);
    if (count == 0)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the plan has no constants that can be refitted: build it with their names "
                       "(tn_builder_options.refit, tenon build --refit NAME) or all of them "
                       "(TN_BUILD_REFIT, --refit-all)");
    refit->values = tn_allocate_zero(refit->allocator, count, sizeof(*refit->values));
    return refit->values ? TN_OK : tn_fail_memory("a refit");
}

/* Hands the refit over, or takes it back after a failure. */
static tn_status hand_over(tn_status status, tn_refit *refit, tn_refit **out_refit) {
    tn_error_copy error;
    if (status == TN_OK) status = make_values(refit);
    if (status == TN_OK) {
        *out_refit = refit;
        return TN_OK;
    }
    tn_error_save(&error);
    tn_refit_destroy(refit);
    tn_error_restore(&error);
    return status;
}

tn_status tn_refit_create(tn_engine *engine, tn_refit **out_refit) {
    if (!engine || !out_refit)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_refit_create needs an engine and a pointer for the result");
    tn_refit *refit = new_refit(engine->runtime);
    if (!refit) return tn_fail_memory("a refit");
    return hand_over(open_engine(refit, engine), refit, out_refit);
}

tn_status tn_refit_create_for_plan(tn_runtime *runtime, const char *path, tn_refit **out_refit) {
    if (!runtime || !path || !out_refit)
        return tn_fail(
            TN_ERROR_ARGUMENT,
            "tn_refit_create_for_plan needs a runtime, a path and a pointer for the result");
    tn_refit *refit = new_refit(runtime);
    if (!refit) return tn_fail_memory("a refit");
    return hand_over(open_file(refit, path), refit, out_refit);
}

/* ----------------------------------------------------------------------------------------------
 * new data */

static tn_status find_constant(const tn_refit *refit, const char *name, uint32_t *out_number) {
    tn_nearest nearest;
    if (tn_refit_index_find(refit->index, name, out_number)) return TN_OK;
    tn_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < count_of(refit->index); i++)
        tn_nearest_offer(&nearest, tn_refit_index_at(refit->index, i)->info.name);
    return tn_fail(TN_ERROR_NOT_FOUND, "there is no constant '%s' that can be refitted%s%s%s", name,
                   nearest.best ? "; the nearest is '" : "", nearest.best ? nearest.best : "",
                   nearest.best ? "'" : "");
}

/* What a build widened takes the model's 16-bit floats as well. */
static bool is_widened(const tn_refit_item *constant, tn_type type) {
    return constant->info.type == TN_F32 && tn_type_is_half(type);
}

static tn_status check_data(const tn_refit_item *constant, tn_type type, uint32_t rank,
                            const int64_t *extents, uint64_t bytes) {
    char had[TN_SHAPE_TEXT_BYTES], got[TN_SHAPE_TEXT_BYTES];
    const tn_port_info *info = &constant->info;
    if (type != info->type && !is_widened(constant, type))
        return tn_fail(TN_ERROR_TYPE, "constant '%s' is of %s, the new data of %s", info->name,
                       tn_type_name(info->type),
                       tn_type_is_valid(type) ? tn_type_name(type) : "no type that there is");
    if (rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "constant '%s' has rank %" PRIu32 ", the new data %" PRIu32,
                       info->name, info->rank, rank);
    if (rank != info->rank ||
        (rank > 0 && memcmp(extents, info->extents, rank * sizeof(*extents)) != 0))
        return tn_fail(TN_ERROR_SHAPE, "constant '%s' has shape %s, the new data %s", info->name,
                       tn_shape_print(info->rank, info->extents, had, sizeof(had)),
                       tn_shape_print(rank, extents, got, sizeof(got)));
    const size_t taken = constant->bytes / (type == info->type ? 1 : 2);
    if (bytes != taken)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "constant '%s' takes %zu bytes, the new data has %" PRIu64, info->name,
                       taken, bytes);
    return TN_OK;
}

static tn_status copy_value(const tn_refit *refit, uint32_t number, tn_type type, const void *data,
                            void **out_copy) {
    const tn_refit_item *constant = tn_refit_index_at(refit->index, number);
    *out_copy = tn_allocate_aligned(refit->allocator, constant->bytes, 64);
    if (!*out_copy) return tn_fail_memory("the data of a constant");
    if (is_widened(constant, type))
        for (size_t i = 0; i < constant->bytes / sizeof(float); i++)
            tn_element_set_f64(*out_copy, TN_F32, i, tn_element_get_f64(data, type, i));
    else
        memcpy(*out_copy, data, constant->bytes);
    return TN_OK;
}

tn_status tn_refit_set(tn_refit *refit, const char *name, tn_type type, uint32_t rank,
                       const int64_t *extents, const void *data, uint64_t bytes) {
    uint32_t number = 0;
    void *copy = NULL;
    if (!refit || !name || (!extents && rank > 0) || !data)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_refit_set needs a refit, a name, a shape and data");
    TN_TRY(find_constant(refit, name, &number));
    TN_TRY(check_data(tn_refit_index_at(refit->index, number), type, rank, extents, bytes));
    TN_TRY(copy_value(refit, number, type, data, &copy));
    tn_deallocate(refit->allocator, refit->values[number]);
    refit->values[number] = copy;
    return TN_OK;
}

/* The constant of a graph by name, also in bodies; null: there is none. */
static const tn_graph_tensor *find_in_graph(const tn_graph *graph, const char *name) {
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].is_constant && strcmp(graph->tensors[t].name, name) == 0)
            return &graph->tensors[t];
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        const tn_graph_body *body;
        if (graph->nodes[n].is_dead) continue;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL) {
            const tn_graph_tensor *found = find_in_graph(body->graph, name);
            if (found) return found;
        }
    }
    return NULL;
}

/* What the constant holds in the engine or the plan. */
static const void *value_before(const tn_refit *refit, uint32_t number) {
    const tn_engine_refits *refits = refit->engine ? refit->engine->refits : NULL;
    return refits && refits->values[number]
               ? refits->values[number]
               : refit->plan + tn_refit_index_at(refit->index, number)->offsets[0];
}

static bool is_new(const tn_refit *refit, uint32_t number, const void *value) {
    return value && memcmp(value, value_before(refit, number),
                           tn_refit_index_at(refit->index, number)->bytes) != 0;
}

static tn_status copy_from(const tn_refit *refit, const tn_graph *graph, uint32_t number,
                           void **out_copy) {
    const tn_refit_item *constant = tn_refit_index_at(refit->index, number);
    const tn_graph_tensor *tensor = find_in_graph(graph, constant->info.name);
    if (!tensor)
        return tn_fail(TN_ERROR_NOT_FOUND, "the network has no constant '%s'", constant->info.name);
    TN_TRY(check_data(constant, tensor->type, tensor->shape.rank, tensor->shape.extents,
                      tensor->bytes));
    return copy_value(refit, number, tensor->type, tensor->data, out_copy);
}

tn_status tn_refit_set_all(tn_refit *refit, const tn_graph *graph, uint32_t *out_count) {
    if (!refit || !graph)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_refit_set_all needs a refit and a graph");
    const uint32_t count = count_of(refit->index);
    void **copies = tn_allocate_zero(refit->allocator, count, sizeof(*copies));
    tn_status status = copies ? TN_OK : tn_fail_memory("a refit");
    uint32_t new_count = 0;
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = copy_from(refit, graph, i, &copies[i]);
    for (uint32_t i = 0; copies && i < count; i++) {
        if (status == TN_OK) {
            void *before = refit->values[i];
            refit->values[i] = copies[i];
            copies[i] = before;
            new_count += is_new(refit, i, refit->values[i]);
        }
        tn_deallocate(refit->allocator, copies[i]);
    }
    tn_deallocate(refit->allocator, copies);
    if (status == TN_OK && out_count) *out_count = new_count;
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * what becomes of it */

/* The plan's bytes with all data that is not the plan's own. */
static tn_status patch(const tn_refit *refit, void **out_plan) {
    const uint32_t count = count_of(refit->index);
    const tn_engine_refits *refits = refit->engine ? refit->engine->refits : NULL;
    const void **values = tn_allocate_zero(refit->allocator, count, sizeof(*values));
    void *plan = tn_allocate_aligned(refit->allocator, refit->plan_bytes, 64);
    if (!values || !plan) {
        tn_deallocate(refit->allocator, values);
        tn_deallocate(refit->allocator, plan);
        return tn_fail_memory("a refitted plan");
    }
    for (uint32_t i = 0; i < count; i++)
        values[i] = refit->values[i] ? refit->values[i] : refits ? refits->values[i] : NULL;
    memcpy(plan, refit->plan, refit->plan_bytes);
    const tn_status status = tn_refit_index_patch(refit->index, values, plan);
    tn_deallocate(refit->allocator, values);
    if (status == TN_OK)
        *out_plan = plan;
    else
        tn_deallocate(refit->allocator, plan);
    return status;
}

tn_status tn_refit_save(const tn_refit *refit, const char *path) {
    void *plan = NULL;
    if (!refit || !path)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_refit_save needs a refit and a path");
    TN_TRY(patch(refit, &plan));
    const tn_status status = tn_file_write(refit->allocator, path, plan, refit->plan_bytes);
    tn_deallocate(refit->allocator, plan);
    return status;
}

/* The engine of a plan with the new data, loaded as the old one was. */
static tn_status load_again(const tn_refit *refit, tn_engine **out_engine) {
    const tn_engine *engine = refit->engine;
    void *plan = NULL;
    char device[TN_DEVICE_NAME_BYTES];
    tn_device_name(engine->device, device);
    const tn_engine_options options = {
        .size = sizeof(options),
        .threads = engine->pool.threads,
        .flags = (engine->is_exact ? TN_ENGINE_EXACT : 0) |
                 (engine->is_checked ? TN_ENGINE_CHECKED : 0) |
                 (engine->allows_not_finite ? TN_ENGINE_CHECKED_ANY_NUMBER : 0) |
                 (engine->is_isolated ? TN_ENGINE_ISOLATED : 0),
        .device_allocator = engine->device_allocator.allocate ? &engine->device_allocator : NULL,
        .shared_threads = engine->shared_threads,
        .checked_dump = engine->checked_dump,
        .device = device,
        .isolation_helper = engine->isolation_helper,
        .isolation_limit_ms = engine->isolation_limit_ms ? engine->isolation_limit_ms : UINT32_MAX};
    TN_TRY(patch(refit, &plan));
    const tn_status status =
        tn_engine_load_bytes(refit->runtime, plan, refit->plan_bytes, &options, out_engine);
    tn_deallocate(refit->allocator, plan);
    return status;
}

tn_status tn_refit_apply(tn_refit *refit, tn_engine **out_engine) {
    if (!refit || !out_engine)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_refit_apply needs a refit and a pointer for the result");
    if (!refit->engine)
        return tn_fail(TN_ERROR_STATE, "the refit is of a plan file: save it, or make it of an "
                                       "engine");
    const uint32_t count = count_of(refit->index);
    const void **values = tn_allocate_zero(refit->allocator, count, sizeof(*values));
    bool is_any = false, is_stuck = false;
    if (!values) return tn_fail_memory("a refit");
    for (uint32_t i = 0; i < count; i++) {
        if (is_new(refit, i, refit->values[i])) values[i] = refit->values[i];
        is_any = is_any || values[i];
    }
    tn_status status = TN_OK;
    if (is_any)
        status = tn_engine_refit(refit->engine, values, out_engine, &is_stuck);
    else
        *out_engine = tn_engine_retain(refit->engine);
    tn_deallocate(refit->allocator, values);
    return status == TN_OK && is_stuck ? load_again(refit, out_engine) : status;
}
