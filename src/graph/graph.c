/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph's life and its two arrays: tensors and nodes by number. The checked public calls that
 * add to them are in graph_add.c, order in graph_sort.c, port checks in graph_check.c.
 */
#include "graph/graph.h"

#include "base/map.h"
#include "base/status.h"
#include "graph/graph_private.h"
#include "tensor/string.h"

#include <inttypes.h>
#include <string.h>

static tn_status graph_init(tn_graph *graph, const char *name) {
    TN_TRY(tn_arena_create(graph->allocator, &graph->arena));
    TN_TRY(tn_map_create(graph->allocator, &graph->names));
    graph->private_part = tn_allocate_zero(graph->allocator, 1, sizeof(struct tn_graph_private));
    if (!graph->private_part) return tn_fail_memory("a graph");
    TN_TRY(tn_map_create(graph->allocator, &graph->private_part->output_names));
    graph->name = tn_arena_text(graph->arena, name ? name : "");
    return graph->name ? TN_OK : tn_fail_memory("a graph's name");
}

tn_status tn_graph_create(tn_runtime *runtime, const char *name, tn_graph **out_graph) {
    if (!runtime || !out_graph)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_create needs a runtime and out_graph");
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_graph *graph = tn_allocate_zero(allocator, 1, sizeof(*graph));
    if (!graph) return tn_fail_memory("a graph");
    graph->allocator = allocator;
    atomic_init(&graph->references, 1);
    graph->runtime = tn_runtime_retain(runtime);
    tn_status status = graph_init(graph, name);
    if (status != TN_OK) {
        tn_graph_destroy(graph);
        return status;
    }
    *out_graph = graph;
    return TN_OK;
}

void tn_graph_release_node(tn_graph_node *node) {
    if (!node->entry) return;
    const tn_operator *op = node->entry->op;
    if (op->destroy_params && node->params && !node->has_lent_params)
        op->destroy_params(op->user, node->params);
    node->params = NULL;
    tn_library_release(node->entry->library);
    node->entry = NULL;
}

tn_graph *tn_graph_retain(tn_graph *graph) {
    atomic_fetch_add(&graph->references, 1);
    return graph;
}

void tn_graph_destroy(tn_graph *graph) {
    if (!graph || atomic_fetch_sub(&graph->references, 1) > 1) return;
    for (size_t i = 0; i < graph->node_count; i++)
        tn_graph_release_node(&graph->nodes[i]);
    for (size_t i = 0; i < graph->file_count; i++)
        tn_file_unmap(&graph->files[i]);
    const tn_allocator *allocator = graph->allocator;
    if (graph->private_part) {
        tn_graph_destroy_bodies(graph);
        tn_map_destroy(graph->private_part->output_names);
        tn_deallocate(allocator, graph->private_part->opsets);
        tn_deallocate(allocator, graph->private_part->declarations);
        tn_deallocate(allocator, (void *)(uintptr_t)graph->private_part->info.metadata);
        tn_deallocate(allocator, graph->private_part->input_infos);
        tn_deallocate(allocator, graph->private_part->output_infos);
        tn_deallocate(allocator, graph->private_part);
    }
    tn_map_destroy(graph->names);
    tn_deallocate(allocator, graph->tensors);
    tn_deallocate(allocator, graph->nodes);
    tn_deallocate(allocator, graph->inputs);
    tn_deallocate(allocator, graph->outputs);
    tn_deallocate(allocator, graph->output_names);
    tn_deallocate(allocator, graph->files);
    tn_arena_destroy(graph->arena);
    tn_runtime *runtime = graph->runtime;
    tn_graph_destroy(graph->original);
    tn_deallocate(allocator, graph);
    tn_runtime_release(runtime);
}

void *tn_graph_allocate_data(tn_graph *graph, size_t bytes) {
    size_t padded_bytes;
    if (!tn_add_size(bytes, 64, &padded_bytes)) return NULL;
    unsigned char *memory = tn_arena_allocate(graph->arena, 1, padded_bytes);
    if (!memory) return NULL;
    return memory + (64 - (uintptr_t)memory % 64) % 64;
}

const char *tn_graph_make_name(tn_graph *graph, const char *base) {
    for (;;) {
        const char *name =
            tn_arena_format(graph->arena, "%s_%" PRIu64, base, graph->private_part->next_name++);
        if (!name || !tn_map_get(graph->names, name, &(uint64_t){0})) return name;
    }
}

uint64_t tn_graph_names_made(const tn_graph *graph) {
    return graph->private_part->next_name;
}

void tn_graph_set_names_made(tn_graph *graph, uint64_t count) {
    graph->private_part->next_name = count;
}

tn_status tn_graph_add_tensor(tn_graph *graph, const char *name, tn_type type,
                              tn_tensor_id *out_tensor) {
    if (graph->tensor_count >= TN_NO_TENSOR)
        return tn_fail(TN_ERROR_MEMORY, "a graph holds at most %u tensors", TN_NO_TENSOR);
    const char *own;
    if (!name || !*name) {
        own = tn_graph_make_name(graph, "tensor");
    } else {
        if (tn_map_get(graph->names, name, &(uint64_t){0}))
            return tn_fail(TN_ERROR_ARGUMENT, "there is a tensor '%s' already", name);
        own = tn_arena_text(graph->arena, name);
    }
    if (!own) return tn_fail_memory("a tensor's name");
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->tensors, &graph->tensor_capacity,
                   graph->tensor_count + 1, sizeof(*graph->tensors)));
    TN_TRY(tn_map_set(graph->names, own, graph->tensor_count));
    graph->tensors[graph->tensor_count] =
        (tn_graph_tensor){.name = own, .type = type, .producer = TN_NO_NODE};
    *out_tensor = (tn_tensor_id)graph->tensor_count++;
    return TN_OK;
}

/* What follows the elements of a constant of strings, which are all within it. */
static tn_status find_heap(tn_graph *graph, const void *data, size_t elements, size_t bytes,
                           tn_heap **out_heap) {
    const size_t count = elements / sizeof(tn_string);
    const tn_heap heap = tn_heap_behind(data, count, bytes);
    TN_TRY(tn_strings_check(data, count, &heap));
    *out_heap = tn_arena_copy(graph->arena, &heap, sizeof(heap));
    return *out_heap ? TN_OK : tn_fail_memory("a constant");
}

tn_status tn_graph_add_constant_lent(tn_graph *graph, const char *name, tn_type type,
                                     const tn_shape *shape, const void *data, size_t bytes,
                                     tn_tensor_id *out_tensor) {
    tn_shape checked;
    size_t expected;
    TN_TRY(tn_shape_set(&checked, shape->rank, shape->extents));
    if (!tn_type_is_valid(type))
        return tn_fail(TN_ERROR_TYPE, "element type %" PRIu32 " is not known", type);
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &checked, &expected));
    if (type == TN_STRING ? bytes < expected : bytes != expected) {
        char text[TN_SHAPE_TEXT_BYTES];
        return tn_fail(TN_ERROR_ARGUMENT, "%s of %s takes %s%zu bytes, but %zu were given",
                       tn_shape_print(checked.rank, checked.extents, text, sizeof(text)),
                       tn_type_name(type), type == TN_STRING ? "at least " : "", expected, bytes);
    }
    if (bytes > 0 && !data) return tn_fail(TN_ERROR_ARGUMENT, "a constant's data is null");
    tn_heap *heap = NULL;
    if (type == TN_STRING) TN_TRY(find_heap(graph, data, expected, bytes, &heap));
    tn_tensor_id id;
    TN_TRY(tn_graph_add_tensor(graph, name, type, &id));
    tn_graph_tensor *tensor = &graph->tensors[id];
    tensor->is_constant = tensor->has_shape = true;
    tensor->shape = checked;
    tensor->data = bytes > 0 ? data : NULL;
    tensor->bytes = bytes;
    tensor->heap = heap;
    *out_tensor = id;
    return TN_OK;
}

/* The number of slots that a node of this operator has, given how many were named. */
static uint32_t slot_count(const tn_port *ports, uint32_t port_count, uint32_t given) {
    uint32_t fixed = port_count;
    if (port_count > 0 && (ports[port_count - 1].flags & TN_PORT_VARIADIC)) fixed--;
    return given > fixed ? given : fixed;
}

static tn_status copy_slots(tn_graph *graph, const tn_tensor_id *from, uint32_t count,
                            uint32_t slots, tn_tensor_id **out_ids) {
    tn_tensor_id *ids = tn_arena_allocate(graph->arena, slots, sizeof(*ids));
    if (!ids) return tn_fail_memory("a node");
    for (uint32_t i = 0; i < slots; i++) {
        ids[i] = i < count ? from[i] : TN_NO_TENSOR;
        if (ids[i] != TN_NO_TENSOR && ids[i] >= graph->tensor_count)
            return tn_fail(TN_ERROR_ARGUMENT, "the graph has no tensor number %" PRIu32, ids[i]);
    }
    *out_ids = ids;
    return TN_OK;
}

/* An output that nobody wants is absent only where its port is optional: an operator may count on
 * all others. */
static tn_status make_outputs(tn_graph *graph, tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_port *port = tn_graph_output_port(node->entry->op, i);
        if (node->outputs[i] != TN_NO_TENSOR || (port->flags & TN_PORT_OPTIONAL)) continue;
        TN_TRY(tn_graph_add_tensor(graph, NULL, TN_NONE, &node->outputs[i]));
    }
    return TN_OK;
}

static tn_status fill_node(tn_graph *graph, tn_graph_node *node, const char *name,
                           uint64_t attribute_count, const tn_attribute *const *attributes) {
    const tn_operator *op = node->entry->op;
    node->name = name && *name
                     ? tn_arena_text(graph->arena, name)
                     : tn_arena_format(graph->arena, "%s_%zu", op->name, graph->node_count);
    if (!node->name) return tn_fail_memory("a node's name");
    TN_TRY(tn_graph_check_node(graph, node));
    TN_TRY(make_outputs(graph, node));
    TN_TRY(tn_graph_copy_attributes(graph, attribute_count, attributes, false, &node->attributes));
    node->attribute_count = attribute_count;
    TN_TRY(tn_graph_bind_bodies(node));
    return tn_fields_parse(graph->arena, op, attribute_count, node->attributes, &node->params);
}

/* Producers and use counts as they are while a graph grows; tn_graph_sort sets them anew. */
static void link_node(tn_graph *graph, uint32_t index) {
    const tn_graph_node *node = &graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR) graph->tensors[node->inputs[i]].use_count++;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) graph->tensors[node->outputs[i]].producer = index;
}

tn_status tn_graph_add_node_raw(tn_graph *graph, const char *name, const tn_operator_entry *entry,
                                uint64_t attribute_count, const tn_attribute *const *attributes,
                                uint32_t input_count, const tn_tensor_id *inputs,
                                uint32_t output_count, const tn_tensor_id *outputs,
                                uint32_t *out_node) {
    const tn_operator *op = entry->op;
    if (graph->node_count >= TN_NO_NODE)
        return tn_fail(TN_ERROR_MEMORY, "a graph holds at most %u nodes", TN_NO_NODE);
    tn_graph_node node = {.entry = entry};
    node.input_count = slot_count(op->inputs, op->input_count, input_count);
    node.output_count = slot_count(op->outputs, op->output_count, output_count);
    TN_TRY(copy_slots(graph, inputs, input_count, node.input_count, &node.inputs));
    TN_TRY(copy_slots(graph, outputs, output_count, node.output_count, &node.outputs));
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->nodes, &graph->node_capacity,
                   graph->node_count + 1, sizeof(*graph->nodes)));
    tn_status status = fill_node(graph, &node, name, attribute_count, attributes);
    if (status != TN_OK) return tn_error_in(status, .node = node.name, .op = op->name);
    uint32_t index = (uint32_t)graph->node_count++;
    graph->nodes[index] = node;
    link_node(graph, index);
    if (out_node) *out_node = index;
    return TN_OK;
}

tn_status tn_graph_own_file(tn_graph *graph, tn_file *file) {
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->files, &graph->file_capacity,
                   graph->file_count + 1, sizeof(*graph->files)));
    graph->files[graph->file_count++] = *file;
    *file = (tn_file){0};
    return TN_OK;
}
