/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to operators about one node in its use: see node_call.h. */
#include "program/node_call.h"
#include "base/status.h"
#include "plugin/crash.h"

#include <string.h>

static const tn_tensor *describe(const tn_graph *graph, tn_arena *arena, tn_tensor_id id,
                                 const tn_tensor *const *tensors, bool is_hidden) {
    tn_tensor *copy = tn_arena_copy(arena, tensors[id], sizeof *copy);
    if (!copy) return NULL;
    if (!graph->tensors[id].is_constant || is_hidden) copy->data = NULL;
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
        inputs[i] = describe(graph, arena, id, tensors, is_hidden);
        if (!inputs[i]) return tn_fail_memory("a call");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        outputs[i] = describe(graph, arena, id, tensors, true);
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

bool tn_node_call_makes_shape(const tn_epilogue *epilogue, const tn_shape *from,
                              const tn_shape *to) {
    if (epilogue->kind != TN_EPILOGUE_MAX_WINDOWS) return tn_shape_equal(from, to);
    if (from->rank != to->rank || from->rank < 2) return false;
    for (uint32_t i = 0; i < from->rank; i++) {
        const uint32_t back = from->rank - i;
        const int64_t window = back > 2 ? 1 : epilogue->window[2 - back];
        const int64_t extent = from->extents[i], rest = window > 0 ? extent % window : 1;
        if (window < 1 || (to->extents[i] != extent / window &&
                           (rest == 0 || to->extents[i] != extent / window + 1)))
            return false;
    }
    return true;
}

bool tn_node_call_has_operand(uint32_t kind) {
    return kind == TN_EPILOGUE_BIAS || kind == TN_EPILOGUE_SCALE || kind == TN_EPILOGUE_ADD ||
           kind == TN_EPILOGUE_COMBINE;
}

static bool has_all(const tn_graph_node *node, const tn_tensor *const *tensors) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && !tensors[node->inputs[i]]) return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !tensors[node->outputs[i]]) return false;
    return true;
}

/* The one input that is `chained`; false when it is read twice or there are other outputs. */
static bool find_place(const tn_graph_node *node, tn_tensor_id chained, uint32_t *out_input) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != chained) continue;
        *out_input = i;
        count++;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if ((node->outputs[i] != TN_NO_TENSOR) != (i == 0)) return false;
    return count == 1 && node->output_count > 0;
}

/* An operator that says nothing of epilogues, but computes rows of 32-bit floats. */
static bool describe_row(const tn_call *call, uint32_t input, tn_epilogue *out_epilogue) {
    const tn_operator *op = call->op;
    if (!(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->row) return false;
    for (uint32_t i = 0; i < call->input_count; i++)
        if ((call->inputs[i] != NULL) != (i == input)) return false;
    if (call->inputs[input]->type != TN_F32 || call->outputs[0]->type != TN_F32) return false;
    out_epilogue->kind = TN_EPILOGUE_ROW;
    out_epilogue->expression = op->expression;
    out_epilogue->row = op->row;
    out_epilogue->params = call->params;
    return true;
}

static bool is_float(tn_type type) {
    return type == TN_F32 || type == TN_F16 || type == TN_BF16;
}

/* One that says what it computes as text, of the chained tensor and one more at most. */
static bool describe_expression(const tn_call *call, uint32_t input, tn_epilogue *out_epilogue) {
    const tn_operator *op = call->op;
    const tn_type type = call->outputs[0]->type;
    uint32_t others = 0;
    if (!(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->expression || !is_float(type)) return false;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) continue;
        if (call->inputs[i]->type != type) return false;
        if (i == input) continue;
        out_epilogue->operand = i;
        others++;
    }
    if (others > 1 || (others == 1 && op->input_count != 2)) return false;
    out_epilogue->kind = others == 1 ? TN_EPILOGUE_COMBINE : TN_EPILOGUE_EXPRESSION;
    out_epilogue->expression = op->expression;
    out_epilogue->params = call->params;
    return true;
}

/* Everything but the chained tensor and the operand has gone into the descriptor, so it must not
 * change from run to run. */
static bool is_closed(const tn_graph *graph, const tn_graph_node *node, uint32_t input,
                      const tn_epilogue *epilogue) {
    bool has_operand = tn_node_call_has_operand(epilogue->kind);
    if (has_operand && (epilogue->operand >= node->input_count || epilogue->operand == input ||
                        node->inputs[epilogue->operand] == TN_NO_TENSOR))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR || i == input) continue;
        if (has_operand && i == epilogue->operand) continue;
        if (!graph->tensors[node->inputs[i]].is_constant) return false;
    }
    return true;
}

static bool ask_epilogue(tn_call *call, uint32_t input, tn_epilogue *out_epilogue) {
    tn_crash_mark mark;
    if (!call->op->epilogue) return false;
    tn_crash_enter(&mark, call, "epilogue", NULL);
    const bool is_described = call->op->epilogue(call, input, out_epilogue) == TN_OK;
    tn_crash_leave(&mark);
    return is_described;
}

tn_status tn_node_call_epilogue(const tn_graph *graph, uint32_t index, tn_tensor_id chained,
                                const tn_tensor *const *tensors, tn_arena *arena,
                                tn_epilogue *out_epilogue, bool *out_is_epilogue) {
    const tn_graph_node *node = &graph->nodes[index];
    tn_node_call node_call;
    tn_epilogue epilogue = {.size = sizeof epilogue};
    uint32_t input = 0;
    *out_is_epilogue = false;
    if (!find_place(node, chained, &input) || !has_all(node, tensors)) return TN_OK;
    TN_TRY(tn_node_call_init(&node_call, arena, graph, index, tensors));
    tn_call *call = &node_call.call;
    bool is_described = ask_epilogue(call, input, &epilogue);
    const bool is_by_itself =
        epilogue.kind == TN_EPILOGUE_MAX_WINDOWS || epilogue.kind == TN_EPILOGUE_SOFTMAX;
    if (is_described && !is_by_itself &&
        (epilogue.kind < TN_EPILOGUE_BIAS || epilogue.kind > TN_EPILOGUE_ROW))
        return TN_OK;
    if (!is_described) {
        epilogue = (tn_epilogue){.size = sizeof epilogue};
        if (!describe_row(call, input, &epilogue) && !describe_expression(call, input, &epilogue))
            return TN_OK;
    }
    epilogue.op = call->op;
    epilogue.input = input;
    if (epilogue.type == TN_NONE) epilogue.type = call->outputs[0]->type;
    if (epilogue.type != call->outputs[0]->type || !is_closed(graph, node, input, &epilogue))
        return TN_OK;
    *out_epilogue = epilogue;
    *out_is_epilogue = true;
    return TN_OK;
}
