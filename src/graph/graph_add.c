/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a network by hand: the checked public calls of tenon/graph.h that add to a graph. They
 * copy all that they are given; what they check beyond the caller's pointers is in graph.c and
 * graph_check.c.
 */
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/body.h"
#include "graph/graph_private.h"
#include "plugin/missing.h"
#include "plugin/sequences/kinds.h"

#include <tenon/border.h>

#include <inttypes.h>
#include <string.h>

/* "ai.onnx" is another name of ONNX's own domain. */
static const char *domain_name(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* What is kept for a domain, or null. */
static tn_opset_import *find_opset(const tn_graph *graph, const char *domain) {
    for (size_t i = 0; i < graph->private_part->opset_count; i++)
        if (strcmp(graph->private_part->opsets[i].domain, domain) == 0)
            return &graph->private_part->opsets[i];
    return NULL;
}

uint32_t tn_graph_opset_version(const tn_graph *graph, const char *domain) {
    const tn_opset_import *opset = find_opset(graph, domain_name(domain));
    return opset ? opset->version : 0;
}

tn_status tn_graph_set_opset(tn_graph *graph, const char *domain, uint32_t version) {
    if (!graph) return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_set_opset: the graph is null");
    tn_opset_import *opset = find_opset(graph, domain_name(domain));
    if (opset) {
        opset->version = version;
        return TN_OK;
    }
    struct tn_graph_private *own = graph->private_part;
    const char *name = tn_arena_text(graph->arena, domain_name(domain));
    if (!name) return tn_fail_memory("an opset");
    TN_TRY(tn_grow(graph->allocator, (void **)&own->opsets, &own->opset_capacity,
                   own->opset_count + 1, sizeof(*own->opsets)));
    own->opsets[own->opset_count++] = (tn_opset_import){name, version};
    return TN_OK;
}

tn_status tn_graph_name_extents(tn_graph *graph, tn_graph_tensor *tensor, uint32_t rank,
                                const char *const *names) {
    for (uint32_t i = 0; names && i < rank; i++) {
        if (!names[i] || !*names[i]) continue;
        tensor->extent_names[i] = tn_arena_text(graph->arena, names[i]);
        if (!tensor->extent_names[i]) return tn_fail_memory("an extent's name");
    }
    return TN_OK;
}

static tn_status copy_extents(tn_graph *graph, tn_graph_tensor *tensor, uint32_t rank,
                              const int64_t *extents, const char *const *names) {
    tensor->shape.rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (extents[i] < -1)
            return tn_fail(TN_ERROR_SHAPE,
                           "extent %" PRIu32 " is %" PRId64 "; -1 stands for one that is not known",
                           i, extents[i]);
        tensor->shape.extents[i] = extents[i];
    }
    return tn_graph_name_extents(graph, tensor, rank, names);
}

/* Room in both arrays first, so that nothing is half added. */
static tn_status append_input(tn_graph *graph, tn_tensor_id id) {
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->inputs, &graph->input_capacity,
                   graph->input_count + 1, sizeof(*graph->inputs)));
    TN_TRY(tn_graph_add_port_info(graph, &graph->private_part->input_infos,
                                  &graph->private_part->input_info_capacity, graph->input_count));
    graph->inputs[graph->input_count++] = id;
    return TN_OK;
}

tn_status tn_graph_add_body_input(tn_graph *graph, const char *name, tn_type type,
                                  tn_tensor_id *out_tensor) {
    TN_TRY(tn_graph_add_tensor(graph, name, type, out_tensor));
    TN_TRY(append_input(graph, *out_tensor));
    graph->tensors[*out_tensor].is_input = true;
    return TN_OK;
}

tn_status tn_graph_add_input(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                             const int64_t *extents, const char *const *names,
                             tn_tensor_id *out_tensor) {
    if (!graph || !name || !*name || (rank > 0 && rank <= TN_MAX_RANK && !extents))
        return tn_fail(TN_ERROR_ARGUMENT, "an input needs a graph, a name and extents");
    if (rank > TN_MAX_RANK && rank != UINT32_MAX)
        return tn_fail(TN_ERROR_SHAPE, "input '%s' has rank %" PRIu32 "; at most %d is possible",
                       name, rank, TN_MAX_RANK);
    if (!tn_type_is_valid(type))
        return tn_fail(TN_ERROR_TYPE, "input '%s': element type %" PRIu32 " is not known", name,
                       type);
    tn_graph_tensor declared = {0};
    if (rank != UINT32_MAX) {
        tn_status status = copy_extents(graph, &declared, rank, extents, names);
        if (status != TN_OK) return tn_error_at(status, "input '%s'", name);
        declared.has_shape = true;
    }
    tn_tensor_id id;
    TN_TRY(tn_graph_add_tensor(graph, name, type, &id));
    TN_TRY(append_input(graph, id));
    tn_graph_tensor *tensor = &graph->tensors[id];
    tensor->is_input = true;
    tensor->has_shape = declared.has_shape;
    tensor->shape = declared.shape;
    memcpy(tensor->extent_names, declared.extent_names, sizeof(tensor->extent_names));
    if (out_tensor) *out_tensor = id;
    return TN_OK;
}

static tn_status check_kind(const char *name, uint32_t kind, tn_type key_type) {
    if ((kind < TN_KIND_SEQUENCE || kind > TN_KIND_MAPS) && kind != TN_KIND_OPTIONAL_SEQUENCE)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "input '%s' is of kind %" PRIu32 ": expected one of 1 to %d, or %d", name,
                       kind, TN_KIND_MAPS, TN_KIND_OPTIONAL_SEQUENCE);
    const bool is_key = key_type == TN_I64 || key_type == TN_STRING;
    if (tn_kind_is_map(kind) ? is_key : key_type == TN_NONE) return TN_OK;
    return tn_fail(TN_ERROR_TYPE, "input '%s' is %s with keys of type %s: expected %s", name,
                   tn_kind_name(kind), tn_type_name(key_type),
                   tn_kind_is_map(kind) ? "i64 or string" : "none");
}

tn_status tn_graph_add_kind_input(tn_graph *graph, const char *name, uint32_t kind,
                                  tn_type key_type, tn_type type, tn_tensor_id *out_tensor) {
    tn_tensor_id id;
    if (!graph || !name || !*name)
        return tn_fail(TN_ERROR_ARGUMENT, "an input needs a graph and a name");
    TN_TRY(check_kind(name, kind, key_type));
    TN_TRY(tn_graph_add_input(graph, name, type, UINT32_MAX, NULL, NULL, &id));
    graph->tensors[id].kind = kind;
    graph->tensors[id].key_type = key_type;
    if (out_tensor) *out_tensor = id;
    return TN_OK;
}

tn_status tn_graph_add_constant(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                                const int64_t *extents, const void *data, uint64_t bytes,
                                tn_tensor_id *out_tensor) {
    if (!graph || !out_tensor || (rank > 0 && !extents) || (bytes > 0 && !data))
        return tn_fail(TN_ERROR_ARGUMENT, "a constant needs a graph, extents, data and out_tensor");
    tn_shape shape;
    size_t expected;
    TN_TRY(tn_shape_set(&shape, rank, extents));
    if (!tn_type_is_valid(type))
        return tn_fail(TN_ERROR_TYPE, "element type %" PRIu32 " is not known", type);
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &shape, &expected));
    if (type == TN_STRING && bytes > expected) expected = (size_t)bytes; /* with their heap */
    if (bytes != expected) /* the other call says what is wrong */
        return tn_graph_add_constant_lent(graph, name, type, &shape, data, (size_t)bytes,
                                          out_tensor);
    void *copy = tn_graph_allocate_data(graph, expected);
    if (!copy) return tn_fail_memory("a constant");
    if (expected > 0) memcpy(copy, data, expected);
    return tn_graph_add_constant_lent(graph, name, type, &shape, copy, expected, out_tensor);
}

static tn_status find_operator(tn_graph *graph, const tn_node_description *node,
                               const tn_operator_entry **out_entry) {
    const char *domain = domain_name(node->domain);
    const uint32_t version = node->version ? node->version : tn_graph_opset_version(graph, domain);
    return tn_runtime_find_operator(graph->runtime, domain, node->op, version, out_entry);
}

/* A name for output `index` that no tensor has. */
static const char *output_name(tn_graph *graph, const tn_node_description *node, uint32_t index) {
    const char *given = node->output_names ? node->output_names[index] : NULL;
    if (given) return given;
    const char *owner = node->name && *node->name ? node->name : node->op;
    return tn_graph_make_name(graph, owner);
}

static tn_status check_outputs(const tn_graph *graph, const tn_node_description *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const char *name = node->output_names ? node->output_names[i] : NULL;
        if (!name || !*name) continue;
        if (tn_map_get(graph->names, name, &(uint64_t){0}))
            return tn_fail(TN_ERROR_ARGUMENT, "there is a tensor '%s' already", name);
        for (uint32_t j = 0; j < i; j++)
            if (node->output_names[j] && strcmp(name, node->output_names[j]) == 0)
                return tn_fail(TN_ERROR_ARGUMENT, "two outputs are called '%s'", name);
    }
    return TN_OK;
}

static tn_status add_outputs(tn_graph *graph, const tn_node_description *node, tn_tensor_id *ids) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const char *name = output_name(graph, node, i);
        if (!name) return tn_fail_memory("a tensor's name");
        ids[i] = TN_NO_TENSOR;
        if (*name) TN_TRY(tn_graph_add_tensor(graph, name, TN_NONE, &ids[i]));
    }
    return TN_OK;
}

/* Takes the newest tensors back: those of a node that could not be added. */
static void drop_tensors(tn_graph *graph, size_t count) {
    while (graph->tensor_count > count)
        tn_map_remove(graph->names, graph->tensors[--graph->tensor_count].name);
}

static tn_status add_node(tn_graph *graph, const tn_node_description *node, tn_tensor_id *ids) {
    const tn_operator_entry *entry = NULL;
    const tn_attribute *const *attributes = NULL;
    size_t tensor_count = graph->tensor_count;
    tn_status status = TN_OK;
    TN_GO(check_outputs(graph, node));
    TN_GO(tn_graph_copy_attributes(graph, node->attribute_count, node->attributes, true,
                                   &attributes));
    status = find_operator(graph, node, &entry);
    TN_GO(tn_missing_describe(graph->runtime, node->op, status, node->attribute_count, attributes));
    TN_GO(add_outputs(graph, node, ids));
    status = tn_graph_add_node_raw(graph, node->name, entry, node->attribute_count, attributes,
                                   node->input_count, node->inputs, node->output_count, ids, NULL);
    if (status == TN_OK) return TN_OK;
    drop_tensors(graph, tensor_count);
    tn_library_release(entry->library);
    return status;
done:
    drop_tensors(graph, tensor_count);
    if (entry) tn_library_release(entry->library);
    return tn_error_in(status, .node = node->name && *node->name ? node->name : node->op);
}

tn_status tn_graph_add_node(tn_graph *graph, const tn_node_description *node,
                            tn_tensor_id *out_outputs) {
    if (!graph || !node || node->size < offsetof(tn_node_description, input_count))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_add_node needs a graph and a description with its size");
    tn_node_description own = {0};
    memcpy(&own, node, node->size < sizeof(own) ? node->size : sizeof(own));
    if (!own.op || (own.input_count > 0 && !own.inputs))
        return tn_fail(TN_ERROR_ARGUMENT, "a node needs an operator's name and its inputs");
    tn_tensor_id *ids =
        tn_allocate_zero(graph->allocator, (size_t)own.output_count + 1, sizeof(*ids));
    if (!ids) return tn_fail_memory("a node's outputs");
    tn_status status = add_node(graph, &own, ids);
    if (status == TN_OK && out_outputs) memcpy(out_outputs, ids, own.output_count * sizeof(*ids));
    tn_deallocate(graph->allocator, ids);
    return status;
}

static tn_status append_output(tn_graph *graph, tn_tensor_id tensor, const char *name) {
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->outputs, &graph->output_capacity,
                   graph->output_count + 1, sizeof(*graph->outputs)));
    TN_TRY(tn_grow(graph->allocator, (void **)&graph->output_names, &graph->output_name_capacity,
                   graph->output_count + 1, sizeof(*graph->output_names)));
    TN_TRY(tn_graph_add_port_info(graph, &graph->private_part->output_infos,
                                  &graph->private_part->output_info_capacity, graph->output_count));
    TN_TRY(tn_map_set(graph->private_part->output_names, name, graph->output_count));
    graph->output_names[graph->output_count] = name;
    graph->outputs[graph->output_count++] = tensor;
    graph->tensors[tensor].use_count++;
    return TN_OK;
}

tn_status tn_graph_add_output(tn_graph *graph, tn_tensor_id tensor, const char *name) {
    if (!graph || tensor >= graph->tensor_count)
        return tn_fail(TN_ERROR_ARGUMENT, "the graph has no tensor number %" PRIu32, tensor);
    const char *own = graph->tensors[tensor].name;
    if (name && *name && strcmp(name, own) != 0) {
        own = tn_arena_text(graph->arena, name);
        if (!own) return tn_fail_memory("an output's name");
    }
    uint64_t at;
    if (tn_map_get(graph->private_part->output_names, own, &at) && at < graph->output_count &&
        strcmp(graph->output_names[at], own) == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "there is an output '%s' already", own);
    return append_output(graph, tensor, own);
}

void tn_graph_clear_outputs(tn_graph *graph) {
    if (!graph) return;
    for (size_t i = 0; i < graph->output_count; i++)
        graph->tensors[graph->outputs[i]].use_count--;
    graph->output_count = 0;
}

tn_status tn_graph_find(const tn_graph *graph, const char *name, tn_tensor_id *out_tensor) {
    if (!graph || !name || !out_tensor)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_graph_find needs a graph, a name and out_tensor");
    uint64_t id;
    if (tn_map_get(graph->names, name, &id)) {
        *out_tensor = (tn_tensor_id)id;
        return TN_OK;
    }
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < graph->tensor_count; i++)
        tn_nearest_offer(&nearest, graph->tensors[i].name);
    return tn_error_mend_nearest(tn_fail(TN_ERROR_NOT_FOUND, "there is no tensor '%s'", name), "; ",
                                 nearest.best);
}
