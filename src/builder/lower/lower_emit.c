/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a choice: steps in the order of the nodes, a fused one where its last node stands;
 * a value for each tensor and storage, with a reformat before the first step that reads another
 * storage than was written, shared by all that read it. Which steps may overwrite their input is
 * lower_in_place.c's.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"

#include <tenon/plugin/device.h>

#include <string.h>

typedef struct program_emitter {
    tn_lowering *lowering;
    const uint32_t *choice;
    tn_arena *arena;
    tn_program *program;
    uint32_t *value_of;     /* [tensor][storage number] */
    tn_storage *storage_of; /* by value */
    uint32_t *written;      /* by tensor: its first value, in the storage it was written in */
    uint32_t *emitted_with; /* by node: the head that is emitted where it stands */
} program_emitter;

static const tn_storage own_linear = {TN_NONE, TN_LINEAR, TN_SPACE_HOST};

static uint32_t *value_entry(const program_emitter *emitter, tn_tensor_id tensor,
                             tn_storage storage) {
    const tn_lowering *lowering = emitter->lowering;
    return &emitter->value_of[(size_t)tensor * tn_lower_storage_count(lowering) +
                              tn_lower_storage_number(lowering, storage)];
}

/* The scale of a tensor, in the program's arena. */
static tn_status keep_quantization(const program_emitter *emitter, tn_tensor_id tensor,
                                   const tn_quantization **out_quantization) {
    const tn_quantization *known = &emitter->lowering->precision->quantizations[tensor];
    tn_quantization *kept = tn_arena_copy(emitter->arena, known, sizeof *kept);
    const float *scale = tn_arena_copy(emitter->arena, known->scales, sizeof *scale);
    if (!kept || !scale) return tn_fail_memory("a program");
    kept->scales = scale;
    *out_quantization = kept;
    return TN_OK;
}

static tn_status add_value(program_emitter *emitter, tn_tensor_id tensor, tn_storage storage,
                           uint32_t *out_value) {
    tn_program_value made = {.tensor = tensor,
                             .format = storage.format,
                             .space = storage.space,
                             .type = tn_lower_type(emitter->lowering, tensor, storage)};
    if (storage.type == TN_I8) TN_TRY(keep_quantization(emitter, tensor, &made.quantization));
    uint32_t value = emitter->program->value_count++;
    emitter->program->values[value] = made;
    emitter->storage_of[value] = storage;
    *value_entry(emitter, tensor, storage) = value;
    if (emitter->written[tensor] == TN_NO_VALUE) emitter->written[tensor] = value;
    *out_value = value;
    return TN_OK;
}

static tn_status add_reformat(program_emitter *emitter, uint32_t from, tn_storage storage,
                              uint32_t *out_value) {
    tn_program *program = emitter->program;
    tn_tensor_id tensor = program->values[from].tensor;
    uint32_t *ports = tn_arena_allocate(emitter->arena, 2, sizeof *ports);
    double cost = 0;
    bool is_measured = false;
    if (!ports) return tn_fail_memory("a program");
    TN_TRY(tn_lower_reformat_cost(emitter->lowering, tensor, emitter->storage_of[from], storage,
                                  &cost, &is_measured));
    ports[0] = from;
    TN_TRY(add_value(emitter, tensor, storage, &ports[1]));
    program->steps[program->step_count++] =
        (tn_program_step){.kind = TN_STEP_REFORMAT,
                          .node = TN_NO_NODE,
                          .input_count = 1,
                          .output_count = 1,
                          .inputs = ports,
                          .outputs = ports + 1,
                          .nanoseconds = is_measured ? cost : 0};
    *out_value = ports[1];
    return TN_OK;
}

/* The value of a tensor in a storage: there already, a source, or converted now. */
static tn_status read_value(program_emitter *emitter, tn_tensor_id tensor, tn_storage storage,
                            uint32_t *out_value) {
    const tn_graph_tensor *item = &emitter->lowering->graph->tensors[tensor];
    if (emitter->written[tensor] == TN_NO_VALUE && (item->is_constant || item->is_input))
        TN_TRY(add_value(emitter, tensor, own_linear, out_value));
    *out_value = *value_entry(emitter, tensor, storage);
    if (*out_value != TN_NO_VALUE) return TN_OK;
    if (item->is_constant && storage.type == TN_NONE && storage.format == TN_LINEAR)
        return add_value(emitter, tensor, storage, out_value); /* an engine has it in both spaces */
    if (emitter->written[tensor] == TN_NO_VALUE)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' is read before it is made", item->name);
    return add_reformat(emitter, emitter->written[tensor], storage, out_value);
}

static tn_status read_inputs(program_emitter *emitter, uint32_t index,
                             const tn_candidate *candidate, uint32_t *inputs) {
    const tn_graph_node *node = &emitter->lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = tn_lower_input(emitter->lowering, index, candidate, i);
        inputs[i] = TN_NO_VALUE;
        if (id == TN_NO_TENSOR) continue;
        bool is_any = tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY &&
                      emitter->written[id] != TN_NO_VALUE;
        if (is_any) /* its data is not read: no format is worth a conversion */
            inputs[i] = emitter->written[id];
        else
            TN_TRY(read_value(emitter, id, candidate->inputs[i], &inputs[i]));
    }
    return TN_OK;
}

static tn_status name_kernel(program_emitter *emitter, const tn_candidate *candidate,
                             tn_program_step *step) {
    if (!candidate->entry) return TN_OK;
    step->kernel = tn_arena_text(emitter->arena, candidate->entry->kernel->name);
    step->library = tn_arena_text(emitter->arena, candidate->entry->library->name);
    step->library_domain = tn_arena_text(emitter->arena, candidate->entry->library->domain);
    step->library_hash = candidate->entry->library->hash;
    return step->kernel && step->library && step->library_domain ? TN_OK
                                                                 : tn_fail_memory("a program");
}

static tn_status emit_node(program_emitter *emitter, uint32_t index) {
    tn_lowering *lowering = emitter->lowering;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_lower_node *lowered = &lowering->nodes[index];
    const tn_candidate *candidate = &lowered->candidates[emitter->choice[index]];
    uint32_t operand_count = tn_lower_operand_count(candidate);
    size_t ports = (size_t)node->input_count + node->output_count + operand_count;
    uint32_t *values = tn_arena_allocate(emitter->arena, ports + 1, sizeof *values);
    uint32_t *chain =
        tn_arena_copy(emitter->arena, candidate->chain ? candidate->chain->nodes : NULL,
                      candidate->chain_count * sizeof *chain);
    if (!values || !chain) return tn_fail_memory("a program");
    tn_program_step step = {.kind = candidate->kind,
                            .node = index,
                            .absorbed_count = candidate->chain_count,
                            .absorbed = chain,
                            .before_count = tn_lower_before_count(candidate),
                            .tactic = candidate->tactic,
                            .is_host = candidate->is_host,
                            .is_device = tn_lower_is_on_device(candidate),
                            .input_count = node->input_count,
                            .output_count = node->output_count,
                            .operand_count = operand_count,
                            .inputs = values,
                            .outputs = values + node->input_count,
                            .operands = values + node->input_count + node->output_count,
                            .nanoseconds = candidate->is_measured ? candidate->cost : 0};
    if (step.before_count > 0) step.before_input = candidate->chain->port - 1;
    if (lowering->options->notes) step.note = lowering->options->notes->nodes[index].text;
    TN_TRY(name_kernel(emitter, candidate, &step));
    TN_TRY(read_inputs(emitter, index, candidate, step.inputs));
    for (uint32_t i = 0; i < operand_count; i++)
        TN_TRY(read_value(emitter, candidate->chain->operands[i], candidate->operands[i],
                          &step.operands[i]));
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id made = tn_lower_output(lowering, index, candidate, i);
        step.outputs[i] = TN_NO_VALUE;
        if (made != TN_NO_TENSOR)
            TN_TRY(add_value(emitter, made, candidate->outputs[i], &step.outputs[i]));
    }
    emitter->program->steps[emitter->program->step_count++] = step;
    return TN_OK;
}

/* Values and steps that there can be at most: each tensor in each storage. */
static tn_status allocate_program(program_emitter *emitter) {
    tn_lowering *lowering = emitter->lowering;
    const tn_graph *graph = lowering->graph;
    tn_program *program = emitter->program;
    size_t values = 0, steps = 0;
    if (!tn_mul_size(graph->tensor_count + 1, tn_lower_storage_count(lowering), &values) ||
        !tn_add_size(values, graph->node_count + 1, &steps) || steps >= UINT32_MAX)
        return tn_fail_memory("a program");
    program->values = tn_arena_allocate(lowering->arena, values, sizeof *program->values);
    program->steps = tn_arena_allocate(lowering->arena, steps, sizeof *program->steps);
    program->input_values =
        tn_arena_allocate(emitter->arena, graph->input_count + 1, sizeof(uint32_t));
    program->output_values =
        tn_arena_allocate(emitter->arena, graph->output_count + 1, sizeof(uint32_t));
    emitter->value_of = tn_arena_allocate(lowering->arena, values, sizeof(uint32_t));
    emitter->storage_of = tn_arena_allocate(lowering->arena, values, sizeof(tn_storage));
    emitter->written =
        tn_arena_allocate(lowering->arena, graph->tensor_count + 1, sizeof(uint32_t));
    emitter->emitted_with =
        tn_arena_allocate(lowering->arena, graph->node_count + 1, sizeof(uint32_t));
    if (!program->values || !program->steps || !program->input_values || !program->output_values ||
        !emitter->value_of || !emitter->storage_of || !emitter->written || !emitter->emitted_with)
        return tn_fail_memory("a program");
    memset(emitter->value_of, 0xff, values * sizeof(uint32_t));
    memset(emitter->written, 0xff, graph->tensor_count * sizeof(uint32_t));
    memset(emitter->emitted_with, 0xff, graph->node_count * sizeof(uint32_t));
    return TN_OK;
}

static tn_status emit_steps(program_emitter *emitter) {
    const tn_graph *graph = emitter->lowering->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].is_dead || emitter->choice[n] == TN_CHOOSE_NONE) continue;
        const tn_lower_node *lowered = &emitter->lowering->nodes[n];
        const tn_candidate *candidate = &lowered->candidates[emitter->choice[n]];
        const uint32_t length = candidate->chain_count;
        const bool is_alone = length == tn_lower_before_count(candidate);
        emitter->emitted_with[is_alone ? n : candidate->chain->nodes[length - 1]] = n;
    }
    for (size_t i = 0; i < graph->input_count; i++)
        TN_TRY(
            add_value(emitter, graph->inputs[i], own_linear, &emitter->program->input_values[i]));
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (emitter->emitted_with[n] != TN_NO_NODE)
            TN_TRY(emit_node(emitter, emitter->emitted_with[n]));
    for (size_t i = 0; i < graph->output_count; i++)
        TN_TRY(read_value(emitter, graph->outputs[i], own_linear,
                          &emitter->program->output_values[i]));
    return TN_OK;
}

/* Into the caller's arena, at its true size. */
static tn_status keep_program(program_emitter *emitter) {
    tn_program *program = emitter->program;
    const tn_lowering *lowering = emitter->lowering;
    const tn_device *device = tn_lower_has_device(lowering)
                                  ? lowering->options->device
                                  : tn_runtime_cpu(lowering->graph->runtime);
    program->values = tn_arena_copy(emitter->arena, program->values,
                                    program->value_count * sizeof *program->values);
    program->steps =
        tn_arena_copy(emitter->arena, program->steps, program->step_count * sizeof *program->steps);
    program->threads = emitter->lowering->options->threads;
    program->fingerprint = tn_arena_text(emitter->arena, device->fingerprint(device));
    program->device = tn_arena_text(emitter->arena, device->kind);
    return program->values && program->steps && program->fingerprint && program->device
               ? TN_OK
               : tn_fail_memory("a program");
}

tn_status tn_lower_emit(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_program *out_program) {
    tn_program program = {0};
    program_emitter emitter = {
        .lowering = lowering, .choice = choice, .arena = arena, .program = &program};
    TN_TRY(allocate_program(&emitter));
    TN_TRY(emit_steps(&emitter));
    TN_TRY(tn_lower_find_in_place(lowering, choice, emitter.storage_of, &program));
    TN_TRY(keep_program(&emitter));
    *out_program = program;
    return TN_OK;
}
