/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensors of a graph are sequences, optionals and maps: inputs that were declared so, and
 * those whose producer's port says so. The kind of the latter is kept nowhere else, so that neither
 * a pass nor a plan can tell another one.
 */
#include "base/status.h"
#include "graph/body.h"
#include "plugin/sequences/kinds.h"

#include <inttypes.h>

static uint32_t kind_at(const tn_port_rule *rules, uint32_t count, uint32_t index) {
    return count == 0 ? TN_KIND_DENSE : rules[index < count ? index : count - 1].kind;
}

/* How many inputs no graph in the node's fields captures: the first ones. */
static uint32_t own_inputs(const tn_graph_node *node) {
    const tn_graph_body *body;
    uint32_t field = 0, captured = 0;
    while ((body = tn_graph_next_body(node, &field)) != NULL)
        captured += body->view.capture_count;
    return captured > node->input_count ? node->input_count : node->input_count - captured;
}

/* The kind that the graphs in a node's fields say of its input: one of the first graph's, or one
 * that some graph captures. */
static uint32_t body_input_kind(const tn_graph_node *node, uint32_t index) {
    uint32_t field = 0, first = own_inputs(node);
    const tn_graph_body *body = tn_graph_next_body(node, &field);
    if (body && index < first)
        return index < body->view.input_count
                   ? body->graph->tensors[body->graph->inputs[index]].kind
                   : TN_KIND_DENSE;
    for (; body; body = tn_graph_next_body(node, &field)) {
        const uint32_t at = index - first;
        if (at < body->view.capture_count)
            return body->graph->tensors[body->graph->inputs[body->view.input_count + at]].kind;
        first += body->view.capture_count;
    }
    return TN_KIND_DENSE;
}

static uint32_t body_output_kind(const tn_graph_node *node, uint32_t index) {
    uint32_t field = 0;
    const tn_graph_body *body = tn_graph_next_body(node, &field);
    if (!body) return TN_KIND_DENSE;
    const uint32_t at = index + (body->view.input_count > 0);
    return at < body->graph->output_count ? tn_graph_kind(body->graph, body->graph->outputs[at])
                                          : TN_KIND_DENSE;
}

uint32_t tn_graph_input_kind(const tn_graph_node *node, uint32_t index) {
    const uint32_t kind = kind_at(node->entry->inputs, node->entry->op->input_count, index);
    const bool is_captured = kind == TN_KIND_EACH && index >= own_inputs(node);
    return kind == TN_KIND_ANY || is_captured ? body_input_kind(node, index) : kind;
}

uint32_t tn_graph_output_kind(const tn_graph_node *node, uint32_t index) {
    const uint32_t kind = kind_at(node->entry->outputs, node->entry->op->output_count, index);
    return kind == TN_KIND_ANY ? body_output_kind(node, index) : kind;
}

uint32_t tn_graph_kind(const tn_graph *graph, tn_tensor_id tensor) {
    const uint32_t producer = graph->tensors[tensor].producer;
    if (producer == TN_NO_NODE) return graph->tensors[tensor].kind;
    const tn_graph_node *node = &graph->nodes[producer];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] == tensor) return tn_graph_output_kind(node, i);
    return TN_KIND_DENSE;
}

bool tn_graph_node_has_kinds(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && tn_graph_input_kind(node, i)) return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && tn_graph_output_kind(node, i)) return true;
    return false;
}

bool tn_graph_has_kind_inputs(const tn_graph *graph) {
    for (size_t i = 0; i < graph->input_count; i++)
        if (graph->tensors[graph->inputs[i]].kind) return true;
    return false;
}

static tn_status check_input(const tn_graph *graph, const tn_graph_node *node, uint32_t index) {
    const tn_tensor_id id = node->inputs[index];
    if (id == TN_NO_TENSOR) return TN_OK;
    const uint32_t kind = tn_graph_kind(graph, id), wanted = tn_graph_input_kind(node, index);
    const bool is_either = kind == TN_KIND_DENSE || kind == TN_KIND_SEQUENCE;
    if (kind == wanted || (wanted == TN_KIND_EACH && is_either)) return TN_OK;
    tn_fail(TN_ERROR_TYPE, "input '%s' (tensor '%s') is %s; the port takes %s",
            tn_graph_input_port(node->entry->op, index)->name, graph->tensors[id].name,
            tn_kind_name(kind), tn_kind_name(wanted));
    return tn_error_in(TN_ERROR_TYPE, .node = node->name, .op = node->entry->op->name);
}

/* What crosses the border of a graph in a field, where ports may be of any kind. `first`: of the
 * node's first graph. */
static tn_status check_body(const tn_graph_body *body, const tn_graph_body *first) {
    const tn_graph *graph = body->graph;
    const uint32_t inputs = body->view.input_count;
    for (size_t i = 0; i < graph->output_count; i++) {
        uint32_t expected = TN_KIND_DENSE;
        if (body != first && i < first->graph->output_count)
            expected = tn_graph_kind(first->graph, first->graph->outputs[i]);
        else if (inputs == 0)
            continue;
        else if (i + 1 < inputs && i > 0)
            expected = graph->tensors[graph->inputs[i + 1]].kind;
        const uint32_t kind = tn_graph_kind(graph, graph->outputs[i]);
        if (kind != expected)
            return tn_fail(TN_ERROR_TYPE, "output '%s' of graph '%s' is %s: expected %s",
                           graph->output_names[i], graph->name, tn_kind_name(kind),
                           tn_kind_name(expected));
    }
    return TN_OK;
}

/* All of it dense, where ports are; `is_each`: but for what is captured. */
static tn_status check_dense(const tn_graph_body *body, bool is_each) {
    const tn_graph *graph = body->graph;
    const size_t inputs = is_each ? body->view.input_count : graph->input_count;
    for (size_t i = 0; i < inputs; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        if (tensor->kind != TN_KIND_DENSE)
            return tn_fail(TN_ERROR_TYPE, "input '%s' of graph '%s' is %s: expected a dense tensor",
                           tensor->name, graph->name, tn_kind_name(tensor->kind));
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const uint32_t kind = tn_graph_kind(graph, graph->outputs[i]);
        if (kind != TN_KIND_DENSE)
            return tn_fail(TN_ERROR_TYPE,
                           "output '%s' of graph '%s' is %s: expected a dense tensor",
                           graph->output_names[i], graph->name, tn_kind_name(kind));
    }
    return TN_OK;
}

static tn_status check_bodies(const tn_graph_node *node) {
    const tn_operator_entry *entry = node->entry;
    const uint32_t ports = entry->op->output_count, inputs = entry->op->input_count;
    const bool is_any = ports > 0 && entry->outputs[ports - 1].kind == TN_KIND_ANY;
    const bool is_each = inputs > 0 && entry->inputs[inputs - 1].kind == TN_KIND_EACH;
    const tn_graph_body *body, *first = NULL;
    uint32_t field = 0;
    while ((body = tn_graph_next_body(node, &field)) != NULL) {
        if (!first) first = body;
        const tn_status status = is_any ? check_body(body, first) : check_dense(body, is_each);
        if (status != TN_OK) return tn_error_in(status, .node = node->name, .op = entry->op->name);
    }
    return TN_OK;
}

tn_status tn_graph_check_kinds(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].is_dead) continue;
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            TN_TRY(check_input(graph, &graph->nodes[n], i));
        TN_TRY(check_bodies(&graph->nodes[n]));
    }
    return TN_OK;
}
