/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storages of a node's ports with one combination of a kernel. A combination names types and
 * formats; a type that is not the tensor's own is taken where the tensor may be stored so, which
 * '*' never asks for. Which tensors may is lower_storages.c's matter.
 */
#include "base/status.h"
#include "builder/lower/candidate.h"
#include "builder/lower/lower_chains.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"

/* What is in the rest of a last block is a kernel's matter, which it is asked for (accepts) at the
 * profile's points alone: a blocked axis has one extent in all of the profile. */
static bool is_fixed_where_blocked(const tn_lowering *lowering, tn_tensor_id tensor,
                                   tn_format format) {
    const uint32_t axis = format >> 8 & 0xFF;
    if ((format & 0xFF) != TN_LAYOUT_BLOCKED) return true;
    const tn_shape *optimum = &lowering->points[1]->tensors[tensor].storage.shape;
    for (int point = 0; point < TN_POINTS; point++)
        if (lowering->points[point]->tensors[tensor].storage.shape.extents[axis] !=
            optimum->extents[axis])
            return false;
    return true;
}

/* Whether a tensor of the node may lie in a format that a combination asks for. */
static bool format_fits(const tn_lowering *lowering, uint32_t index, tn_tensor_id tensor,
                        tn_format format, uint32_t port_flags) {
    if (format == TN_LINEAR || (port_flags & TN_PORT_SHAPE_ONLY)) return true;
    if (lowering->graph->tensors[tensor].is_constant || (port_flags & TN_PORT_VALUE_NEEDED) ||
        !lowering->facts->is_shaped[index])
        return false;
    return tn_format_fits(format, lowering->facts->tensors[tensor]->rank) &&
           is_fixed_where_blocked(lowering, tensor, format);
}

static tn_type port_type(tn_type type) {
    return type == TN_I8 ? TN_STORED_QI8 : type;
}

bool tn_lower_may_be(const tn_lowering *lowering, tn_tensor_id tensor, tn_type type) {
    if (type == TN_NONE) return false;
    return (type == lowering->precision->lower_type && lowering->precision->may_lower[tensor]) ||
           (type == lowering->precision->second_type && lowering->precision->may_second[tensor]);
}

/* What the port asks for, of what the tensor may be: its own type, the lower or the second one. */
static tn_type pick_type(const tn_lowering *lowering, tn_tensor_id tensor,
                         const tn_combination_port *port, uint32_t port_flags, tn_type wanted) {
    const tn_type others[] = {wanted, lowering->precision->lower_type,
                              lowering->precision->second_type};
    const bool has_own = port->types & TN_TYPE_BIT(lowering->facts->types[tensor]);
    if (port->is_every || (port_flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED)))
        return TN_NONE;
    for (int i = 0; i < (has_own ? 1 : 3); i++)
        if (tn_lower_may_be(lowering, tensor, others[i]) &&
            (port->types & TN_TYPE_BIT(port_type(others[i]))))
            return others[i];
    return TN_NONE;
}

typedef struct port_filler {
    tn_lowering *lowering;
    uint32_t node;
    bool may_lower;
    tn_type wanted;
    uint32_t space; /* of what its kernel reads and writes */
    tn_type *types; /* as the combination names them */
} port_filler;

static bool fill_port(const port_filler *filler, uint32_t at, tn_tensor_id tensor,
                      const tn_combination_port *port, uint32_t port_flags, tn_storage *storages) {
    tn_lowering *lowering = filler->lowering;
    if (tensor == TN_NO_TENSOR) return true;
    filler->types[at] = lowering->facts->types[tensor];
    if (!(port_flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED)))
        storages[at].space = filler->space;
    if (!port) return true; /* the types do not match then */
    if (!format_fits(lowering, filler->node, tensor, port->format, port_flags)) return false;
    storages[at].format = port->format;
    if (filler->may_lower)
        storages[at].type = pick_type(lowering, tensor, port, port_flags, filler->wanted);
    if (storages[at].type != TN_NONE) filler->types[at] = port_type(storages[at].type);
    return tn_lower_note_storage(lowering, storages[at]);
}

/* Whether an operand is stored as the output is; others are linear, in their own types. */
static bool is_whole(const port_filler *filler, const tn_candidate *candidate, uint32_t form,
                     tn_tensor_id operand) {
    const tn_lowering *lowering = filler->lowering;
    if (form != TN_OPERAND_BROADCAST) return form == TN_OPERAND_WHOLE;
    return !lowering->graph->tensors[operand].is_constant &&
           tn_lower_is_same_shape(lowering, operand,
                                  tn_lower_output(lowering, filler->node, candidate, 0));
}

/* One of the shape before a step that changes it is stored as input 0 is. */
static bool fill_operands(const port_filler *filler, const tn_candidate *candidate,
                          tn_storage input, tn_storage output, tn_storage *operands) {
    const tn_lowering *lowering = filler->lowering;
    const tn_chain *chain = candidate->chain;
    const uint32_t before = tn_lower_before_count(candidate);
    for (uint32_t i = 0; i < tn_lower_operand_count(candidate); i++) {
        operands[i].space = filler->space;
        if (before > 0 && i < chain->operand_counts[before]) continue; /* linear, as they are */
        if (!is_whole(filler, candidate, chain->forms[i].form, chain->operands[i])) continue;
        const bool is_before = tn_chain_reshapes_behind(chain, i, candidate->chain_count);
        const tn_storage like = is_before ? input : output;
        if ((like.type != TN_NONE && !tn_lower_may_be(lowering, chain->operands[i], like.type)) ||
            (is_before &&
             !tn_format_fits(like.format, lowering->facts->tensors[chain->operands[i]]->rank)))
            return false;
        operands[i] = like;
    }
    return true;
}

/* Where a combination leaves the type open, what is stored before a chain is of the port's. */
static bool is_beginning_open(const port_filler *filler, const tn_candidate *candidate,
                              const tn_combination *combination) {
    if (tn_lower_before_count(candidate) == 0) return true;
    const tn_graph_node *node = &filler->lowering->graph->nodes[filler->node];
    const uint32_t input = candidate->chain->port - 1;
    const tn_combination_port *port = tn_combination_input(combination, input);
    return !port || !port->is_every ||
           tn_graph_input_takes(node->entry, input, filler->types[input]);
}

static bool fill_ports(const port_filler *filler, const tn_candidate *candidate,
                       const tn_combination *combination, tn_storage *storages) {
    const tn_lowering *lowering = filler->lowering;
    const tn_graph_node *node = &lowering->graph->nodes[filler->node];
    const uint32_t inputs = node->input_count, outputs = node->output_count;
    for (uint32_t i = 0; i < inputs; i++)
        if (!fill_port(filler, i, tn_lower_input(lowering, filler->node, candidate, i),
                       tn_combination_input(combination, i),
                       tn_graph_input_port(node->entry->op, i)->flags, storages))
            return false;
    for (uint32_t i = 0; i < outputs; i++)
        if (!fill_port(filler, inputs + i, tn_lower_output(lowering, filler->node, candidate, i),
                       tn_combination_output(combination, i), 0, storages))
            return false;
    return is_beginning_open(filler, candidate, combination) &&
           tn_combination_matches(combination, inputs, filler->types, outputs,
                                  filler->types + inputs) &&
           fill_operands(filler, candidate, storages[0], storages[outputs > 0 ? inputs : 0],
                         storages + inputs + outputs);
}

tn_status tn_lower_ports(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         const tn_combination *combination, tn_type wanted, tn_storage *storages,
                         bool *out_fits) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    size_t ports = (size_t)node->input_count + node->output_count;
    const size_t operands = tn_lower_operand_count(candidate);
    tn_type *types = tn_arena_allocate(lowering->arena, ports + 1, sizeof *types);
    if (!types) return tn_fail_memory("the candidates of a node");
    const port_filler filler = {.lowering = lowering,
                                .node = index,
                                .may_lower = tn_lower_is_allowed(lowering, index, candidate),
                                .wanted = wanted,
                                .space = tn_lower_is_on_device(candidate) ? TN_SPACE_DEVICE
                                                                          : TN_SPACE_HOST,
                                .types = types};
    for (size_t i = 0; i < ports + operands; i++)
        storages[i] = (tn_storage){TN_NONE, TN_LINEAR, TN_SPACE_HOST};
    *out_fits = fill_ports(&filler, candidate, combination, storages);
    return TN_OK;
}

bool tn_lower_is_lowered(const tn_lowering *lowering, uint32_t index,
                         const tn_candidate *candidate) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++)
        if (candidate->inputs[i].type != TN_NONE) return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (candidate->outputs[i].type != TN_NONE) return true;
    return false;
}
