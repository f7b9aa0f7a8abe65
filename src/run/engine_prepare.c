/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing an engine's kernels: each step's kernel is found in the registry and told the shapes of
 * the profile, the constants and the epilogues. Descriptors of tensors live during prepare;
 * epilogues and parameters as long as the engine.
 */
#include "base/status.h"
#include "run/engine_private.h"

/* What prepare needs to know of shapes: those at the three points. */
typedef struct preparation {
    tn_engine *engine;
    tn_arena *arena; /* of the descriptors */
    const tn_profile_shapes *shapes;
    const tn_tensor **linear; /* at the optimum, by tensor id; null where nothing is known */
} preparation;

static tn_status find_kernel(const tn_engine *engine, const tn_program_step *step,
                             const tn_kernel_entry **out_entry) {
    const tn_graph_node *node = &engine->graph->nodes[step->node];
    if (!step->kernel) return TN_OK;
    *out_entry = tn_registry_find_kernel(tn_runtime_registry(engine->runtime), node->entry->op,
                                         "cpu", step->kernel, step->library);
    if (*out_entry) return TN_OK;
    return tn_error_at(tn_fail(TN_ERROR_NOT_FOUND,
                               "kernel '%s' of library '%s' is not there for this machine: load "
                               "the library that has it, or "
                               "build the plan again",
                               step->kernel, step->library ? step->library : "?"),
                       "node '%s': operator %s", node->name, node->entry->op->name);
}

/* A value's descriptor at a point, with the data of constants and known values; null when its shape
 * is not known. */
static tn_status describe(const preparation *p, uint32_t value, int point, tn_tensor **out_tensor) {
    const tn_program_value *item = &p->engine->program->values[value];
    const tn_inferred_tensor *inferred = &p->shapes->points[point]->tensors[item->tensor];
    const tn_graph_tensor *tensor = &p->engine->graph->tensors[item->tensor];
    *out_tensor = NULL;
    if (!inferred->is_known) return TN_OK;
    tn_tensor_storage *storage = tn_arena_allocate(p->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a tensor's description");
    TN_TRY(tn_tensor_init(storage, inferred->storage.tensor.type, item->format,
                          &inferred->storage.shape));
    storage->tensor.name = tensor->name;
    storage->tensor.quantization = tensor->quantization;
    if (item->format == TN_LINEAR)
        storage->tensor.data =
            tensor->is_constant ? (void *)(uintptr_t)tensor->data : inferred->storage.tensor.data;
    *out_tensor = &storage->tensor;
    return TN_OK;
}

static tn_status describe_all(const preparation *p, const uint32_t *values, uint32_t count,
                              int point, const tn_tensor *const **out_tensors) {
    tn_tensor **tensors = tn_arena_allocate(p->arena, count + 1u, sizeof(*tensors));
    if (!tensors) return tn_fail_memory("a tensor's description");
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] != TN_NO_VALUE) TN_TRY(describe(p, values[i], point, &tensors[i]));
    }
    *out_tensors = (const tn_tensor *const *)tensors;
    return TN_OK;
}

static tn_status fill_call(const preparation *p, const tn_program_step *step, tn_call *call) {
    tn_engine *engine = p->engine;
    const tn_graph_node *node = &engine->graph->nodes[step->node];
    const tn_tensor *const *outputs;
    const tn_epilogue *const *epilogues;
    tn_tensor_id *operand_tensors;
    uint32_t operand_count;
    *call = (tn_call){.size = sizeof(*call),
                      .input_count = step->input_count,
                      .output_count = step->output_count,
                      .operand_count = step->operand_count,
                      .epilogue_count = step->epilogue_count,
                      .threads = engine->pool.threads,
                      .tactic = step->tactic,
                      .host = tn_runtime_host(engine->runtime),
                      .op = node->entry->op,
                      .params = node->params,
                      .device = tn_runtime_cpu(engine->runtime),
                      .node = node->name};
    TN_TRY(tn_program_epilogues(step, engine->graph, p->linear, engine->arena, &epilogues,
                                &operand_tensors, &operand_count));
    if (operand_count != step->operand_count)
        return tn_error_at(tn_fail(TN_ERROR_FORMAT,
                                   "its fused nodes have %u operands, the plan lists %u",
                                   operand_count, step->operand_count),
                           "node '%s'", node->name);
    call->epilogues = epilogues;
    TN_TRY(describe_all(p, step->inputs, step->input_count, 1, &call->inputs));
    TN_TRY(describe_all(p, step->inputs, step->input_count, 0, &call->minimum_inputs));
    TN_TRY(describe_all(p, step->inputs, step->input_count, 2, &call->maximum_inputs));
    TN_TRY(describe_all(p, step->operands, step->operand_count, 1, &call->operands));
    TN_TRY(describe_all(p, step->outputs, step->output_count, 1, &outputs));
    call->outputs = (tn_tensor *const *)(uintptr_t)outputs;
    return TN_OK;
}

/* The descriptors are gone after prepare: contexts bring their own. */
static void forget_descriptors(tn_call *call) {
    call->inputs = call->operands = call->minimum_inputs = call->maximum_inputs = NULL;
    call->outputs = NULL;
}

static tn_status prepare_step(const preparation *p, tn_engine_step *prepared,
                              const tn_program_step *step) {
    tn_engine *engine = p->engine;
    prepared->step = step;
    if (step->kind != TN_STEP_KERNEL || step->is_host) return TN_OK;
    TN_TRY(find_kernel(engine, step, &prepared->entry));
    tn_prepared_kernel *kernel = &prepared->prepared;
    kernel->kernel = prepared->entry ? prepared->entry->kernel : NULL;
    const tn_loaded_library *library = prepared->entry
                                           ? prepared->entry->library
                                           : engine->graph->nodes[step->node].entry->library;
    kernel->scope = (tn_call_scope){.runtime = engine->runtime,
                                    .pool = &engine->pool,
                                    .packed = engine->packed,
                                    .kernel = prepared->entry ? kernel->kernel->name : NULL,
                                    .library = library->name};
    TN_TRY(fill_call(p, step, &kernel->call));
    const tn_status status = tn_prepared_kernel_init(kernel);
    forget_descriptors(&kernel->call);
    kernel->scope.packed = NULL;
    return status;
}

static tn_status prepare_all(preparation *p) {
    tn_engine *engine = p->engine;
    p->linear = tn_arena_allocate(p->arena, engine->graph->tensor_count + 1, sizeof(*p->linear));
    if (!p->linear) return tn_fail_memory("an engine");
    for (size_t i = 0; i < engine->graph->tensor_count; i++) {
        const tn_inferred_tensor *inferred = &p->shapes->points[1]->tensors[i];
        p->linear[i] = inferred->is_known ? &inferred->storage.tensor : NULL;
    }
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        TN_TRY(prepare_step(p, &engine->steps[i], &engine->program->steps[i]));
    return TN_OK;
}

tn_status tn_engine_prepare(tn_engine *engine) {
    tn_profile_shapes shapes = {0};
    preparation p = {.engine = engine, .shapes = &shapes};
    engine->steps =
        tn_arena_allocate(engine->arena, engine->program->step_count + 1u, sizeof(*engine->steps));
    if (!engine->steps) return tn_fail_memory("an engine");
    TN_TRY(tn_arena_create(engine->allocator, &p.arena));
    tn_status status =
        tn_profile_shapes_init(&shapes, engine->graph, engine->contents.profiles, p.arena);
    if (status == TN_OK) status = prepare_all(&p);
    tn_profile_shapes_deinit(&shapes);
    tn_arena_destroy(p.arena);
    return status;
}

void tn_engine_unprepare(tn_engine *engine) {
    for (uint32_t i = 0; engine->steps && i < engine->program->step_count; i++) {
        tn_prepared_kernel_deinit(&engine->steps[i].prepared);
        if (engine->steps[i].entry) tn_library_release(engine->steps[i].entry->library);
    }
}
