/* SPDX-License-Identifier: Apache-2.0 */
/* Values that decide shapes: nodes that inference computes, and the memory of what they make. See
 * infer.c. */
#include "base/status.h"
#include "graph/infer_private.h"
#include "plugin/outputs.h"
#include "plugin/strings/strings.h"
#include "tensor/string.h"
#include "tensor/type.h"

#include <inttypes.h>

tn_status tn_infer_reserve(tn_inference *inference, tn_tensor_id id, size_t bytes) {
    tn_inferred_tensor *inferred = &inference->tensors[id];
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
    return TN_OK;
}

tn_status tn_infer_reserve_value(tn_inference *inference, tn_tensor_id id) {
    tn_inferred_tensor *inferred = &inference->tensors[id];
    if (inferred->storage.tensor.type == TN_STRING) TN_TRY(tn_infer_open_heap(inference, id));
    TN_TRY(tn_infer_reserve(inference, id, (size_t)inferred->storage.tensor.bytes));
    inferred->storage.tensor.data = inferred->buffer;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * values that a run will find */

/* A length where there is one number, and else what other shapes are compatible with. */
enum { GUESSED_LENGTH = 60, GUESSED_ELEMENT = 1 };

static tn_status guess_value(tn_inference *inference, tn_tensor_id id) {
    tn_inferred_tensor *inferred = &inference->tensors[id];
    const tn_tensor *tensor = &inferred->storage.tensor;
    if (!inferred->is_known || tensor->type == TN_STRING) return TN_OK;
    size_t count;
    TN_TRY(tn_shape_count(&inferred->storage.shape, &count));
    TN_TRY(tn_infer_reserve_value(inference, id));
    for (size_t i = 0; i < count; i++)
        tn_element_set_i64(tensor->data, tensor->type, i,
                           count == 1 ? GUESSED_LENGTH : GUESSED_ELEMENT);
    inferred->is_value_guess = true;
    return TN_OK;
}

tn_status tn_infer_guess_values(tn_inference *inference, const tn_graph_node *node) {
    const bool *is_run_value = inference->plan->is_run_value;
    for (uint32_t i = 0; is_run_value && i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && is_run_value[node->outputs[i]])
            TN_TRY(tn_infer_at_node(guess_value(inference, node->outputs[i]), node));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * strings: only where every value is computed, a body by references */

struct tn_inference_heaps {
    size_t count;
    tn_owned_heap *owned; /* by tensor */
    tn_heap *given;       /* the same, of inputs: behind their elements */
};

static tn_status make_heaps(tn_inference *inference) {
    const size_t count = inference->tensor_count;
    struct tn_inference_heaps *heaps = tn_allocate_zero(inference->allocator, 1, sizeof *heaps);
    if (!heaps) return tn_fail_memory("strings");
    inference->scratch->heaps = heaps;
    heaps->owned = tn_allocate_zero(inference->allocator, count + 1, sizeof(*heaps->owned));
    heaps->given = tn_allocate_zero(inference->allocator, count + 1, sizeof(*heaps->given));
    if (!heaps->owned || !heaps->given) return tn_fail_memory("strings");
    heaps->count = count;
    for (size_t t = 0; t < count; t++)
        tn_owned_heap_init(&heaps->owned[t], inference->allocator);
    return TN_OK;
}

static tn_status find_heaps(tn_inference *inference, tn_tensor_id tensor) {
    if (!inference->plan->is_whole)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the value of tensor '%s' decides shapes and is of strings: only a constant "
                       "of strings may",
                       inference->graph->tensors[tensor].name);
    return inference->scratch->heaps ? TN_OK : make_heaps(inference);
}

tn_status tn_infer_open_heap(tn_inference *inference, tn_tensor_id tensor) {
    TN_TRY(find_heaps(inference, tensor));
    tn_owned_heap *heap = &inference->scratch->heaps->owned[tensor];
    tn_owned_heap_clear(heap);
    inference->tensors[tensor].storage.tensor.heap = &heap->heap;
    return TN_OK;
}

tn_status tn_infer_take_strings(tn_inference *inference, tn_tensor_id tensor, const void *elements,
                                const tn_heap *heap) {
    tn_inferred_tensor *inferred = &inference->tensors[tensor];
    const uint64_t bytes = inferred->storage.tensor.bytes, count = bytes / sizeof(tn_string);
    const uint64_t heap_bytes = tn_strings_heap_bytes(elements, count, heap);
    size_t all;
    TN_TRY(find_heaps(inference, tensor));
    if (!tn_add_size((size_t)bytes, (size_t)heap_bytes, &all)) return tn_fail_memory("strings");
    TN_TRY(tn_infer_reserve(inference, tensor, all));
    char *to_heap = (char *)inferred->buffer + bytes;
    tn_heap *given = &inference->scratch->heaps->given[tensor];
    tn_strings_copy(elements, count, heap, inferred->buffer, to_heap);
    *given = (tn_heap){.size = sizeof *given, .bytes = heap_bytes, .data = to_heap};
    inferred->storage.tensor.data = inferred->buffer;
    inferred->storage.tensor.heap = given;
    return TN_OK;
}

void tn_infer_heaps_destroy(struct tn_inference_heaps *heaps, const tn_allocator *allocator) {
    if (!heaps) return;
    for (size_t t = 0; t < heaps->count; t++)
        tn_owned_heap_deinit(&heaps->owned[t]);
    tn_deallocate(allocator, heaps->owned);
    tn_deallocate(allocator, heaps->given);
    tn_deallocate(allocator, heaps);
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

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
        inference->tensors[node->outputs[i]].storage.tensor.heap =
            inference->scratch->inputs[port->alias - 1]->heap;
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
        TN_TRY(tn_infer_read_shape(inferred, port, &shape));
        TN_TRY(tn_tensor_init(&inferred->storage, bound.type, TN_LINEAR, &shape));
        if (inferred->storage.tensor.bytes > bound.bytes)
            return tn_fail(TN_ERROR_PLUGIN,
                           "output '%s' became larger (%" PRIu64 " bytes) than the shape rule's "
                           "bound (%" PRIu64 ")",
                           port->name, inferred->storage.tensor.bytes, bound.bytes);
        inferred->unbounded = 0;
        inferred->is_rank_guess = false;
        inferred->storage.tensor.data = bound.data;
        inferred->storage.tensor.heap = bound.heap;
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

/* Prepares to compute a node whose value decides shapes; answers whether there is anything to
 * compute. */
static tn_status prepare_values(tn_inference *inference, const tn_graph_node *node,
                                bool *out_is_needed) {
    *out_is_needed = false;
    tn_infer_gather_inputs(inference, node, false);
    TN_TRY(check_values(inference, node));
    if (is_view_only(node)) {
        share_values(inference, node);
        return TN_OK;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        tn_inferred_tensor *inferred = &inference->tensors[node->outputs[i]];
        if (tn_graph_output_kind(node, i)) {
            TN_TRY(tn_infer_open_items(inference, node->outputs[i]));
            continue;
        }
        tn_tensor_unbound(&inferred->storage, inferred->unbounded);
        if (!inferred->unbounded)
            TN_TRY(tn_infer_reserve_value(inference, node->outputs[i]));
        else if (inferred->storage.tensor.type == TN_STRING)
            TN_TRY(tn_infer_open_heap(inference, node->outputs[i]));
    }
    *out_is_needed = true;
    return TN_OK;
}

/* Memory for an output without a bound: the tensor's own, as for other values. */
typedef struct value_source {
    tn_output_source source;
    tn_inference *inference;
    const tn_graph_node *node;
} value_source;

static tn_status allocate_value(tn_output_source *source, tn_call *call, uint32_t index,
                                uint64_t bytes, void **out_data) {
    const value_source *own = source->user;
    const tn_tensor_id id = own->node->outputs[index];
    (void)call;
    TN_TRY(tn_infer_reserve(own->inference, id, (size_t)bytes));
    *out_data = own->inference->tensors[id].buffer;
    return TN_OK;
}

static tn_status evaluate(tn_inference *inference, const tn_graph_node *node) {
    struct tn_inference_scratch *scratch = inference->scratch;
    value_source own = {.source = {.allocate = allocate_value, .states = scratch->states},
                        .inference = inference,
                        .node = node};
    own.source.user = &own;
    return tn_evaluate_call(inference->graph, node, scratch->inputs, scratch->outputs, &own.source,
                            inference->run, inference->questions);
}

tn_status tn_infer_values(tn_inference *inference, const tn_graph_node *node) {
    bool is_needed = false;
    const tn_status status = prepare_values(inference, node, &is_needed);
    if (status != TN_OK || !is_needed) return tn_infer_at_node(status, node);
    const tn_status evaluated = evaluate(inference, node);
    tn_infer_close_items(inference, node);
    TN_TRY(evaluated);
    return tn_infer_at_node(take_sizes(inference, node), node);
}
