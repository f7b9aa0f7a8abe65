/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and bodies as readers add them, and the check of what they give; see reading.h. */
#include "base/status.h"
#include "graph/body.h"
#include "import/reading.h"

#include <inttypes.h>
#include <string.h>

#define ATTRIBUTES_AT_MOST 65536u

TN_STATIC_ASSERT(TN_IMPORT_NO_TENSOR == TN_NO_TENSOR, "numbers of tensors go through as they are");

/* ----------------------------------------------------------------------------------------------
 * attributes */

static tn_status own_tensor(tn_reading *reading, tn_attribute *attribute) {
    const tn_tensor *from = attribute->tensor;
    tn_shape shape;
    size_t bytes;
    if (!from || from->size < offsetof(tn_tensor, shape) + sizeof(from->shape) ||
        (from->rank > 0 && !from->shape) || !tn_type_is_valid(from->type))
        return tn_fail(TN_ERROR_ARGUMENT, "the tensor is incomplete");
    TN_TRY(tn_shape_set(&shape, from->rank, from->shape));
    TN_TRY(tn_format_bytes(TN_LINEAR, from->type, &shape, &bytes));
    if (bytes > 0 && !from->data) return tn_fail(TN_ERROR_ARGUMENT, "the tensor has no data");
    if (bytes == 0 || tn_reading_owns(reading, from->data, bytes)) return TN_OK;
    tn_tensor *copy = tn_arena_copy(reading->arena, from, offsetof(tn_tensor, strides));
    tn_tensor *whole = tn_arena_allocate(reading->arena, 1, sizeof(*whole));
    if (!copy || !whole) return tn_fail_memory("an attribute's tensor");
    memcpy(whole, copy, offsetof(tn_tensor, strides));
    whole->size = sizeof(*whole);
    whole->data = tn_reading_allocate(&reading->import, bytes);
    if (!whole->data) return tn_fail_memory("an attribute's tensor");
    memcpy(whole->data, from->data, bytes);
    attribute->tensor = whole;
    return TN_OK;
}

static const tn_reading_graph *find_body(const tn_reading *reading, const tn_reading_graph *outer,
                                         const void *body) {
    for (const tn_reading_graph *at = reading->bodies; at && outer && body; at = at->next)
        if (at->has_ended && at->body == body && at->outer == outer) return at;
    return NULL;
}

static tn_status check_attribute(tn_reading *reading, const tn_reading_graph *outer,
                                 tn_attribute *attribute) {
    if (attribute->type == TN_FIELD_TENSOR) return own_tensor(reading, attribute);
    if (attribute->type == TN_FIELD_GRAPH && !find_body(reading, outer, attribute->graph))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the body is none that was begun and ended in this node's graph");
    if (attribute->type == TN_FIELD_STRING && !attribute->s)
        return tn_fail(TN_ERROR_ARGUMENT, "the string is null");
    if (attribute->type == TN_FIELD_STRINGS)
        for (uint64_t i = 0; i < attribute->count; i++)
            if (!attribute->items || !((const char *const *)attribute->items)[i])
                return tn_fail(TN_ERROR_ARGUMENT, "string %" PRIu64 " is null", i);
    return TN_OK;
}

tn_status tn_reading_attributes(tn_reading *reading, const tn_reading_graph *outer, uint64_t count,
                                const tn_attribute *const *attributes,
                                const tn_attribute *const **out_attributes) {
    if (count > ATTRIBUTES_AT_MOST || (count > 0 && !attributes))
        return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu64 " attributes, whose list is not there", count);
    const tn_attribute **list = tn_arena_allocate(reading->arena, (size_t)count, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(reading->arena, (size_t)count, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < count; i++) {
        const tn_attribute *from = attributes[i];
        if (!from || from->size < offsetof(tn_attribute, i) || !from->name)
            return tn_fail(TN_ERROR_ARGUMENT, "attribute %" PRIu64 " is null, or has no name", i);
        memcpy(&values[i], from, from->size < sizeof(*from) ? from->size : sizeof(*from));
        values[i].size = sizeof(*values);
        TN_TRY(
            tn_error_at(check_attribute(reading, outer, &values[i]), "attribute '%s'", from->name));
        list[i] = &values[i];
    }
    *out_attributes = list;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* The body in a field; null: there is none. */
static const tn_graph_body *body_of(const tn_field *field, const tn_import_node *node) {
    for (uint64_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i]->type == TN_FIELD_GRAPH &&
            strcmp(node->attributes[i]->name, field->name) == 0)
            return tn_graph_body_of(node->attributes[i]->graph);
    return NULL;
}

/* What the bodies of a node captured goes behind the node's own inputs, in the order of fields. */
static tn_status append_captures(tn_reading *reading, const tn_operator *op, tn_import_node *node) {
    size_t total = 0, at = node->input_count;
    for (uint32_t f = 0; f < op->field_count; f++) {
        const tn_graph_body *body = body_of(tn_fields_at(op, f), node);
        if (body) total += body->view.capture_count;
    }
    if (total == 0) return TN_OK;
    if (op->input_count > 0 && at + 1 < op->input_count) at = op->input_count - 1;
    if (at + total >= UINT16_MAX)
        return tn_fail(TN_ERROR_FORMAT, "its bodies capture %zu tensors", total);
    tn_tensor_id *ids = tn_arena_allocate(reading->arena, at + total, sizeof(*ids));
    if (!ids) return tn_fail_memory("a node");
    for (size_t i = 0; i < at; i++)
        ids[i] = i < node->input_count ? node->inputs[i] : TN_NO_TENSOR;
    for (uint32_t f = 0; f < op->field_count; f++) {
        const tn_graph_body *body = body_of(tn_fields_at(op, f), node);
        for (uint32_t k = 0; body && k < body->view.capture_count; k++)
            ids[at++] = body->outer[k];
    }
    node->inputs = ids;
    node->input_count = (uint32_t)at;
    return TN_OK;
}

static tn_status add_made(const tn_reading_graph *own, const tn_import_node *node,
                          const tn_operator *op) {
    const tn_node_description description = {.size = sizeof(description),
                                             .version = op ? op->since_version : node->version,
                                             .domain = op ? op->domain : node->domain,
                                             .op = op ? op->name : node->op_name,
                                             .name = node->name,
                                             .input_count = node->input_count,
                                             .output_count = node->output_count,
                                             .inputs = node->inputs,
                                             .output_names = node->output_names,
                                             .attribute_count = node->attribute_count,
                                             .attributes = node->attributes};
    return tn_graph_add_node(own->graph, &description, node->out_outputs);
}

static tn_status add_raw(const tn_reading_graph *own, const tn_import_node *node,
                         const tn_operator_entry *entry) {
    tn_library_retain(entry->library);
    const tn_status status = tn_graph_add_node_raw(
        own->graph, node->name, entry, node->attribute_count, node->attributes, node->input_count,
        node->inputs, node->output_count, node->outputs, NULL);
    if (status != TN_OK) tn_library_release(entry->library);
    return status;
}

static tn_status fail_at_node(tn_status status, const tn_import_node *node, const tn_operator *op) {
    const char *name = op ? op->name : node->op_name;
    return tn_error_in(status, .node = node->name && *node->name ? node->name : name, .op = name);
}

/* `node` is the host's own copy. */
static tn_status add_node(tn_reading_graph *own, tn_import_node *node) {
    tn_reading *reading = tn_reading_of(own->view.import);
    const tn_operator *op = node->op;
    if (op && !tn_reading_entry(reading, op))
        return tn_fail(TN_ERROR_ARGUMENT, "the operator is none that find_operator gave");
    if (!op && (!node->op_name || !*node->op_name))
        return tn_fail(TN_ERROR_ARGUMENT, "a node needs an operator");
    if ((node->input_count > 0 && !node->inputs) || node->output_count > UINT16_MAX ||
        node->input_count > (1u << 24))
        return fail_at_node(tn_fail(TN_ERROR_ARGUMENT, "its tensors are counted, but not there"),
                            node, op);
    const bool has_bodies = own == &reading->root ? reading->bodies != NULL : true;
    if (!op && (node->outputs || has_bodies)) {
        const char *domain = node->domain ? node->domain : "";
        const uint32_t version =
            node->version ? node->version : tn_graph_opset_version(own->graph, domain);
        TN_TRY(tn_reading_find_operator(&reading->import, domain, node->op_name, version, &op));
    }
    tn_status status = tn_reading_attributes(reading, own, node->attribute_count, node->attributes,
                                             &node->attributes);
    if (status == TN_OK && op) status = append_captures(reading, op, node);
    if (status != TN_OK) return fail_at_node(status, node, op);
    own->is_checked = false;
    return node->outputs || (op && node->output_count == 0)
               ? add_raw(own, node, tn_reading_entry(reading, op))
               : add_made(own, node, op);
}

tn_status tn_reading_add_node(tn_import_graph *graph, const tn_import_node *node) {
    tn_import_node own = {0};
    if (!node || node->size < offsetof(tn_import_node, attribute_count) || node->size > 65536)
        return tn_fail(TN_ERROR_ARGUMENT, "a node needs a description with its size");
    memcpy(&own, node, node->size < sizeof(own) ? node->size : sizeof(own));
    return add_node(tn_reading_graph_of(graph), &own);
}

/* ----------------------------------------------------------------------------------------------
 * bodies */

tn_status tn_reading_begin_body(tn_import_graph *outer, const char *name,
                                tn_import_graph **out_body) {
    tn_reading *reading = tn_reading_of(outer->import);
    tn_reading_graph *body = tn_arena_allocate(reading->arena, 1, sizeof(*body));
    uint32_t depth = 0;
    if (!body) return tn_fail_memory("a body");
    for (const tn_reading_graph *at = tn_reading_graph_of(outer); at; at = at->outer)
        depth++;
    if (depth > TN_BODY_DEPTH)
        return tn_fail(TN_ERROR_FORMAT, "bodies are nested more than %u levels deep",
                       TN_BODY_DEPTH);
    *body = (tn_reading_graph){
        .view.import = outer->import, .outer = tn_reading_graph_of(outer), .next = reading->bodies};
    TN_TRY(tn_graph_create(reading->runtime, name ? name : "", &body->graph));
    reading->bodies = body;
    *out_body = &body->view;
    return TN_OK;
}

tn_status tn_reading_end_body(tn_import_graph *body, uint32_t captured_count,
                              const tn_import_tensor *captured, const void **out_graph) {
    tn_reading_graph *own = tn_reading_graph_of(body);
    tn_reading *reading = tn_reading_of(body->import);
    tn_graph_body *made;
    if (!own->outer || own->has_ended || !out_graph || (captured_count > 0 && !captured) ||
        captured_count > own->graph->input_count)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "a body that is ended was begun, and captured what it has "
                       "inputs for");
    for (uint32_t i = 0; i < captured_count; i++)
        if (captured[i] >= own->outer->graph->tensor_count)
            return tn_fail(TN_ERROR_ARGUMENT, "the graph around it has no tensor number %" PRIu32,
                           captured[i]);
    /* with nodes missing there is no order */
    if (reading->missing.count == 0 && !own->is_checked) TN_TRY(tn_graph_sort(own->graph));
    tn_tensor_id *ids = tn_arena_copy(reading->arena, captured, captured_count * sizeof(*captured));
    if (!ids && captured_count > 0) return tn_fail_memory("a body");
    TN_TRY(tn_graph_own_body(own->outer->graph, own->graph, captured_count, &made));
    made->outer = ids;
    own->has_ended = true;
    own->body = *out_graph = &made->view;
    return TN_OK;
}

tn_status tn_reading_check(tn_import_graph *graph) {
    tn_reading_graph *own = tn_reading_graph_of(graph);
    TN_TRY(tn_graph_sort(own->graph));
    own->is_checked = true;
    return TN_OK;
}
