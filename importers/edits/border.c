/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another type or order of axes at the border of a graph (tenon/border.h): an input or output stays
 * by its name, and Transpose and Cast stand between it and the network. The builder sees nodes like
 * any others.
 */
#include "base/status.h"
#include "base/text.h"
#include "importers/edits/edit.h"
#include "tensor/type.h"
#include <tenon/border.h>

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * nodes */

static tn_status add_cast(tn_graph *graph, tn_tensor_id from, tn_type type,
                          tn_tensor_id *out_tensor) {
    const tn_attribute to = {
        .size = sizeof(to), .type = TN_FIELD_STRING, .name = "to", .s = tn_type_name(type)};
    return tn_edit_add_node(graph, "Cast", "border/cast", 1, &from, &to, out_tensor);
}

/* `to_last`: from N, C, axes to N, axes, C; else back. */
static tn_status add_transpose(tn_graph *graph, tn_tensor_id from, uint32_t rank, bool to_last,
                               tn_tensor_id *out_tensor) {
    int64_t axes[TN_MAX_RANK] = {0};
    for (uint32_t i = 1; i < rank; i++)
        axes[i] = to_last ? (i + 1 < rank ? i + 1 : 1) : (i > 1 ? i - 1 : rank - 1);
    const tn_attribute perm = {
        .size = sizeof(perm), .type = TN_FIELD_I64S, .name = "perm", .count = rank, .items = axes};
    return tn_edit_add_node(graph, "Transpose", "border/transpose", 1, &from, &perm, out_tensor);
}

/* ----------------------------------------------------------------------------------------------
 * inputs and outputs */

/* N, C, axes becomes N, axes, C. */
static void move_channels(tn_graph_tensor *tensor) {
    const uint32_t rank = tensor->shape.rank;
    int64_t *extents = tensor->shape.extents, extent = extents[1];
    const char *name = tensor->extent_names[1];
    for (uint32_t i = 1; i + 1 < rank; i++) {
        extents[i] = extents[i + 1];
        tensor->extent_names[i] = tensor->extent_names[i + 1];
    }
    extents[rank - 1] = extent;
    tensor->extent_names[rank - 1] = name;
}

static tn_status set_input(tn_graph *graph, tn_tensor_id input, const tn_border *border) {
    const tn_type own = graph->tensors[input].type;
    const size_t node_count = graph->node_count;
    const bool has_order = border->order == TN_BORDER_CHANNELS_LAST;
    tn_tensor_id inner = input;
    if (has_order)
        TN_TRY(add_transpose(graph, inner, graph->tensors[input].shape.rank, false, &inner));
    if (border->type != TN_NONE && border->type != own) TN_TRY(add_cast(graph, inner, own, &inner));
    if (inner == input) return TN_OK;
    if (border->type != TN_NONE) graph->tensors[input].type = border->type;
    if (has_order) move_channels(&graph->tensors[input]);
    tn_edit_replace_uses(graph, node_count, input, inner);
    return tn_graph_sort(graph);
}

static tn_status set_output(tn_graph *graph, size_t output, uint32_t rank,
                            const tn_border *border) {
    tn_tensor_id outer = graph->outputs[output];
    if (border->type != TN_NONE && border->type != graph->tensors[outer].type)
        TN_TRY(add_cast(graph, outer, border->type, &outer));
    if (border->order == TN_BORDER_CHANNELS_LAST)
        TN_TRY(add_transpose(graph, outer, rank, true, &outer));
    graph->outputs[output] = outer;
    return tn_graph_sort(graph);
}

/* ----------------------------------------------------------------------------------------------
 * checks */

static tn_status check_operator(tn_graph *graph, const char *name) {
    const tn_operator_entry *entry = NULL;
    TN_TRY(tn_registry_find_operator(tn_runtime_registry(graph->runtime), "", name, TN_EDIT_OPSET,
                                     &entry));
    tn_library_release(entry->library);
    return TN_OK;
}

static tn_status check_type(const tn_border *border, tn_type own) {
    const tn_type types[] = {border->type, own};
    for (size_t i = 0; i < 2 && border->type != TN_NONE; i++)
        if (types[i] != TN_NONE && (types[i] == TN_STRING || tn_type_bytes(types[i]) == 0))
            return tn_fail(TN_ERROR_TYPE,
                           "the border '%s' can not be cast %s %s: expected a type of whole bytes, "
                           "and no string",
                           border->name, i == 0 ? "to" : "from", tn_type_name(types[i]));
    return TN_OK;
}

static tn_status check_rank(const tn_border *border, bool has_rank, uint32_t rank) {
    if (border->order == TN_BORDER_AS_IS || (has_rank && rank >= 3)) return TN_OK;
    if (!has_rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "the rank of '%s' is not known: its axes can not be put into another order",
                       border->name);
    return tn_fail(TN_ERROR_SHAPE, "'%s' has rank %" PRIu32 "; channels can be last from rank 3 on",
                   border->name, rank);
}

static tn_status check_both(tn_graph *graph, const tn_border *border, tn_type own, bool has_rank,
                            uint32_t rank) {
    TN_TRY(check_type(border, own));
    TN_TRY(check_rank(border, has_rank, rank));
    TN_TRY(check_operator(graph, "Cast"));
    return check_operator(graph, "Transpose");
}

static bool is_output(const tn_graph *graph, tn_tensor_id tensor) {
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] == tensor) return true;
    return false;
}

static tn_status find_nothing(const tn_graph *graph, const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < graph->input_count; i++)
        tn_nearest_offer(&nearest, graph->tensors[graph->inputs[i]].name);
    for (size_t i = 0; i < graph->output_count; i++)
        tn_nearest_offer(&nearest, graph->output_names[i]);
    return tn_error_mend_nearest(
        tn_fail(TN_ERROR_NOT_FOUND, "there is no input or output '%s'", name), "; ", nearest.best);
}

/* What is declared of an output, or found when it was made. */
static void find_shape(const tn_graph *graph, tn_tensor_id id, bool *out_has_rank,
                       uint32_t *out_rank) {
    const tn_graph_tensor *tensor = &graph->tensors[id];
    const tn_graph_declaration *declared = tn_graph_declaration_of(graph, id);
    *out_has_rank = tensor->has_shape || (declared && declared->has_shape);
    *out_rank = tensor->has_shape ? tensor->shape.rank : *out_has_rank ? declared->shape.rank : 0;
}

static tn_status set_border(tn_graph *graph, const tn_border *border) {
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        if (strcmp(tensor->name, border->name) != 0) continue;
        if (is_output(graph, graph->inputs[i]))
            return tn_fail(TN_ERROR_UNSUPPORTED, "input '%s' is an output, too", border->name);
        TN_TRY(check_both(graph, border, tensor->type, tensor->has_shape, tensor->shape.rank));
        return set_input(graph, graph->inputs[i], border);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        bool has_rank;
        uint32_t rank;
        if (strcmp(graph->output_names[i], border->name) != 0) continue;
        find_shape(graph, graph->outputs[i], &has_rank, &rank);
        TN_TRY(check_both(graph, border, graph->tensors[graph->outputs[i]].type, has_rank, rank));
        return set_output(graph, i, rank, border);
    }
    return find_nothing(graph, border->name);
}

tn_status tn_graph_set_border(tn_graph *graph, const tn_border *border) {
    tn_border own = {0};
    if (!graph || !border || border->size < offsetof(tn_border, order))
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_set_border needs a graph and a border with its "
                                          "size");
    memcpy(&own, border, border->size < sizeof(own) ? border->size : sizeof(own));
    if (!own.name) return tn_fail(TN_ERROR_ARGUMENT, "the name of a border is null");
    if (own.order > TN_BORDER_CHANNELS_LAST)
        return tn_fail(TN_ERROR_ARGUMENT, "order %" PRIu32 " of a border is not known", own.order);
    if (own.type != TN_NONE && !tn_type_is_valid(own.type))
        return tn_fail(TN_ERROR_TYPE, "element type %" PRIu32 " is not known", own.type);
    return set_border(graph, &own);
}
