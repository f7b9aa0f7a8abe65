/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference, node by node in the graph's order: bind types, call the shape rule, check what it
 * wrote, and compute the node when its value decides shapes (infer_values.c). It runs at every
 * reshape, so it keeps its memory. Inputs are in infer_inputs.c, types, and nodes
 * of which little more is known, in infer_types.c, the call of a reference in evaluate.c.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"
#include "plugin/outputs.h"

#include <inttypes.h>
#include <string.h>

/* Where the data of tensors without elements points. */
static const _Alignas(64) unsigned char no_elements[64];

static bool has_bodies(const tn_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead && tn_graph_node_has_bodies(&graph->nodes[n])) return true;
    return false;
}

static tn_status make_memos(const tn_graph *graph, const tn_allocator *allocator,
                            struct tn_inference_scratch *scratch) {
    if (!has_bodies(graph)) return TN_OK;
    scratch->memos = tn_allocate_zero(allocator, graph->node_count, sizeof(*scratch->memos));
    if (!scratch->memos) return tn_fail_memory("an inference");
    scratch->memo_count = graph->node_count;
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead && tn_graph_node_has_bodies(&graph->nodes[n]))
            TN_TRY(tn_infer_memo_create(&graph->nodes[n], allocator, &scratch->memos[n]));
    return TN_OK;
}

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
    scratch->states = tn_allocate_zero(allocator, outputs + 1, sizeof(*scratch->states));
    if (!scratch->inputs || !scratch->hidden || !scratch->outputs || !scratch->types ||
        !scratch->states)
        return tn_fail_memory("an inference");
    TN_TRY(make_memos(graph, allocator, scratch));
    return tn_infer_find_names(graph, allocator, scratch);
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
        storage->tensor.heap = tensor->heap;
        inference->tensors[i].is_known = true;
    }
    return TN_OK;
}

tn_status tn_inference_init(tn_inference *inference, const tn_graph *graph,
                            const tn_inference_plan *plan) {
    return tn_inference_init_in(inference, graph, plan, graph->allocator);
}

tn_status tn_inference_init_in(tn_inference *inference, const tn_graph *graph,
                               const tn_inference_plan *plan, const tn_allocator *allocator) {
    *inference = (tn_inference){.graph = graph, .plan = plan, .allocator = allocator};
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
        for (size_t n = 0; n < scratch->memo_count; n++)
            tn_infer_memo_destroy(scratch->memos[n], allocator);
        tn_deallocate(allocator, (void *)scratch->memos);
        tn_deallocate(allocator, (void *)scratch->inputs);
        tn_deallocate(allocator, scratch->hidden);
        tn_deallocate(allocator, (void *)scratch->outputs);
        tn_deallocate(allocator, scratch->types);
        tn_deallocate(allocator, scratch->states);
        tn_deallocate(allocator, scratch->names);
        tn_infer_lists_destroy(scratch->lists, allocator);
        tn_infer_heaps_destroy(scratch->heaps, allocator);
        tn_deallocate(allocator, scratch);
    }
    *inference = (tn_inference){0};
}

bool tn_infer_gather_inputs(tn_inference *inference, const tn_graph_node *node, bool is_infer) {
    struct tn_inference_scratch *scratch = inference->scratch;
    for (uint32_t i = 0; i < node->input_count; i++) {
        scratch->inputs[i] = NULL;
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *inferred = &inference->tensors[node->inputs[i]];
        if (!inferred->is_known && !inferred->is_described) return false;
        scratch->inputs[i] = &inferred->storage.tensor;
        if (inferred->is_described) continue;
        uint32_t flags = tn_graph_input_port(node->entry->op, i)->flags;
        bool is_shown = is_infer ? (flags & TN_PORT_VALUE_WANTED) || tn_graph_needs_value(node, i)
                                 : !(flags & TN_PORT_SHAPE_ONLY);
        if (is_shown || !inferred->storage.tensor.data) continue;
        scratch->hidden[i] = inferred->storage.tensor;
        scratch->hidden[i].data = NULL;
        scratch->hidden[i].heap = NULL;
        scratch->inputs[i] = &scratch->hidden[i];
    }
    return true;
}

void tn_infer_lay_out(tn_inference *inference, const tn_graph_node *node) {
    struct tn_inference_scratch *scratch = inference->scratch;
    for (uint32_t i = 0; i < node->output_count; i++) {
        scratch->outputs[i] = NULL;
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        tn_tensor_storage *storage = &inference->tensors[id].storage;
        storage->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                                      .kind = tn_graph_output_kind(node, i),
                                      .type = tn_infer_output_type(node->entry, i, scratch->types),
                                      .reserved = tn_infer_key_type(node->entry, i),
                                      .shape = storage->shape.extents,
                                      .strides = storage->strides,
                                      .name = inference->graph->tensors[id].name};
        for (uint32_t axis = 0; axis < TN_MAX_RANK; axis++)
            storage->shape.extents[axis] = -1;
        inference->tensors[id].is_known = inference->tensors[id].is_described = false;
        inference->tensors[id].unbounded = 0;
        inference->tensors[id].is_guess = inference->tensors[id].is_rank_guess =
            inference->tensors[id].is_value_guess = false;
        scratch->outputs[i] = &storage->tensor;
    }
}

/* What stands for the extents that nothing bounds, so that what follows can be looked at before any
 * run: something that many numbers divide, once. */
static void guess(tn_inferred_tensor *inferred, const tn_port *port) {
    const tn_tensor *tensor = &inferred->storage.tensor;
    for (uint32_t axis = 0; axis < tensor->rank && (port->flags & TN_PORT_SIZED_BY_RUN); axis++) {
        if (tensor->shape[axis] != TN_UNBOUNDED) continue;
        tensor->shape[axis] = inferred->unbounded & TN_UNBOUNDED_AXES ? 1 : 60;
        inferred->unbounded |= 1u << axis;
    }
}

/* A rank that is an example. */
static void guess_rank(tn_inferred_tensor *inferred, const tn_port *port) {
    tn_tensor *tensor = &inferred->storage.tensor;
    if (!(port->flags & TN_PORT_SIZED_BY_RUN) || tensor->rank < TN_RANK_OPEN) return;
    tensor->rank -= TN_RANK_OPEN;
    inferred->unbounded = TN_UNBOUNDED_RANK;
}

static tn_status check_exact(const tn_inferred_tensor *inferred, const tn_graph_node *node,
                             const tn_port *port) {
    if (!node->is_exact || !inferred->unbounded) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE,
                   "the shape of output '%s' is known to a run alone here, but was known at all "
                   "shapes for which the plan was built: expected shapes within the profile",
                   port->name);
}

static tn_status check_pointer(const tn_inferred_tensor *inferred, const tn_port *port) {
    const tn_tensor *tensor = &inferred->storage.tensor;
    if (tensor->shape != inferred->storage.shape.extents)
        return tn_fail(TN_ERROR_PLUGIN, "the pointer to output '%s' shape was replaced",
                       port->name);
    if (tensor->rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_PLUGIN, "output '%s' was given rank %" PRIu32 "; at most %d fits",
                       port->name, tensor->rank, TN_MAX_RANK);
    return TN_OK;
}

tn_status tn_infer_read_shape(const tn_inferred_tensor *inferred, const tn_port *port,
                              tn_shape *out_shape) {
    const tn_tensor *tensor = &inferred->storage.tensor;
    TN_TRY(check_pointer(inferred, port));
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        if (tensor->shape[axis] == TN_UNBOUNDED)
            return tn_fail(TN_ERROR_PLUGIN,
                           "output '%s' was given no bound at axis %" PRIu32
                           ": expected one, or TN_PORT_SIZED_BY_RUN at the port",
                           port->name, axis);
        else if (tensor->shape[axis] < 0)
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

static bool has_values(const tn_inference *inference, const tn_graph_node *node,
                       bool is_host_node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && inference->tensors[node->inputs[i]].is_value_guess &&
            tn_infer_uses_value(node, i, is_host_node))
            return false;
    return true;
}

bool tn_inference_has_values(const tn_inference *inference, uint32_t node) {
    return has_values(inference, &inference->graph->nodes[node],
                      inference->plan->is_host_node[node]);
}

static bool is_from_guess(const tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *input = &inference->tensors[node->inputs[i]];
        if (input->unbounded || input->is_guess) return true;
    }
    return !has_values(inference, node, false);
}

static bool is_from_rank_guess(const tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && inference->tensors[node->inputs[i]].is_rank_guess)
            return true;
    return false;
}

static tn_status take_output(tn_inference *inference, const tn_graph_node *node, uint32_t index) {
    tn_tensor_id id = node->outputs[index];
    tn_inferred_tensor *inferred = &inference->tensors[id];
    const tn_port *port = tn_graph_output_port(node->entry->op, index);
    tn_shape shape;
    TN_TRY(tn_infer_check_output(node->entry, index, inferred->storage.tensor.type,
                                 inference->scratch->types));
    TN_TRY(tn_infer_check_keys(node->entry, index, &inferred->storage.tensor));
    if (tn_graph_output_kind(node, index))
        return tn_infer_take_items(inferred, port, tn_graph_output_kind(node, index));
    if (!tn_infer_guess_open(node, inference->scratch->inputs, &inferred->storage.tensor))
        return TN_OK; /* the run will know */
    guess_rank(inferred, port);
    TN_TRY(check_pointer(inferred, port));
    guess(inferred, port);
    TN_TRY(check_exact(inferred, node, port));
    TN_TRY(tn_infer_read_shape(inferred, port, &shape));
    TN_TRY(tn_tensor_init(&inferred->storage, inferred->storage.tensor.type, TN_LINEAR, &shape));
    inferred->storage.tensor.name = inference->graph->tensors[id].name;
    inferred->storage.tensor.quantization = inference->graph->tensors[id].quantization;
    TN_TRY(check_view(inference, port, &inferred->storage.tensor));
    inferred->is_known = true;
    inferred->is_guess = is_from_guess(inference, node);
    inferred->is_rank_guess =
        (inferred->unbounded & TN_UNBOUNDED_RANK) || is_from_rank_guess(inference, node);
    return TN_OK;
}

tn_status tn_infer_call_rule(tn_inference *inference, const tn_graph_node *node,
                             bool is_types_only) {
    struct tn_inference_scratch *scratch = inference->scratch;
    tn_runtime *runtime = inference->graph->runtime;
    tn_body_executor bodies = {.infer = tn_body_infer, .value = tn_body_value};
    uint32_t questions = 0;
    tn_call_scope scope = {.runtime = runtime,
                           .library = node->entry->library->name,
                           .questions = inference->questions ? inference->questions : &questions,
                           .bodies = &bodies,
                           .is_types_only = is_types_only};
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

static tn_status ask_shape_rule(tn_inference *inference, uint32_t index) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    struct tn_inference_scratch *scratch = inference->scratch;
    tn_infer_memo *memo = index < scratch->memo_count ? scratch->memos[index] : NULL;
    if (!memo) return tn_infer_call_rule(inference, node, false);
    if (tn_infer_memo_recall(memo, node, scratch->inputs, scratch->outputs)) return TN_OK;
    TN_TRY(tn_infer_call_rule(inference, node, false));
    tn_infer_memo_note(memo, node, scratch->outputs);
    return TN_OK;
}

tn_status tn_infer_at_node(tn_status status, const tn_graph_node *node) {
    return tn_error_in(status, .node = node->name, .op = node->entry->op->name);
}

tn_status tn_inference_node(tn_inference *inference, uint32_t index) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    struct tn_inference_scratch *scratch = inference->scratch;
    if (!tn_infer_gather_inputs(inference, node, true))
        return tn_infer_at_node(tn_fail(TN_ERROR_STATE, "the shape of an input is not known yet"),
                                node);
    tn_status status = tn_infer_bind_inputs(node, scratch->inputs, scratch->types);
    if (status != TN_OK) return tn_infer_at_node(status, node);
    tn_infer_lay_out(inference, node);
    TN_TRY(ask_shape_rule(inference, index));
    for (uint32_t i = 0; i < node->output_count && status == TN_OK; i++)
        if (node->outputs[i] != TN_NO_TENSOR) status = take_output(inference, node, i);
    if (status != TN_OK) return tn_infer_at_node(status, node);
    if (!inference->plan->is_host_node[index]) return tn_infer_guess_values(inference, node);
    TN_TRY(tn_infer_values(inference, node));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            inference->tensors[node->outputs[i]].is_value_guess =
                !tn_inference_has_values(inference, index);
    return TN_OK;
}

tn_status tn_inference_run(tn_inference *inference, const tn_shape *shapes,
                           const void *const *values) {
    if (inference->plan->is_types_only)
        tn_infer_set_types(inference);
    else
        TN_TRY(tn_infer_set_inputs(inference, shapes, values));
    for (uint32_t n = 0; n < inference->graph->node_count; n++) {
        if (inference->graph->nodes[n].is_dead) continue;
        if (inference->plan->is_left_out && inference->plan->is_left_out[n]) continue;
        TN_TRY(tn_run_check(inference->run));
        if (inference->plan->is_types_only || inference->plan->is_after_run[n])
            TN_TRY(tn_infer_estimate(inference, n));
        else
            TN_TRY(tn_inference_node(inference, n));
    }
    return TN_OK;
}
