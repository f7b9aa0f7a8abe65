/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs of a network that are no dense tensors (tenon/border.h). A caller's items are
 * copied into a list of the context's, from which each run takes them over without copying; an
 * output's list is that of the value that it is, and stays until the next run.
 */
#include "base/status.h"
#include "plugin/sequences/kinds.h"
#include "run/sized/dynamic.h"
#include "tensor/string.h"

#include <tenon/border.h>

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * inputs */

tn_status tn_context_check_dense_input(const tn_context *context, uint32_t input) {
    TN_TRY(tn_context_check_input(context, input));
    const tn_port_info *port = &context->engine->inputs[input];
    if (port->kind == TN_KIND_DENSE) return TN_OK;
    return tn_error_mend(tn_fail(TN_ERROR_ARGUMENT,
                                 "input '%s' is %s, which has no shape and no memory of its own",
                                 port->name, tn_kind_name(port->kind)),
                         "; ", "tn_context_append_item adds to it");
}

tn_status tn_context_check_dense_output(const tn_context *context, uint32_t output) {
    TN_TRY(tn_context_check_output(context, output));
    const tn_port_info *port = &context->engine->outputs[output];
    if (port->kind == TN_KIND_DENSE) return TN_OK;
    return tn_error_mend(tn_fail(TN_ERROR_ARGUMENT,
                                 "output '%s' is %s, which has no memory of its own", port->name,
                                 tn_kind_name(port->kind)),
                         "; ", "tn_context_output_item finds what is in it");
}

/* What a caller's list is, in the words of a node's tensor. */
static tn_tensor describe_input(const tn_context *context, uint32_t input) {
    const tn_port_info *port = &context->engine->inputs[input];
    return (tn_tensor){
        .kind = port->kind, .type = port->type, .reserved = port->key_type, .name = port->name};
}

static tn_status find_list(tn_context *context, uint32_t input, tn_items **out_items) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_input(context, input));
    if (context->engine->inputs[input].kind == TN_KIND_DENSE)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "input '%s' is dense: expected a sequence, an optional or "
                       "a map",
                       context->engine->inputs[input].name);
    *out_items = &context->dynamic->inputs[input];
    return TN_OK;
}

tn_status tn_context_clear_items(tn_context *context, uint32_t input) {
    tn_items *items = NULL;
    TN_TRY(find_list(context, input, &items));
    tn_items_clear(items);
    context->ports.inputs[input].items = items;
    return TN_OK;
}

static tn_status check_bytes(tn_type type, const tn_shape *shape, const void *data,
                             uint64_t bytes) {
    size_t expected = 0;
    TN_TRY(tn_format_bytes(TN_LINEAR, type, shape, &expected));
    if ((bytes > 0 && !data) || bytes < expected || (bytes > expected && type != TN_STRING))
        return tn_fail(TN_ERROR_ARGUMENT, "%" PRIu64 " bytes are given; the shape takes %zu", bytes,
                       expected);
    if (type != TN_STRING) return TN_OK;
    const uint64_t count = expected / sizeof(tn_string);
    const tn_heap heap = tn_heap_behind(data, count, bytes);
    return tn_strings_check(data, count, &heap);
}

static tn_status check_item(const tn_items *items, const tn_tensor *as, tn_type type,
                            const tn_shape *shape) {
    const tn_type expected = tn_items_type_at(as, items->count);
    if (items->count >= tn_items_most(as->kind))
        return tn_fail(TN_ERROR_RANGE, "%s has %zu items already, and may have no more",
                       tn_kind_name(as->kind), items->count);
    if (type != expected)
        return tn_fail(TN_ERROR_TYPE, "it is of type %s: expected %s", tn_type_name(type),
                       tn_type_name(expected));
    return tn_items_check_next(items, as, shape);
}

static tn_status append(tn_items *items, const tn_tensor *as, tn_type type, const tn_shape *shape,
                        const void *data, uint64_t bytes) {
    void *copy = NULL;
    size_t elements = 0;
    TN_TRY(check_item(items, as, type, shape));
    TN_TRY(check_bytes(type, shape, data, bytes));
    TN_TRY(tn_format_bytes(TN_LINEAR, type, shape, &elements));
    TN_TRY(tn_items_append(items, type, shape, bytes - elements, &copy));
    if (bytes > 0) memcpy(copy, data, (size_t)bytes);
    const tn_status status = tn_items_check_keys(items, as);
    if (status != TN_OK) tn_items_drop_last(items);
    return status;
}

tn_status tn_context_append_item(tn_context *context, uint32_t input, tn_type type, uint32_t rank,
                                 const int64_t *extents, const void *data, uint64_t bytes) {
    tn_items *items = NULL;
    tn_shape shape;
    TN_TRY(find_list(context, input, &items));
    const tn_tensor as = describe_input(context, input);
    if (context->ports.inputs[input].items != items)
        return tn_fail(TN_ERROR_STATE,
                       "the value of input '%s' was not begun: expected "
                       "tn_context_clear_items first",
                       as.name);
    if (rank > 0 && !extents)
        return tn_fail(TN_ERROR_ARGUMENT, "an item of input '%s' has no extents", as.name);
    tn_status status = tn_shape_set(&shape, rank, extents);
    if (status == TN_OK) status = append(items, &as, type, &shape, data, bytes);
    return status == TN_OK ? TN_OK
                           : tn_error_at(status, "item %zu of input '%s'", items->count, as.name);
}

tn_status tn_context_set_element(tn_context *context, uint32_t input) {
    tn_items *items = NULL;
    TN_TRY(find_list(context, input, &items));
    const tn_port_info *port = &context->engine->inputs[input];
    if (port->kind != TN_KIND_OPTIONAL_SEQUENCE)
        return tn_fail(TN_ERROR_ARGUMENT, "input '%s' is %s: expected an optional of a sequence",
                       port->name, tn_kind_name(port->kind));
    if (context->ports.inputs[input].items != items)
        return tn_fail(TN_ERROR_STATE,
                       "the value of input '%s' was not begun: expected "
                       "tn_context_clear_items first",
                       port->name);
    items->has_element = true;
    return TN_OK;
}

tn_status tn_dynamic_give_items(tn_context *context, uint32_t input, const tn_items *given) {
    tn_items *items = &context->dynamic->inputs[input];
    if (!given)
        return tn_fail(TN_ERROR_ARGUMENT, "input '%s' has no items",
                       context->engine->inputs[input].name);
    TN_TRY(tn_items_share_all(items, given));
    context->ports.inputs[input].items = items;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * runs */

/* A value that is an input of this kind; UINT32_MAX: it is none. */
static uint32_t input_of(const tn_context *context, uint32_t value) {
    const tn_graph *graph = context->engine->graph;
    const tn_tensor_id id = context->engine->program->values[value].tensor;
    if (!graph->tensors[id].is_input || !context->dynamic->values[value].kind) return UINT32_MAX;
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i] == id) return i;
    return UINT32_MAX;
}

static tn_status take_value(tn_context *context, uint32_t value, uint32_t input) {
    const tn_items *given = context->ports.inputs[input].items;
    tn_dynamic_value *made = &context->dynamic->values[value];
    tn_tensor_storage *storage = &context->dynamic->tensors[value];
    const tn_tensor as = describe_input(context, input);
    TN_TRY(tn_items_share_all(&made->items, given));
    tn_items_describe(storage, &as, TN_RANK_UNKNOWN, NULL);
    storage->tensor.data = &made->items;
    tn_items_summarize(&made->items, storage);
    tn_inference_set_items(&context->shapes.inference,
                           context->engine->program->values[value].tensor, &storage->tensor);
    made->is_ready = true;
    return TN_OK;
}

tn_status tn_dynamic_check_inputs(const tn_context *context) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_tensor as = describe_input(context, i);
        const tn_items *items = context->ports.inputs[i].items;
        if (!as.kind) continue;
        if (!items)
            return tn_fail(TN_ERROR_STATE, "input '%s', %s, has no value", as.name,
                           tn_kind_name(as.kind));
        TN_TRY(tn_items_check_whole(items, &as));
    }
    return TN_OK;
}

tn_status tn_dynamic_take_inputs(tn_context *context) {
    if (!tn_graph_has_kind_inputs(context->engine->graph)) return TN_OK;
    for (uint32_t v = 0; v < context->engine->program->value_count; v++) {
        const uint32_t input = input_of(context, v);
        if (input != UINT32_MAX) TN_TRY(take_value(context, v, input));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

static tn_status find_output(tn_context *context, uint32_t output, const tn_items **out_items) {
    const tn_tensor *tensor = NULL;
    TN_TRY(tn_context_output(context, output, &tensor));
    if (tensor->kind == TN_KIND_DENSE)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "output '%s' is dense: expected a sequence, an optional "
                       "or a map",
                       tensor->name);
    *out_items = tensor->data;
    return TN_OK;
}

tn_status tn_context_output_length(tn_context *context, uint32_t output, uint64_t *out_length) {
    const tn_items *items = NULL;
    if (!context || !out_length)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_output_length needs a context and out_length");
    TN_TRY(find_output(context, output, &items));
    *out_length = items->count;
    return TN_OK;
}

tn_status tn_context_output_item(tn_context *context, uint32_t output, uint64_t index,
                                 const tn_tensor **out_item) {
    const tn_items *items = NULL;
    if (!context || !out_item)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_context_output_item needs a context and out_item");
    TN_TRY(find_output(context, output, &items));
    if (index >= items->count)
        return tn_fail(TN_ERROR_RANGE, "output '%s' has %zu items, and no item %" PRIu64,
                       context->engine->outputs[output].name, items->count, index);
    *out_item = tn_item_tensor(items->items[index]);
    return TN_OK;
}

tn_status tn_context_output_has_element(tn_context *context, uint32_t output,
                                        bool *out_has_element) {
    const tn_items *items = NULL;
    if (!context || !out_has_element)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_output_has_element needs a context and out_has_element");
    TN_TRY(find_output(context, output, &items));
    const tn_port_info *port = &context->engine->outputs[output];
    if (port->kind != TN_KIND_OPTIONAL && port->kind != TN_KIND_OPTIONAL_SEQUENCE)
        return tn_fail(TN_ERROR_ARGUMENT, "output '%s' is %s: expected an optional", port->name,
                       tn_kind_name(port->kind));
    *out_has_element = items->has_element;
    return TN_OK;
}
