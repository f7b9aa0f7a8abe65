/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call of a step at a point of the profile, for a kernel's questions (accepts, tactics) and for
 * prepare: descriptors in the step's formats, data of constants and of values that decide shapes.
 */
#include "base/status.h"
#include "engine/engine_private.h"
#include "program/kernel_fit.h"

static const tn_inferred_tensor *known_at(const tn_engine_loading *loading, uint32_t value,
                                          int point) {
    const tn_tensor_id tensor = loading->engine->program->values[value].tensor;
    return &loading->shapes.points[point]->tensors[tensor];
}

/* A point of the profile, with the tensors as the program stores them or as the network has them.
 */
typedef struct at_point {
    int point;
    bool is_plain;
    bool is_open; /* for a kernel of any shape: extents are not what the point has */
} at_point;

/* A value's descriptor at a point; null when its shape is not known. */
static tn_status describe_value(const tn_engine_loading *loading, uint32_t value, at_point at,
                                uint32_t port_flags, tn_tensor **out_tensor) {
    const tn_program_value *item = &loading->engine->program->values[value];
    const tn_inferred_tensor *known = known_at(loading, value, at.point);
    const tn_graph_tensor *tensor = &loading->engine->graph->tensors[item->tensor];
    *out_tensor = NULL;
    if (!known->is_known) return TN_OK;
    tn_tensor_storage *storage = tn_arena_allocate(loading->arena, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a tensor's description");
    if (at.is_open && !tensor->is_constant) {
        tn_tensor_init_open(storage,
                            item->type == TN_NONE ? known->storage.tensor.type : item->type,
                            known->storage.shape.rank);
        tn_tensor_unbound(storage, known->unbounded & TN_UNBOUNDED_AXES);
        storage->tensor.name = tensor->name;
        storage->tensor.quantization = tensor->quantization;
        *out_tensor = &storage->tensor;
        return TN_OK;
    }
    const tn_type own = known->storage.tensor.type;
    const tn_format format = at.is_plain ? TN_LINEAR : item->format;
    const bool is_own = at.is_plain || port_flags & TN_PORT_SHAPE_ONLY || item->type == TN_NONE;
    TN_TRY(tn_tensor_init(storage, is_own ? own : item->type, format, &known->storage.shape));
    tn_tensor_unbound(storage, known->unbounded);
    storage->tensor.name = tensor->name;
    storage->tensor.quantization =
        item->quantization && !is_own ? item->quantization : tensor->quantization;
    const bool is_shown = tensor->is_constant || (port_flags & TN_PORT_VALUE_NEEDED);
    if (is_shown && !(port_flags & TN_PORT_SHAPE_ONLY) && format == TN_LINEAR &&
        storage->tensor.type == own)
        storage->tensor.data = known->storage.tensor.data;
    storage->tensor.heap = storage->tensor.data ? known->storage.tensor.heap : NULL;
    *out_tensor = &storage->tensor;
    return TN_OK;
}

/* `op` is null for tensors that are no inputs of it. */
static tn_status describe_all(const tn_engine_loading *loading, const tn_operator *op,
                              const uint32_t *values, uint32_t count, at_point at,
                              tn_tensor ***out_tensors) {
    tn_tensor **tensors = tn_arena_allocate(loading->arena, count + 1u, sizeof(*tensors));
    if (!tensors) return tn_fail_memory("a tensor's description");
    for (uint32_t i = 0; i < count; i++) {
        const tn_port *port = op ? tn_graph_input_port(op, i) : NULL;
        if (values[i] != TN_NO_VALUE)
            TN_TRY(describe_value(loading, values[i], at, port ? port->flags : 0, &tensors[i]));
    }
    *out_tensors = tensors;
    return TN_OK;
}

static tn_status describe_inputs(const tn_engine_loading *loading, const tn_program_step *step,
                                 at_point at, const tn_tensor *const **out_tensors) {
    const tn_operator *op = loading->engine->graph->nodes[step->node].entry->op;
    tn_tensor **tensors = NULL;
    TN_TRY(describe_all(loading, op, step->inputs, step->input_count, at, &tensors));
    *out_tensors = (const tn_tensor *const *)tensors;
    return TN_OK;
}

/* The chain, whose operands must be those that the step names. */
static tn_status fill_steps(const tn_engine_loading *loading, const tn_program_step *step,
                            const tn_kernel_entry *entry, tn_arena *arena, tn_chain *chain) {
    const tn_engine *engine = loading->engine;
    TN_TRY(tn_program_chain(engine->program, step, engine->graph, entry,
                            (const tn_tensor *const *)loading->linear, arena, chain));
    const uint32_t count = chain->operand_counts[chain->count];
    bool are_right = count == step->operand_count;
    for (uint32_t i = 0; are_right && i < count; i++)
        are_right = engine->program->values[step->operands[i]].tensor == chain->operands[i];
    if (are_right) return TN_OK;
    return tn_error_in(
        tn_fail(TN_ERROR_FORMAT, "the step's operands are not those of its fused nodes"),
        .node = engine->graph->nodes[step->node].name);
}

bool tn_engine_step_is_shaped(const tn_engine_loading *loading, const tn_program_step *step) {
    const uint32_t *const lists[3] = {step->inputs, step->outputs, step->operands};
    const uint32_t counts[3] = {step->input_count, step->output_count, step->operand_count};
    if (loading->shapes.plan.is_after_run[step->node]) return false;
    for (int list = 0; list < 3; list++) {
        for (uint32_t i = 0; i < counts[list]; i++) {
            for (int point = 0; lists[list][i] != TN_NO_VALUE && point < TN_POINTS; point++)
                if (!known_at(loading, lists[list][i], point)->is_known) return false;
        }
    }
    return true;
}

/* Whether all ranks of a step are known, if need be as guesses, and the same at all points. */
bool tn_engine_step_is_ranked(const tn_engine_loading *loading, const tn_program_step *step) {
    const uint32_t *const lists[2] = {step->inputs, step->outputs};
    const uint32_t counts[2] = {step->input_count, step->output_count};
    const bool may_be_guess = tn_kernel_may_guess_ranks(&loading->engine->graph->nodes[step->node]);
    for (int list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < counts[list]; i++) {
            if (lists[list][i] == TN_NO_VALUE) continue;
            const tn_inferred_tensor *first = known_at(loading, lists[list][i], TN_POINT_OPTIMUM);
            for (int point = 0; point < TN_POINTS; point++) {
                const tn_inferred_tensor *known = known_at(loading, lists[list][i], point);
                if (!first->is_known || (first->is_rank_guess && !may_be_guess) ||
                    (known->is_known && known->storage.shape.rank != first->storage.shape.rank))
                    return false;
            }
        }
    }
    return true;
}

tn_status tn_engine_note_ranks(tn_engine_loading *loading, tn_engine_step *own) {
    const tn_program_step *step = own->step;
    const uint32_t count = step->input_count + step->output_count;
    uint8_t *ranks = tn_arena_allocate(loading->engine->arena, count + 1u, sizeof(*ranks));
    bool is_guess = false;
    if (!ranks) return tn_fail_memory("a step's ranks");
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t value =
            i < step->input_count ? step->inputs[i] : step->outputs[i - step->input_count];
        if (value == TN_NO_VALUE) continue;
        const tn_inferred_tensor *known = known_at(loading, value, TN_POINT_OPTIMUM);
        ranks[i] = (uint8_t)known->storage.shape.rank;
        is_guess = is_guess || known->is_rank_guess;
    }
    if (is_guess) own->ranks = ranks;
    return TN_OK;
}

/* What the plan says of the constants among a step's inputs; null: of none. */
static tn_status note_constants(const tn_engine_loading *loading, const tn_program_step *step,
                                tn_constant_note *const **out_notes) {
    const tn_engine *engine = loading->engine;
    tn_constant_note **notes =
        tn_arena_allocate(loading->arena, step->input_count + 1u, sizeof(*notes));
    if (!notes) return tn_fail_memory("a kernel's call");
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TN_NO_VALUE)
            notes[i] = engine->graph->tensors[engine->program->values[step->inputs[i]].tensor].note;
    *out_notes = notes;
    return TN_OK;
}

static tn_status make_call(tn_engine_loading *loading, const tn_engine_step *own, at_point at,
                           tn_arena *arena, tn_call_scope *scope, tn_chain *out_chain,
                           tn_call *out_call) {
    const tn_program_step *step = own->step;
    at.is_open = own->entry && (own->entry->kernel->traits & TN_KERNEL_ANY_SHAPE) &&
                 !tn_engine_step_is_shaped(loading, step);
    const tn_kernel_entry *entry = own->entry;
    tn_chain chain;
    tn_engine *engine = loading->engine;
    const tn_graph_node *node = &engine->graph->nodes[step->node];
    const tn_kernel *kernel = entry ? entry->kernel : NULL;
    tn_tensor **operands = NULL, **outputs = NULL;
    *scope = (tn_call_scope){.runtime = engine->runtime,
                             .pool = kernel ? &engine->pool : NULL,
                             .kernel = kernel ? kernel->name : NULL,
                             .library = entry ? entry->library->name : node->entry->library->name,
                             .entry = entry};
    *out_call =
        (tn_call){.size = sizeof(*out_call),
                  .input_count = step->input_count,
                  .output_count = step->output_count,
                  .operand_count = step->operand_count,
                  .step_count = step->absorbed_count,
                  .threads = kernel ? engine->pool.threads : 1,
                  .tactic = step->tactic,
                  .flags = kernel ? 0 : TN_CALL_REFERENCE,
                  .host = tn_runtime_host(engine->runtime),
                  .op = node->entry->op,
                  .params = node->params,
                  .user = kernel ? kernel->user : node->entry->op->user,
                  .device = step->is_device ? engine->device : tn_runtime_cpu(engine->runtime),
                  .node = node->name,
                  .host_private = scope,
                  .kernel_params = own->kernel_params};
    TN_TRY(note_constants(loading, step, &scope->constants));
    TN_TRY(fill_steps(loading, step, entry, arena, &chain));
    out_call->steps = chain.steps;
    if (out_chain) *out_chain = chain;
    TN_TRY(describe_inputs(loading, step, at, &out_call->inputs));
    TN_TRY(describe_inputs(loading, step, (at_point){0, at.is_plain, at.is_open},
                           &out_call->minimum_inputs));
    TN_TRY(describe_inputs(loading, step, (at_point){2, at.is_plain, at.is_open},
                           &out_call->maximum_inputs));
    TN_TRY(describe_all(loading, NULL, step->operands, step->operand_count, at, &operands));
    TN_TRY(describe_all(loading, NULL, step->outputs, step->output_count, at, &outputs));
    out_call->operands = (const tn_tensor *const *)operands;
    out_call->outputs = outputs;
    return TN_OK;
}

tn_status tn_engine_call_init(tn_engine_loading *loading, const tn_engine_step *step, int point,
                              tn_arena *arena, tn_call_scope *scope, tn_chain *out_chain,
                              tn_call *out_call) {
    return make_call(loading, step, (at_point){point, false, false}, arena, scope, out_chain,
                     out_call);
}

tn_status tn_engine_plain_call_init(tn_engine_loading *loading, const tn_engine_step *step,
                                    tn_call_scope *scope, tn_call *out_call) {
    return make_call(loading, step, (at_point){1, true, false}, loading->arena, scope, NULL,
                     out_call);
}
