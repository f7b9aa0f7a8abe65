/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a body is, and which inputs of a node it captured; see body.h. */
#include "graph/body.h"
#include "base/status.h"
#include "graph/graph_private.h"

#include <inttypes.h>
#include <string.h>

static uint64_t hash_node(uint64_t hash, const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    hash = tn_hash_add_text(tn_hash_add_text(hash, op->domain), op->name);
    hash = tn_hash_add_u64(hash, op->since_version);
    hash = tn_hash_add(hash, node->inputs, node->input_count * sizeof(tn_tensor_id));
    hash = tn_hash_add(hash, node->outputs, node->output_count * sizeof(tn_tensor_id));
    return node->params ? tn_hash_add_u64(hash, tn_fields_hash(op, node->params)) : hash;
}

/* Numbers of tensors are a graph's own, and those of a copy. */
static uint64_t hash_graph(const tn_graph *graph) {
    uint64_t hash = tn_hash_add_u64(graph->node_count, graph->input_count);
    for (size_t t = 0; t < graph->tensor_count; t++) {
        const tn_graph_tensor *tensor = &graph->tensors[t];
        if (!tensor->is_constant) continue;
        hash = tn_hash_add_u64(tn_hash_add_u64(hash, t), tensor->type);
        hash = tn_hash_add(hash, tensor->shape.extents, tensor->shape.rank * sizeof(int64_t));
    }
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) hash = hash_node(hash, &graph->nodes[n]);
    return tn_hash_add(hash, graph->outputs, graph->output_count * sizeof(tn_tensor_id));
}

static tn_status check_ports(const tn_graph *body, uint32_t capture_count) {
    if (capture_count > body->input_count)
        return tn_fail(TN_ERROR_ARGUMENT, "body '%s' has %zu inputs, and %" PRIu32 " are captured",
                       body->name, body->input_count, capture_count);
    if (body->input_count - capture_count > TN_BODY_MAX_PORTS ||
        body->output_count > TN_BODY_MAX_PORTS || capture_count > UINT16_MAX)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "body '%s' has %zu inputs and %zu outputs; at most %d of each are possible",
                       body->name, body->input_count - capture_count, body->output_count,
                       TN_BODY_MAX_PORTS);
    return TN_OK;
}

/* By input: whether a shape in the body depends on its value. */
static tn_status find_values(tn_arena *arena, const tn_graph *body, const bool **out_values) {
    bool *tensors = tn_arena_allocate(arena, body->tensor_count + 1, sizeof(bool));
    bool *inputs = tn_arena_allocate(arena, body->input_count + 1, sizeof(bool));
    if (!tensors || !inputs) return tn_fail_memory("a body");
    TN_TRY(tn_graph_mark_values(body, tensors, NULL));
    for (size_t i = 0; i < body->input_count; i++)
        inputs[i] = tensors[body->inputs[i]];
    *out_values = inputs;
    return TN_OK;
}

static uint32_t value_inputs(const tn_graph_body *body, size_t count) {
    uint32_t bits = 0;
    for (size_t i = 0; i < count && i < 32; i++)
        bits |= body->decides_shape[i] ? 1u << i : 0;
    return bits;
}

tn_status tn_graph_own_body(tn_graph *graph, tn_graph *body, uint32_t capture_count,
                            tn_graph_body **out_body) {
    struct tn_graph_private *own = graph->private_part;
    TN_TRY(check_ports(body, capture_count));
    tn_graph_body *made = tn_arena_allocate(graph->arena, 1, sizeof(*made));
    tn_body_input *inputs = tn_arena_allocate(graph->arena, body->input_count + 1, sizeof(*inputs));
    if (!made || !inputs) return tn_fail_memory("a body");
    TN_TRY(find_values(graph->arena, body, &made->decides_shape));
    TN_TRY(tn_grow(graph->allocator, (void **)&own->bodies, &own->body_capacity,
                   own->body_count + 1, sizeof(*own->bodies)));
    made->view =
        (tn_body_graph){.size = sizeof(made->view),
                        .input_count = (uint32_t)body->input_count - capture_count,
                        .output_count = (uint32_t)body->output_count,
                        .capture_count = capture_count,
                        .value_inputs = value_inputs(made, body->input_count - capture_count),
                        .name = body->name,
                        .hash = hash_graph(body)};
    made->graph = body;
    made->inputs = inputs;
    own->bodies[own->body_count++] = made;
    *out_body = made;
    return TN_OK;
}

bool tn_graph_has_body(const tn_graph *graph, const tn_body_graph *body) {
    for (size_t i = 0; i < graph->private_part->body_count; i++)
        if (&graph->private_part->bodies[i]->view == body) return true;
    return false;
}

tn_status tn_graph_add_body(tn_graph *graph, tn_graph *body, uint32_t capture_count,
                            const tn_body_graph **out_body) {
    tn_graph_body *made;
    if (!graph || !body || !out_body || graph == body || graph->runtime != body->runtime)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_add_body needs two graphs of one runtime, and out_body");
    TN_TRY(tn_graph_sort(body));
    TN_TRY(tn_graph_own_body(graph, body, capture_count, &made));
    *out_body = &made->view;
    return TN_OK;
}

tn_status tn_graph_copy_body(tn_graph *graph, const tn_body_graph *from,
                             const tn_body_graph **out_body) {
    const tn_graph_body *body = tn_graph_body_of(from);
    tn_graph *copy;
    tn_graph_body *made;
    TN_TRY(tn_graph_copy(body->graph, &copy));
    const tn_status status = tn_graph_own_body(graph, copy, from->capture_count, &made);
    if (status != TN_OK) {
        tn_graph_destroy(copy);
        return status;
    }
    made->plan = body->plan;
    made->plan_bytes = body->plan_bytes;
    *out_body = &made->view;
    return TN_OK;
}

/* What was given for field `index`, where that is a graph; null: nothing. */
static tn_graph_body *body_of_field(const tn_graph_node *node, uint32_t index) {
    const tn_field *field = tn_fields_at(node->entry->op, index);
    if (field->type != TN_FIELD_GRAPH) return NULL;
    for (uint64_t i = 0; i < node->attribute_count; i++) {
        const tn_attribute *attribute = node->attributes[i];
        if (attribute->type == TN_FIELD_GRAPH && strcmp(attribute->name, field->name) == 0)
            return tn_graph_body_of(attribute->graph);
    }
    return NULL;
}

static uint32_t count_captures(const tn_graph_node *node) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->entry->op->field_count; i++) {
        const tn_graph_body *body = body_of_field(node, i);
        if (body) count += body->view.capture_count;
    }
    return count;
}

static tn_status check_captures(const tn_graph_node *node, uint32_t count) {
    const uint32_t ports = node->entry->op->input_count, own = ports > 0 ? ports - 1 : 0;
    if (count > 0 && (node->input_count < own || count > node->input_count - own))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "its bodies capture %" PRIu32 " tensors, but of its %" PRIu32
                       " inputs the first %" PRIu32 " are its own",
                       count, node->input_count, own);
    for (uint32_t i = node->input_count - count; i < node->input_count; i++)
        if (node->inputs[i] == TN_NO_TENSOR)
            return tn_fail(TN_ERROR_ARGUMENT, "a tensor that its bodies capture is absent");
    return TN_OK;
}

tn_status tn_graph_bind_bodies(const tn_graph_node *node) {
    uint32_t left = count_captures(node);
    TN_TRY(check_captures(node, left));
    for (uint32_t i = 0; i < node->entry->op->field_count; i++) {
        tn_graph_body *body = body_of_field(node, i);
        if (!body) continue;
        if (body->is_used)
            return tn_fail(TN_ERROR_ARGUMENT, "body '%s' belongs to another field already",
                           body->view.name);
        body->is_used = true;
        body->view.capture_offset = left;
        left -= body->view.capture_count;
    }
    return TN_OK;
}

tn_graph_body *tn_graph_next_body(const tn_graph_node *node, uint32_t *inout_field) {
    const tn_operator *op = node->entry->op;
    while (node->params && *inout_field < op->field_count) {
        const tn_field *field = tn_fields_at(op, (*inout_field)++);
        if (field->type != TN_FIELD_GRAPH) continue;
        const void *member = (const char *)node->params + field->offset;
        const tn_body_graph *view = *(const tn_body_graph *const *)member;
        if (view) return tn_graph_body_of(view);
    }
    return NULL;
}

bool tn_graph_needs_value(const tn_graph_node *node, uint32_t input) {
    const tn_port *port = tn_graph_input_port(node->entry->op, input);
    const tn_graph_body *body;
    uint32_t field = 0;
    if (!port) return false;
    if (port->flags & TN_PORT_VALUE_NEEDED) return true;
    if (!(port->flags & TN_PORT_VARIADIC)) return false;
    while ((body = tn_graph_next_body(node, &field)) != NULL) {
        const uint32_t first = node->input_count - body->view.capture_offset;
        if (input >= first && input - first < body->view.capture_count &&
            body->decides_shape[body->view.input_count + input - first])
            return true;
    }
    return false;
}

bool tn_graph_node_has_bodies(const tn_graph_node *node) {
    return tn_graph_next_body(node, &(uint32_t){0}) != NULL;
}

void tn_graph_destroy_bodies(tn_graph *graph) {
    struct tn_graph_private *own = graph->private_part;
    for (size_t i = 0; i < own->body_count; i++) {
        tn_graph_destroy(own->bodies[i]->graph);
        tn_deallocate(graph->allocator, own->bodies[i]->own_plan);
    }
    tn_deallocate(graph->allocator, (void *)own->bodies);
}
