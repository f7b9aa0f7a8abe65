/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one node of those that compute the same. One traversal of the sorted graph numbers values:
 * the value of a tensor is the first tensor that is known to hold the same, so that chains of equal
 * nodes meet too. Each node is looked up by an outline first, which says of constants only what
 * type and shape they are; their content is read where two outlines are the same, and once each:
 * a network without equal nodes costs a look-up a node. Not what outputs of the graph are made by:
 * they keep their names, so where several are equal each keeps its node.
 */
#include "tensor/quantization.h"
#include "base/hash.h"
#include "base/status.h"
#include "builder/passes/passes.h"

#include <string.h>

/* Nodes of the same hash that are looked at before a node is left alone: more are an attempt. */
#define TRIED_AT_MOST 8

typedef struct equal_slot {
    uint64_t hash;
    uint32_t node; /* TN_NO_NODE: free */
} equal_slot;

typedef struct equal_table {
    equal_slot *slots;
    size_t mask;
} equal_table;

typedef struct equal_merger {
    tn_pass_context *context;
    tn_graph *graph;
    tn_arena *arena;
    tn_tensor_id *values;        /* by tensor */
    uint64_t *contents;          /* by tensor: hash of a constant's elements; 0: not read yet */
    bool *is_output;             /* by tensor: of the graph */
    uint32_t *firsts;            /* by node: the first one that computes the same */
    bool *is_known;              /* by node: stands in `nodes` */
    uint32_t *kept;              /* by first node: whose outputs all read; TN_NO_NODE: its own */
    equal_table outlines, nodes; /* the first node of an outline; those whose constants count */
} equal_merger;

/* ----------------------------------------------------------------------------------------------
 * tables */

static tn_status make_table(equal_merger *merger, equal_table *table) {
    size_t count = 16;
    while (count / 2 < merger->graph->node_count)
        count *= 2;
    table->slots = tn_arena_allocate(merger->arena, count, sizeof *table->slots);
    if (!table->slots) return tn_fail_memory("merging equal nodes");
    for (size_t i = 0; i < count; i++)
        table->slots[i].node = TN_NO_NODE;
    table->mask = count - 1;
    return TN_OK;
}

static void add_to_table(const equal_table *table, uint64_t hash, uint32_t node) {
    size_t at = (size_t)hash & table->mask;
    while (table->slots[at].node != TN_NO_NODE)
        at = (at + 1) & table->mask;
    table->slots[at] = (equal_slot){.hash = hash, .node = node};
}

/* ----------------------------------------------------------------------------------------------
 * what may be merged */

/* Whether a tensor is compared by its content: others are equal where they are one. */
static bool is_compared(const tn_graph_tensor *tensor) {
    return tensor->is_constant && !tensor->refit_name;
}

/* Whether the operator's table says all that its nodes depend on, and that there is nothing that
 * changes from one run to the next. */
static bool is_pure(const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    bool has_inputs = false;
    if ((op->traits & TN_OPERATOR_NO_FOLD) || (!op->reference && !tn_graph_node_is_view(node)) ||
        op->save || op->load || op->destroy_params ||
        (op->params_bytes > 0 && op->field_count == 0))
        return false;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (tn_graph_output_port(op, i)->flags & TN_PORT_ALIAS) return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        has_inputs = has_inputs || node->inputs[i] != TN_NO_TENSOR;
    return has_inputs || (op->traits & TN_OPERATOR_CONSTANT);
}

static uint64_t hash_outline(const equal_merger *merger, const tn_graph_node *node) {
    const tn_graph *graph = merger->graph;
    uint64_t hash = tn_hash_add_u64(node->input_count, (uint64_t)(uintptr_t)node->entry->op);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = node->inputs[i];
        const tn_graph_tensor *tensor = id == TN_NO_TENSOR ? NULL : &graph->tensors[id];
        if (!tensor || !is_compared(tensor)) {
            hash = tn_hash_add_u64(hash, tensor ? merger->values[id] : TN_NO_TENSOR);
            continue;
        }
        hash = tn_hash_add_u64(hash, (uint64_t)tensor->type << 32 | tensor->shape.rank);
        hash = tn_hash_add(hash, tensor->shape.extents,
                           tensor->shape.rank * sizeof *tensor->shape.extents);
    }
    return node->params ? tn_hash_add_u64(hash, tn_fields_hash(node->entry->op, node->params))
                        : hash;
}

static uint64_t hash_content(const equal_merger *merger, tn_tensor_id id) {
    const tn_graph_tensor *tensor = &merger->graph->tensors[id];
    if (tensor->note) return tensor->note->checksum;
    if (merger->contents[id] == 0) merger->contents[id] = tn_hash(tensor->data, tensor->bytes) | 1;
    return merger->contents[id];
}

static uint64_t hash_node(const equal_merger *merger, uint64_t outline, uint32_t index) {
    const tn_graph_node *node = &merger->graph->nodes[index];
    uint64_t hash = outline;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR &&
            is_compared(&merger->graph->tensors[node->inputs[i]]))
            hash = tn_hash_add_u64(hash, hash_content(merger, node->inputs[i]));
    return hash;
}

/* ----------------------------------------------------------------------------------------------
 * comparing */

static bool is_same_input(const equal_merger *merger, tn_tensor_id a, tn_tensor_id b) {
    if (a == b) return true;
    if (a == TN_NO_TENSOR || b == TN_NO_TENSOR) return false;
    const tn_graph_tensor *one = &merger->graph->tensors[a], *other = &merger->graph->tensors[b];
    if (!is_compared(one) || !is_compared(other)) return merger->values[a] == merger->values[b];
    return one->type == other->type && tn_shape_equal(&one->shape, &other->shape) &&
           one->bytes == other->bytes && hash_content(merger, a) == hash_content(merger, b) &&
           tn_quantization_equal(one->quantization, other->quantization, one->type) &&
           (one->data == other->data || one->bytes == 0 ||
            memcmp(one->data, other->data, one->bytes) == 0);
}

static tn_type inferred_type(const equal_merger *merger, tn_tensor_id tensor) {
    const tn_inference *point = merger->context->points[1];
    if (tensor >= point->tensor_count || !point->tensors[tensor].is_known) return TN_NONE;
    return point->tensors[tensor].storage.tensor.type;
}

static bool is_same_output(const equal_merger *merger, tn_tensor_id a, tn_tensor_id b) {
    if (a == TN_NO_TENSOR || b == TN_NO_TENSOR) return a == b;
    const tn_graph_tensor *one = &merger->graph->tensors[a], *other = &merger->graph->tensors[b];
    return one->type == other->type && inferred_type(merger, a) == inferred_type(merger, b) &&
           tn_quantization_equal(one->quantization, other->quantization, one->type);
}

static bool is_same_node(const equal_merger *merger, uint32_t a, uint32_t b) {
    const tn_graph_node *one = &merger->graph->nodes[a], *other = &merger->graph->nodes[b];
    if (one->entry->op != other->entry->op || one->input_count != other->input_count ||
        one->output_count != other->output_count)
        return false;
    for (uint32_t i = 0; i < one->output_count; i++)
        if (!is_same_output(merger, one->outputs[i], other->outputs[i])) return false;
    for (uint32_t i = 0; i < one->input_count; i++)
        if (!is_same_input(merger, one->inputs[i], other->inputs[i])) return false;
    return tn_fields_equal(one->entry->op, one->params, other->params);
}

/* ----------------------------------------------------------------------------------------------
 * the traversal */

/* The node that stands in a table under this hash; of several the one that is the same as `index`,
 * where that is asked for. TN_NO_NODE: none. */
static uint32_t find_equal(const equal_merger *merger, const equal_table *table, uint64_t hash,
                           uint32_t index, bool must_be_same) {
    size_t at = (size_t)hash & table->mask;
    uint32_t tried = 0;
    for (; table->slots[at].node != TN_NO_NODE; at = (at + 1) & table->mask) {
        const equal_slot *slot = &table->slots[at];
        if (slot->hash != hash) continue;
        if (!must_be_same || is_same_node(merger, slot->node, index)) return slot->node;
        if (++tried == TRIED_AT_MOST) break;
    }
    return TN_NO_NODE;
}

static uint32_t find_first(const equal_merger *merger, uint32_t index) {
    const uint64_t outline = hash_outline(merger, &merger->graph->nodes[index]);
    const uint32_t like = find_equal(merger, &merger->outlines, outline, index, false);
    if (like == TN_NO_NODE) {
        add_to_table(&merger->outlines, outline, index);
        return index;
    }
    if (!merger->is_known[like]) {
        merger->is_known[like] = true;
        add_to_table(&merger->nodes, hash_node(merger, outline, like), like);
    }
    const uint64_t hash = hash_node(merger, outline, index);
    const uint32_t first = find_equal(merger, &merger->nodes, hash, index, true);
    if (first != TN_NO_NODE) return first;
    merger->is_known[index] = true;
    add_to_table(&merger->nodes, hash, index);
    return index;
}

static void number_values(const equal_merger *merger) {
    const tn_graph *graph = merger->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        merger->firsts[n] = is_pure(node) ? find_first(merger, n) : n;
        const tn_graph_node *first = &graph->nodes[merger->firsts[n]];
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR)
                merger->values[node->outputs[i]] = first->outputs[i];
    }
}

/* ----------------------------------------------------------------------------------------------
 * merging */

static bool makes_output(const equal_merger *merger, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && merger->is_output[node->outputs[i]]) return true;
    return false;
}

/* Of equal nodes the first that makes an output of the graph is kept, or else the first. */
static tn_status choose_kept(const equal_merger *merger) {
    const tn_graph *graph = merger->graph;
    tn_pass_context *context = merger->context;
    for (uint32_t n = 0; n < graph->node_count; n++)
        merger->kept[n] = TN_NO_NODE;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const uint32_t first = merger->firsts[n];
        if (merger->kept[first] == TN_NO_NODE && makes_output(merger, &graph->nodes[n]))
            merger->kept[first] = n;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        tn_graph_node *node = &graph->nodes[n];
        const uint32_t first = merger->firsts[n];
        const uint32_t kept = merger->kept[first] == TN_NO_NODE ? first : merger->kept[first];
        if (n == kept) continue;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR)
                context->stand_ins[node->outputs[i]] = graph->nodes[kept].outputs[i];
        if (makes_output(merger, node)) continue;
        node->is_dead = true;
        TN_TRY(tn_pass_names_add(context, &context->merged, node->name));
    }
    return TN_OK;
}

static void replace_reads(const equal_merger *merger) {
    const tn_pass_context *context = merger->context;
    for (size_t n = 0; n < merger->graph->node_count; n++) {
        const tn_graph_node *node = &merger->graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] < context->stand_in_count)
                node->inputs[i] = context->stand_ins[node->inputs[i]];
    }
}

static tn_status create_merger(equal_merger *merger) {
    const tn_graph *graph = merger->graph;
    tn_pass_context *context = merger->context;
    TN_TRY(tn_arena_create(graph->allocator, &merger->arena));
    tn_arena *arena = merger->arena;
    const size_t tensors = graph->tensor_count + 1, nodes = graph->node_count + 1;
    merger->values = tn_arena_allocate(arena, tensors, sizeof *merger->values);
    merger->contents = tn_arena_allocate(arena, tensors, sizeof *merger->contents);
    merger->is_output = tn_arena_allocate(arena, tensors, sizeof *merger->is_output);
    merger->firsts = tn_arena_allocate(arena, nodes, sizeof *merger->firsts);
    merger->is_known = tn_arena_allocate(arena, nodes, sizeof *merger->is_known);
    merger->kept = tn_arena_allocate(arena, nodes, sizeof *merger->kept);
    tn_deallocate(graph->allocator, context->stand_ins);
    context->stand_in_count = 0;
    context->stand_ins = tn_allocate_zero(graph->allocator, tensors, sizeof *context->stand_ins);
    if (!merger->values || !merger->contents || !merger->is_output || !merger->firsts ||
        !merger->is_known || !merger->kept || !context->stand_ins)
        return tn_fail_memory("merging equal nodes");
    for (tn_tensor_id t = 0; t < graph->tensor_count; t++)
        merger->values[t] = context->stand_ins[t] = t;
    context->stand_in_count = graph->tensor_count;
    for (size_t i = 0; i < graph->output_count; i++)
        merger->is_output[graph->outputs[i]] = true;
    TN_TRY(make_table(merger, &merger->outlines));
    return make_table(merger, &merger->nodes);
}

tn_status tn_pass_merge_equal(tn_pass_context *context) {
    equal_merger merger = {.context = context, .graph = context->graph};
    tn_status status = TN_OK;
    TN_GO(create_merger(&merger));
    number_values(&merger);
    TN_GO(choose_kept(&merger));
    replace_reads(&merger);
    TN_GO(tn_graph_sort(context->graph));
done:
    tn_arena_destroy(merger.arena);
    return status;
}
