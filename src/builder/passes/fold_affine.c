/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds y = factor[c] * x + shift[c] into the constants of the node that makes x, where that node
 * is linear in them and nobody else reads x: batch normalisation after a convolution, and constant
 * factors and biases of channels. Operators say what they are (tn_operator.facet); the new weights
 * are computed in double and rounded once.
 */
#include "base/status.h"
#include "builder/passes/passes.h"
#include "graph/body.h"
#include "program/link.h"

#include <math.h>
#include <string.h>

typedef struct affine_folder {
    tn_pass_context *context;
    tn_graph *graph;
    tn_arena *arena;           /* of one node */
    const tn_tensor **tensors; /* by tensor: as calls see them */
} affine_folder;

/* Describes a tensor for calls; false when its shape is not known. */
static tn_status describe_tensor(affine_folder *f, tn_tensor_id id, bool *out_is_known) {
    const tn_graph_tensor *item = &f->graph->tensors[id];
    if (!item->is_constant) {
        *out_is_known = tn_pass_is_shaped(f->context, id);
        if (*out_is_known) f->tensors[id] = &f->context->points[1]->tensors[id].storage.tensor;
        return TN_OK;
    }
    tn_tensor_storage *storage = tn_arena_allocate(f->arena, 1, sizeof *storage);
    if (!storage) return tn_fail_memory("folding factors");
    TN_TRY(tn_tensor_init(storage, item->type, TN_LINEAR, &item->shape));
    storage->tensor.name = item->name;
    storage->tensor.data = (void *)(uintptr_t)item->data;
    f->tensors[id] = &storage->tensor;
    *out_is_known = item->data != NULL;
    return TN_OK;
}

/* A call for the node's callbacks; *out_is_known is false where some tensor is not. */
static tn_status make_call(affine_folder *f, uint32_t index, tn_node_call *node_call,
                           bool *out_is_known) {
    const tn_graph_node *node = &f->graph->nodes[index];
    *out_is_known = true;
    f->tensors = tn_arena_allocate(f->arena, f->graph->tensor_count + 1, sizeof *f->tensors);
    if (!f->tensors) return tn_fail_memory("folding factors");
    for (uint32_t i = 0; *out_is_known && i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR)
            TN_TRY(describe_tensor(f, node->inputs[i], out_is_known));
    for (uint32_t i = 0; *out_is_known && i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            TN_TRY(describe_tensor(f, node->outputs[i], out_is_known));
    if (!*out_is_known) return TN_OK;
    return tn_node_call_init(node_call, f->arena, f->graph, index, f->tensors);
}

/* ----------------------------------------------------------------------------------------------
 * what the two nodes are */

static int64_t extent_of(const tn_tensor *tensor, int32_t axis) {
    const int64_t position = axis < 0 ? (int64_t)axis + tensor->rank : axis;
    return position >= 0 && position < (int64_t)tensor->rank ? tensor->shape[position] : -1;
}

/* The node as `name`; null: it is none. */
static tn_status ask_facet(affine_folder *f, uint32_t index, tn_tensor_id chained, const char *name,
                           const tn_facet **out_facet) {
    tn_link *link = tn_arena_allocate(f->arena, 1, sizeof *link);
    if (!link) return tn_fail_memory("folding factors");
    TN_TRY(tn_link_init(link, f->arena, f->graph, index, chained, f->tensors));
    return tn_link_facet_of(link, name, out_facet);
}

/* A factor or a bias of channels. */
static tn_status read_vector(affine_folder *f, uint32_t index, tn_tensor_id chained,
                             tn_affine *affine, bool *out_is_affine) {
    const tn_graph_node *node = &f->graph->nodes[index];
    const tn_facet *scale = NULL, *bias = NULL;
    *out_is_affine = false;
    TN_TRY(ask_facet(f, index, chained, TN_FACET_SCALE, &scale));
    if (!scale) TN_TRY(ask_facet(f, index, chained, TN_FACET_BIAS, &bias));
    const tn_facet *facet = scale ? scale : bias;
    if (!facet || facet->variant || facet->operand_count != 1) return TN_OK;
    const int32_t axis = ((const tn_facet_axis *)facet->what)->axis;
    const tn_graph_tensor *operand = &f->graph->tensors[node->inputs[facet->operands[0].input]];
    const int64_t count = extent_of(f->tensors[node->outputs[0]], axis);
    size_t elements = 0;
    if (!operand->is_constant || count < 1 || (uint64_t)count > affine->count ||
        tn_shape_count(&operand->shape, &elements) != TN_OK || elements != (size_t)count)
        return TN_OK;
    for (size_t c = 0; c < (size_t)count; c++) {
        const double value = tn_element_get_f64(operand->data, operand->type, c);
        affine->factors[c] = scale ? value : 1;
        affine->shifts[c] = scale ? 0 : value;
    }
    affine->axis = axis;
    affine->count = (uint64_t)count;
    *out_is_affine = true;
    return TN_OK;
}

/* An operator's answer in a struct of the caller's. */
static bool describes(tn_call *call, const char *name, void *what, size_t bytes) {
    tn_facet facet = {.size = sizeof facet, .what = what, .what_bytes = bytes};
    return tn_call_facet(call, 0, name, &facet);
}

static bool is_finite(const tn_affine *affine) {
    for (uint64_t c = 0; c < affine->count; c++)
        if (!isfinite(affine->factors[c]) || !isfinite(affine->shifts[c])) return false;
    return true;
}

/* Whether the node is affine in `chained`; *affine has capacity for the largest extent. */
static tn_status read_affine(affine_folder *f, uint32_t index, tn_tensor_id chained,
                             tn_affine *affine, bool *out_is_affine) {
    const tn_graph_node *node = &f->graph->nodes[index];
    tn_node_call node_call;
    bool is_known = false;
    *out_is_affine = false;
    TN_TRY(make_call(f, index, &node_call, &is_known));
    if (!is_known) return TN_OK;
    const tn_tensor *y = f->tensors[node->outputs[0]];
    uint64_t capacity = 1;
    for (uint32_t i = 0; i < y->rank; i++)
        if (y->shape[i] > 0 && (uint64_t)y->shape[i] > capacity) capacity = (uint64_t)y->shape[i];
    *affine = (tn_affine){.size = sizeof *affine, .count = capacity};
    affine->factors = tn_arena_allocate(f->arena, capacity, sizeof(double));
    affine->shifts = tn_arena_allocate(f->arena, capacity, sizeof(double));
    if (!affine->factors || !affine->shifts) return tn_fail_memory("folding factors");
    const bool is_described = node->inputs[0] == chained &&
                              describes(&node_call.call, TN_FACET_AFFINE, affine, sizeof *affine);
    if (is_described) {
        *out_is_affine = affine->count <= capacity;
    } else {
        affine->count = capacity;
        TN_TRY(read_vector(f, index, chained, affine, out_is_affine));
    }
    *out_is_affine = *out_is_affine && is_finite(affine);
    return TN_OK;
}

/* Whether the node is linear in constants that can take the factors. */
static tn_status read_linear(affine_folder *f, uint32_t index, const tn_affine *affine,
                             tn_linear *linear, bool *out_is_linear) {
    const tn_graph_node *node = &f->graph->nodes[index];
    tn_node_call node_call;
    bool is_known = false;
    *out_is_linear = false;
    *linear = (tn_linear){.size = sizeof *linear};
    TN_TRY(make_call(f, index, &node_call, &is_known));
    if (!is_known || !describes(&node_call.call, TN_FACET_LINEAR, linear, sizeof *linear) ||
        linear->weights >= node->input_count || linear->bias >= node->input_count ||
        node->inputs[linear->weights] == TN_NO_TENSOR)
        return TN_OK;
    const tn_graph_tensor *weights = &f->graph->tensors[node->inputs[linear->weights]];
    const tn_tensor *y = f->tensors[node->outputs[0]];
    const int64_t axis = affine->axis < 0 ? (int64_t)affine->axis + y->rank : affine->axis;
    if (!weights->is_constant || (weights->type != TN_F32 && weights->type != TN_F64) ||
        axis != linear->axis || extent_of(y, linear->axis) != (int64_t)affine->count ||
        extent_of(f->tensors[node->inputs[linear->weights]], linear->weights_axis) !=
            (int64_t)affine->count)
        return TN_OK;
    const tn_tensor_id bias = node->inputs[linear->bias];
    if (bias != TN_NO_TENSOR &&
        (!f->graph->tensors[bias].is_constant || f->graph->tensors[bias].type != weights->type ||
         f->graph->tensors[bias].bytes != (size_t)affine->count * tn_type_bytes(weights->type)))
        return TN_OK;
    *out_is_linear = true;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * folding */

static tn_status make_weights(affine_folder *f, tn_tensor_id old, const tn_linear *linear,
                              const tn_affine *affine, tn_tensor_id *out_new) {
    const tn_graph_tensor from = f->graph->tensors[old];
    const size_t item = tn_type_bytes(from.type);
    char *data = tn_graph_allocate_data(f->graph, from.bytes);
    const char *name = tn_graph_make_name(f->graph, from.name);
    if (!data || !name) return tn_fail_memory("folded weights");
    size_t inner = 1;
    const uint32_t axis =
        (uint32_t)(linear->weights_axis < 0 ? linear->weights_axis + (int32_t)from.shape.rank
                                            : linear->weights_axis);
    for (uint32_t i = axis + 1; i < from.shape.rank; i++)
        inner *= (size_t)from.shape.extents[i];
    for (size_t i = 0; i < from.bytes / item; i++) {
        const double factor = affine->factors[i / inner % affine->count];
        tn_element_set_f64(data, from.type, i,
                           tn_element_get_f64(from.data, from.type, i) * factor);
    }
    return tn_graph_add_constant_lent(f->graph, name, from.type, &from.shape, data, from.bytes,
                                      out_new);
}

static tn_status make_bias(affine_folder *f, tn_tensor_id old, tn_type type,
                           const tn_affine *affine, const char *base, tn_tensor_id *out_new) {
    const size_t bytes = (size_t)affine->count * tn_type_bytes(type);
    const void *from = old == TN_NO_TENSOR ? NULL : f->graph->tensors[old].data;
    const int64_t extent = (int64_t)affine->count;
    char *data = tn_graph_allocate_data(f->graph, bytes);
    const char *name = tn_graph_make_name(f->graph, base);
    tn_shape shape;
    if (!data || !name) return tn_fail_memory("folded biases");
    TN_TRY(tn_shape_set(&shape, 1, &extent));
    for (size_t c = 0; c < (size_t)affine->count; c++) {
        const double before = from ? tn_element_get_f64(from, type, c) : 0;
        tn_element_set_f64(data, type, c, before * affine->factors[c] + affine->shifts[c]);
    }
    return tn_graph_add_constant_lent(f->graph, name, type, &shape, data, bytes, out_new);
}

/* The linear node takes over the output of the affine one, which is dead then. */
static tn_status fold(affine_folder *f, uint32_t index, uint32_t next, const tn_linear *linear,
                      const tn_affine *affine) {
    tn_graph_node *node = &f->graph->nodes[index];
    tn_graph_node *reader = &f->graph->nodes[next];
    const tn_tensor_id old = node->inputs[linear->weights], made = node->outputs[0];
    const tn_type type = f->graph->tensors[old].type;
    tn_tensor_id weights, bias;
    TN_TRY(make_weights(f, old, linear, affine, &weights));
    TN_TRY(make_bias(f, node->inputs[linear->bias], type, affine, f->graph->tensors[made].name,
                     &bias));
    node->inputs[linear->weights] = weights;
    node->inputs[linear->bias] = bias;
    node->outputs[0] = reader->outputs[0];
    reader->is_dead = true;
    f->graph->tensors[made].producer = TN_NO_NODE;
    f->graph->tensors[node->outputs[0]].producer = index;
    return tn_pass_names_add(f->context, &f->context->folded, reader->name);
}

/* The node that alone reads `tensor`, if there is one and it makes one tensor. */
static uint32_t only_reader(const tn_graph *graph, tn_tensor_id tensor) {
    uint32_t found = TN_NO_NODE;
    if (graph->tensors[tensor].use_count != 1 || tn_graph_is_output(graph, tensor))
        return TN_NO_NODE;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].input_count && !graph->nodes[n].is_dead; i++)
            if (graph->nodes[n].inputs[i] == tensor) found = n;
    if (found == TN_NO_NODE) return TN_NO_NODE;
    const tn_graph_node *reader = &graph->nodes[found];
    for (uint32_t i = 0; i < reader->output_count; i++)
        if ((reader->outputs[i] != TN_NO_TENSOR) != (i == 0)) return TN_NO_NODE;
    return reader->output_count > 0 ? found : TN_NO_NODE;
}

/* Folds what comes next into the node; answers whether it did. */
static tn_status fold_next(affine_folder *f, uint32_t index, bool *out_is_folded) {
    const tn_tensor_id made = f->graph->nodes[index].outputs[0];
    const uint32_t next = only_reader(f->graph, made);
    tn_affine affine;
    tn_linear linear;
    bool fits = false;
    *out_is_folded = false;
    if (next == TN_NO_NODE) return TN_OK;
    TN_TRY(read_affine(f, next, made, &affine, &fits));
    if (fits) TN_TRY(read_linear(f, index, &affine, &linear, &fits));
    if (!fits) return TN_OK;
    const char *refit = tn_graph_refit_of(f->graph, &f->graph->nodes[next]);
    if (!refit) refit = tn_graph_refit_of(f->graph, &f->graph->nodes[index]);
    if (refit)
        return tn_pass_note_refit(f->context, f->graph->nodes[next].name, refit,
                                  "it is not folded into the constants of the node before it");
    *out_is_folded = true;
    return fold(f, index, next, &linear, &affine);
}

static tn_status fold_all_after(affine_folder *f, uint32_t index) {
    bool is_folded = true;
    while (is_folded) {
        TN_TRY(tn_arena_create(f->graph->allocator, &f->arena));
        const tn_status status = fold_next(f, index, &is_folded);
        tn_arena_destroy(f->arena);
        TN_TRY(status);
    }
    return TN_OK;
}

tn_status tn_pass_fold_affine(tn_pass_context *context) {
    affine_folder f = {.context = context, .graph = context->graph};
    for (uint32_t n = 0; n < f.graph->node_count; n++) {
        const tn_graph_node *node = &f.graph->nodes[n];
        if (node->is_dead || !node->entry->op->facet || node->output_count != 1 ||
            node->outputs[0] == TN_NO_TENSOR)
            continue;
        TN_TRY(fold_all_after(&f, n));
    }
    return tn_graph_sort(f.graph);
}
