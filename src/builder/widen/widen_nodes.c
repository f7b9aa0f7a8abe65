/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes that compute in 32-bit floats: each one's rule is asked once more at the profile's
 * optimum, with tensors of 32-bit floats in place of those of 16 bits. See widen.h.
 */
#include "base/error_copy.h"
#include "base/status.h"
#include "builder/widen/widen.h"
#include "graph/body.h"

#include <string.h>

/* An inference of the network at the optimum, whose tensors of 16-bit floats are of 32 bits. */
typedef struct trial {
    const tn_widener *w;
    const tn_inference *known; /* of the network as it is */
    tn_inference inference;
} trial;

/* ----------------------------------------------------------------------------------------------
 * types */

/* The type of a tensor once it is widened. */
static tn_type wide_type(const tn_widener *w, const tn_inference *known, tn_tensor_id id) {
    return w->halves[id] != TN_NONE ? TN_F32 : known->tensors[id].storage.tensor.type;
}

/* What is known of a tensor, in the trial. */
static tn_status describe(trial *t, tn_tensor_id id) {
    const tn_inferred_tensor *from = &t->known->tensors[id];
    tn_inferred_tensor *to = &t->inference.tensors[id];
    const bool is_half = t->w->halves[id] != TN_NONE;
    to->is_known = to->is_described = false;
    if (!from->is_known) return TN_OK;
    TN_TRY(tn_tensor_init(&to->storage, wide_type(t->w, t->known, id), TN_LINEAR,
                          &from->storage.shape));
    to->storage.tensor.name = from->storage.tensor.name;
    to->storage.tensor.quantization = from->storage.tensor.quantization;
    to->storage.tensor.heap = from->storage.tensor.heap;
    to->storage.tensor.data =
        is_half ? (void *)(uintptr_t)t->w->data[id] : from->storage.tensor.data;
    to->is_known = true;
    to->unbounded = from->unbounded;
    return TN_OK;
}

static tn_status describe_outputs(trial *t, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR) TN_TRY(describe(t, node->outputs[i]));
    return TN_OK;
}

/* Where a type is as before, though one of 16 bits went in, the node converts. */
static bool has_answered_alike(const trial *t, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_tensor_id id = node->outputs[i];
        if (id == TN_NO_TENSOR) continue;
        const tn_tensor_storage *before = &t->known->tensors[id].storage;
        const tn_tensor_storage *now = &t->inference.tensors[id].storage;
        const bool is_wide = t->w->halves[id] != TN_NONE && now->tensor.type == TN_F32;
        if (!t->inference.tensors[id].is_known ||
            (now->tensor.type != before->tensor.type && !is_wide) ||
            (t->w->halves[id] != TN_NONE && !is_wide) ||
            !tn_shape_equal(&now->shape, &before->shape))
            return false;
    }
    return true;
}

/* The rule's answer for 32-bit floats; what it leaves behind is described anew. */
static tn_status ask_rule(trial *t, uint32_t index, bool *out_is_alike) {
    const tn_graph_node *node = &t->w->graph->nodes[index];
    tn_error_copy before;
    tn_error_save(&before);
    const tn_status status = tn_inference_node(&t->inference, index);
    *out_is_alike = status == TN_OK && has_answered_alike(t, node);
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK) tn_error_restore(&before);
    return describe_outputs(t, node);
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

static bool fits(const tn_widener *w, const tn_graph_node *node, const tn_combination *combination,
                 const tn_inference *known, bool is_wide, tn_type *types) {
    const uint32_t count = node->input_count + node->output_count;
    for (uint32_t i = 0; i < count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        types[i] = id == TN_NO_TENSOR                    ? TN_NONE
                   : is_wide || w->halves[id] == TN_NONE ? wide_type(w, known, id)
                                                         : w->halves[id];
    }
    return tn_combination_matches(combination, node->input_count, types, node->output_count,
                                  types + node->input_count);
}

/* Whether there is a kernel for these types by the tables alone; what a kernel is asked for may be
 * of any. */
static bool has_kernel(const tn_widener *w, const tn_graph_node *node, const tn_inference *known,
                       bool is_wide, const tn_kernel_entry *const *entries, uint32_t count,
                       tn_type *types) {
    for (uint32_t k = 0; k < count; k++) {
        if (entries[k]->kernel->combination) return true;
        for (uint32_t c = 0; c < entries[k]->combination_count; c++)
            if (fits(w, node, &entries[k]->combinations[c], known, is_wide, types)) return true;
    }
    return false;
}

/* An operator whose kernels are of 16-bit floats alone keeps them. */
static tn_status loses_kernels(const tn_widener *w, const tn_graph_node *node,
                               const tn_inference *known, bool *out_loses) {
    tn_registry *registry = tn_runtime_registry(w->graph->runtime);
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    tn_type *types =
        tn_arena_allocate(w->arena, node->input_count + node->output_count + 1u, sizeof *types);
    if (!types) return tn_fail_memory("widening a network");
    TN_TRY(tn_registry_kernels(registry, node->entry->op, "cpu", &entries, &count));
    const tn_kernel_entry *const *own = entries;
    *out_loses = has_kernel(w, node, known, false, own, count, types) &&
                 !has_kernel(w, node, known, true, own, count, types);
    tn_registry_free_kernels(registry, entries, count);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* Bodies, sequences and values that decide shapes stay as they are. */
static bool is_known(const trial *t, tn_tensor_id id) {
    return id < t->w->tensor_count && t->known->tensors[id].is_known;
}

static bool may_be_wide(const trial *t, uint32_t index) {
    const tn_widener *w = t->w;
    const tn_graph_node *node = &w->graph->nodes[index];
    bool has_half = false;
    if (node->is_dead || t->known->plan->is_host_node[index] || tn_graph_node_has_bodies(node) ||
        tn_graph_node_has_kinds(node))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = node->inputs[i];
        if (id == TN_NO_TENSOR) continue;
        if (!is_known(t, id)) return false;
        if (w->halves[id] == TN_NONE) continue;
        has_half = true;
        if (t->known->plan->is_host_tensor[id] && !w->graph->tensors[id].is_constant) return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !is_known(t, node->outputs[i])) return false;
    return has_half;
}

static tn_status find_node(trial *t, uint32_t index) {
    const tn_widener *w = t->w;
    bool is_alike = false, loses = false;
    if (!may_be_wide(t, index)) return TN_OK;
    TN_TRY(ask_rule(t, index, &is_alike));
    if (is_alike) TN_TRY(loses_kernels(w, &w->graph->nodes[index], t->known, &loses));
    w->is_wide[index] = is_alike && !loses;
    return TN_OK;
}

tn_status tn_widener_find_nodes(tn_widener *widener) {
    const tn_inference *known = widener->context->points[TN_POINT_OPTIMUM];
    trial t = {.w = widener, .known = known};
    tn_status status = TN_OK;
    TN_GO(tn_inference_init(&t.inference, widener->graph, known->plan));
    for (tn_tensor_id id = 0; id < widener->tensor_count; id++)
        TN_GO(describe(&t, id));
    for (uint32_t n = 0; n < widener->graph->node_count; n++)
        TN_GO(find_node(&t, n));
done:
    tn_inference_deinit(&t.inference);
    return status;
}
