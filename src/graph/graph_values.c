/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values decide shapes: from the ports that need one, backwards through the nodes that
 * compute them. Each tensor is looked at once. Ports that want one (TN_PORT_VALUE_WANTED) count
 * where no data of a run goes into it.
 */
#include "base/status.h"
#include "graph/body.h"

typedef struct value_marker {
    const tn_graph *graph;
    bool *tensors;
    tn_tensor_id *queue;
    size_t count;
} value_marker;

static void mark_tensor(value_marker *marker, tn_tensor_id id) {
    if (id == TN_NO_TENSOR || marker->tensors[id]) return;
    marker->tensors[id] = true;
    marker->queue[marker->count++] = id;
}

/* What a body captured whose shape a run decides has no value before it, and what of the body's
 * shapes follows from it is found by the run, too. `is_open` by tensor; null: of none. */
static void mark_needed(value_marker *marker, const tn_graph_node *node, const bool *is_open) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *port = tn_graph_input_port(node->entry->op, i);
        if (!tn_graph_needs_value(node, i)) continue;
        if (is_open && node->inputs[i] != TN_NO_TENSOR && is_open[node->inputs[i]] &&
            !(port->flags & TN_PORT_VALUE_NEEDED))
            continue;
        mark_tensor(marker, node->inputs[i]);
    }
}

static void mark_read(value_marker *marker, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *port = tn_graph_input_port(node->entry->op, i);
        /* what a sequence is made of is computed by a run, and its readers then */
        if (port && !(port->flags & TN_PORT_SHAPE_ONLY) && !tn_graph_input_kind(node, i))
            mark_tensor(marker, node->inputs[i]);
    }
}

/* ----------------------------------------------------------------------------------------------
 * values that are wanted */

static bool wants_value(const tn_graph_node *node, uint32_t input) {
    const tn_port *port = tn_graph_input_port(node->entry->op, input);
    return port && (port->flags & TN_PORT_VALUE_WANTED) && node->inputs[input] != TN_NO_TENSOR;
}

static bool has_wanted(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; !graph->nodes[n].is_dead && i < graph->nodes[n].input_count; i++)
            if (wants_value(&graph->nodes[n], i)) return true;
    return false;
}

/* What is known of values before any run, by tensor. */
typedef struct value_knowledge {
    bool *is_free; /* no data goes into it */
    bool *is_open; /* a run decides its shape */
} value_knowledge;

static bool reads_open(const tn_graph_node *node, const bool *is_open) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && is_open[node->inputs[i]]) return true;
    return false;
}

/* One round over the nodes; answers whether anything was found. */
static bool find_open(const tn_graph *graph, bool *is_open) {
    bool is_any = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        const bool is_after = !node->is_dead && reads_open(node, is_open);
        for (uint32_t i = 0; !node->is_dead && i < node->output_count; i++) {
            const tn_tensor_id id = node->outputs[i];
            if (id == TN_NO_TENSOR || is_open[id]) continue;
            is_open[id] =
                is_after || tn_graph_output_is_sized(node, i) || tn_graph_output_kind(node, i);
            is_any = is_any || is_open[id];
        }
    }
    return is_any;
}

/* Whether inference may compute the node without any data. */
static bool is_free_node(const tn_graph_node *node, const value_knowledge *known) {
    const tn_operator *op = node->entry->op;
    if (node->is_dead || (!op->reference && !tn_graph_node_is_view(node)) ||
        (op->traits & TN_OPERATOR_NO_FOLD) || tn_graph_node_has_kinds(node) ||
        tn_graph_node_has_bodies(node))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_port *port = tn_graph_input_port(op, i);
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        if (known->is_open[node->inputs[i]]) return false;
        if (!(port->flags & TN_PORT_SHAPE_ONLY) && !known->is_free[node->inputs[i]]) return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (tn_graph_output_is_sized(node, i)) return false;
    return true;
}

static bool find_free(const tn_graph *graph, const value_knowledge *known) {
    bool is_any = false;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (!is_free_node(node, known)) continue;
        for (uint32_t i = 0; i < node->output_count; i++) {
            const tn_tensor_id id = node->outputs[i];
            if (id == TN_NO_TENSOR || known->is_free[id]) continue;
            known->is_free[id] = is_any = true;
        }
    }
    return is_any;
}

/* Of a sorted graph one round finds all; of others the rounds are bounded. */
enum { MOST_ROUNDS = 16 };

/* The array is the caller's to free; answers the rounds that it took. */
static tn_status find_all_open(const tn_graph *graph, bool **out_is_open, int *out_rounds) {
    bool *is_open = tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(bool));
    if (!is_open) return tn_fail_memory("finding values that decide shapes");
    for (size_t t = 0; t < graph->tensor_count; t++)
        is_open[t] = graph->tensors[t].kind != 0;
    *out_rounds = 0;
    while (*out_rounds < MOST_ROUNDS && find_open(graph, is_open))
        ++*out_rounds;
    *out_is_open = is_open;
    return TN_OK;
}

/* After too many rounds no value is known. */
/* NOLINTNEXTLINE(readability-non-const-parameter): written through the knowledge */
static tn_status find_all_free(const tn_graph *graph, bool *is_free) {
    int round;
    value_knowledge known = {.is_free = is_free};
    TN_TRY(find_all_open(graph, &known.is_open, &round));
    while (round < MOST_ROUNDS && find_free(graph, &known))
        round++;
    tn_deallocate(graph->allocator, known.is_open);
    return TN_OK;
}

static tn_status mark_wanted(value_marker *marker) {
    const tn_graph *graph = marker->graph;
    if (!has_wanted(graph)) return TN_OK;
    bool *is_free = tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(bool));
    if (!is_free) return tn_fail_memory("finding values that decide shapes");
    for (size_t t = 0; t < graph->tensor_count; t++)
        is_free[t] = graph->tensors[t].is_constant;
    const tn_status status = find_all_free(graph, is_free);
    for (size_t n = 0; status == TN_OK && n < graph->node_count; n++)
        for (uint32_t i = 0; !graph->nodes[n].is_dead && i < graph->nodes[n].input_count; i++)
            if (wants_value(&graph->nodes[n], i) && is_free[graph->nodes[n].inputs[i]])
                mark_tensor(marker, graph->nodes[n].inputs[i]);
    tn_deallocate(graph->allocator, is_free);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * all of them */

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the marker */
static tn_status start(value_marker *marker, const tn_graph *graph, bool *tensors) {
    *marker = (value_marker){.graph = graph, .tensors = tensors};
    marker->queue =
        tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(*marker->queue));
    return marker->queue ? TN_OK : tn_fail_memory("finding values that decide shapes");
}

/* All that is computed to know what was marked. */
static void follow(value_marker *marker, bool *nodes) {
    const tn_graph *graph = marker->graph;
    for (size_t done = 0; done < marker->count; done++) {
        uint32_t producer = graph->tensors[marker->queue[done]].producer;
        if (producer == TN_NO_NODE || graph->nodes[producer].is_dead) continue;
        if (graph->nodes[producer].is_value_step) continue;
        if (nodes) nodes[producer] = true;
        mark_read(marker, &graph->nodes[producer]);
    }
    tn_deallocate(graph->allocator, marker->queue);
}

static bool has_bodies(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead && tn_graph_node_has_bodies(&graph->nodes[n])) return true;
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the marker */
tn_status tn_graph_mark_values(const tn_graph *graph, bool *tensors, bool *nodes) {
    value_marker marker;
    bool *is_open = NULL;
    int rounds;
    if (has_bodies(graph)) TN_TRY(find_all_open(graph, &is_open, &rounds));
    tn_status status = start(&marker, graph, tensors);
    for (size_t n = 0; status == TN_OK && n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) mark_needed(&marker, &graph->nodes[n], is_open);
    tn_deallocate(graph->allocator, is_open);
    if (status != TN_OK) return status;
    status = mark_wanted(&marker);
    follow(&marker, nodes);
    return status;
}

tn_status tn_graph_mark_value(const tn_graph *graph, tn_tensor_id tensor, bool *is_free,
                              bool *tensors, bool *nodes) {
    value_marker marker;
    for (size_t t = 0; t < graph->tensor_count; t++)
        is_free[t] = is_free[t] || graph->tensors[t].is_constant;
    TN_TRY(find_all_free(graph, is_free));
    if (!is_free[tensor]) return TN_OK;
    TN_TRY(start(&marker, graph, tensors));
    mark_tensor(&marker, tensor);
    follow(&marker, nodes);
    return TN_OK;
}
