/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of a network of 16-bit floats in 32-bit ones: constants and what the nodes compute that
 * widen_nodes.c has found change their type and keep their names; between them and inputs, outputs
 * and other nodes stand conversions. See widen.h.
 */
#include "builder/widen/widen.h"
#include "base/status.h"
#include "tensor/convert.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

/* The graph while it changes. */
typedef struct editor {
    tn_widener *w;
    bool *is_output;      /* by tensor: of the graph */
    bool *is_changed;     /* by tensor: is one of 32-bit floats now */
    tn_tensor_id *wide;   /* by tensor that is not: its elements in 32-bit floats, or none yet */
    tn_tensor_id *narrow; /* by tensor that is: its elements in its own type, or none yet */
} editor;

/* ----------------------------------------------------------------------------------------------
 * what there is of 16-bit floats */

static tn_type half_of(const tn_pass_context *context, tn_tensor_id id) {
    const tn_inferred_tensor *known = &context->points[TN_POINT_OPTIMUM]->tensors[id];
    const tn_graph_tensor *tensor = &context->graph->tensors[id];
    const tn_type type = tensor->is_constant ? tensor->type
                         : known->is_known   ? known->storage.tensor.type
                                             : TN_NONE;
    return tn_type_is_half(type) && !tensor->quantization ? type : TN_NONE;
}

/* Whether there are any. */
static tn_status find_halves(tn_widener *w, bool *out_is_any) {
    tn_type *halves = tn_arena_allocate(w->arena, w->tensor_count + 1, sizeof *halves);
    if (!halves) return tn_fail_memory("widening a network");
    for (tn_tensor_id id = 0; id < w->tensor_count; id++) {
        halves[id] = half_of(w->context, id);
        *out_is_any = *out_is_any || halves[id] != TN_NONE;
    }
    w->halves = halves;
    return TN_OK;
}

static tn_status widen_constant(tn_widener *w, tn_tensor_id id) {
    const tn_graph_tensor *tensor = &w->graph->tensors[id];
    tn_tensor_storage from, to;
    TN_TRY(tn_tensor_init(&from, tensor->type, TN_LINEAR, &tensor->shape));
    TN_TRY(tn_tensor_init(&to, TN_F32, TN_LINEAR, &tensor->shape));
    to.tensor.data = tn_graph_allocate_data(w->graph, (size_t)to.tensor.bytes);
    if (!to.tensor.data) return tn_fail_memory("widening a network");
    from.tensor.data = (void *)(uintptr_t)tensor->data;
    if (tensor->bytes > 0)
        TN_TRY(tn_convert(&from.tensor, &to.tensor, 0, tn_convert_items(&from.tensor, &to.tensor)));
    w->data[id] = to.tensor.data;
    return TN_OK;
}

/* Those that nodes read. */
static tn_status widen_constants(tn_widener *w) {
    w->data = tn_arena_allocate(w->arena, w->tensor_count + 1, sizeof *w->data);
    if (!w->data) return tn_fail_memory("widening a network");
    for (size_t n = 0; n < w->graph->node_count; n++) {
        const tn_graph_node *node = &w->graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count && !node->is_dead; i++) {
            const tn_tensor_id id = node->inputs[i];
            if (tn_widener_is_half(w, id) && w->graph->tensors[id].is_constant && !w->data[id])
                TN_TRY(widen_constant(w, id));
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tensors and conversions */

/* A tensor of another type for one that is there. */
static tn_status add_tensor(const editor *e, tn_tensor_id of, tn_type type,
                            tn_tensor_id *out_tensor) {
    tn_graph *graph = e->w->graph;
    char base[256];
    snprintf(base, sizeof base, "%s/%s", graph->tensors[of].name, tn_type_name(type));
    const char *name = tn_graph_make_name(graph, base);
    if (!name) return tn_fail_memory("widening a network");
    return tn_graph_add_tensor(graph, name, type, out_tensor);
}

/* What a node in 32-bit floats reads in place of a tensor. */
static tn_status find_wide(const editor *e, tn_tensor_id id, tn_tensor_id *out_tensor) {
    tn_tensor_id *wide = &e->wide[id];
    if (e->is_changed[id] || *wide != TN_NO_TENSOR) {
        *out_tensor = e->is_changed[id] ? id : *wide;
        return TN_OK;
    }
    TN_TRY(add_tensor(e, id, TN_F32, wide));
    *out_tensor = *wide;
    return tn_graph_add_cast(e->w->graph, id, *wide, TN_F32);
}

/* What any other node reads. */
static tn_status find_narrow(const editor *e, tn_tensor_id id, tn_tensor_id *out_tensor) {
    tn_tensor_id *narrow = &e->narrow[id];
    *out_tensor = id;
    if (!e->is_changed[id]) return TN_OK;
    if (*narrow == TN_NO_TENSOR) {
        TN_TRY(add_tensor(e, id, e->w->halves[id], narrow));
        TN_TRY(tn_graph_add_cast(e->w->graph, id, *narrow, e->w->halves[id]));
    }
    *out_tensor = *narrow;
    return TN_OK;
}

/* A constant that is no output of the graph, and that a node in 32-bit floats reads. */
static void change_constant(const editor *e, tn_tensor_id id) {
    tn_graph_tensor *tensor = &e->w->graph->tensors[id];
    if (e->is_changed[id] || e->is_output[id] || !tensor->is_constant) return;
    tensor->type = TN_F32;
    tensor->bytes *= 2;
    tensor->data = tensor->bytes > 0 ? e->w->data[id] : NULL;
    tensor->note = NULL;
    e->is_changed[id] = true;
}

/* An output of the graph is converted from another tensor, which the node writes. */
static tn_status change_output(const editor *e, tn_graph_node *node, uint32_t index) {
    tn_graph *graph = e->w->graph;
    const tn_tensor_id id = node->outputs[index];
    if (!e->is_output[id]) {
        graph->tensors[id].type = TN_F32;
        e->is_changed[id] = true;
        return TN_OK;
    }
    TN_TRY(add_tensor(e, id, TN_F32, &e->wide[id]));
    node->outputs[index] = e->wide[id];
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* First all that changes its type; the nodes that convert are added after it. */
static tn_status change_tensors(const editor *e) {
    tn_graph *graph = e->w->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        tn_graph_node *node = &graph->nodes[n];
        if (!e->w->is_wide[n]) continue;
        for (uint32_t i = 0; i < node->input_count; i++)
            if (tn_widener_is_half(e->w, node->inputs[i])) change_constant(e, node->inputs[i]);
        for (uint32_t i = 0; i < node->output_count; i++)
            if (tn_widener_is_half(e->w, node->outputs[i])) TN_TRY(change_output(e, node, i));
        TN_TRY(tn_pass_names_add(e->w->context, &e->w->context->widened_nodes, node->name));
    }
    return TN_OK;
}

static tn_status convert_outputs(const editor *e) {
    for (tn_tensor_id id = 0; id < e->w->tensor_count; id++)
        if (e->is_output[id] && e->wide[id] != TN_NO_TENSOR)
            TN_TRY(tn_graph_add_cast(e->w->graph, e->wide[id], id, e->w->halves[id]));
    return TN_OK;
}

static tn_status convert_inputs(const editor *e, size_t node_count) {
    tn_graph *graph = e->w->graph;
    for (size_t n = 0; n < node_count; n++) {
        if (graph->nodes[n].is_dead) continue;
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            const tn_tensor_id id = graph->nodes[n].inputs[i];
            tn_tensor_id now = id;
            if (!tn_widener_is_half(e->w, id)) continue;
            TN_TRY(e->w->is_wide[n] ? find_wide(e, id, &now) : find_narrow(e, id, &now));
            graph->nodes[n].inputs[i] = now; /* the array may have moved */
        }
    }
    return TN_OK;
}

/* Who asks for an input or output of the graph finds what the network computes with. */
static tn_status note_stand_ins(const editor *e) {
    tn_pass_context *context = e->w->context;
    const size_t count = e->w->tensor_count;
    tn_deallocate(context->graph->allocator, context->widened);
    context->widened_count = 0;
    context->widened =
        tn_allocate_zero(context->graph->allocator, count + 1, sizeof *context->widened);
    if (!context->widened) return tn_fail_memory("widening a network");
    for (tn_tensor_id id = 0; id < count; id++)
        context->widened[id] = e->wide[id] != TN_NO_TENSOR ? e->wide[id] : id;
    context->widened_count = count;
    return TN_OK;
}

static tn_status edit(tn_widener *w) {
    tn_graph *graph = w->graph;
    const size_t count = w->tensor_count + 1, node_count = graph->node_count;
    editor e = {.w = w,
                .is_output = tn_arena_allocate(w->arena, count, sizeof *e.is_output),
                .is_changed = tn_arena_allocate(w->arena, count, sizeof *e.is_changed),
                .wide = tn_arena_allocate(w->arena, count, sizeof *e.wide),
                .narrow = tn_arena_allocate(w->arena, count, sizeof *e.narrow)};
    if (!e.is_output || !e.is_changed || !e.wide || !e.narrow)
        return tn_fail_memory("widening a network");
    for (tn_tensor_id id = 0; id < w->tensor_count; id++)
        e.wide[id] = e.narrow[id] = TN_NO_TENSOR;
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i] < w->tensor_count) e.is_output[graph->outputs[i]] = true;
    TN_TRY(change_tensors(&e));
    TN_TRY(convert_outputs(&e));
    TN_TRY(convert_inputs(&e, node_count));
    TN_TRY(note_stand_ins(&e));
    return tn_graph_sort(graph);
}

static bool is_any_wide(const tn_widener *w) {
    for (size_t n = 0; n < w->graph->node_count; n++)
        if (w->is_wide[n]) return true;
    return false;
}

static tn_status widen(tn_widener *w, bool *out_is_widened) {
    bool is_any = false;
    TN_TRY(find_halves(w, &is_any));
    if (!is_any) return TN_OK;
    w->is_wide = tn_arena_allocate(w->arena, w->graph->node_count + 1, sizeof *w->is_wide);
    if (!w->is_wide) return tn_fail_memory("widening a network");
    TN_TRY(widen_constants(w));
    TN_TRY(tn_widener_find_nodes(w));
    *out_is_widened = is_any_wide(w);
    return *out_is_widened ? edit(w) : TN_OK;
}

tn_status tn_pass_widen(tn_pass_context *context, bool *out_is_widened) {
    tn_widener w = {.context = context,
                    .graph = context->graph,
                    .tensor_count = context->points[TN_POINT_OPTIMUM]->tensor_count};
    *out_is_widened = false;
    TN_TRY(tn_arena_create(w.graph->allocator, &w.arena));
    const tn_status status = widen(&w, out_is_widened);
    tn_arena_destroy(w.arena);
    return status;
}
