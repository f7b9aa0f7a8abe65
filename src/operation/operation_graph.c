/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of one node for given inputs, and what it infers; see operation_private.h. */
#include "base/memory.h"
#include "base/status.h"
#include "graph/infer.h"
#include "operation/operation_private.h"
#include "plugin/registry.h"
#include "tensor/type.h"

#include <string.h>

bool tn_operation_is_value(const tn_operation *operation, uint32_t input) {
    const tn_port *port = tn_graph_input_port(operation->op, input);
    return port && (port->flags & TN_PORT_VALUE_NEEDED);
}

bool tn_operation_is_constant(const tn_operation *operation, uint32_t input) {
    return tn_operation_is_value(operation, input) ||
           (input < 64 && (operation->constant_inputs >> input & 1));
}

size_t tn_operation_bytes(const tn_tensor *tensor) {
    tn_shape shape;
    size_t bytes = 0;
    if (tensor->type == TN_STRING) return tensor->bytes; /* the heap lies behind the elements */
    if (tn_shape_set(&shape, tensor->rank, tensor->shape) != TN_OK ||
        tn_format_bytes(TN_LINEAR, tensor->type, &shape, &bytes) != TN_OK)
        return 0;
    return bytes;
}

/* ----------------------------------------------------------------------------------------------
 * checks */

static tn_status check_input(const tn_tensor *tensor, bool needs_data) {
    tn_shape shape;
    size_t bytes;
    if (tensor->size < offsetof(tn_tensor, strides))
        return tn_fail(TN_ERROR_ARGUMENT, "the tensor's `size` is not set");
    if (tensor->kind != 0)
        return tn_fail(TN_ERROR_UNSUPPORTED, "a sequence or an optional needs a plan");
    if (!tn_type_is_valid(tensor->type))
        return tn_fail(TN_ERROR_TYPE, "%d is no type of elements", (int)tensor->type);
    if (tensor->format != TN_LINEAR) return tn_fail(TN_ERROR_ARGUMENT, "expected a linear tensor");
    if (tensor->rank > 0 && !tensor->shape)
        return tn_fail(TN_ERROR_ARGUMENT, "the tensor has no shape");
    TN_TRY(tn_shape_set(&shape, tensor->rank, tensor->shape));
    TN_TRY(tn_format_bytes(TN_LINEAR, tensor->type, &shape, &bytes));
    if (!needs_data || bytes == 0) return TN_OK;
    if (!tensor->data) return tn_fail(TN_ERROR_ARGUMENT, "its data is needed, and is null");
    if (tensor->bytes < bytes)
        return tn_fail(TN_ERROR_ARGUMENT, "its data has %llu bytes: expected %zu",
                       (unsigned long long)tensor->bytes, bytes);
    return TN_OK;
}

static tn_status at_input(const tn_operation *operation, tn_status status, uint32_t index) {
    const tn_port *port = tn_graph_input_port(operation->op, index);
    tn_error_at(status, "input %u '%s'", index, port ? port->name : "");
    return tn_error_in(status, .op = operation->op->name);
}

tn_status tn_operation_check(const tn_operation *operation, const tn_tensor *const *inputs,
                             tn_tensor *const *outputs, bool needs_data) {
    if (!operation || (operation->input_count > 0 && !inputs) || !outputs)
        return tn_fail(TN_ERROR_ARGUMENT, "an operation, its inputs and its outputs are needed");
    for (uint32_t i = 0; i < operation->input_count; i++) {
        const bool is_needed = needs_data || tn_operation_is_value(operation, i);
        const tn_status status = inputs[i] ? check_input(inputs[i], is_needed) : TN_OK;
        if (status != TN_OK) return at_input(operation, status, i);
    }
    for (uint32_t i = 0; i < operation->output_count; i++)
        if (outputs[i] && (outputs[i]->size < offsetof(tn_tensor, strides) || !outputs[i]->shape))
            return tn_error_in(
                tn_fail(TN_ERROR_ARGUMENT, "output %u needs its `size`, and room for a shape", i),
                .op = operation->op->name);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the graph */

/* By its port's name, so that messages have it; the tensors of a variadic port by number, too. */
static tn_status add_input(const tn_operation *operation, tn_graph *graph, uint32_t index,
                           const tn_tensor *tensor, tn_tensor_id *out_id) {
    const tn_port *port = tn_graph_input_port(operation->op, index);
    const char *base = port && port->name ? port->name : "input";
    const char *name = tn_graph_make_name(graph, base);
    tn_shape shape;
    if (!name) return tn_fail_memory("an operation's input");
    TN_TRY(tn_shape_set(&shape, tensor->rank, tensor->shape));
    if (!tn_operation_is_constant(operation, index) || !tensor->data)
        return tn_graph_add_input(graph, name, tensor->type, tensor->rank, tensor->shape, NULL,
                                  out_id);
    return tn_graph_add_constant_lent(graph, name, tensor->type, &shape, tensor->data,
                                      tn_operation_bytes(tensor), out_id);
}

static tn_status fill_graph(const tn_operation *operation, tn_graph *graph, tn_tensor_id *ids,
                            const char **names, const tn_tensor *const *inputs,
                            tn_tensor *const *outputs) {
    const tn_graph_node *model = &operation->model->nodes[0];
    tn_tensor_id *made = ids + operation->input_count;
    for (uint32_t i = 0; i < operation->input_count; i++) {
        ids[i] = TN_NO_TENSOR;
        if (inputs[i])
            TN_TRY(at_input(operation, add_input(operation, graph, i, inputs[i], &ids[i]), i));
    }
    for (uint32_t i = 0; i < operation->output_count; i++)
        names[i] = outputs[i] ? NULL : "";
    const tn_node_description node = {.size = sizeof(node),
                                      .version = operation->version,
                                      .domain = operation->op->domain,
                                      .op = operation->op->name,
                                      .name = operation->op->name,
                                      .input_count = operation->input_count,
                                      .inputs = ids,
                                      .output_count = operation->output_count,
                                      .output_names = names,
                                      .attribute_count = model->attribute_count,
                                      .attributes = model->attributes};
    TN_TRY(tn_graph_add_node(graph, &node, made));
    for (uint32_t i = 0; i < operation->output_count; i++)
        if (outputs[i]) TN_TRY(tn_graph_add_output(graph, made[i], NULL));
    return TN_OK;
}

tn_status tn_operation_graph(const tn_operation *operation, const tn_tensor *const *inputs,
                             tn_tensor *const *outputs, tn_graph **out_graph) {
    const size_t count = (size_t)operation->input_count + operation->output_count;
    tn_tensor_id *ids = tn_allocate_zero(operation->allocator, count, sizeof(*ids));
    const char **names =
        tn_allocate_zero(operation->allocator, operation->output_count, sizeof(*names));
    tn_graph *graph = NULL;
    tn_status status = ids && names ? TN_OK : tn_fail_memory("an operation");
    if (status == TN_OK) status = tn_graph_create(operation->runtime, operation->op->name, &graph);
    if (status == TN_OK) status = fill_graph(operation, graph, ids, names, inputs, outputs);
    tn_deallocate(operation->allocator, ids);
    tn_deallocate(operation->allocator, names);
    if (status == TN_OK)
        *out_graph = graph;
    else
        tn_graph_destroy(graph);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * inference */

void tn_operation_describe(tn_tensor *output, tn_type type, const tn_shape *shape) {
    output->type = type;
    output->format = TN_LINEAR;
    output->rank = shape->rank;
    memcpy(output->shape, shape->extents, shape->rank * sizeof(*output->shape));
}

static tn_status check_inferred(const tn_operation *operation, const tn_inference *inference) {
    const tn_graph *graph = inference->graph;
    for (size_t i = 0; i < graph->output_count; i++)
        if (!inference->tensors[graph->outputs[i]].is_known)
            return tn_error_in(
                tn_fail(TN_ERROR_UNSUPPORTED, "output %zu is a sequence or an optional", i),
                .op = operation->op->name);
    return TN_OK;
}

static tn_status infer_shapes(const tn_operation *operation, const tn_inference *inference,
                              tn_tensor *const *outputs) {
    const tn_graph *graph = inference->graph;
    size_t next = 0;
    TN_TRY(check_inferred(operation, inference));
    for (uint32_t i = 0; i < operation->output_count; i++) {
        if (!outputs[i]) continue;
        const tn_inferred_tensor *found = &inference->tensors[graph->outputs[next++]];
        tn_shape shape = found->storage.shape;
        for (uint32_t axis = 0; axis < shape.rank; axis++)
            if (found->unbounded >> axis & 1) shape.extents[axis] = -1;
        tn_operation_describe(outputs[i], found->storage.tensor.type, &shape);
    }
    return TN_OK;
}

static tn_status infer_graph(const tn_operation *operation, tn_graph *graph, tn_arena *arena,
                             tn_tensor *const *outputs) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    TN_TRY(tn_graph_sort(graph));
    TN_TRY(tn_inference_plan_create(graph, arena, &plan));
    tn_shape *shapes = tn_arena_allocate(arena, graph->input_count + 1, sizeof(*shapes));
    if (!shapes) return tn_fail_memory("an operation's shapes");
    for (size_t i = 0; i < graph->input_count; i++)
        shapes[i] = graph->tensors[graph->inputs[i]].shape;
    TN_TRY(tn_inference_init(&inference, graph, &plan));
    tn_status status = tn_inference_run(&inference, shapes, NULL);
    if (status == TN_OK) status = infer_shapes(operation, &inference, outputs);
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_operation_infer(tn_operation *operation, const tn_tensor *const *inputs,
                             tn_tensor *const *outputs) {
    tn_graph *graph = NULL;
    tn_arena *arena = NULL;
    TN_TRY(tn_operation_check(operation, inputs, outputs, false));
    TN_TRY(tn_operation_graph(operation, inputs, outputs, &graph));
    tn_status status = tn_arena_create(operation->allocator, &arena);
    if (status == TN_OK) status = infer_graph(operation, graph, arena, outputs);
    tn_arena_destroy(arena);
    tn_graph_destroy(graph);
    return status;
}
