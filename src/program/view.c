/* SPDX-License-Identifier: Apache-2.0 */
/* Asking operators which of their tensors are windows; see view.h. */
#include "program/view.h"
#include "base/status.h"

#include <stdalign.h>
#include <string.h>

enum { FACET_BYTES = 128 };

typedef struct window_list {
    const tn_graph_node *node;
    tn_call *call;
    tn_node_window *items;
    uint32_t count;
} window_list;

static const tn_tensor *tensor_of(const tn_inference *inference, tn_tensor_id id) {
    const tn_inferred_tensor *tensor = &inference->tensors[id];
    return tensor->is_known ? &tensor->storage.tensor : NULL;
}

/* Null where a shape is not known. */
static const tn_tensor **list_tensors(const tn_inference *inference, const tn_graph_node *node,
                                      tn_arena *arena) {
    const tn_tensor **tensors =
        tn_arena_allocate(arena, inference->graph->tensor_count + 1, sizeof *tensors);
    for (uint32_t i = 0; tensors && i < node->input_count + node->output_count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (id == TN_NO_TENSOR) continue;
        tensors[id] = tensor_of(inference, id);
    }
    return tensors;
}

static bool are_known(const tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && !tensor_of(inference, node->inputs[i])) return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !tensor_of(inference, node->outputs[i]))
            return false;
    return true;
}

/* Whether an input is data, and not a value that decides what is done with it. */
static bool is_data(const tn_graph_node *node, uint32_t input) {
    const tn_port *port = tn_graph_input_port(node->entry->op, input);
    return node->inputs[input] != TN_NO_TENSOR &&
           !(port->flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED));
}

static bool is_within(const tn_view *view, const tn_tensor *window, const tn_tensor *larger) {
    for (uint32_t i = 0; i < larger->rank; i++)
        if (view->offsets[i] < 0 || view->offsets[i] > larger->shape[i] - window->shape[i])
            return false;
    return true;
}

/* False: neither is a window of the other. */
static tn_status ask_view(const window_list *list, uint32_t input, uint32_t output,
                          tn_view *out_view) {
    alignas(16) char buffer[FACET_BYTES] = {0};
    tn_call *call = list->call;
    tn_view *view = (tn_view *)(void *)buffer;
    tn_facet facet = {.size = sizeof facet, .what = buffer, .what_bytes = sizeof buffer};
    const tn_tensor *from = call->inputs[input], *to = call->outputs[output];
    *out_view = (tn_view){.kind = 0};
    if (from->rank != to->rank || from->type != to->type) return TN_OK;
    view->size = sizeof *view;
    view->output = output;
    if (!tn_call_facet(call, input, TN_FACET_VIEW, &facet)) return TN_OK;
    if ((view->kind == TN_VIEW_OF_INPUT && is_within(view, to, from)) ||
        (view->kind == TN_VIEW_OF_OUTPUT && is_within(view, from, to))) {
        *out_view = *view;
        return TN_OK;
    }
    return tn_error_in(
        tn_fail(TN_ERROR_PLUGIN,
                "operator %s answers \"%s\" for input %u and output %u with a window that is not "
                "within the larger tensor",
                call->op->name, TN_FACET_VIEW, input, output),
        .node = list->node->name);
}

static tn_status add_outputs(window_list *list) {
    const tn_graph_node *node = list->node;
    for (uint32_t o = 0; o < node->output_count; o++) {
        tn_view view = {.kind = 0};
        if (node->outputs[o] == TN_NO_TENSOR) continue;
        for (uint32_t i = 0; i < node->input_count && view.kind != TN_VIEW_OF_INPUT; i++) {
            if (is_data(node, i)) TN_TRY(ask_view(list, i, o, &view));
            if (view.kind == TN_VIEW_OF_INPUT)
                list->items[list->count++] = (tn_node_window){i, o, view};
        }
        if (view.kind == TN_VIEW_OF_INPUT) continue;
        list->count = 0; /* one that is not: the kernel runs for all */
        return TN_OK;
    }
    return TN_OK;
}

static size_t count_elements(const tn_tensor *tensor) {
    size_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (size_t)tensor->shape[i];
    return count;
}

static tn_status add_inputs(window_list *list) {
    const tn_graph_node *node = list->node;
    size_t elements = 0;
    for (uint32_t o = 0; o < node->output_count; o++)
        if ((node->outputs[o] != TN_NO_TENSOR) != (o == 0)) return TN_OK;
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_view view = {.kind = 0};
        if (!is_data(node, i)) continue;
        TN_TRY(ask_view(list, i, 0, &view));
        if (view.kind != TN_VIEW_OF_OUTPUT) {
            list->count = 0;
            return TN_OK;
        }
        elements += count_elements(list->call->inputs[i]);
        list->items[list->count++] = (tn_node_window){i, 0, view};
    }
    if (elements != count_elements(list->call->outputs[0])) list->count = 0;
    return TN_OK;
}

/* Values that decide what is done. */
static void show_values(const tn_inference *inference, const tn_graph_node *node, tn_call *call) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (call->inputs[i] &&
            tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_VALUE_NEEDED)
            ((tn_tensor *)(uintptr_t)call->inputs[i])->data =
                tensor_of(inference, node->inputs[i])->data;
}

tn_status tn_node_windows(const tn_inference *inference, uint32_t index, tn_arena *arena,
                          uint32_t *out_kind, uint32_t *out_count,
                          const tn_node_window **out_windows) {
    const tn_graph_node *node = &inference->graph->nodes[index];
    tn_node_call asked;
    *out_count = 0;
    *out_kind = TN_VIEW_OF_INPUT;
    if (!node->entry->op->facet || !are_known(inference, node)) return TN_OK;
    const tn_tensor **tensors = list_tensors(inference, node, arena);
    window_list list = {.node = node, .call = &asked.call};
    list.items =
        tn_arena_allocate(arena, node->input_count + node->output_count + 1u, sizeof *list.items);
    if (!tensors || !list.items) return tn_fail_memory("a node's windows");
    TN_TRY(tn_node_call_init(&asked, arena, inference->graph, index, tensors));
    show_values(inference, node, &asked.call);
    TN_TRY(add_outputs(&list));
    if (list.count == 0) {
        *out_kind = TN_VIEW_OF_OUTPUT;
        TN_TRY(add_inputs(&list));
    }
    *out_count = list.count;
    *out_windows = list.items;
    return TN_OK;
}
