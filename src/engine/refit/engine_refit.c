/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that a refit makes: plan, nodes, program and kernels are those of the loaded engine,
 * tensors are a copy with other data, and the steps that read it are checked and prepared as in
 * loading. A refit of a refit stands beside it: both hold the loaded engine.
 */
#include "base/status.h"
#include "engine/refit/refit_layer.h"
#include "plan/refit/refit_index.h"

#include <string.h>

tn_status tn_engine_find_refit(tn_engine *engine) {
    const tn_graph *graph = engine->graph;
    if (graph->file_count == 0 || engine->is_serving || !tn_graph_has_refit(graph)) return TN_OK;
    return tn_refit_index_create(engine->allocator, graph->files[0].data, graph->files[0].bytes,
                                 true, &engine->refit);
}

bool tn_engine_has_own(const tn_engine *engine, tn_tensor_id constant) {
    return !engine->loaded || engine->refits->of_tensors[constant] == engine->refits->own;
}

void tn_engine_release_refits(tn_engine *engine) {
    const tn_engine_refits *refits = engine->refits;
    const uint32_t count = refits ? refits->held_count : 0; /* they lie in the last one */
    for (uint32_t i = 0; i < count; i++)
        tn_refit_layer_release(refits->held[i]);
    tn_engine_release(engine->loaded);
}

/* A refit in the making. */
typedef struct refitting {
    tn_engine *from, *engine;
    const tn_refit_index *index; /* of the whole network */
    const void *const *values;   /* by constant of it */
    bool is_whole;               /* else a body's */
    bool is_stuck;
    tn_engine_loading loading;
} refitting;

/* ----------------------------------------------------------------------------------------------
 * what is shared, and what is held */

static void share_parts(tn_engine *engine, tn_engine *from, tn_engine *loaded) {
    engine->loaded = tn_engine_retain(loaded);
    engine->contents = from->contents;
    engine->graph = from->graph;
    engine->plan = from->plan;
    engine->program = from->program;
    engine->is_lower = from->is_lower;
    engine->pool = from->pool;
    engine->device = from->device;
    engine->stream = from->stream;
    engine->device_allocator = from->device_allocator;
    engine->inputs = from->inputs;
    engine->outputs = from->outputs;
    engine->profiles = from->profiles;
    engine->profile_count = from->profile_count;
    engine->device_allocator = from->device_allocator;
    engine->shared_threads = tn_threads_retain(from->shared_threads);
    engine->has_value_inputs = from->has_value_inputs;
    engine->is_checked = from->is_checked;
    engine->allows_not_finite = from->allows_not_finite;
    engine->checked_dump = from->checked_dump;
    engine->is_exact = from->is_exact;
    engine->has_bodies = from->has_bodies;
    engine->refit = from->refit;
}

static tn_refit_layer **copy_layers(tn_arena *arena, tn_refit_layer *const *layers, size_t count) {
    return layers ? tn_arena_copy(arena, layers, (count + 1) * sizeof(tn_refit_layer *))
                  : tn_arena_allocate(arena, count + 1, sizeof(tn_refit_layer *));
}

/* The lists of who has what, as `from` has them. From here on the engine holds its own layer. */
static tn_status make_refits(const refitting *r, tn_refit_layer *own) {
    const tn_engine_refits *before = r->from->refits;
    const size_t tensors = r->from->graph->tensor_count, steps = own->step_count;
    const size_t constants = r->is_whole ? tn_refit_index_count(r->index) : 0;
    tn_engine_refits *refits = tn_arena_allocate(own->arena, 1, sizeof(*refits));
    tn_refit_layer **held =
        tn_arena_allocate(own->arena, tensors + steps + constants + 1, sizeof(tn_refit_layer *));
    if (!refits || !held) {
        tn_refit_layer_release(own);
        return tn_fail_memory("a refit");
    }
    refits->own = held[0] = own;
    refits->held = held;
    refits->held_count = 1;
    r->engine->refits = refits;
    r->engine->arena = own->arena;
    r->engine->packed = own->packed;
    refits->of_steps = copy_layers(own->arena, before ? before->of_steps : NULL, steps);
    refits->of_tensors = copy_layers(own->arena, before ? before->of_tensors : NULL, tensors);
    refits->of_constants = copy_layers(own->arena, before ? before->of_constants : NULL, constants);
    refits->values = tn_arena_allocate(own->arena, constants + 1, sizeof(*refits->values));
    if (!refits->of_steps || !refits->of_tensors || !refits->of_constants || !refits->values)
        return tn_fail_memory("a refit");
    for (size_t i = 0; before && i < constants; i++)
        refits->values[i] = before->values[i];
    return TN_OK;
}

static void hold_layers(tn_engine_refits *refits, tn_refit_layer *const *layers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t h = 0;
        if (!layers[i]) continue;
        while (h < refits->held_count && refits->held[h] != layers[i])
            h++;
        if (h < refits->held_count) continue;
        refits->held[refits->held_count++] = tn_refit_layer_retain(layers[i]);
    }
}

/* Layers of which the engine has something still. Its own one, in whose memory the list lies, is
 * given back last. */
static void hold_all(const refitting *r) {
    tn_engine_refits *refits = r->engine->refits;
    hold_layers(refits, refits->of_steps, r->engine->program->step_count);
    hold_layers(refits, refits->of_tensors, r->engine->graph->tensor_count);
    hold_layers(refits, refits->of_constants, r->is_whole ? tn_refit_index_count(r->index) : 0);
    refits->held[0] = refits->held[refits->held_count - 1];
    refits->held[refits->held_count - 1] = refits->own;
}

/* ----------------------------------------------------------------------------------------------
 * data */

/* The new data of a constant; null: it stays. */
static const void *find_value(const refitting *r, const tn_graph_tensor *tensor,
                              uint32_t *out_number) {
    return tensor->refit_name && tn_refit_index_find(r->index, tensor->refit_name, out_number)
               ? r->values[*out_number]
               : NULL;
}

/* Copies of the new values, which the engine's constants, and later refits, read. */
static tn_status keep_values(const refitting *r) {
    tn_engine_refits *refits = r->engine->refits;
    for (uint32_t i = 0; r->is_whole && i < tn_refit_index_count(r->index); i++) {
        if (!r->values[i]) continue;
        TN_TRY(tn_refit_layer_keep(refits->own, r->values[i], tn_refit_index_at(r->index, i)->bytes,
                                   &refits->values[i]));
        refits->of_constants[i] = refits->own;
    }
    return TN_OK;
}

static tn_status set_tensors(const refitting *r) {
    const tn_engine_refits *refits = r->engine->refits;
    tn_arena *arena = r->engine->arena;
    tn_graph *graph = tn_arena_copy(arena, r->from->graph, sizeof(*graph));
    if (!graph) return tn_fail_memory("a refit");
    graph->tensors =
        tn_arena_copy(arena, graph->tensors, graph->tensor_count * sizeof(*graph->tensors));
    if (!graph->tensors && graph->tensor_count > 0) return tn_fail_memory("a refit");
    TN_TRY(keep_values(r));
    for (size_t t = 0; t < graph->tensor_count; t++) {
        tn_graph_tensor *tensor = &graph->tensors[t];
        uint32_t number = 0;
        const void *value = find_value(r, tensor, &number);
        if (!value) continue;
        if (r->is_whole)
            tensor->data = refits->values[number];
        else
            TN_TRY(tn_refit_layer_keep(refits->own, value, tensor->bytes, &tensor->data));
        tensor->note = NULL;
        refits->of_tensors[t] = refits->own;
    }
    r->engine->graph = graph;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * bodies */

static bool reaches(const refitting *r, const tn_graph *graph) {
    uint32_t number = 0;
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (find_value(r, &graph->tensors[t], &number)) return true;
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        const tn_graph_body *body;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL)
            if (reaches(r, body->graph)) return true;
    }
    return false;
}

/* A body without an engine runs by references, on the plan's own data. */
static bool has_fixed_body(const refitting *r) {
    const tn_graph *graph = r->from->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        const tn_graph_body *body;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL)
            if (!tn_engine_find_body(r->from, &body->view) && reaches(r, body->graph)) return true;
    }
    return false;
}

static tn_status refit_engine(refitting *r);

static tn_status refit_body(refitting *r, const tn_engine_body *from, tn_engine_body *body) {
    refitting inner = {.from = from->engine, .index = r->index, .values = r->values};
    body->body = from->body;
    if (!reaches(r, from->engine->graph)) {
        body->engine = tn_engine_retain(from->engine);
        return TN_OK;
    }
    const tn_status status = refit_engine(&inner);
    r->is_stuck = r->is_stuck || inner.is_stuck;
    body->engine = inner.engine;
    return tn_error_at(status, "body '%s'", from->body->view.name);
}

static tn_status refit_bodies(refitting *r) {
    tn_engine *engine = r->engine;
    r->is_stuck = has_fixed_body(r);
    engine->bodies =
        tn_arena_allocate(engine->arena, r->from->body_count + 1u, sizeof(*engine->bodies));
    if (!engine->bodies) return tn_fail_memory("a refit");
    for (uint32_t i = 0; i < r->from->body_count && !r->is_stuck; i++) {
        TN_TRY(refit_body(r, &r->from->bodies[i], &engine->bodies[i]));
        if (!r->is_stuck) engine->body_count++;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static bool reads_new(const tn_engine *engine, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR &&
            engine->refits->of_tensors[node->inputs[i]] == engine->refits->own)
            return true;
    return false;
}

static bool is_reached(const tn_engine *engine, const tn_program_step *step) {
    if (step->kind != TN_STEP_KERNEL || step->is_host) return false;
    bool is_reached = reads_new(engine, &engine->graph->nodes[step->node]);
    for (uint32_t i = 0; i < step->absorbed_count && !is_reached; i++)
        is_reached = reads_new(engine, &engine->graph->nodes[step->absorbed[i]]);
    return is_reached;
}

/* Whether the kernel takes the new data as it took the old. */
static tn_status check_step(refitting *r, tn_engine_step *step) {
    const tn_engine *engine = r->engine;
    tn_error_copy before;
    tn_error_save(&before);
    const tn_status status = tn_engine_check_step(&r->loading, step);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    tn_runtime_log(engine->runtime, TN_LOG_WARNING, "the plan is loaded anew with the new data: %s",
                   tn_last_error()->message);
    tn_error_restore(&before);
    r->is_stuck = true;
    return TN_OK;
}

/* What its kernel keeps of the call must outlive the layer: not this engine's pool. */
static tn_status prepare_step(refitting *r, uint32_t index) {
    const tn_engine *engine = r->engine;
    tn_refit_layer *own = engine->refits->own;
    tn_engine_step *step = &own->steps[index];
    step->prepared = (tn_prepared_kernel){0};
    TN_TRY(check_step(r, step));
    if (r->is_stuck) return TN_OK;
    own->is_own[index] = true;
    engine->refits->of_steps[index] = own;
    TN_TRY(tn_engine_prepare_step(&r->loading, step));
    if (step->prepared.scope.pool) step->prepared.scope.pool = &engine->loaded->pool;
    return TN_OK;
}

static tn_status prepare_steps(refitting *r) {
    tn_engine *engine = r->engine;
    tn_engine_step *steps = engine->refits->own->steps;
    const uint32_t count = engine->program->step_count;
    memcpy(steps, r->from->steps, count * sizeof(*steps));
    engine->steps = steps;
    for (uint32_t i = 0; i < count && !r->is_stuck; i++)
        if (is_reached(engine, steps[i].step)) TN_TRY(prepare_step(r, i));
    return TN_OK;
}

static tn_status upload(refitting *r) {
    tn_engine *engine = r->engine;
    const size_t bytes = (engine->program->value_count + 1u) * sizeof(*engine->device_constants);
    if (!engine->stream) return TN_OK;
    engine->device_constants = tn_arena_copy(engine->arena, r->from->device_constants, bytes);
    if (!engine->device_constants) return tn_fail_memory("a refit");
    const tn_status status = tn_engine_upload_constants(&r->loading);
    engine->refits->own->device_memory = engine->constants_memory;
    engine->refits->own->shared_constants = engine->shared_constants;
    engine->constants_memory = NULL;
    engine->shared_constants = NULL;
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static tn_status fill(refitting *r) {
    tn_engine *engine = r->engine, *loaded = r->from->loaded ? r->from->loaded : r->from;
    tn_refit_layer *own = NULL;
    share_parts(engine, r->from, loaded);
    TN_TRY(tn_refit_layer_create(loaded, &own));
    TN_TRY(make_refits(r, own));
    TN_TRY(set_tensors(r));
    TN_TRY(refit_bodies(r));
    if (r->is_stuck) return TN_OK;
    r->loading =
        (tn_engine_loading){.engine = engine, .is_exact = engine->is_exact, .is_refit = true};
    tn_status status = tn_engine_infer_profile(&r->loading);
    if (status == TN_OK) status = prepare_steps(r);
    if (status == TN_OK && !r->is_stuck) status = upload(r);
    tn_profile_shapes_deinit(&r->loading.shapes);
    tn_arena_destroy(r->loading.arena);
    TN_TRY(status);
    hold_all(r);
    return TN_OK;
}

/* Makes r->engine; null on failure and where it is stuck. */
static tn_status refit_engine(refitting *r) {
    tn_error_copy error;
    r->engine = tn_engine_new(r->from->runtime);
    if (!r->engine) return tn_fail_memory("an engine");
    const tn_status status = fill(r);
    if (status == TN_OK && !r->is_stuck) return TN_OK;
    tn_error_save(&error);
    tn_engine_release(r->engine);
    r->engine = NULL;
    tn_error_restore(&error);
    return status;
}

tn_status tn_engine_refit(tn_engine *engine, const void *const *values, tn_engine **out_engine,
                          bool *out_is_stuck) {
    tn_engine *loaded = engine->loaded ? engine->loaded : engine;
    refitting r = {.from = engine, .index = engine->refit, .values = values, .is_whole = true};
    *out_is_stuck = engine->is_isolated || engine->profile_count > 1;
    if (*out_is_stuck) return TN_OK;
    if (engine->stream) pthread_mutex_lock(&loaded->splitting); /* its stream is used */
    const tn_status status = refit_engine(&r);
    if (engine->stream) pthread_mutex_unlock(&loaded->splitting);
    *out_is_stuck = r.is_stuck;
    if (status == TN_OK && !r.is_stuck) *out_engine = r.engine;
    return status;
}
