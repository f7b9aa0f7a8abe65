/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises operators that the network spells with others: "Mul(X, Sigmoid(X))" becomes the
 * operator whose table has this spelling, with the defaults of its fields. Nodes inside must be
 * read by the spelling alone, have no attributes, and leave the input's shape and type.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "plugin/library.h"
#include "plugin/spelling.h"

#include <math.h>
#include <string.h>

/* An operator that has spellings; texts are copies, since the registry is not locked later. */
typedef struct spelled_operator {
    struct spelled_operator *next;
    const char *domain, *name;
    uint32_t since_version;
    const tn_spelling *tree;
} spelled_operator;

typedef struct recognizer {
    tn_pass_context *context;
    tn_arena *arena;
    spelled_operator *operators, **last;
    tn_status status; /* of the visit */
} recognizer;

/* One attempt: what the input is, and the nodes met on the way. */
typedef struct attempt {
    const tn_graph *graph;
    const char *domain;
    tn_tensor_id input;
    uint32_t node_count;
    uint32_t nodes[64];
} attempt;

static tn_status note(recognizer *r, const tn_operator *op) {
    for (uint64_t i = 0; i < op->spelling_count; i++) {
        spelled_operator *item = tn_arena_allocate(r->arena, 1, sizeof *item);
        if (!item) return tn_fail_memory("recognising operators");
        item->domain = tn_arena_text(r->arena, op->domain);
        item->name = tn_arena_text(r->arena, op->name);
        if (!item->domain || !item->name) return tn_fail_memory("recognising operators");
        item->since_version = op->since_version;
        TN_TRY(tn_spelling_parse(r->arena, op->spellings[i], op->inputs[0].name, &item->tree));
        *r->last = item;
        r->last = &item->next;
    }
    return TN_OK;
}

static bool visit(void *user, const tn_operator *op, const tn_library_info *library) {
    recognizer *r = user;
    (void)library;
    r->status = note(r, op);
    return r->status == TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * matching */

static bool is_number(const tn_graph_tensor *tensor, double number) {
    if (!tensor->is_constant || !tn_type_is_float(tensor->type) ||
        tensor->bytes != tn_type_bytes(tensor->type))
        return false;
    const double value = tn_element_get_f64(tensor->data, tensor->type, 0);
    return fabs(value - number) <= 1e-6 * fabs(number);
}

static bool matches(attempt *a, const tn_spelling *tree, tn_tensor_id tensor, bool is_root);

static bool match_arguments(attempt *a, const tn_spelling *tree, const tn_graph_node *node,
                            bool is_swapped) {
    const attempt before = *a;
    for (uint32_t i = 0; i < tree->argument_count; i++) {
        const uint32_t place = is_swapped && i < 2 ? 1 - i : i;
        if (matches(a, tree->arguments[i], node->inputs[place], false)) continue;
        *a = before;
        return false;
    }
    return true;
}

/* Whether the node could stand here, its inputs left aside. */
static bool is_named(const attempt *a, const tn_spelling *tree, const tn_graph_node *node) {
    if (node->is_dead || node->attribute_count > 0 ||
        strcmp(node->entry->op->name, tree->name) != 0 ||
        strcmp(node->entry->op->domain, a->domain) != 0 || node->output_count != 1)
        return false;
    if (node->input_count < tree->argument_count) return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((node->inputs[i] != TN_NO_TENSOR) != (i < tree->argument_count)) return false;
    return true;
}

static bool matches(attempt *a, const tn_spelling *tree, tn_tensor_id tensor, bool is_root) {
    const tn_graph_tensor *item = &a->graph->tensors[tensor];
    if (tree->kind == TN_SPELLING_NUMBER) return is_number(item, tree->number);
    if (tree->kind == TN_SPELLING_INPUT) {
        if (a->input == TN_NO_TENSOR) a->input = tensor;
        return a->input == tensor && !item->is_constant;
    }
    if (item->producer == TN_NO_NODE || (!is_root && item->use_count != 1) ||
        a->node_count == sizeof a->nodes / sizeof *a->nodes)
        return false;
    const tn_graph_node *node = &a->graph->nodes[item->producer];
    if (!is_named(a, tree, node)) return false;
    a->nodes[a->node_count++] = item->producer;
    if (match_arguments(a, tree, node, false)) return true;
    if (tree->argument_count >= 2 && (node->entry->op->traits & TN_OPERATOR_COMMUTATIVE) &&
        match_arguments(a, tree, node, true))
        return true;
    a->node_count--;
    return false;
}

static bool is_same(const tn_pass_context *context, tn_tensor_id a, tn_tensor_id b) {
    if (!tn_pass_is_shaped(context, a) || !tn_pass_is_shaped(context, b)) return false;
    for (int point = 0; point < TN_POINTS; point++) {
        const tn_tensor_storage *left = &context->points[point]->tensors[a].storage;
        const tn_tensor_storage *right = &context->points[point]->tensors[b].storage;
        if (left->tensor.type != right->tensor.type || !tn_shape_equal(&left->shape, &right->shape))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * replacing */

/* The nodes are dead from here on: the new one makes the root's output. */
static tn_status replace(recognizer *r, const attempt *a, uint32_t root,
                         const spelled_operator *item) {
    tn_graph *graph = r->context->graph;
    const tn_operator_entry *entry = NULL;
    const char *name = graph->nodes[root].name;
    const tn_tensor_id output = graph->nodes[root].outputs[0];
    TN_TRY(tn_registry_find_operator_exact(tn_runtime_registry(graph->runtime), item->domain,
                                           item->name, item->since_version, &entry));
    const tn_status status =
        tn_graph_add_node_raw(graph, name, entry, 0, NULL, 1, &a->input, 1, &output, NULL);
    if (status != TN_OK) {
        tn_library_release(entry->library);
        return status;
    }
    for (uint32_t i = 0; i < a->node_count; i++)
        graph->nodes[a->nodes[i]].is_dead = true;
    return tn_pass_names_add(r->context, &r->context->recognized, name);
}

static tn_status recognize_node(recognizer *r, uint32_t index) {
    const tn_graph *graph = r->context->graph;
    const tn_graph_node *node = &graph->nodes[index];
    for (const spelled_operator *item = r->operators; item; item = item->next) {
        attempt a = {.graph = graph, .domain = item->domain, .input = TN_NO_TENSOR};
        if (node->is_dead || node->output_count != 1 || node->outputs[0] == TN_NO_TENSOR ||
            !matches(&a, item->tree, node->outputs[0], true) || a.input == TN_NO_TENSOR ||
            !is_same(r->context, a.input, node->outputs[0]))
            continue;
        return replace(r, &a, index, item);
    }
    return TN_OK;
}

tn_status tn_pass_recognize(tn_pass_context *context) {
    recognizer r = {.context = context, .last = &r.operators};
    tn_status status = TN_OK;
    TN_TRY(tn_arena_create(context->graph->allocator, &r.arena));
    tn_registry_visit_operators(tn_runtime_registry(context->graph->runtime), visit, &r);
    TN_GO(r.status);
    /* From the last on, so that the longest spelling of nested ones is met first. */
    const uint32_t count = (uint32_t)context->graph->node_count;
    for (uint32_t n = count; r.operators && n-- > 0;)
        TN_GO(recognize_node(&r, n));
    TN_GO(tn_graph_sort(context->graph));
done:
    tn_arena_destroy(r.arena);
    return status;
}
