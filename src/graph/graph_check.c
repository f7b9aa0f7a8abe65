/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports: which one a node's input or output belongs to, and whether a node has as many tensors as
 * its operator asks for. Types and shapes are checked in infer.c.
 */
#include "base/status.h"
#include "graph/graph.h"

#include <inttypes.h>

static const tn_port *port_at(const tn_port *ports, uint32_t count, uint32_t index) {
    if (index < count) return &ports[index];
    if (count > 0 && (ports[count - 1].flags & TN_PORT_VARIADIC)) return &ports[count - 1];
    return NULL;
}

const tn_port *tn_graph_input_port(const tn_operator *op, uint32_t index) {
    return port_at(op->inputs, op->input_count, index);
}

bool tn_graph_input_takes(const tn_operator_entry *entry, uint32_t index, tn_type type) {
    const tn_port *port = tn_graph_input_port(entry->op, index);
    return port && (entry->inputs[port - entry->op->inputs].types & TN_TYPE_BIT(type));
}

const tn_port *tn_graph_output_port(const tn_operator *op, uint32_t index) {
    return port_at(op->outputs, op->output_count, index);
}

/* The number of tensors that a variadic port asks for: its minimum, or one unless it is optional.
 */
static uint32_t variadic_minimum(const tn_port *port) {
    if (port->minimum_count > 0) return port->minimum_count;
    return port->flags & TN_PORT_OPTIONAL ? 0 : 1;
}

static tn_status check_variadic(const tn_port *port, uint32_t given, const char *side) {
    uint32_t minimum = variadic_minimum(port);
    if (given >= minimum) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT,
                   "%s '%s' takes at least %" PRIu32 " tensors, but %" PRIu32 " were given", side,
                   port->name, minimum, given);
}

static tn_status check_inputs(const tn_operator *op, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *port = tn_graph_input_port(op, i);
        if (!port)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "takes at most %" PRIu32 " inputs, but %" PRIu32 " were given",
                           op->input_count, node->input_count);
        if (node->inputs[i] == TN_NO_TENSOR && !(port->flags & TN_PORT_OPTIONAL))
            return tn_fail(TN_ERROR_ARGUMENT, "input '%s' is missing", port->name);
    }
    if (op->input_count == 0) return TN_OK;
    const tn_port *last = &op->inputs[op->input_count - 1];
    if (!(last->flags & TN_PORT_VARIADIC)) return TN_OK;
    return check_variadic(last, node->input_count - (op->input_count - 1), "input");
}

static tn_status check_outputs(const tn_operator *op, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!tn_graph_output_port(op, i))
            return tn_fail(TN_ERROR_ARGUMENT,
                           "gives at most %" PRIu32 " outputs, but %" PRIu32 " were named",
                           op->output_count, node->output_count);
    if (op->output_count == 0) return TN_OK;
    const tn_port *last = &op->outputs[op->output_count - 1];
    if (!(last->flags & TN_PORT_VARIADIC)) return TN_OK;
    return check_variadic(last, node->output_count - (op->output_count - 1), "output");
}

tn_status tn_graph_check_node(const tn_graph *graph, const tn_graph_node *node) {
    (void)graph;
    TN_TRY(check_inputs(node->entry->op, node));
    return check_outputs(node->entry->op, node);
}
