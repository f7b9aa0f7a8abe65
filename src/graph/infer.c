/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference, node by node in the graph's order: bind types, call the shape rule, check what it
 * wrote, and compute the node when its value decides shapes. It runs at every reshape, so it keeps
 * its memory. Inputs are in infer_inputs.c, types in infer_types.c, the call of a reference in
 * evaluate.c.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"

#include <inttypes.h>
#include <string.h>

/* Where the data of tensors without elements points. */
static const _Alignas(64) unsigned char no_elements[64];

static tn_status make_scratch(tn_inference *inference) {
    const tn_graph *graph = inference->graph;
    size_t inputs = 0, outputs = 0, types = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->input_count > inputs) inputs = node->input_count;
        if (node->output_count > outputs) outputs = node->output_count;
        if (node->entry->variable_count > types) types = node->entry->variable_count;
    }
    const tn_allocator *allocator = inference->allocator;
    struct tn_inference_scratch *scratch = tn_allocate_zero(allocator, 1, sizeof(*scratch));
    if (!scratch) return tn_fail_memory("an inference");
    inference->scratch = scratch;
    scratch->inputs = tn_allocate_zero(allocator, inputs + 1, sizeof(*scratch->inputs));
    scratch->hidden = tn_allocate_zero(allocator, inputs + 1, sizeof(*scratch->hidden));
    scratch->outputs = tn_allocate_zero(allocator, outputs + 1, sizeof(*scratch->outputs));
    scratch->types = tn_allocate_zero(allocator, types + 1, sizeof(*scratch->types));
    if (!scratch->inputs || !scratch->hidden || !scratch->outputs || !scratch->types)
        return tn_fail_memory("an inference");
    return tn_infer_find_names(graph, scratch);
}

static tn_status set_constants(tn_inference *inference) {
    const tn_graph *graph = inference->graph;
    for (size_t i = 0; i < graph->tensor_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[i];
        tn_tensor_storage *storage = &inference->tensors[i].storage;
        storage->tensor.name = tensor->name;
        if (!tensor->is_constant) continue;
        TN_TRY(tn_tensor_init(storage, tensor->type, TN_LINEAR, &tensor->shape));
        storage->tensor.name = tensor->name;
        storage->tensor.quantization = tensor->quantization;
        storage->tensor.data = (void *)(uintptr_t)(tensor->bytes > 0 ? tensor->data : no_elements);
        inference->tensors[i].is_known = true;
    }
    return TN_OK;
}

tn_status tn_inference_init(tn_inference *inference, const tn_graph *graph,
                            const tn_inference_plan *plan) {
    *inference = (tn_inference){.graph = graph, .plan = plan, .allocator = graph->allocator};
    inference->tensor_count = graph->tensor_count;
    inference->tensors = tn_allocate_zero(inference->allocator, graph->tensor_count + 1,
                                          sizeof(*inference->tensors));
    tn_status status = inference->tensors ? TN_OK : tn_fail_memory("an inference");
    if (status == TN_OK) status = make_scratch(inference);
    if (status == TN_OK) status = set_constants(inference);
    if (status != TN_OK) tn_inference_deinit(inference);
    return status;
}

void tn_inference_deinit(tn_inference *inference) {
    const tn_allocator *allocator = inference->allocator;
    if (!allocator) return;
    if (inference->tensors)
        for (size_t i = 0; i < inference->tensor_count; i++)
            tn_deallocate(allocator, inference->tensors[i].buffer);
    tn_deallocate(allocator, inference->tensors);
    struct tn_inference_scratch *scratch = inference->scratch;
    if (scratch) {
        tn_deallocate(allocator, (void *)scratch->inputs);
        tn_deallocate(allocator, scratch->hidden);
        tn_deallocate(allocator, (void *)scratch->outputs);
        tn_deallocate(allocator, scratch->types);
        tn_deallocate(allocator, scratch->names);
        tn_deallocate(allocator, scratch);
    }
    *inference = (tn_inference){0};
}

tn_status tn_infer_reserve_value(tn_inference *inference, tn_tensor_id id) {
    tn_inferred_tensor *inferred = &inference->tensors[id];
    size_t bytes = (size_t)inferred->storage.tensor.bytes;
    if (bytes > TN_INFERENCE_VALUE_BYTES && !inference->plan->is_whole)
        return tn_fail(TN_ERROR_MEMORY,
                       "the value of tensor '%s' decides shapes and would take %zu bytes; at most "
                       "%zu are taken for such a value",
                       inference->graph->tensors[id].name, bytes, TN_INFERENCE_VALUE_BYTES);
    if (bytes < 64) bytes = 64;
    if (inferred->buffer_bytes < bytes) {
        tn_deallocate(inference->allocator, inferred->buffer);
        inferred->buffer_bytes = 0;
        inferred->buffer = tn_allocate_aligned(inference->allocator, bytes, 64);
        if (!inferred->buffer) return tn_fail_memory("a value that decides shapes");
        inferred->buffer_bytes = bytes;
    }
    inferred->storage.tensor.data = inferred->buffer;
    return TN_OK;
}

/* Lays out the inputs; the shape rule sees values where its ports need them, the reference all but
 * those of which only the shape is read. Answers false when an input is not known. */
static bool gather_inputs(tn_inference *inference, const tn_graph_node *node, bool is_infer) {
    struct tn_inference_scratch *scratch = inference->scratch;
    for (uint32_t i = 0; i < node->input_count; i++) {
        scratch->inputs[i] = NULL;
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *inferred = &inference->tensors[node->inputs[i]];
        if (!inferred->is_known && !inferred->is_described) return false;
        scratch->inputs[i] = &inferred->storage.tensor;
        if (inferred->is_described) continue;
        uint32_t flags = tn_graph_input_port(node->entry->op, i)->flags;
        bool is_shown = is_infer ? tn_graph_needs_value(node, i) : !(flags & TN_PORT_SHAPE_ONLY);
        if (is_shown || !inferred->storage.tensor.data) continue;
        scratch->hidden[i] = inferred->storage.tensor;
        scratch->hidden[i].data = NULL;
        scratch->inputs[i] = &scratch->hidden[i];
    }
    return true;
}

static void lay_out_outputs(tn_inference *inference, const tn_graph_node *node) {
    struct tn_inference_scratch *scratch = inference->scratch;
    for (uint32_t i = 0; i < node->output_count; i++) {
        scratch->outputs[i] = NULL;
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        tn_tensor_storage *storage = &inference->tensors[id].storage;
        storage->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                                      .kind = tn_graph_output_kind(node, i),
                                      .type = tn_infer_output_type(node->entry, i, scratch->types),
                                      .shape = storage->shape.extents,
                                      .strides = storage->strides,
                                      .name = inference->graph->tensors[id].name};
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            storage->shape.extents[axis] = -1;
        inference->tensors[id].is_known = inference->tensors[id].is_described = false;
        scratch->outputs[i] = &storage->tensor;
    }
}

/* The shape that a callback wrote, checked. */
static tn_status read_shape(const tn_inferred_tensor *inferred, const tn_port *port,
                            tn_shape *out_shape) {
    const tn_tensor *tensor = &inferred->storage.tensor;
    if (tensor->shape != inferred->storage.shape.extents)
        return tn_fail(TN_ERROR_PLUGIN, "the pointer to output '%s' shape was replaced",
                       port->name);
    if (tensor->rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_PLUGIN, "output '%s' was given rank %" PRIu32 "; at most %d fits",
                       port->name, tensor->rank, TN_MAX_RANK);
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        if (tensor->shape[axis] < 0)
            return tn_fail(TN_ERROR_PLUGIN,
                           "output '%s' was given the extent %" PRId64 " at axis %" PRIu32,
                           port->name, tensor->shape[axis], axis);
    return tn_shape_set(out_shape, tensor->rank, tensor->shape);
}

static tn_status check_view(const tn_inference *inference, const tn_port *port,
                            const tn_tensor *output) {
    if (!(port->flags & TN_PORT_VIEW) || port->alias == 0) return TN_OK;
    const tn_tensor *input = inference->scratch->inputs[port->alias - 1];
    if (input && input->bytes == output->bytes && input->type == output->type) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN,
                   "output '%s' is a view of input %" PRIu32 ", but the shape rule gave it %" PRIu64
                   " bytes of %s instead of %" PRIu64 " of %s",
                   port->name, port->alias - 1, output->bytes, tn_type_name(output->type),
                   input ? input->bytes : 0, input ? tn_type_name(input->type) : "none");
}

static tn_status take_output(tn_inference *inference, const tn_graph_node *node, uint32_t index) {
    tn_tensor_id id = node->outputs[index];
    tn_inferred_tensor *inferred = &inference->tensors[id];
    const tn_port *port = tn_graph_output_port(node->entry->op, index);
    tn_shape shape;
    TN_TRY(tn_infer_check_output(node->entry, index, inferred->storage.tensor.type,
                                 inference->scratch->types));
    if (tn_graph_output_kind(node, index))
        return tn_infer_take_items(inferred, port, tn_graph_output_kind(node, index));
    if (!tn_infer_guess_open(node, inference->scratch->inputs, &inferred->storage.tensor))
        return TN_OK; /* the run will know */
    TN_TRY(read_shape(inferred, port, &shape));
    TN_TRY(tn_tensor_init(&inferred->storage, inferred->storage.tensor.type, TN_LINEAR, &shape));
    inferred->storage.tensor.name = inference->graph->tensors[id].name;
    inferred->storage.tensor.quantization = inference->graph->tensors[id].quantization;
    TN_TRY(check_view(inference, port, &inferred->storage.tensor));
    inferred->is_known = true;
    return TN_OK;
}

static tn_status call_shape_rule(tn_inference *inference, const tn_graph_node *node) {
    struct tn_inference_scratch *scratch = inference->scratch;
    tn_runtime *runtime = inference->graph->runtime;
    tn_body_executor bodies = {.infer = tn_body_infer};
    tn_call_scope scope = {
        .runtime = runtime, .library = node->entry->library->name, .bodies = &bodies};
    tn_call call = {.size = sizeof(call),
                    .input_count = node->input_count,
                    .output_count = node->output_count,
                    .threads = 1,
                    .host = tn_runtime_host(runtime),
                    .op = node->entry->op,
                    .params = node->params,
                    .user = node->entry->op->user,
                    .inputs = scratch->inputs,
                    .outputs = scratch->outputs,
                    .node = node->name,
                    .host_private = &scope};
    return tn_call_invoke(&call, node->entry->op->infer, "infer");
}

static bool is_view_only(const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        if (node->outputs[i] != TN_NO_TENSOR && (!(port->flags & TN_PORT_VIEW) || !port->alias))
            return false;
    }
    return true;
}

static void share_values(tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        inference->tensors[node->outputs[i]].storage.tensor.data =
            inference->scratch->inputs[port->alias - 1]->data;
    }
}

/* The true shapes of outputs that the reference sized. */
static tn_status take_sizes(tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        if (node->outputs[i] == TN_NO_TENSOR || !(port->flags & TN_PORT_SIZED_BY_RUN)) continue;
        tn_inferred_tensor *inferred = &inference->tensors[node->outputs[i]];
        tn_tensor bound = inferred->storage.tensor;
        tn_shape shape;
        TN_TRY(read_shape(inferred, port, &shape));
        TN_TRY(tn_tensor_init(&inferred->storage, bound.type, TN_LINEAR, &shape));
        if (inferred->storage.tensor.bytes > bound.bytes)
            return tn_fail(TN_ERROR_PLUGIN,
                           "output '%s' became larger (%" PRIu64 " bytes) than the shape rule's "
                           "bound (%" PRIu64 ")",
                           port->name, inferred->storage.tensor.bytes, bound.bytes);
        inferred->storage.tensor.data = bound.data;
        inferred->storage.tensor.name = bound.name;
        inferred->storage.tensor.quantization = bound.quantization;
    }
    return TN_OK;
}

static tn_status check_values(const tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor *input = inference->scratch->inputs[i];
        if (!input || input->data) continue;
        if (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY) continue;
        return tn_fail(TN_ERROR_STATE,
                       "the value of tensor '%s', which decides shapes, is not known", input->name);
    }
    return TN_OK;
}

/* Gets ready to compute a node whose value decides shapes; answers whether there is anything to
 * compute. */
static tn_status prepare_values(tn_inference *inference, const tn_graph_node *node,
                                bool *out_is_needed) {
    *out_is_needed = false;
    gather_inputs(inference, node, false);
    TN_TRY(check_values(inference, node));
    if (is_view_only(node)) {
        share_values(inference, node);
        return TN_OK;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            TN_TRY(tn_infer_reserve_value(inference, node->outputs[i]));
    *out_is_needed = true;
    return TN_OK;
}

/* The place of a failure that is not a callback's own (tn_call_invoke names those). */
static tn_status at_node(tn_status status, const tn_graph_node *node) {
    tn_error_at(status, "operator %s", node->entry->op->name);
    return tn_error_at(status, "node '%s'", node->name);
}

tn_status tn_inference_node(tn_inference *inference, uint32_t index) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    struct tn_inference_scratch *scratch = inference->scratch;
    if (!gather_inputs(inference, node, true))
        return at_node(tn_fail(TN_ERROR_STATE, "the shape of an input is not known yet"), node);
    tn_status status = tn_infer_bind_inputs(node, scratch->inputs, scratch->types);
    if (status != TN_OK) return at_node(status, node);
    lay_out_outputs(inference, node);
    TN_TRY(call_shape_rule(inference, node));
    for (uint32_t i = 0; i < node->output_count && status == TN_OK; i++)
        if (node->outputs[i] != TN_NO_TENSOR) status = take_output(inference, node, i);
    bool is_needed = false;
    if (status == TN_OK && inference->plan->is_host_node[index])
        status = prepare_values(inference, node, &is_needed);
    if (status != TN_OK || !is_needed) return at_node(status, node);
    TN_TRY(tn_evaluate_call(inference->graph, node, scratch->inputs, scratch->outputs));
    return at_node(take_sizes(inference, node), node);
}

/* A node after one that only a run can size: what can be said is said, and no more. Types do not
 * depend on the run. */
static tn_status estimate_node(tn_inference *inference, uint32_t index) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    tn_error_copy before;
    if (gather_inputs(inference, node, true)) {
        const struct tn_inference_scratch *scratch = inference->scratch;
        const tn_status status = tn_infer_bind_inputs(node, scratch->inputs, scratch->types);
        if (status != TN_OK) return at_node(status, node);
    }
    tn_error_save(&before);
    if (tn_inference_node(inference, index) == TN_OK) return TN_OK;
    tn_error_restore(&before);
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            inference->tensors[node->outputs[i]].is_known =
                inference->tensors[node->outputs[i]].is_described = false;
    return TN_OK;
}

tn_status tn_inference_run(tn_inference *inference, const tn_shape *shapes,
                           const void *const *values) {
    TN_TRY(tn_infer_set_inputs(inference, shapes, values));
    for (uint32_t n = 0; n < inference->graph->node_count; n++) {
        if (inference->graph->nodes[n].is_dead) continue;
        if (inference->plan->is_after_run[n])
            TN_TRY(estimate_node(inference, n));
        else
            TN_TRY(tn_inference_node(inference, n));
    }
    return TN_OK;
}
