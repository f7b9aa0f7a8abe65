/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a graph's nodes: producers before their users, otherwise as they were (a sorted
 * graph stays as it is). A depth-first traversal from each node in turn, with a stack of its own; a
 * node that is met again while it is on the stack is in a cycle, which is the stack from there on.
 */
#include "base/status.h"
#include "base/text.h"
#include "graph/graph_private.h"

#include <string.h>

enum { UNSEEN = 0, ON_STACK = 1, DONE = 2 };
#define NAMED_AT_MOST 8

typedef struct graph_sorter {
    tn_graph *graph;
    uint8_t *states;      /* of each node */
    uint32_t *next_input; /* of each node: where its traversal stands */
    uint32_t *stack;
    uint32_t *order;
    size_t depth, done;
} graph_sorter;

static tn_status set_producer(tn_graph *graph, uint32_t index, tn_tensor_id id) {
    tn_graph_tensor *tensor = &graph->tensors[id];
    const char *node = graph->nodes[index].name;
    if (tensor->is_input || tensor->is_constant)
        return tn_fail(TN_ERROR_FORMAT, "tensor '%s' is %s and also an output of node '%s'",
                       tensor->name, tensor->is_input ? "an input" : "a constant", node);
    if (tensor->producer != TN_NO_NODE)
        return tn_fail(TN_ERROR_FORMAT, "tensor '%s' is made twice: by node '%s' and by node '%s'",
                       tensor->name, graph->nodes[tensor->producer].name, node);
    tensor->producer = index;
    return TN_OK;
}

static tn_status link_all(tn_graph *graph) {
    for (size_t i = 0; i < graph->tensor_count; i++) {
        graph->tensors[i].producer = TN_NO_NODE;
        graph->tensors[i].use_count = 0;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) TN_TRY(set_producer(graph, n, node->outputs[i]));
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != TN_NO_TENSOR) graph->tensors[node->inputs[i]].use_count++;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        graph->tensors[graph->outputs[i]].use_count++;
    return TN_OK;
}

static bool is_made(const tn_graph_tensor *tensor) {
    return tensor->is_input || tensor->is_constant || tensor->producer != TN_NO_NODE;
}

static tn_status check_sources(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == TN_NO_TENSOR) continue;
            const tn_graph_tensor *tensor = &graph->tensors[node->inputs[i]];
            if (is_made(tensor)) continue;
            return tn_fail(TN_ERROR_FORMAT,
                           "tensor '%s', an input of node '%s' (%s), is made by no node and is "
                           "neither an input nor a constant",
                           tensor->name, node->name, node->entry->op->name);
        }
    }
    for (size_t i = 0; i < graph->output_count; i++)
        if (!is_made(&graph->tensors[graph->outputs[i]]))
            return tn_fail(TN_ERROR_FORMAT,
                           "output '%s' is made by no node and is neither an input nor a constant",
                           graph->output_names[i]);
    return TN_OK;
}

static tn_status fail_cycle(const graph_sorter *sorter, uint32_t node) {
    tn_text names;
    tn_text_init(&names, sorter->graph->allocator);
    size_t first = sorter->depth;
    while (sorter->stack[first - 1] != node)
        first--;
    size_t named = 0;
    for (size_t i = sorter->depth; i >= first && named < NAMED_AT_MOST; i--, named++)
        tn_text_add_format(&names, "'%s' -> ", sorter->graph->nodes[sorter->stack[i - 1]].name);
    size_t others = sorter->depth - first + 1 - named;
    if (others > 0) tn_text_add_format(&names, "%zu more -> ", others);
    tn_status status =
        tn_fail(TN_ERROR_FORMAT, "nodes need each other's results in a cycle: %s'%s'",
                names.is_failed || !names.data ? "" : names.data, sorter->graph->nodes[node].name);
    tn_text_deinit(&names);
    return status;
}

/* Takes one step at the top of the stack: on to a producer that is not done, or done itself. */
static tn_status step(graph_sorter *sorter) {
    tn_graph *graph = sorter->graph;
    uint32_t top = sorter->stack[sorter->depth - 1];
    const tn_graph_node *node = &graph->nodes[top];
    while (sorter->next_input[top] < node->input_count) {
        tn_tensor_id input = node->inputs[sorter->next_input[top]++];
        if (input == TN_NO_TENSOR) continue;
        uint32_t producer = graph->tensors[input].producer;
        if (producer == TN_NO_NODE || sorter->states[producer] == DONE) continue;
        if (sorter->states[producer] == ON_STACK) return fail_cycle(sorter, producer);
        sorter->states[producer] = ON_STACK;
        sorter->stack[sorter->depth++] = producer;
        return TN_OK;
    }
    sorter->states[top] = DONE;
    sorter->order[sorter->done++] = top;
    sorter->depth--;
    return TN_OK;
}

static tn_status find_order(graph_sorter *sorter) {
    for (uint32_t n = 0; n < sorter->graph->node_count; n++) {
        if (sorter->states[n] != UNSEEN) continue;
        sorter->states[n] = ON_STACK;
        sorter->stack[sorter->depth++] = n;
        while (sorter->depth > 0)
            TN_TRY(step(sorter));
    }
    return TN_OK;
}

static tn_status apply_order(graph_sorter *sorter) {
    tn_graph *graph = sorter->graph;
    tn_graph_node *nodes = tn_allocate_zero(graph->allocator, graph->node_count, sizeof(*nodes));
    if (!nodes) return tn_fail_memory("sorting a graph");
    for (size_t i = 0; i < graph->node_count; i++)
        nodes[i] = graph->nodes[sorter->order[i]];
    tn_deallocate(graph->allocator, graph->nodes);
    graph->nodes = nodes;
    graph->node_capacity = graph->node_count;
    return link_all(graph);
}

static void drop_dead(tn_graph *graph) {
    size_t kept = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].is_dead)
            tn_graph_release_node(&graph->nodes[i]);
        else
            graph->nodes[kept++] = graph->nodes[i];
    }
    graph->node_count = kept;
}

tn_status tn_graph_sort(tn_graph *graph) {
    drop_dead(graph);
    TN_TRY(link_all(graph));
    TN_TRY(check_sources(graph));
    if (graph->node_count == 0) return TN_OK;
    const tn_allocator *allocator = graph->allocator;
    size_t count = graph->node_count;
    graph_sorter sorter = {.graph = graph};
    sorter.states = tn_allocate_zero(allocator, count, sizeof(*sorter.states));
    sorter.next_input = tn_allocate_zero(allocator, count, sizeof(*sorter.next_input));
    sorter.stack = tn_allocate_zero(allocator, count, sizeof(*sorter.stack));
    sorter.order = tn_allocate_zero(allocator, count, sizeof(*sorter.order));
    tn_status status = TN_OK;
    if (!sorter.states || !sorter.next_input || !sorter.stack || !sorter.order)
        status = tn_fail_memory("sorting a graph");
    if (status == TN_OK) status = find_order(&sorter);
    if (status == TN_OK) status = apply_order(&sorter);
    if (status == TN_OK) status = tn_graph_check_kinds(graph);
    tn_deallocate(allocator, sorter.states);
    tn_deallocate(allocator, sorter.next_input);
    tn_deallocate(allocator, sorter.stack);
    tn_deallocate(allocator, sorter.order);
    return status;
}

bool tn_graph_has_operator(const void *graph, const char *name) {
    const tn_graph *own = graph;
    for (size_t n = 0; n < own->node_count; n++)
        if (!own->nodes[n].is_dead && strcmp(own->nodes[n].entry->op->name, name) == 0) return true;
    return false;
}
