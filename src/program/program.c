/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs: the chain of a step as its kernel sees it. program_check.c has the check of a
 * program that came from a file; lower_emit.c makes programs.
 */
#include "tensor/quantization.h"
#include "program/program.h"
#include "base/status.h"
#include "plugin/fields/combination.h"
#include "tensor/type.h"

bool tn_program_value_fits(const tn_program_value *value, tn_type own) {
    const bool is_byte = value->type == TN_I8 || value->type == TN_U8;
    if (value->quantization) return is_byte && (own == TN_F32 || own == TN_NONE);
    if (value->type == TN_NONE || own == TN_NONE || value->type == own) return true;
    return own == TN_F32 && tn_type_is_half(value->type);
}

bool tn_program_value_is_alike(const tn_program_value *a, const tn_program_value *b) {
    const tn_quantization *p = a->quantization, *q = b->quantization;
    return a->type == b->type && tn_quantization_equal(p, q, a->type);
}

tn_type tn_program_value_port_type(const tn_program_value *value) {
    if (!value->quantization) return value->type;
    return value->type == TN_I8 ? TN_STORED_QI8 : TN_STORED_QU8;
}

static tn_status fail_step(const tn_graph *graph, uint32_t node, const tn_kernel *kernel) {
    return tn_fail(TN_ERROR_FORMAT,
                   "node '%s' was fused into another, but its operator %s does not describe itself "
                   "here as anything that kernel '%s' absorbs (%s)",
                   graph->nodes[node].name, graph->nodes[node].entry->op->name, kernel->name,
                   kernel->absorbs ? kernel->absorbs : "nothing");
}

tn_status tn_program_chain(const tn_program *program, const tn_program_step *step,
                           const tn_graph *graph, const tn_kernel_entry *entry,
                           const tn_tensor *const *tensors, tn_arena *arena, tn_chain *out_chain) {
    const uint32_t count = step->absorbed_count;
    *out_chain = (tn_chain){.count = 0};
    if (count == 0) return TN_OK;
    tn_link *links = tn_arena_allocate(arena, count, sizeof *links);
    tn_link **pointers = tn_arena_allocate(arena, count, sizeof *pointers);
    if (!links || !pointers) return tn_fail_memory("a chain");
    tn_links all = {.count = count,
                    .before_count = step->before_count,
                    .port = step->before_input + 1,
                    .items = pointers};
    if (step->before_count > 0)
        all.stored = program->values[step->inputs[step->before_input]].tensor;
    tn_tensor_id chained = all.stored;
    for (uint32_t i = 0; i < count; i++) {
        if (i == step->before_count) chained = graph->nodes[step->node].outputs[0];
        TN_TRY(tn_link_init(&links[i], arena, graph, step->absorbed[i], chained, tensors));
        pointers[i] = &links[i];
        chained = graph->nodes[step->absorbed[i]].outputs[0];
    }
    TN_TRY(tn_chain_init(out_chain, arena, entry, &all));
    return out_chain->count == count
               ? TN_OK
               : fail_step(graph, step->absorbed[out_chain->count], entry->kernel);
}

uint32_t tn_program_count_reads(const tn_program_step *step, uint32_t value) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->input_count; i++)
        count += step->inputs[i] == value;
    for (uint32_t i = 0; i < step->operand_count; i++)
        count += step->operands[i] == value;
    return count;
}
