/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replacement tried in a graph of its own, whose inputs are the pattern's: it must have the
 * pattern's types and shapes at every point at which the network was inferred, and kernels. See
 * replace.h.
 */
#include "base/status.h"
#include "builder/rewrite/replace.h"

#include <stdio.h>
#include <string.h>

typedef struct trial {
    tn_matcher *m;
    tn_graph *graph;
    tn_arena *arena;
    tn_emitter emitter;
    const tn_inference *points[TN_PROOF_POINTS]; /* of the network */
    tn_inference inferences[TN_PROOF_POINTS];    /* of the trial at the same shapes */
    const tn_inference *own_points[3];
    uint32_t point_count;
    tn_tensor_id from[TN_PATTERN_NAMES]; /* the network's tensor, by input of the trial */
} trial;

/* The trial's tensor for one of the network's; several names may stand for one. */
static tn_status import(trial *t, uint32_t name, tn_tensor_id id, tn_tensor_id *out_tensor) {
    const tn_graph_tensor *item = &t->m->graph->tensors[id];
    const char *text = t->m->pattern->names[name].text;
    if (item->is_constant)
        return tn_graph_add_constant_lent(t->graph, text, item->type, &item->shape, item->data,
                                          item->bytes, out_tensor);
    for (size_t i = 0; i < t->graph->input_count; i++) {
        if (t->from[i] != id) continue;
        *out_tensor = t->graph->inputs[i];
        return TN_OK;
    }
    const tn_type type = t->points[1]->tensors[id].storage.tensor.type;
    t->from[t->graph->input_count] = id;
    return tn_graph_add_input(t->graph, text, type, UINT32_MAX, NULL, NULL, out_tensor);
}

static bool is_known(const trial *t, tn_tensor_id id) {
    if (t->m->graph->tensors[id].is_constant) return true;
    if (!tn_pass_is_shaped(t->m->context, id)) return false;
    for (uint32_t i = 0; i < t->point_count; i++)
        if (!t->points[i]->tensors[id].is_known) return false;
    return true;
}

static tn_status import_all(trial *t, bool *out_is_known) {
    tn_emitter *e = &t->emitter;
    *out_is_known = true;
    for (uint32_t i = 0; i < t->m->pattern->name_count; i++) {
        const tn_pattern_name *name = &t->m->pattern->names[i];
        const tn_match_binding *binding = &t->m->bindings[i];
        e->tensors[i] = e->captured[i] = TN_NO_TENSOR;
        if (!binding->is_bound || binding->tensor == TN_NO_TENSOR) continue;
        if (!name->is_input && !name->is_output && name->kind != TN_TERM_CAPTURE) continue;
        *out_is_known = *out_is_known && is_known(t, binding->tensor);
        if (!*out_is_known) return TN_OK;
        if (name->is_output) continue;
        TN_TRY(import(t, i, binding->tensor,
                      name->kind == TN_TERM_CAPTURE ? &e->captured[i] : &e->tensors[i]));
    }
    return TN_OK;
}

static tn_status infer_trial(trial *t) {
    tn_inference_plan plan;
    tn_shape shapes[TN_PATTERN_NAMES];
    const void *values[TN_PATTERN_NAMES];
    TN_TRY(tn_inference_plan_create(t->graph, t->arena, &plan));
    if (plan.is_sized_by_run) return tn_fail(TN_ERROR_UNSUPPORTED, "a run decides its sizes");
    tn_inference_plan *kept = tn_arena_copy(t->arena, &plan, sizeof plan);
    if (!kept) return tn_fail_memory("a rewrite");
    for (uint32_t p = 0; p < t->point_count; p++) {
        for (size_t i = 0; i < t->graph->input_count; i++) {
            const tn_tensor_storage *known = &t->points[p]->tensors[t->from[i]].storage;
            shapes[i] = known->shape;
            values[i] = kept->is_value_input[i] ? known->tensor.data : NULL;
            if (kept->is_value_input[i] && !values[i])
                return tn_fail(TN_ERROR_UNSUPPORTED, "a value is not known before a run");
        }
        TN_TRY(tn_inference_init(&t->inferences[p], t->graph, kept));
        TN_TRY(tn_inference_run(&t->inferences[p], shapes, values));
    }
    for (int p = 0; p < 3; p++)
        t->own_points[p] = &t->inferences[p];
    return TN_OK;
}

static bool is_same(const trial *t, uint32_t name) {
    const tn_tensor_id before = t->m->bindings[name].tensor, after = t->emitter.tensors[name];
    for (uint32_t p = 0; p < t->point_count; p++) {
        const tn_tensor_storage *a = &t->points[p]->tensors[before].storage;
        const tn_tensor_storage *b = &t->inferences[p].tensors[after].storage;
        if (a->tensor.type != b->tensor.type || !tn_shape_equal(&a->shape, &b->shape)) return false;
    }
    return true;
}

static tn_status check_outputs(const trial *t) {
    for (uint32_t i = 0; i < t->m->pattern->name_count; i++)
        if (t->m->pattern->names[i].is_output && !is_same(t, i))
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "the replacement's '%s' has another type or shape than the pattern's",
                           t->m->pattern->names[i].text);
    return TN_OK;
}

/* No operator is put in place that runs on the processor, or by its reference, where one of those
 * that it replaces does better. Views need none. */
static tn_status check_kernels(const trial *t) {
    const tn_pass_context *context = t->m->context;
    int best = TN_KERNELS_NONE, found = 0;
    if (context->only) return TN_OK;
    for (uint32_t i = 0; i < t->m->node_count; i++) {
        if (tn_graph_node_is_view(&t->m->graph->nodes[t->m->nodes[i]])) continue;
        TN_TRY(
            tn_kernels_of(context, t->m->graph, t->m->nodes[i], context->points, t->arena, &found));
        if (found > best) best = found;
    }
    for (uint32_t n = 0; n < t->graph->node_count; n++) {
        if (tn_graph_node_is_view(&t->graph->nodes[n])) continue;
        TN_TRY(tn_kernels_of(context, t->graph, n, t->own_points, t->arena, &found));
        if (found < best)
            return tn_fail(TN_ERROR_UNSUPPORTED, "operator '%s' has no kernel%s here",
                           t->graph->nodes[n].entry->op->name,
                           best == TN_KERNELS_DEVICE ? " on the device" : "");
    }
    return TN_OK;
}

static tn_status try_all(trial *t, const char *name) {
    bool is_known = false;
    tn_emitter *e = &t->emitter;
    *e = (tn_emitter){.matcher = t->m, .graph = t->graph, .arena = t->arena, .name = name};
    TN_TRY(import_all(t, &is_known));
    if (!is_known) return tn_fail(TN_ERROR_UNSUPPORTED, "shapes are not known before a run");
    e->number_type = tn_rewrite_number_type(t->m);
    TN_TRY(tn_emitter_run(e));
    for (uint32_t i = 0; i < t->m->pattern->name_count; i++)
        if (t->m->pattern->names[i].is_output)
            TN_TRY(tn_graph_add_output(t->graph, e->tensors[i], NULL));
    TN_TRY(tn_graph_sort(t->graph));
    TN_TRY(infer_trial(t));
    TN_TRY(check_outputs(t));
    return check_kernels(t);
}

tn_status tn_trial_run(tn_matcher *m, const char *name, bool *out_is_right, char *reason,
                       size_t reason_bytes) {
    tn_status status = TN_OK;
    tn_error_copy before;
    trial *t = tn_allocate_zero(m->graph->allocator, 1, sizeof *t);
    if (!t) return tn_fail_memory("a rewrite");
    tn_error_save(&before);
    t->m = m;
    t->point_count = tn_extent_points(m->context, t->points);
    TN_GO(tn_arena_create(m->graph->allocator, &t->arena));
    TN_GO(tn_graph_create(m->graph->runtime, "", &t->graph));
    status = try_all(t, name);
    *out_is_right = status == TN_OK;
    if (status == TN_OK || status == TN_ERROR_MEMORY) goto done;
    snprintf(reason, reason_bytes, "%s", tn_last_error()->message);
    tn_error_restore(&before);
    status = TN_OK;
done:
    for (uint32_t p = 0; p < TN_PROOF_POINTS; p++)
        tn_inference_deinit(&t->inferences[p]);
    tn_graph_destroy(t->graph);
    tn_arena_destroy(t->arena);
    tn_deallocate(m->graph->allocator, t);
    return status;
}
