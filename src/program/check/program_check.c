/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a program against its graph. A plan is untrusted data: after this check everybody
 * may index with a program's numbers, every value is there when it is read, and every node's work
 * is done once. What kernels and operators make of it is checked where they are called.
 */
#include "base/status.h"
#include "program/node_call.h"
#include "program/check/program_check.h"
#include "plugin/sequences/kinds.h"

#include <inttypes.h>

typedef struct program_checker {
    const tn_program *program;
    const tn_graph *graph;
    bool *is_made;       /* by value */
    bool *is_own;        /* by value: a kernel or a reformat made it in memory of the run */
    uint32_t *last_read; /* by value: the last step that reads it */
    bool *is_done;       /* by node */
} program_checker;

static tn_status fail_step(uint32_t step, const char *why) {
    return tn_fail(TN_ERROR_FORMAT, "step %" PRIu32 " of the program %s", step, why);
}

/* A value read for tensor `wanted` (TN_NO_TENSOR: absent). */
static bool is_read_sound(const program_checker *checker, uint32_t value, tn_tensor_id wanted) {
    if (value == TN_NO_VALUE || wanted == TN_NO_TENSOR)
        return value == TN_NO_VALUE && wanted == TN_NO_TENSOR;
    return value < checker->program->value_count && checker->is_made[value] &&
           checker->program->values[value].tensor == wanted;
}

static bool make_value(program_checker *checker, uint32_t value, tn_tensor_id wanted) {
    if (value == TN_NO_VALUE || wanted == TN_NO_TENSOR)
        return value == TN_NO_VALUE && wanted == TN_NO_TENSOR;
    if (value >= checker->program->value_count || checker->is_made[value] ||
        checker->program->values[value].tensor != wanted)
        return false;
    checker->is_made[value] = true;
    return true;
}

static bool take_node(program_checker *checker, uint32_t node) {
    if (node >= checker->graph->node_count || checker->graph->nodes[node].is_dead ||
        checker->is_done[node])
        return false;
    checker->is_done[node] = true;
    return true;
}

static bool reads_tensor(const tn_graph_node *node, tn_tensor_id tensor) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == tensor) return true;
    return false;
}

/* A link of a chain: it reads what the one before it made, which nobody else does. */
static bool take_link(program_checker *checker, uint32_t before, uint32_t node) {
    const tn_graph_node *nodes = checker->graph->nodes;
    return tn_graph_node_has_one_output(&nodes[before]) && take_node(checker, node) &&
           tn_graph_node_has_one_output(&nodes[node]) &&
           reads_tensor(&nodes[node], nodes[before].outputs[0]) &&
           checker->graph->tensors[nodes[before].outputs[0]].use_count == 1;
}

/* From what the step reads at an input to what the node reads there. */
static bool take_before(program_checker *checker, const tn_program_step *step) {
    const tn_graph *graph = checker->graph;
    const tn_graph_node *node = &graph->nodes[step->node];
    if (step->before_count > step->absorbed_count || step->before_input >= step->input_count ||
        step->input_count != node->input_count)
        return false;
    const uint32_t value = step->inputs[step->before_input];
    const tn_port *port = tn_graph_input_port(node->entry->op, step->before_input);
    if (value >= checker->program->value_count ||
        (port->flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED)))
        return false;
    for (uint32_t i = 0; i < step->before_count; i++) {
        const bool is_sound =
            i > 0 ? take_link(checker, step->absorbed[i - 1], step->absorbed[i])
                  : take_node(checker, step->absorbed[0]) &&
                        reads_tensor(&graph->nodes[step->absorbed[0]],
                                     checker->program->values[value].tensor) &&
                        tn_graph_node_has_one_output(&graph->nodes[step->absorbed[0]]);
        if (!is_sound) return false;
    }
    const tn_tensor_id last = graph->nodes[step->absorbed[step->before_count - 1]].outputs[0];
    return node->inputs[step->before_input] == last && graph->tensors[last].use_count == 1;
}

static bool take_chain(program_checker *checker, const tn_program_step *step) {
    if (step->before_count > 0 && !take_before(checker, step)) return false;
    for (uint32_t i = step->before_count; i < step->absorbed_count; i++)
        if (!take_link(checker, i == step->before_count ? step->node : step->absorbed[i - 1],
                       step->absorbed[i]))
            return false;
    return true;
}

/* What a step reads at an input of its node. */
static tn_tensor_id read_at(const program_checker *checker, const tn_program_step *step,
                            uint32_t input) {
    const bool is_before = step->before_count > 0 && input == step->before_input;
    return is_before ? checker->program->values[step->inputs[input]].tensor
                     : checker->graph->nodes[step->node].inputs[input];
}

static bool is_operand_sound(const program_checker *checker, const tn_program_step *step,
                             uint32_t value) {
    if (value >= checker->program->value_count || !checker->is_made[value]) return false;
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        if (reads_tensor(&checker->graph->nodes[step->absorbed[i]],
                         checker->program->values[value].tensor))
            return true;
    return false;
}

static void note_reads(program_checker *checker, uint32_t step, uint32_t count,
                       const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] < checker->program->value_count) checker->last_read[values[i]] = step;
}

/* Overwriting must hit nothing that others read, or that cannot be written at all. */
static bool may_overwrite(const program_checker *checker, uint32_t index, uint32_t input,
                          uint32_t output) {
    const tn_program *program = checker->program;
    const tn_program_step *step = &program->steps[index];
    if (step->kind != TN_STEP_KERNEL || step->is_host || input >= step->input_count ||
        (step->before_count > 0 && input == step->before_input) || output >= step->output_count ||
        step->inputs[input] == TN_NO_VALUE || step->outputs[output] == TN_NO_VALUE ||
        step->outputs[output] >= program->value_count)
        return false;
    uint32_t value = step->inputs[input];
    for (size_t i = 0; i < checker->graph->output_count; i++)
        if (program->output_values[i] == value) return false;
    return checker->is_own[value] && checker->last_read[value] == index &&
           program->values[step->outputs[output]].type != TN_STRING &&
           program->values[value].space == program->values[step->outputs[output]].space;
}

/* Outputs that update inputs: as their ports say, and none of them on one input. */
static bool are_aliases_sound(const program_checker *checker, uint32_t index) {
    const tn_program_step *step = &checker->program->steps[index];
    const tn_operator *op = checker->graph->nodes[step->node].entry->op;
    if (step->aliased == 0) return true;
    if (step->output_count < 64 && step->aliased >> step->output_count != 0) return false;
    uint64_t inputs = step->is_in_place;
    for (uint32_t o = 0; o < step->output_count && o < 64; o++) {
        if (!(step->aliased >> o & 1)) continue;
        const tn_port *port = tn_graph_output_port(op, o);
        if (!(port->flags & TN_PORT_ALIAS) || port->alias == 0 || port->alias > 64 ||
            inputs >> (port->alias - 1) & 1 || (o == 0 && step->absorbed_count > 0) ||
            !may_overwrite(checker, index, port->alias - 1, o))
            return false;
        inputs |= UINT64_C(1) << (port->alias - 1);
    }
    return !(step->is_in_place && step->aliased & 1);
}

/* A view is the same bytes, and what only selects elements copies them. */
static bool are_stored_alike(const program_checker *checker, const tn_program_step *step) {
    const tn_graph_node *node = &checker->graph->nodes[step->node];
    const tn_operator *op = node->entry->op;
    const tn_program_value *values = checker->program->values;
    const bool selects = step->absorbed_count == 0 && (op->traits & TN_OPERATOR_SELECTS);
    for (uint32_t o = 0; o < step->output_count; o++) {
        if (step->outputs[o] == TN_NO_VALUE) continue;
        for (uint32_t i = 0; i < step->input_count; i++) {
            if (step->inputs[i] == TN_NO_VALUE) continue;
            const tn_program_value *in = &values[step->inputs[i]], *out = &values[step->outputs[o]];
            const bool is_source =
                step->kind == TN_STEP_VIEW
                    ? tn_graph_output_port(op, o)->alias == i + 1
                    : selects && in->quantization && out->quantization &&
                          tn_graph_input_port(op, i) == tn_graph_input_port(op, 0);
            const bool is_moved = step->kind == TN_STEP_VIEW && in->space != out->space;
            if (is_source && (is_moved || !tn_program_value_is_alike(in, out))) return false;
        }
    }
    return true;
}

static bool is_in_space(const program_checker *checker, uint32_t value, uint32_t space) {
    return value >= checker->program->value_count || checker->program->values[value].space == space;
}

/* A device's kernel has its data in the device's memory and values that decide shapes in the
 * host's; all others have everything in the host's. A port of which only the shape is read may be
 * anywhere, and a view is where its source is. */
static bool has_sound_spaces(const program_checker *checker, const tn_program_step *step) {
    const tn_graph_node *node = &checker->graph->nodes[step->node];
    const uint32_t space = step->is_device ? TN_SPACE_DEVICE : TN_SPACE_HOST;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_port *port = tn_graph_input_port(node->entry->op, i);
        const uint32_t flags = port ? port->flags : 0;
        const bool is_value = flags & TN_PORT_VALUE_NEEDED;
        if ((flags & TN_PORT_SHAPE_ONLY) || (step->kind == TN_STEP_VIEW && !is_value)) continue;
        if (!is_in_space(checker, step->inputs[i], is_value ? TN_SPACE_HOST : space)) return false;
    }
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (!is_in_space(checker, step->operands[i], space)) return false;
    for (uint32_t i = 0; i < step->output_count && step->kind != TN_STEP_VIEW; i++)
        if (!is_in_space(checker, step->outputs[i], space)) return false;
    return true;
}

static bool has_kind_output(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && tn_graph_output_kind(node, i)) return true;
    return false;
}

static tn_status check_node_step(program_checker *checker, uint32_t index) {
    const tn_program_step *step = &checker->program->steps[index];
    const tn_graph_node *node = &checker->graph->nodes[step->node];
    if (!take_node(checker, step->node))
        return fail_step(index, "does a node that is done already");
    if (!take_chain(checker, step)) return fail_step(index, "has a damaged chain of absorbed");
    if (step->absorbed_count > 0 && (!step->kernel || step->is_host))
        return fail_step(index, "fuses what it cannot");
    if (step->kind == TN_STEP_VIEW && (step->absorbed_count > 0 || !tn_graph_node_is_view(node)))
        return fail_step(index, "is a view of something that is none");
    if (step->is_device &&
        (!step->kernel || step->is_host || !tn_program_has_device(checker->program)))
        return fail_step(index, "is for a device that it cannot be for");
    if (tn_graph_node_has_kinds(node) &&
        (step->is_device || step->is_in_place || step->aliased || step->absorbed_count > 0 ||
         (step->is_host && has_kind_output(node))))
        return fail_step(index, "does with a sequence or an optional what it cannot");
    if (!has_sound_spaces(checker, step))
        return fail_step(index, "has a value in the wrong memory");
    if (step->kernel && !step->library) return fail_step(index, "names a kernel without a library");
    for (uint32_t i = 0; i < step->input_count; i++)
        if (!is_read_sound(checker, step->inputs[i], read_at(checker, step, i)))
            return fail_step(index, "reads a value that is not there");
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (!is_operand_sound(checker, step, step->operands[i]))
            return fail_step(index, "has an operand that is not there");
    if ((step->is_in_place && !may_overwrite(checker, index, 0, 0)) ||
        !are_aliases_sound(checker, index))
        return fail_step(index, "overwrites a value that is still needed");
    for (uint32_t i = 0; i < step->output_count; i++) {
        tn_tensor_id wanted = node->outputs[i];
        if (i == 0 && step->absorbed_count > step->before_count)
            wanted = checker->graph->nodes[step->absorbed[step->absorbed_count - 1]].outputs[0];
        if (!make_value(checker, step->outputs[i], wanted))
            return fail_step(index, "makes a value that is not its own");
        if (step->outputs[i] != TN_NO_VALUE)
            checker->is_own[step->outputs[i]] = step->kind == TN_STEP_KERNEL && !step->is_host;
    }
    if (!are_stored_alike(checker, step))
        return fail_step(index, "takes numbers of one scale for those of another");
    return TN_OK;
}

/* Floating-point values, in whatever type: what a conversion may be between, if not within one
 * type. */
static bool is_real(const tn_program_value *value) {
    return value->quantization || value->type == TN_F32 || value->type == TN_F16 ||
           value->type == TN_BF16;
}

static tn_status check_reformat(program_checker *checker, uint32_t index) {
    const tn_program_step *step = &checker->program->steps[index];
    const tn_program_value *values = checker->program->values;
    if (step->is_in_place || step->aliased || step->is_device ||
        step->inputs[0] >= checker->program->value_count ||
        step->outputs[0] >= checker->program->value_count)
        return fail_step(index, "is a damaged reformat");
    const tn_program_value *from = &values[step->inputs[0]], *to = &values[step->outputs[0]];
    if (!is_read_sound(checker, step->inputs[0], from->tensor) ||
        tn_graph_kind(checker->graph, from->tensor) ||
        (!tn_program_value_is_alike(from, to) && !(is_real(from) && is_real(to))) ||
        !make_value(checker, step->outputs[0], from->tensor))
        return fail_step(index, "reformats a value that is not there, or into a wrong one");
    checker->is_own[step->outputs[0]] = true;
    return TN_OK;
}

/* The counts alone, so that all else may be read. */
static tn_status check_counts(const program_checker *checker, uint32_t index) {
    const tn_program_step *step = &checker->program->steps[index];
    uint32_t inputs = 1, outputs = 1, chain = 0;
    if (step->kind == TN_STEP_KERNEL || step->kind == TN_STEP_VIEW) {
        if (step->node >= checker->graph->node_count)
            return fail_step(index, "names a node that is not there");
        inputs = checker->graph->nodes[step->node].input_count;
        outputs = checker->graph->nodes[step->node].output_count;
        chain = TN_CHAIN_LIMIT;
    } else if (step->kind != TN_STEP_REFORMAT) {
        return fail_step(index, "is of an unknown kind");
    }
    if (step->input_count != inputs || step->output_count != outputs ||
        step->absorbed_count > chain ||
        step->operand_count > TN_LINK_OPERANDS * step->absorbed_count)
        return fail_step(index, "has a wrong number of inputs, outputs, absorbed or operands");
    return TN_OK;
}

static tn_status check_steps(program_checker *checker) {
    const tn_program *program = checker->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        TN_TRY(check_counts(checker, s));
        note_reads(checker, s, program->steps[s].input_count, program->steps[s].inputs);
        note_reads(checker, s, program->steps[s].operand_count, program->steps[s].operands);
    }
    for (uint32_t s = 0; s < program->step_count; s++)
        TN_TRY(program->steps[s].kind == TN_STEP_REFORMAT ? check_reformat(checker, s)
                                                          : check_node_step(checker, s));
    for (size_t n = 0; n < checker->graph->node_count; n++)
        if (!checker->graph->nodes[n].is_dead && !checker->is_done[n])
            return tn_fail(TN_ERROR_FORMAT, "no step of the program does node '%s'",
                           checker->graph->nodes[n].name);
    for (size_t i = 0; i < checker->graph->output_count; i++)
        if (!checker->is_made[program->output_values[i]])
            return tn_fail(TN_ERROR_FORMAT, "no step of the program makes output %zu", i);
    return TN_OK;
}

tn_status tn_program_check(const tn_program *program, const tn_graph *graph) {
    program_checker checker = {.program = program, .graph = graph};
    tn_status status = TN_OK;
    checker.is_made =
        tn_allocate_zero(graph->allocator, (size_t)program->value_count + 1, sizeof(bool));
    checker.is_own =
        tn_allocate_zero(graph->allocator, (size_t)program->value_count + 1, sizeof(bool));
    checker.last_read =
        tn_allocate_zero(graph->allocator, (size_t)program->value_count + 1, sizeof(uint32_t));
    checker.is_done = tn_allocate_zero(graph->allocator, graph->node_count + 1, sizeof(bool));
    if (!checker.is_made || !checker.is_own || !checker.last_read || !checker.is_done)
        TN_GO(tn_fail_memory("the check of a program"));
    TN_GO(tn_program_check_values(program, graph, checker.is_made));
    TN_GO(check_steps(&checker));
done:
    tn_deallocate(graph->allocator, checker.is_made);
    tn_deallocate(graph->allocator, checker.is_own);
    tn_deallocate(graph->allocator, checker.last_read);
    tn_deallocate(graph->allocator, checker.is_done);
    return status;
}
