/* SPDX-License-Identifier: Apache-2.0 */
/* The call of a candidate: see candidate_call.h. */
#include "builder/lower/candidate_call.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "base/status.h"

/* Extents that only a run knows; the network's type, linear. */
static tn_status describe_open(const tn_lowering *lowering, tn_tensor_id id,
                               tn_tensor_storage *storage) {
    const tn_graph_tensor *tensor = &lowering->graph->tensors[id];
    const tn_inferred_tensor *known = &lowering->points[TN_POINT_OPTIMUM]->tensors[id];
    tn_tensor_init_open(storage, lowering->facts->types[id], known->storage.shape.rank);
    tn_tensor_unbound(storage, known->unbounded & TN_UNBOUNDED_AXES);
    storage->tensor.name = tensor->name;
    storage->tensor.quantization = tensor->quantization;
    return TN_OK;
}

static tn_status describe_tensor(const tn_lowering *lowering, tn_tensor_id id, tn_storage stored,
                                 uint32_t port_flags, int point, bool is_open,
                                 tn_tensor_storage *storage) {
    if (is_open && !lowering->graph->tensors[id].is_constant)
        return describe_open(lowering, id, storage);
    const tn_inferred_tensor *inferred = &lowering->points[point]->tensors[id];
    const tn_tensor_storage *known = &inferred->storage;
    const tn_graph_tensor *tensor = &lowering->graph->tensors[id];
    const tn_type type = stored.type == TN_NONE ? known->tensor.type : stored.type;
    TN_TRY(tn_tensor_init(storage, type, stored.format, &known->shape));
    tn_tensor_unbound(storage, inferred->unbounded);
    storage->tensor.name = tensor->name;
    storage->tensor.quantization = tn_lower_quantization(lowering, id, stored);
    bool is_shown = tensor->is_constant || (port_flags & TN_PORT_VALUE_NEEDED);
    if (is_shown && !(port_flags & TN_PORT_SHAPE_ONLY)) storage->tensor.data = known->tensor.data;
    storage->tensor.heap = storage->tensor.data ? known->tensor.heap : NULL;
    return TN_OK;
}

/* Storage and pointers for a node's inputs. */
static tn_status describe_inputs(const tn_lowering *lowering, uint32_t index,
                                 const tn_candidate *candidate, int point, tn_arena *arena,
                                 tn_tensor_storage **out_storage, const tn_tensor ***out_pointers) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    tn_tensor_storage *storage = tn_arena_allocate(arena, node->input_count + 1u, sizeof *storage);
    const tn_tensor **pointers = tn_arena_allocate(arena, node->input_count + 1u, sizeof *pointers);
    if (!storage || !pointers) return tn_fail_memory("a kernel's call");
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = tn_lower_input(lowering, index, candidate, i);
        if (id == TN_NO_TENSOR) continue;
        TN_TRY(describe_tensor(lowering, id, candidate->inputs[i],
                               tn_graph_input_port(node->entry->op, i)->flags, point,
                               !lowering->facts->is_shaped[index], &storage[i]));
        pointers[i] = &storage[i].tensor;
    }
    if (out_storage) *out_storage = storage;
    *out_pointers = pointers;
    return TN_OK;
}

static tn_status describe_outputs(const tn_lowering *lowering, uint32_t index,
                                  const tn_candidate *candidate, int point, tn_arena *arena,
                                  tn_candidate_call *candidate_call) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    tn_tensor_storage *storage = tn_arena_allocate(arena, node->output_count + 1u, sizeof *storage);
    tn_tensor **pointers = tn_arena_allocate(arena, node->output_count + 1u, sizeof *pointers);
    if (!storage || !pointers) return tn_fail_memory("a kernel's call");
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = tn_lower_output(lowering, index, candidate, i);
        if (id == TN_NO_TENSOR) continue;
        TN_TRY(describe_tensor(lowering, id, candidate->outputs[i], 0, point,
                               !lowering->facts->is_shaped[index], &storage[i]));
        pointers[i] = &storage[i].tensor;
    }
    candidate_call->outputs = storage;
    candidate_call->call.outputs = pointers;
    return TN_OK;
}

static tn_status describe_operands(const tn_lowering *lowering, const tn_candidate *candidate,
                                   int point, tn_arena *arena, tn_candidate_call *candidate_call) {
    const uint32_t count = tn_lower_operand_count(candidate);
    tn_tensor_storage *storage = tn_arena_allocate(arena, count + 1u, sizeof *storage);
    const tn_tensor **pointers = tn_arena_allocate(arena, count + 1u, sizeof *pointers);
    if (!storage || !pointers) return tn_fail_memory("a kernel's call");
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(describe_tensor(lowering, candidate->chain->operands[i], candidate->operands[i], 0,
                               point, false, &storage[i]));
        pointers[i] = &storage[i].tensor;
    }
    candidate_call->operands = storage;
    if (count > 0) candidate_call->operand_ids = candidate->chain->operands;
    candidate_call->call.operands = pointers;
    candidate_call->call.operand_count = count;
    return TN_OK;
}

tn_status tn_candidate_call_init(tn_candidate_call *candidate_call, const tn_lowering *lowering,
                                 uint32_t index, const tn_candidate *candidate, int point,
                                 tn_arena *arena) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_kernel *kernel = candidate->entry ? candidate->entry->kernel : NULL;
    const tn_tensor **inputs = NULL, **minimum = NULL, **maximum = NULL;
    *candidate_call = (tn_candidate_call){0};
    candidate_call->scope = (tn_call_scope){
        .runtime = lowering->graph->runtime,
        .pool = lowering->options->pool,
        .kernel = kernel ? kernel->name : NULL,
        .library = candidate->entry ? candidate->entry->library->name : node->entry->library->name,
        .entry = candidate->entry};
    candidate_call->call = (tn_call){.size = sizeof(tn_call),
                                     .input_count = node->input_count,
                                     .output_count = node->output_count,
                                     .step_count = candidate->chain_count,
                                     .threads = kernel ? lowering->options->threads : 1,
                                     .tactic = candidate->tactic,
                                     .flags = kernel ? 0 : TN_CALL_REFERENCE,
                                     .host = tn_runtime_host(lowering->graph->runtime),
                                     .op = node->entry->op,
                                     .params = node->params,
                                     .user = kernel ? kernel->user : node->entry->op->user,
                                     .steps = candidate->chain ? candidate->chain->steps : NULL,
                                     .device = tn_lower_is_on_device(candidate)
                                                   ? lowering->options->device
                                                   : tn_runtime_cpu(lowering->graph->runtime),
                                     .node = node->name,
                                     .host_private = &candidate_call->scope,
                                     .kernel_params = candidate->kernel_params};
    TN_TRY(describe_inputs(lowering, index, candidate, point, arena, &candidate_call->inputs,
                           &inputs));
    TN_TRY(describe_inputs(lowering, index, candidate, 0, arena, NULL, &minimum));
    TN_TRY(describe_inputs(lowering, index, candidate, 2, arena, NULL, &maximum));
    candidate_call->call.inputs = inputs;
    candidate_call->call.minimum_inputs = minimum;
    candidate_call->call.maximum_inputs = maximum;
    TN_TRY(describe_outputs(lowering, index, candidate, point, arena, candidate_call));
    return describe_operands(lowering, candidate, point, arena, candidate_call);
}
