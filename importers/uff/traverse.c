/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traverses the file's graph: nodes by id, the outputs (what MarkOutput nodes name, or what the
 * caller wants), and the live nodes sorted so that producers come first. Files list nodes in any
 * order.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

static tn_status index_nodes(tn_uff_reader *reader) {
    for (size_t i = 0; i < reader->source->n_nodes; i++) {
        const tn_uff_node *node = reader->source->nodes[i];
        if (!node->id || !*node->id) return tn_fail(TN_ERROR_FORMAT, "node %zu has no id", i);
        if (!node->operation || !*node->operation)
            return tn_error_in(tn_fail(TN_ERROR_FORMAT, "the node names no operation"),
                               .node = node->id);
        if (tn_map_get(reader->nodes, node->id, &(uint64_t){0}))
            return tn_fail(TN_ERROR_FORMAT, "there are two nodes '%s'", node->id);
        TN_TRY(tn_map_set(reader->nodes, node->id, i));
    }
    return TN_OK;
}

/* "id_2" is output 2 of the node "id" when that is a library's; a core operation has one output. */
static bool find_extra(const tn_uff_reader *reader, const char *name, uint32_t *out_node,
                       uint32_t *out_output) {
    const char *underscore = strrchr(name, '_');
    uint64_t index;
    uint32_t output = 0;
    if (!underscore || underscore[1] == 0 || strlen(underscore) > 4) return false;
    for (const char *at = underscore + 1; *at; at++) {
        if (*at < '0' || *at > '9') return false;
        output = output * 10 + (uint32_t)(*at - '0');
    }
    const char *owner = tn_arena_format(reader->arena, "%.*s", (int)(underscore - name), name);
    if (!owner || output == 0 || !tn_map_get(reader->nodes, owner, &index)) return false;
    if (tn_uff_operation_find(reader->source->nodes[index]->operation)) return false;
    *out_node = (uint32_t)index;
    *out_output = output;
    return true;
}

tn_status tn_uff_node_find(const tn_uff_reader *reader, const char *name, uint32_t *out_node,
                           uint32_t *out_output) {
    uint64_t index;
    if (tn_map_get(reader->nodes, name, &index)) {
        *out_node = (uint32_t)index;
        *out_output = 0;
        return TN_OK;
    }
    if (find_extra(reader, name, out_node, out_output)) return TN_OK;
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < reader->source->n_nodes; i++)
        tn_nearest_offer(&nearest, reader->source->nodes[i]->id);
    return tn_error_mend_nearest(tn_fail(TN_ERROR_NOT_FOUND, "there is no node '%s'", name), "; ",
                                 nearest.best);
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

static bool is_mark(const tn_uff_node *node) {
    return strcmp(node->operation, "MarkOutput") == 0;
}

static tn_status add_output(tn_uff_reader *reader, const char *name) {
    uint32_t node, output;
    TN_TRY(tn_uff_node_find(reader, name, &node, &output));
    for (size_t i = 0; i < reader->output_count; i++)
        if (reader->outputs[i].node == node && reader->outputs[i].index == output) return TN_OK;
    reader->outputs[reader->output_count++] = (tn_uff_output){node, output};
    return TN_OK;
}

static tn_status fail_no_outputs(const tn_uff_reader *reader) {
    const tn_uff_graph *graph = reader->source;
    const char *last = NULL;
    for (size_t i = 0; i < graph->n_nodes && !last; i++)
        if (!is_mark(graph->nodes[i])) last = graph->nodes[i]->id;
    if (!last) return tn_fail(TN_ERROR_FORMAT, "the graph has no nodes");
    return tn_fail(TN_ERROR_FORMAT,
                   "the file marks no outputs; name them (--output NAME): '%s' is the node that "
                   "comes first",
                   last);
}

static tn_status find_outputs(tn_uff_reader *reader) {
    const tn_uff_graph *graph = reader->source;
    size_t capacity = reader->options->output_count;
    for (size_t i = 0; i < graph->n_nodes; i++)
        capacity += is_mark(graph->nodes[i]) ? graph->nodes[i]->n_inputs : 0;
    reader->outputs = tn_arena_allocate(reader->arena, capacity, sizeof(*reader->outputs));
    if (!reader->outputs) return tn_fail_memory("the list of outputs");
    for (uint32_t i = 0; i < reader->options->output_count; i++)
        TN_TRY(tn_error_at(add_output(reader, reader->options->outputs[i]), "output"));
    for (size_t i = 0; i < graph->n_nodes && reader->options->output_count == 0; i++) {
        const tn_uff_node *node = graph->nodes[i];
        for (size_t j = 0; is_mark(node) && j < node->n_inputs; j++)
            TN_TRY(tn_error_in(add_output(reader, node->inputs[j]), .node = node->id));
    }
    return reader->output_count > 0 ? TN_OK : fail_no_outputs(reader);
}

/* ----------------------------------------------------------------------------------------------
 * order */

typedef struct step {
    uint32_t node;
    size_t next_input;
} step;

/* The chain of nodes on the stack from the one that was met again. */
static tn_status fail_cycle(const tn_uff_reader *reader, const step *stack, size_t depth,
                            uint32_t node) {
    size_t begin = 0;
    while (begin < depth && stack[begin].node != node)
        begin++;
    return tn_fail(TN_ERROR_FORMAT,
                   "the graph is not free of cycles: node '%s' needs what %zu nodes make of its "
                   "own output",
                   reader->source->nodes[node]->id, depth - begin - 1);
}

static tn_status traverse_from(tn_uff_reader *reader, uint32_t root, step *stack) {
    size_t depth = 0;
    if (reader->states[root].mark == 2) return TN_OK;
    stack[depth++] = (step){.node = root};
    reader->states[root].mark = 1;
    while (depth > 0) {
        step *top = &stack[depth - 1];
        const tn_uff_node *node = reader->source->nodes[top->node];
        if (tn_uff_is_input(reader, node) || top->next_input >= node->n_inputs) {
            reader->states[top->node].mark = 2;
            reader->sorted[reader->sorted_count++] = top->node;
            depth--;
            continue;
        }
        uint32_t input, output;
        tn_status status =
            tn_uff_node_find(reader, node->inputs[top->next_input++], &input, &output);
        if (status == TN_OK && reader->states[input].mark == 1)
            status = fail_cycle(reader, stack, depth, input);
        if (status != TN_OK) return tn_error_in(status, .node = node->id);
        if (reader->states[input].mark == 2) continue;
        reader->states[input].mark = 1;
        stack[depth++] = (step){.node = input};
    }
    return TN_OK;
}

tn_status tn_uff_traverse(tn_uff_reader *reader) {
    const size_t count = reader->source->n_nodes;
    TN_TRY(index_nodes(reader));
    reader->states = tn_arena_allocate(reader->arena, count, sizeof(*reader->states));
    reader->sorted = tn_arena_allocate(reader->arena, count, sizeof(*reader->sorted));
    step *stack = tn_arena_allocate(reader->arena, count, sizeof(*stack));
    if (!reader->states || !reader->sorted || !stack) return tn_fail_memory("the list of nodes");
    TN_TRY(find_outputs(reader));
    for (size_t i = 0; i < reader->output_count; i++)
        TN_TRY(traverse_from(reader, reader->outputs[i].node, stack));
    return TN_OK;
}
