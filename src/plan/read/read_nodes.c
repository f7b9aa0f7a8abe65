/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a plan, in their order: ports, fields (upgraded where an older state version saved
 * them), and state that only the operator can load. See reader.h.
 */
#include "plan/read/reader.h"

#include "base/status.h"
#include "plan/state.h"

#include <inttypes.h>
#include <string.h>

typedef struct node_ports {
    tn_tensor_id *inputs, *outputs;
} node_ports;

/* Numbers as they are in the graph: the plan has them plus one, 0 for absent ones. */
static tn_status read_ports(const tn_plan_reader *reader, size_t count, const uint32_t *indices,
                            tn_tensor_id **out_ids) {
    tn_tensor_id *ids = tn_arena_allocate(reader->scratch, count, sizeof(*ids));
    if (!ids) return tn_fail_memory("the ports of a node");
    for (size_t i = 0; i < count; i++) {
        if (indices[i] > reader->plan->n_tensors)
            return tn_plan_reader_fail("there is no tensor number %" PRIu32, indices[i] - 1);
        ids[i] = indices[i] == 0 ? TN_NO_TENSOR : indices[i] - 1;
    }
    *out_ids = ids;
    return TN_OK;
}

/* Inputs are there already, so there are no cycles; nothing is made twice. */
static tn_status link_ports(tn_plan_reader *reader, const Tenon__Plan__Node *message,
                            node_ports *ports) {
    if (message->n_inputs > UINT16_MAX || message->n_outputs > UINT16_MAX)
        return tn_plan_reader_fail("%zu inputs and %zu outputs are more than a node can have",
                                   message->n_inputs, message->n_outputs);
    TN_TRY(read_ports(reader, message->n_inputs, message->inputs, &ports->inputs));
    TN_TRY(read_ports(reader, message->n_outputs, message->outputs, &ports->outputs));
    for (size_t i = 0; i < message->n_inputs; i++)
        if (ports->inputs[i] != TN_NO_TENSOR && !reader->is_made[ports->inputs[i]])
            return tn_plan_reader_fail("tensor '%s' is read before it is made",
                                       reader->plan->tensors[ports->inputs[i]]->name);
    for (size_t i = 0; i < message->n_outputs; i++) {
        if (ports->outputs[i] == TN_NO_TENSOR) continue;
        if (reader->is_made[ports->outputs[i]])
            return tn_plan_reader_fail("tensor '%s' is made twice",
                                       reader->plan->tensors[ports->outputs[i]]->name);
        reader->is_made[ports->outputs[i]] = true;
    }
    return TN_OK;
}

/* Tensors that an upgrade made are the graph's from here on. */
static tn_status keep_tensors(const tn_plan_reader *reader, uint64_t count,
                              const tn_attribute *const *attributes) {
    for (uint64_t i = 0; i < count; i++) {
        if (attributes[i]->type != TN_FIELD_TENSOR || !attributes[i]->tensor) continue;
        tn_tensor *tensor = (tn_tensor *)(uintptr_t)attributes[i]->tensor;
        const uintptr_t data = (uintptr_t)tensor->data;
        const uintptr_t weights = (uintptr_t)reader->file + reader->weights->offset;
        if (!reader->options->pieces && data >= weights && data - weights < reader->weights->bytes)
            continue;
        tn_tensor *own = tn_arena_copy(reader->scratch, tensor, sizeof(*own));
        if (!own) return tn_fail_memory("an upgraded field");
        own->data = tn_graph_allocate_data(reader->contents.graph, (size_t)tensor->bytes);
        if (!own->data) return tn_fail_memory("an upgraded field");
        if (tensor->bytes > 0) memcpy(own->data, tensor->data, (size_t)tensor->bytes);
        ((tn_attribute *)(uintptr_t)attributes[i])->tensor = own;
    }
    return TN_OK;
}

/* The library lost a field, or does not have it yet, without another state version. The field's
 * number says what stands at its index now: it may have been renamed. */
static tn_status fail_unknown(const tn_plan_node_context *context,
                              const Tenon__Plan__Attribute *message) {
    const tn_operator *op = context->entry->op;
    const tn_field *instead = message->number ? tn_fields_at(op, message->number - 1) : NULL;
    const char *renamed = "";
    if (instead)
        renamed = tn_arena_format(context->arena, " (its number %" PRIu32 " is '%s' here)",
                                  message->number, instead->name);
    return tn_error_in(
        tn_error_mend(tn_fail(TN_ERROR_FORMAT,
                              "operator %s has no field '%s' in library '%s' (version %s)%s",
                              op->name, message->name, context->entry->library->name,
                              context->entry->library->version, renamed ? renamed : ""),
                      ": ",
                      "load the library "
                      "that the plan was built with, or a newer one, or build the plan again"),
        .node = context->node);
}

static tn_status check_names(const tn_plan_node_context *context,
                             const Tenon__Plan__Node *message) {
    const tn_operator *op = context->entry->op;
    for (size_t i = 0; i < message->n_attributes; i++) {
        uint32_t k = 0;
        while (k < op->field_count &&
               strcmp(tn_fields_at(op, k)->name, message->attributes[i]->name) != 0)
            k++;
        if (k == op->field_count) return fail_unknown(context, message->attributes[i]);
    }
    return TN_OK;
}

/* As the plan has them, or upgraded. An upgrade's own failure names the node. */
static tn_status read_fields(tn_plan_reader *reader, const tn_plan_node_context *context,
                             const Tenon__Plan__Node *message, uint64_t *out_count,
                             const tn_attribute *const **out_attributes) {
    const tn_operator *op = context->entry->op;
    uint32_t saved = reader->plan->operators[message->operator_index]->state_version;
    const tn_attribute *const *attributes;
    TN_TRY(
        tn_error_in(tn_plan_read_attributes(reader, message, &attributes), .node = message->name));
    *out_count = message->n_attributes;
    *out_attributes = attributes;
    if (saved == op->state_version) return check_names(context, message);
    TN_TRY(tn_plan_state_upgrade(context, saved, message->n_attributes, attributes, out_count,
                                 out_attributes));
    return keep_tensors(reader, *out_count, *out_attributes);
}

static tn_status read_state(tn_plan_reader *reader, const tn_plan_node_context *context,
                            const Tenon__Plan__Node *message, tn_graph_node *node) {
    const tn_operator *op = context->entry->op;
    if (!message->has_state && !op->load) return TN_OK;
    if (!message->has_state || !op->load)
        return tn_error_in(
            tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                                  "the plan has %s state of operator %s, and library '%s' %s",
                                  message->has_state ? "saved" : "no saved", op->name,
                                  context->entry->library->name,
                                  op->load ? "needs it" : "cannot load it"),
                          ": ", "build the plan again"),
            .node = message->name);
    size_t bytes = op->params_bytes < 8 ? 8 : (size_t)op->params_bytes;
    void *params = tn_arena_allocate(reader->contents.graph->arena, 1, bytes);
    if (!params) return tn_fail_memory("a node's parameters");
    TN_TRY(
        tn_plan_state_load(context, node->params, message->state.data, message->state.len, params));
    node->params = params;
    return TN_OK;
}

static tn_status check_node(tn_plan_reader *reader, const Tenon__Plan__Node *message,
                            node_ports *ports) {
    if (!*message->name) return tn_plan_reader_fail("a node has no name");
    if (message->operator_index >= reader->plan->n_operators)
        return tn_plan_reader_fail("there is no operator number %" PRIu32, message->operator_index);
    const tn_operator *op = reader->operators[message->operator_index]->op;
    if (message->is_exact && !(op->traits & TN_OPERATOR_EXACT))
        return tn_plan_reader_fail("the sizes of operator %s are not exact", op->name);
    return link_ports(reader, message, ports);
}

static tn_status read_node(tn_plan_reader *reader, const Tenon__Plan__Node *message) {
    tn_graph *graph = reader->contents.graph;
    node_ports ports = {0};
    uint64_t count = 0;
    const tn_attribute *const *attributes = NULL;
    TN_TRY(tn_error_in(check_node(reader, message, &ports), .node = message->name));
    tn_plan_node_context context = {.runtime = reader->runtime,
                                    .arena = reader->scratch,
                                    .entry = reader->operators[message->operator_index],
                                    .node = message->name};
    TN_TRY(read_fields(reader, &context, message, &count, &attributes));
    uint32_t index;
    tn_library_retain(context.entry->library);
    tn_status status = tn_graph_add_node_raw(graph, message->name, context.entry, count, attributes,
                                             (uint32_t)message->n_inputs, ports.inputs,
                                             (uint32_t)message->n_outputs, ports.outputs, &index);
    if (status != TN_OK) {
        tn_library_release(context.entry->library);
        return status;
    }
    if (*message->rewrite) {
        graph->nodes[index].rewrite = tn_arena_text(graph->arena, message->rewrite);
        if (!graph->nodes[index].rewrite) return tn_fail_memory("a plan's nodes");
    }
    graph->nodes[index].is_exact = message->is_exact;
    graph->nodes[index].is_value_step = message->is_value_step;
    return read_state(reader, &context, message, &graph->nodes[index]);
}

tn_status tn_plan_read_nodes(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    for (size_t i = 0; i < plan->n_nodes; i++)
        TN_TRY(read_node(reader, plan->nodes[i]));
    return TN_OK;
}
