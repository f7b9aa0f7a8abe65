/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to operators about one node in its use: see node_call.h. */
#include "program/node_call.h"
#include "base/status.h"

static const tn_tensor *describe_tensor(const tn_graph *graph, tn_arena *arena, tn_tensor_id id,
                                        const tn_tensor *const *tensors, bool is_hidden) {
    tn_tensor *copy = tn_arena_copy(arena, tensors[id], sizeof *copy);
    if (!copy) return NULL;
    if (!graph->tensors[id].is_constant || is_hidden) copy->data = NULL;
    if (!copy->data) copy->heap = NULL;
    return copy;
}

tn_status tn_node_call_init(tn_node_call *node_call, tn_arena *arena, const tn_graph *graph,
                            uint32_t index, const tn_tensor *const *tensors) {
    const tn_graph_node *node = &graph->nodes[index];
    const tn_tensor **inputs = tn_arena_allocate(arena, node->input_count + 1u, sizeof *inputs);
    const tn_tensor **outputs = tn_arena_allocate(arena, node->output_count + 1u, sizeof *outputs);
    if (!inputs || !outputs) return tn_fail_memory("a call");
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor_id id = node->inputs[i];
        if (id == TN_NO_TENSOR) continue;
        bool is_hidden = tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY;
        inputs[i] = describe_tensor(graph, arena, id, tensors, is_hidden);
        if (!inputs[i]) return tn_fail_memory("a call");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        outputs[i] = describe_tensor(graph, arena, id, tensors, true);
        if (!outputs[i]) return tn_fail_memory("a call");
    }
    node_call->scope =
        (tn_call_scope){.runtime = graph->runtime, .library = node->entry->library->name};
    node_call->call = (tn_call){.size = sizeof(tn_call),
                                .input_count = node->input_count,
                                .output_count = node->output_count,
                                .threads = 1,
                                .host = tn_runtime_host(graph->runtime),
                                .op = node->entry->op,
                                .params = node->params,
                                .user = node->entry->op->user,
                                .inputs = inputs,
                                .outputs = (tn_tensor *const *)(void *)outputs,
                                .device = tn_runtime_cpu(graph->runtime),
                                .node = node->name,
                                .host_private = &node_call->scope};
    return TN_OK;
}
