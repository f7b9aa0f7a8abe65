/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences and optionals in a run: each value has a list of items, which its step fills and which
 * is emptied after the last step that reads it. Items that lists share go on in the others. The
 * store keeps their memory from one run to the next, so that sizes that repeat allocate nothing.
 */
#include "base/status.h"
#include "run/sized/dynamic.h"

static tn_tensor_id tensor_of(const tn_context *context, uint32_t value) {
    return context->engine->program->values[value].tensor;
}

void tn_dynamic_find_kinds(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    dynamic->item_store.allocator = &context->allocator;
    for (size_t i = 0; i < context->engine->graph->input_count; i++)
        dynamic->inputs[i].store = &dynamic->item_store;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++) {
        dynamic->values[v].kind = tn_graph_kind(context->engine->graph, tensor_of(context, v));
        dynamic->values[v].items.store = &dynamic->item_store;
    }
}

tn_status tn_dynamic_open_items(tn_context *context, uint32_t value) {
    const tn_inferred_tensor *inferred =
        &context->shapes.inference.tensors[tensor_of(context, value)];
    const tn_tensor *known = &inferred->storage.tensor;
    const tn_type type = context->engine->program->values[value].type;
    tn_dynamic_value *made = &context->dynamic->values[value];
    tn_tensor_storage *storage = &context->dynamic->tensors[value];
    if (!inferred->is_described)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' is not described", known->name);
    if (type != TN_NONE && type != known->type)
        return tn_fail(TN_ERROR_TYPE, "tensor '%s' has items of type %s; the plan was built for %s",
                       known->name, tn_type_name(known->type), tn_type_name(type));
    tn_items_describe(storage, known, known->rank, known->shape);
    storage->tensor.data = &made->items;
    tn_items_clear(&made->items);
    made->items.is_open = true;
    return TN_OK;
}

tn_status tn_dynamic_close_items(tn_context *context, uint32_t value) {
    tn_dynamic_value *made = &context->dynamic->values[value];
    tn_tensor_storage *storage = &context->dynamic->tensors[value];
    const tn_tensor *known =
        &context->shapes.inference.tensors[tensor_of(context, value)].storage.tensor;
    made->items.is_open = false;
    if (storage->tensor.data != &made->items || storage->tensor.kind != made->kind ||
        storage->tensor.type != known->type || storage->tensor.reserved != known->reserved ||
        storage->tensor.shape != storage->shape.extents)
        return tn_fail(TN_ERROR_PLUGIN,
                       "the kind, the type or a pointer of output '%s' was replaced", known->name);
    TN_TRY(tn_items_check(&made->items, known->name));
    if (tn_items_check_whole(&made->items, known) != TN_OK)
        return tn_fail(TN_ERROR_PLUGIN, "%s", tn_last_error()->message);
    tn_items_summarize(&made->items, storage);
    tn_inference_set_items(&context->shapes.inference, tensor_of(context, value), &storage->tensor);
    made->is_ready = true;
    return TN_OK;
}

void tn_dynamic_clear_items(tn_context *context) {
    context->dynamic->item_store.is_guarded = context->checked;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++) {
        context->dynamic->values[v].items.is_open = false;
        tn_items_clear(&context->dynamic->values[v].items);
    }
}

void tn_dynamic_free_items(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (uint32_t v = 0; dynamic->values && v < context->engine->program->value_count; v++)
        tn_items_deinit(&dynamic->values[v].items);
    for (size_t i = 0; dynamic->inputs && i < context->engine->graph->input_count; i++)
        tn_items_deinit(&dynamic->inputs[i]);
    tn_item_store_deinit(&dynamic->item_store);
}
