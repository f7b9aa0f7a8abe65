/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds constants: a node whose inputs are all constants, or of which it reads only shapes that
 * never differ, is computed now by its operator's reference, and its outputs become constants.
 * Nodes with an output of the graph stay: outputs are written by a run.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "graph/body.h"
#include "plugin/library.h"
#include "plugin/rewrite/pattern.h"

#include <string.h>

/* Where the data of tensors without elements points. */
static const _Alignas(64) unsigned char no_elements[64];

typedef struct constant_folder {
    tn_pass_context *context;
    bool *is_fixed;     /* by tensor: its shape never differs */
    bool ignores_refit; /* as if no constant was to be refitted */
} constant_folder;

/* One whose value may be used. */
static bool is_constant(const constant_folder *folder, tn_tensor_id tensor) {
    const tn_graph_tensor *item = &folder->context->graph->tensors[tensor];
    return item->is_constant && (!item->refit_name || folder->ignores_refit);
}

/* Whether the node's output shapes never differ. */
static bool has_fixed_shapes(const constant_folder *folder, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        if (!folder->is_fixed[node->inputs[i]]) return false;
        const uint32_t flags = tn_graph_input_port(node->entry->op, i)->flags;
        const bool is_read = (flags & TN_PORT_VALUE_WANTED) || tn_graph_needs_value(node, i);
        if (is_read && !is_constant(folder, node->inputs[i])) return false;
    }
    return true;
}

static void note_shapes(constant_folder *folder, const tn_graph_node *node) {
    bool is_fixed = has_fixed_shapes(folder, node);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        folder->is_fixed[node->outputs[i]] = is_fixed && !tn_graph_output_is_sized(node, i) &&
                                             tn_pass_is_shaped(folder->context, node->outputs[i]);
    }
}

static bool has_known_inputs(const constant_folder *folder, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor_id id = node->inputs[i];
        if (id == TN_NO_TENSOR || is_constant(folder, id)) continue;
        if (!(tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_SHAPE_ONLY)) return false;
        if (!folder->is_fixed[id]) return false;
    }
    return true;
}

static bool is_small(const tn_pass_context *context, const tn_graph_node *node) {
    size_t allowed = TN_PASS_FOLD_BYTES, made = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR &&
            !tn_add_size(allowed, context->graph->tensors[node->inputs[i]].bytes, &allowed))
            return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        const tn_inferred_tensor *known = &context->points[1]->tensors[node->outputs[i]];
        if (known->unbounded || !tn_add_size(made, (size_t)known->storage.tensor.bytes, &made))
            return false;
    }
    return made <= allowed;
}

static bool is_waited_for(const tn_pass_context *context, const tn_operator *op) {
    for (uint32_t i = 0; i < context->waiting_count; i++)
        if (tn_pattern_reads_constants(context->waiting[i]->pattern, op->name)) return true;
    return false;
}

static bool can_fold(const constant_folder *folder, const tn_graph_node *node) {
    const tn_pass_context *context = folder->context;
    const tn_operator *op = node->entry->op;
    bool has_inputs = false;
    if ((op->traits & TN_OPERATOR_NO_FOLD) || (!op->reference && !tn_graph_node_is_view(node)))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        has_inputs = has_inputs || node->inputs[i] != TN_NO_TENSOR;
    if (!has_inputs && !(op->traits & TN_OPERATOR_CONSTANT)) return false;
    if (!has_known_inputs(folder, node)) return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        if (!tn_pass_is_shaped(context, node->outputs[i]) ||
            tn_graph_is_output(context->graph, node->outputs[i]))
            return false;
        if (context->points[1]->tensors[node->outputs[i]].storage.tensor.type == TN_STRING)
            return false; /* constants have no heap that a reference could append to */
    }
    if (!folder->ignores_refit && tn_graph_refit_in_bodies(node)) return false;
    return !is_waited_for(context, op) && is_small(context, node);
}

/* Notes a node that would be folded but for constants that are to be refitted. */
static tn_status note_refit(constant_folder *folder, const tn_graph_node *node) {
    tn_pass_context *context = folder->context;
    const char *constant = tn_graph_refit_of(context->graph, node);
    if (!constant) return TN_OK;
    folder->ignores_refit = true;
    const bool would_fold = can_fold(folder, node);
    folder->ignores_refit = false;
    return would_fold ? tn_pass_note_refit(context, node->name, constant, "its value is not folded")
                      : TN_OK;
}

/* Descriptors of the node's tensors in `arena`, with room for the outputs in the graph's. */
static tn_status lay_out(const constant_folder *folder, const tn_graph_node *node, tn_arena *arena,
                         const tn_tensor ***out_inputs, tn_tensor_storage **out_outputs) {
    tn_graph *graph = folder->context->graph;
    const tn_inference *point = folder->context->points[1];
    const tn_tensor **inputs = tn_arena_allocate(arena, node->input_count + 1u, sizeof *inputs);
    tn_tensor_storage *items = tn_arena_allocate(arena, node->input_count + 1u, sizeof *items);
    tn_tensor_storage *outputs = tn_arena_allocate(arena, node->output_count + 1u, sizeof *outputs);
    if (!inputs || !items || !outputs) return tn_fail_memory("folding constants");
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor_id id = node->inputs[i];
        if (id == TN_NO_TENSOR) continue;
        const tn_graph_tensor *tensor = &graph->tensors[id];
        const tn_tensor_storage *known = &point->tensors[id].storage;
        TN_TRY(tn_tensor_init(&items[i], tensor->is_constant ? tensor->type : known->tensor.type,
                              TN_LINEAR, tensor->is_constant ? &tensor->shape : &known->shape));
        items[i].tensor.name = tensor->name;
        items[i].tensor.quantization = tensor->quantization;
        items[i].tensor.heap = tensor->heap;
        if (tensor->is_constant)
            items[i].tensor.data =
                (void *)(uintptr_t)(tensor->bytes > 0 ? tensor->data : no_elements);
        inputs[i] = &items[i].tensor;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        const tn_tensor_storage *known = &point->tensors[id].storage;
        TN_TRY(tn_tensor_init(&outputs[i], known->tensor.type, TN_LINEAR, &known->shape));
        outputs[i].tensor.name = graph->tensors[id].name;
        outputs[i].tensor.quantization = graph->tensors[id].quantization;
        if (tn_graph_node_is_view(node)) {
            const tn_tensor *source = inputs[tn_graph_output_port(node->entry->op, i)->alias - 1];
            outputs[i].tensor.data = source->data;
            if (!source->data || source->bytes != outputs[i].tensor.bytes)
                return tn_fail(TN_ERROR_PLUGIN, "a view has other bytes than its input");
        } else {
            outputs[i].tensor.data = tn_graph_allocate_data(graph, (size_t)outputs[i].tensor.bytes);
        }
        if (!outputs[i].tensor.data) return tn_fail_memory("folding constants");
    }
    *out_inputs = inputs;
    *out_outputs = outputs;
    return TN_OK;
}

/* An output may have been sized by the run: its shape is read again. */
static tn_status keep_output(constant_folder *folder, tn_tensor_id id, tn_tensor_storage *output) {
    tn_graph_tensor *tensor = &folder->context->graph->tensors[id];
    tn_shape shape;
    size_t bytes = 0;
    if (output->tensor.shape != output->shape.extents)
        return tn_fail(TN_ERROR_PLUGIN, "the pointer to an output's shape was replaced");
    TN_TRY(tn_shape_set(&shape, output->tensor.rank, output->tensor.shape));
    TN_TRY(tn_format_bytes(TN_LINEAR, output->tensor.type, &shape, &bytes));
    if (bytes > output->tensor.bytes)
        return tn_fail(TN_ERROR_PLUGIN, "an output became larger than the shape rule's bound");
    tensor->is_constant = tensor->has_shape = true;
    tensor->type = output->tensor.type;
    tensor->shape = shape;
    tensor->data = bytes > 0 ? output->tensor.data : NULL;
    tensor->bytes = bytes;
    tensor->producer = TN_NO_NODE;
    folder->is_fixed[id] = true;
    return TN_OK;
}

static tn_status evaluate(constant_folder *folder, uint32_t index, tn_arena *arena,
                          bool *out_is_folded) {
    tn_graph *graph = folder->context->graph;
    tn_graph_node *node = &graph->nodes[index];
    const tn_tensor **inputs = NULL;
    tn_tensor_storage *storage = NULL;
    *out_is_folded = false;
    TN_TRY(lay_out(folder, node, arena, &inputs, &storage));
    tn_tensor **outputs = tn_arena_allocate(arena, node->output_count + 1u, sizeof *outputs);
    if (!outputs) return tn_fail_memory("folding constants");
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) outputs[i] = &storage[i].tensor;
    tn_status status =
        tn_graph_node_is_view(node) ? TN_OK : tn_evaluate_node(graph, index, inputs, outputs);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) {
        /* It would fail in a run just so, if a run ever comes to it: the run shall say so. */
        tn_runtime_log(graph->runtime, TN_LOG_DEBUG, "node '%s' cannot be folded: %s", node->name,
                       tn_last_error()->message);
        return TN_OK;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (outputs[i])
            TN_TRY(tn_error_in(keep_output(folder, node->outputs[i], &storage[i]),
                               .node = node->name));
    for (uint32_t i = 0; i < node->output_count; i++)
        node->outputs[i] = TN_NO_TENSOR;
    node->is_dead = true;
    *out_is_folded = true;
    return TN_OK;
}

static tn_status fold_node(constant_folder *folder, uint32_t index) {
    tn_pass_context *context = folder->context;
    tn_error_copy before;
    tn_arena *arena = NULL;
    bool is_folded = false;
    tn_error_save(&before);
    TN_TRY(tn_arena_create(context->graph->allocator, &arena));
    tn_status status = evaluate(folder, index, arena, &is_folded);
    tn_arena_destroy(arena);
    TN_TRY(status);
    if (!is_folded) {
        tn_error_restore(&before);
        return TN_OK;
    }
    return tn_pass_names_add(context, &context->folded, context->graph->nodes[index].name);
}

tn_status tn_pass_fold_constants(tn_pass_context *context) {
    tn_graph *graph = context->graph;
    constant_folder folder = {.context = context};
    tn_status status = TN_OK;
    folder.is_fixed = tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(bool));
    if (!folder.is_fixed) return tn_fail_memory("folding constants");
    for (size_t i = 0; i < graph->input_count; i++)
        folder.is_fixed[graph->inputs[i]] =
            context->is_fixed_input[i] && !context->is_unsure[graph->inputs[i]];
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].is_constant) folder.is_fixed[t] = true;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        note_shapes(&folder, &graph->nodes[n]);
        if (can_fold(&folder, &graph->nodes[n]))
            TN_GO(fold_node(&folder, n));
        else
            TN_GO(note_refit(&folder, &graph->nodes[n]));
    }
    TN_GO(tn_graph_sort(graph));
done:
    tn_deallocate(graph->allocator, folder.is_fixed);
    return status;
}
