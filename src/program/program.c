/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs: the epilogue chain of a step as its kernel sees it. program_check.c has the check of a
 * program that came from a file; lower_emit.c makes programs.
 */
#include "tensor/quantization.h"
#include "program/program.h"
#include "base/status.h"
#include "plugin/fields/combination.h"
#include "program/node_call.h"

bool tn_program_value_fits(const tn_program_value *value, tn_type own) {
    const bool is_byte = value->type == TN_I8 || value->type == TN_U8;
    if (value->quantization) return is_byte && (own == TN_F32 || own == TN_NONE);
    if (value->type == TN_NONE || own == TN_NONE || value->type == own) return true;
    return own == TN_F32 && (value->type == TN_F16 || value->type == TN_BF16);
}

bool tn_program_value_is_alike(const tn_program_value *a, const tn_program_value *b) {
    const tn_quantization *p = a->quantization, *q = b->quantization;
    return a->type == b->type && tn_quantization_equal(p, q, a->type);
}

tn_type tn_program_value_port_type(const tn_program_value *value) {
    if (!value->quantization) return value->type;
    return value->type == TN_I8 ? TN_STORED_QI8 : TN_STORED_QU8;
}

static tn_status fail_step(const tn_graph *graph, uint32_t node) {
    return tn_fail(TN_ERROR_FORMAT,
                   "node '%s' was fused into another, but its operator %s does not describe it as "
                   "an epilogue here",
                   graph->nodes[node].name, graph->nodes[node].entry->op->name);
}

tn_status tn_program_epilogues(const tn_program_step *step, const tn_graph *graph,
                               const tn_tensor *const *tensors, tn_arena *arena,
                               const tn_epilogue *const **out_epilogues,
                               tn_tensor_id **out_operands, uint32_t *out_operand_count) {
    uint32_t count = step->epilogue_count, operand_count = 0;
    const tn_epilogue **epilogues = tn_arena_allocate(arena, count + 1u, sizeof *epilogues);
    tn_epilogue *items = tn_arena_allocate(arena, count + 1u, sizeof *items);
    tn_tensor_id *operands = tn_arena_allocate(arena, count + 1u, sizeof *operands);
    if (!epilogues || !items || !operands) return tn_fail_memory("the epilogues of a step");
    tn_tensor_id chained =
        count > 0 ? graph->nodes[step->node].outputs[0] : (tn_tensor_id)TN_NO_TENSOR;
    for (uint32_t i = 0; i < count; i++) {
        const tn_graph_node *node = &graph->nodes[step->epilogues[i]];
        bool is_epilogue = false;
        TN_TRY(tn_node_call_epilogue(graph, step->epilogues[i], chained, tensors, arena, &items[i],
                                     &is_epilogue));
        if (!is_epilogue) return fail_step(graph, step->epilogues[i]);
        if (tn_node_call_has_operand(items[i].kind)) {
            operands[operand_count] = node->inputs[items[i].operand];
            items[i].operand = operand_count++;
        }
        epilogues[i] = &items[i];
        chained = node->outputs[0];
    }
    *out_epilogues = epilogues;
    *out_operands = operands;
    *out_operand_count = operand_count;
    return TN_OK;
}
