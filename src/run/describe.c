/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context knows of a step once its shapes are inferred: descriptors of values, and whether
 * the shapes that only now are known fit what was fused when the network was built.
 */
#include "base/status.h"
#include "run/context_private.h"

tn_status tn_context_describe(const tn_context *context, uint32_t value,
                              tn_tensor_storage *out_storage) {
    const tn_program_value *item = &context->engine->program->values[value];
    const tn_inferred_tensor *inferred = &context->shapes.inference.tensors[item->tensor];
    const tn_graph_tensor *tensor = &context->engine->graph->tensors[item->tensor];
    const tn_type type = inferred->storage.tensor.type;
    if (!inferred->is_known)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' has no shape", tensor->name);
    const bool is_sound = context->engine->is_lower[value]
                              ? type == TN_F32
                              : item->type == TN_NONE || item->type == type;
    if (!is_sound)
        return tn_fail(TN_ERROR_TYPE,
                       "tensor '%s' has elements of type %s; the plan was built for %s",
                       tensor->name, tn_type_name(type), tn_type_name(item->type));
    TN_TRY(tn_tensor_init(out_storage, item->type == TN_NONE ? type : item->type, item->format,
                          &inferred->storage.shape));
    out_storage->tensor.name = tensor->name;
    if (out_storage->tensor.type == TN_STRING) {
        if (item->space != TN_SPACE_HOST || item->format != TN_LINEAR)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "tensor '%s' is of strings, which are linear and in the host's memory",
                           tensor->name);
        out_storage->tensor.heap = tn_heaps_find(context, value);
        if (!out_storage->tensor.heap)
            return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' of strings has no heap", tensor->name);
    }
    out_storage->tensor.quantization =
        item->quantization ? item->quantization : tensor->quantization;
    return TN_OK;
}

void tn_context_hide(const tn_context *context, uint32_t value, tn_tensor *tensor) {
    const tn_tensor_id id = context->engine->program->values[value].tensor;
    tensor->data = NULL;
    tensor->heap = NULL;
    tensor->type = context->shapes.inference.tensors[id].storage.tensor.type;
    tensor->quantization = context->engine->graph->tensors[id].quantization;
}

static const tn_shape *shape_of(const tn_context *context, tn_tensor_id tensor) {
    return &context->shapes.inference.tensors[tensor].storage.shape;
}

static bool operands_fit(const tn_context *context, const tn_engine_step *step, uint32_t absorbed,
                         const tn_shape *output) {
    const tn_chain *chain = &step->chain;
    const tn_program_value *values = context->engine->program->values;
    for (uint32_t i = chain->operand_counts[absorbed]; i < chain->operand_counts[absorbed + 1]; i++)
        if (!tn_link_operand_fits(&chain->forms[i],
                                  shape_of(context, values[step->step->operands[i]].tensor),
                                  output))
            return false;
    return true;
}

/* Descriptors of a node's tensors as they are now, by tensor. */
static const tn_tensor **tensors_of(const tn_context *context, const tn_graph_node *node,
                                    tn_arena *arena) {
    const tn_tensor **tensors =
        tn_arena_allocate(arena, context->engine->graph->tensor_count + 1, sizeof *tensors);
    for (uint32_t i = 0; tensors && i < node->input_count + node->output_count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (id != TN_NO_TENSOR) tensors[id] = &context->shapes.inference.tensors[id].storage.tensor;
    }
    return tensors;
}

/* A step that changes the shape must describe itself as it did when the engine was loaded. */
static tn_status is_still_alike(const tn_context *context, const tn_engine_step *step,
                                uint32_t absorbed, tn_tensor_id chained, bool *out_is_alike) {
    const tn_graph *graph = context->engine->graph;
    const uint32_t node = step->step->absorbed[absorbed];
    const tn_facet *now = NULL;
    tn_arena *arena = NULL;
    tn_link link;
    tn_status status = TN_OK;
    TN_TRY(tn_arena_create(&context->allocator, &arena));
    const tn_tensor **tensors = tensors_of(context, &graph->nodes[node], arena);
    if (!tensors) TN_GO(tn_fail_memory("a fused node"));
    TN_GO(tn_link_init(&link, arena, graph, node, chained, tensors));
    TN_GO(tn_link_facet_of(&link, step->chain.steps[absorbed]->facet, &now));
    *out_is_alike = now && tn_link_is_alike(now, step->chain.facets[absorbed]);
done:
    tn_arena_destroy(arena);
    return status;
}

static tn_status absorbed_holds(const tn_context *context, const tn_engine_step *step,
                                uint32_t absorbed, tn_tensor_id chained, bool *out_holds) {
    const tn_graph_node *node = &context->engine->graph->nodes[step->step->absorbed[absorbed]];
    const tn_shape *output = shape_of(context, node->outputs[0]);
    *out_holds = operands_fit(context, step, absorbed, output);
    if (!*out_holds) return TN_OK;
    if (step->chain.facets[absorbed]->flags & TN_FACET_RESHAPES)
        return is_still_alike(context, step, absorbed, chained, out_holds);
    *out_holds = tn_shape_equal(shape_of(context, chained), output);
    return TN_OK;
}

tn_status tn_context_find_broken(const tn_context *context, uint32_t index, uint32_t *out_node) {
    const tn_engine_step *prepared = &context->engine->steps[index];
    const tn_program_step *step = prepared->step;
    const tn_graph_node *nodes = context->engine->graph->nodes;
    *out_node = TN_NO_NODE;
    if (step->absorbed_count == 0) return TN_OK;
    tn_tensor_id chained = prepared->chain.stored;
    for (uint32_t i = 0; i < step->absorbed_count && *out_node == TN_NO_NODE; i++) {
        bool is_sound = true;
        if (i == step->before_count) chained = nodes[step->node].outputs[0];
        TN_TRY(absorbed_holds(context, prepared, i, chained, &is_sound));
        chained = nodes[step->absorbed[i]].outputs[0];
        if (!is_sound) *out_node = step->absorbed[i];
    }
    return TN_OK;
}

bool tn_context_has_reference(const tn_context *context, uint32_t index) {
    const tn_engine_step *step = &context->engine->steps[index];
    return step->is_open && !step->is_isolated && !step->step->is_device &&
           context->engine->graph->nodes[step->step->node].entry->op->reference;
}

void tn_context_use_reference(tn_call *call, tn_call_scope *scope) {
    scope->kernel = NULL;
    scope->pool = NULL;
    call->host_private = scope;
    call->user = call->op->user;
    call->flags = TN_CALL_REFERENCE;
    call->threads = 1;
    call->workspace = NULL;
    call->workspace_bytes = 0;
}
