/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a plan with their fields, and state that only operators can save; see writer.h. */
#include "plan/write/writer.h"

#include "base/status.h"
#include "graph/body.h"
#include "plan/state.h"

#include <string.h>

static tn_status write_value(tn_plan_writer *writer, const tn_tensor *tensor,
                             Tenon__Plan__Value **out_message) {
    Tenon__Plan__Value *message = tn_arena_allocate(writer->arena, 1, sizeof(*message));
    if (!message) return tn_fail_memory("writing a plan");
    tenon__plan__value__init(message);
    message->type = tensor->type;
    message->n_shape = tensor->rank;
    message->shape = tensor->shape;
    message->bytes = tensor->bytes;
    TN_TRY(tn_plan_writer_weight(writer, tensor->data, (size_t)tensor->bytes, &message->offset,
                                 &message->checksum));
    *out_message = message;
    return TN_OK;
}

/* The builder has built it. */
static tn_status write_body(tn_plan_writer *writer, const tn_graph_body *body,
                            Tenon__Plan__Body **out_message) {
    Tenon__Plan__Body *message = tn_arena_allocate(writer->arena, 1, sizeof(*message));
    if (!message) return tn_fail_memory("writing a plan");
    if (!body->plan) return tn_fail(TN_ERROR_INTERNAL, "body '%s' was not built", body->view.name);
    tenon__plan__body__init(message);
    message->bytes = body->plan_bytes;
    message->captures = body->view.capture_count;
    message->name = tn_plan_writer_text(body->view.name);
    message->nodes = (uint32_t)body->graph->node_count;
    message->inputs = body->view.input_count;
    message->outputs = body->view.output_count;
    TN_TRY(tn_plan_writer_weight(writer, body->plan, body->plan_bytes, &message->offset, NULL));
    *out_message = message;
    return TN_OK;
}

/* 1 + the field's index in the table; 0: it has none. */
static uint32_t field_number(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; i < op->field_count; i++)
        if (strcmp(tn_fields_at(op, i)->name, name) == 0) return i + 1;
    return 0;
}

static tn_status write_attribute(tn_plan_writer *writer, const tn_operator *op,
                                 const tn_attribute *from, Tenon__Plan__Attribute *message) {
    void *items = (void *)(uintptr_t)from->items;
    size_t count = (size_t)from->count;
    tenon__plan__attribute__init(message);
    message->name = tn_plan_writer_text(from->name);
    message->type = from->type;
    message->number = field_number(op, from->name);
    switch (from->type) {
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        message->f = from->f;
        return TN_OK;
    case TN_FIELD_STRING:
        message->s = tn_plan_writer_text(from->s);
        return TN_OK;
    case 0:
    case TN_FIELD_BYTES:
        message->raw = (ProtobufCBinaryData){.len = count, .data = items};
        return TN_OK;
    case TN_FIELD_I64S:
        message->n_i64s = count;
        message->i64s = items;
        return TN_OK;
    case TN_FIELD_F32S:
        message->n_f32s = count;
        message->f32s = items;
        return TN_OK;
    case TN_FIELD_F64S:
        message->n_f64s = count;
        message->f64s = items;
        return TN_OK;
    case TN_FIELD_STRINGS:
        message->n_strings = count;
        message->strings = items;
        return TN_OK;
    case TN_FIELD_TENSOR:
        return write_value(writer, from->tensor, &message->tensor);
    case TN_FIELD_GRAPH:
        return write_body(writer, tn_graph_body_of(from->graph), &message->graph);
    default:
        message->i = from->i;
        return TN_OK;
    }
}

/* The fields as the parameters have them. Parameters that `load` may have made say nothing of
 * fields: those operators get back what they were made from. */
static tn_status write_fields(tn_plan_writer *writer, const tn_graph_node *node,
                              Tenon__Plan__Node *message) {
    const tn_operator *op = node->entry->op;
    uint64_t count = node->attribute_count;
    const tn_attribute *const *attributes = node->attributes;
    void **messages;
    if (!op->load && op->field_count > 0)
        TN_TRY(tn_fields_to_attributes(writer->arena, op, node->params, &count, &attributes));
    TN_TRY(
        tn_plan_writer_messages(writer, (size_t)count, sizeof(Tenon__Plan__Attribute), &messages));
    message->attributes = (Tenon__Plan__Attribute **)messages;
    for (uint64_t i = 0; i < count; i++)
        TN_TRY(write_attribute(writer, op, attributes[i],
                               message->attributes[message->n_attributes++]));
    return TN_OK;
}

static tn_status write_state(tn_plan_writer *writer, const tn_graph_node *node,
                             Tenon__Plan__Node *message) {
    const void *data = NULL;
    tn_plan_node_context context = {.runtime = writer->graph->runtime,
                                    .arena = writer->arena,
                                    .entry = node->entry,
                                    .node = node->name};
    if (!node->entry->op->save) return TN_OK;
    TN_TRY(tn_plan_state_save(&context, node->params, &data, &message->state.len));
    message->has_state = true;
    message->state.data = (uint8_t *)(uintptr_t)data;
    return TN_OK;
}

static uint32_t find_operator(const tn_plan_writer *writer, const tn_operator_entry *entry) {
    uint32_t index = 0;
    while (writer->operators[index] != entry) /* the manifest has all of them */
        index++;
    return index;
}

static tn_status write_node(tn_plan_writer *writer, const tn_graph_node *node,
                            Tenon__Plan__Node *message) {
    tenon__plan__node__init(message);
    message->name = tn_plan_writer_text(node->name);
    message->operator_index = find_operator(writer, node->entry);
    message->n_inputs = node->input_count;
    message->n_outputs = node->output_count;
    message->is_exact = node->is_exact;
    message->is_value_step = node->is_value_step;
    if (node->rewrite) message->rewrite = tn_plan_writer_text(node->rewrite);
    TN_TRY(tn_plan_writer_numbers(writer, node->input_count, node->inputs, writer->tensor_numbers,
                                  &message->inputs));
    TN_TRY(tn_plan_writer_numbers(writer, node->output_count, node->outputs, writer->tensor_numbers,
                                  &message->outputs));
    TN_TRY(tn_error_in(write_fields(writer, node, message), .node = node->name));
    return write_state(writer, node, message);
}

tn_status tn_plan_write_nodes(tn_plan_writer *writer) {
    const tn_graph *graph = writer->graph;
    Tenon__Plan__Plan *plan = &writer->plan;
    void **messages;
    TN_TRY(
        tn_plan_writer_messages(writer, writer->node_count, sizeof(Tenon__Plan__Node), &messages));
    plan->nodes = (Tenon__Plan__Node **)messages;
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].is_dead) continue;
        TN_TRY(write_node(writer, &graph->nodes[n], plan->nodes[plan->n_nodes++]));
    }
    return TN_OK;
}
