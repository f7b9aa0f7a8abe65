/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of an inference: shapes against what the graph declares, extents of the same name
 * against each other, and the values that decide shapes.
 */
#include "base/map.h"
#include "base/status.h"
#include "graph/infer_private.h"
#include "plugin/sequences/items.h"

#include <inttypes.h>
#include <string.h>

/* Input and axis in one number, for the map. */
static uint64_t pack_axis(uint32_t input, uint32_t axis) {
    return (uint64_t)input * TN_MAX_RANK + axis;
}

static tn_status note_name(tn_map *first, struct tn_inference_scratch *scratch, const char *name,
                           uint32_t input, uint32_t axis) {
    uint64_t packed;
    if (!tn_map_get(first, name, &packed)) return tn_map_set(first, name, pack_axis(input, axis));
    scratch->names[scratch->name_count++] =
        (tn_named_extent){.input = input,
                          .axis = axis,
                          .first_input = (uint32_t)(packed / TN_MAX_RANK),
                          .first_axis = (uint32_t)(packed % TN_MAX_RANK)};
    return TN_OK;
}

tn_status tn_infer_find_names(const tn_graph *graph, const tn_allocator *allocator,
                              struct tn_inference_scratch *scratch) {
    scratch->names =
        tn_allocate_zero(allocator, graph->input_count * TN_MAX_RANK + 1, sizeof(*scratch->names));
    if (!scratch->names) return tn_fail_memory("the names of extents");
    tn_map *first;
    TN_TRY(tn_map_create(allocator, &first));
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < graph->input_count && status == TN_OK; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        for (uint32_t axis = 0; axis < TN_MAX_RANK && status == TN_OK; axis++)
            if (tensor->extent_names[axis] && tensor->has_shape && axis < tensor->shape.rank)
                status = note_name(first, scratch, tensor->extent_names[axis], i, axis);
    }
    tn_map_destroy(first);
    return status;
}

static tn_status fail_shape(const tn_graph_tensor *tensor, const tn_shape *shape) {
    char declared[TN_SHAPE_TEXT_BYTES], given[TN_SHAPE_TEXT_BYTES];
    return tn_fail(
        TN_ERROR_SHAPE, "input '%s' is declared as %s, but %s was given", tensor->name,
        tn_shape_print(tensor->shape.rank, tensor->shape.extents, declared, sizeof(declared)),
        tn_shape_print(shape->rank, shape->extents, given, sizeof(given)));
}

static tn_status check_declared(const tn_graph_tensor *tensor, const tn_shape *shape) {
    if (!tensor->has_shape) return TN_OK;
    if (tensor->shape.rank != shape->rank) return fail_shape(tensor, shape);
    for (uint32_t i = 0; i < shape->rank; i++)
        if (tensor->shape.extents[i] >= 0 && tensor->shape.extents[i] != shape->extents[i])
            return fail_shape(tensor, shape);
    return TN_OK;
}

static tn_status check_names(const tn_inference *inference, const tn_shape *shapes) {
    const tn_graph *graph = inference->graph;
    for (size_t i = 0; i < inference->scratch->name_count; i++) {
        const tn_named_extent *named = &inference->scratch->names[i];
        int64_t here = shapes[named->input].extents[named->axis];
        int64_t there = shapes[named->first_input].extents[named->first_axis];
        if (here == there) continue;
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[named->input]];
        const tn_graph_tensor *first = &graph->tensors[graph->inputs[named->first_input]];
        return tn_fail(TN_ERROR_SHAPE,
                       "extent '%s' is %" PRId64 " in input '%s' (axis %" PRIu32 ") but %" PRId64
                       " in input '%s' (axis %" PRIu32 "); the same name means the same extent",
                       tensor->extent_names[named->axis], there, first->name, named->first_axis,
                       here, tensor->name, named->axis);
    }
    return TN_OK;
}

static tn_status set_input(tn_inference *inference, size_t index, const tn_shape *shape) {
    const tn_tensor_id id = inference->graph->inputs[index];
    const tn_graph_tensor *tensor = &inference->graph->tensors[id];
    tn_inferred_tensor *inferred = &inference->tensors[id];
    tn_shape checked;
    if (tensor->kind) {
        const tn_tensor declared = {.kind = tensor->kind,
                                    .type = inference->input_types ? inference->input_types[index]
                                                                   : tensor->type,
                                    .reserved = tensor->key_type,
                                    .name = tensor->name};
        tn_items_describe(&inferred->storage, &declared, TN_RANK_UNKNOWN, NULL);
        inferred->is_described = true;
        return TN_OK;
    }
    TN_TRY(tn_shape_set(&checked, shape->rank, shape->extents));
    const tn_type type = inference->input_types ? inference->input_types[index] : tensor->type;
    TN_TRY(tn_tensor_init(&inferred->storage, type, TN_LINEAR, &checked));
    inferred->storage.tensor.name = tensor->name;
    inferred->storage.tensor.quantization = tensor->quantization;
    inferred->is_known = true;
    return TN_OK;
}

static tn_status set_value(tn_inference *inference, tn_tensor_id id, const void *value) {
    const tn_inferred_tensor *inferred = &inference->tensors[id];
    if (!value && inferred->storage.tensor.bytes > 0)
        return tn_fail(TN_ERROR_ARGUMENT, "the value of input '%s' decides shapes and is needed",
                       inference->graph->tensors[id].name);
    TN_TRY(tn_infer_reserve_value(inference, id));
    if (inferred->storage.tensor.bytes > 0)
        memcpy(inferred->storage.tensor.data, value, (size_t)inferred->storage.tensor.bytes);
    return TN_OK;
}

static tn_status set_input_value(tn_inference *inference, size_t index, const void *value) {
    const tn_tensor_id id = inference->graph->inputs[index];
    const tn_heap *heap = inference->input_heaps ? inference->input_heaps[index] : NULL;
    return heap ? tn_infer_take_strings(inference, id, value, heap)
                : set_value(inference, id, value);
}

tn_status tn_infer_set_inputs(tn_inference *inference, const tn_shape *shapes,
                              const void *const *values) {
    const tn_graph *graph = inference->graph;
    for (size_t i = 0; i < graph->input_count; i++)
        TN_TRY(check_declared(&graph->tensors[graph->inputs[i]], &shapes[i]));
    TN_TRY(check_names(inference, shapes));
    for (size_t i = 0; i < graph->input_count; i++) {
        tn_status status = set_input(inference, i, &shapes[i]);
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        if (status == TN_OK && tensor->kind)
            status = values && values[i]
                         ? tn_infer_take_list(inference, graph->inputs[i], values[i])
                         : TN_OK;
        else if (status == TN_OK && inference->plan->is_value_input[i])
            status = set_input_value(inference, i, values ? values[i] : NULL);
        if (status != TN_OK)
            return tn_error_at(status, "input '%s'", graph->tensors[graph->inputs[i]].name);
    }
    return TN_OK;
}

tn_status tn_inference_set(tn_inference *inference, tn_tensor_id tensor, const tn_shape *shape,
                           const void *value) {
    if (tensor >= inference->graph->tensor_count)
        return tn_fail(TN_ERROR_ARGUMENT, "the graph has no tensor number %" PRIu32, tensor);
    tn_inferred_tensor *inferred = &inference->tensors[tensor];
    tn_tensor old = inferred->storage.tensor;
    tn_shape checked;
    TN_TRY(tn_shape_set(&checked, shape->rank, shape->extents));
    TN_TRY(tn_tensor_init(&inferred->storage, old.type, TN_LINEAR, &checked));
    inferred->storage.tensor.name = old.name;
    inferred->storage.tensor.quantization = old.quantization;
    inferred->is_known = true;
    inferred->is_guess = inferred->is_rank_guess = inferred->is_value_guess = false;
    inferred->unbounded = 0;
    return value && old.type != TN_STRING ? set_value(inference, tensor, value) : TN_OK;
}
