/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks the constants that are to be refitted, in a graph and in the bodies of its nodes. What a
 * body captured of the graph around it is a constant of the body with the same data, and goes by
 * the outer one's name. Two constants of one name must be equal, since new data is given by name.
 */
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "builder/passes/passes.h"
#include "graph/body.h"

#include <inttypes.h>
#include <string.h>

/* A graph with the one around it. */
typedef struct refit_scope {
    tn_graph *graph;
    const struct refit_scope *outer;
} refit_scope;

typedef struct refit_marker {
    const tn_builder_options *options;
    tn_map *wanted; /* the option's names, by their index in it */
    tn_map *marked; /* the first tensor of a name */
    bool *is_found; /* by the option's names */
    tn_nearest *nearest;
} refit_marker;

/* The name of what a body captured, which is the outer one's; its own name else. */
static const char *name_of(const refit_scope *scope, const tn_graph_tensor *tensor) {
    for (const refit_scope *outer = scope->outer; outer && tensor->data; outer = outer->outer) {
        for (size_t t = 0; t < outer->graph->tensor_count; t++) {
            const tn_graph_tensor *other = &outer->graph->tensors[t];
            if (other->is_constant && other->data == tensor->data) return name_of(outer, other);
        }
    }
    return tensor->name;
}

static bool is_equal(const tn_graph_tensor *a, const tn_graph_tensor *b) {
    return a->type == b->type && tn_shape_equal(&a->shape, &b->shape) && a->bytes == b->bytes &&
           (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0);
}

static tn_status refuse(const char *name, const char *why) {
    return tn_fail(TN_ERROR_UNSUPPORTED, "constant '%s' cannot be refitted: %s", name, why);
}

/* Takes the mark of all that have this name: they are several things. */
static void unmark(const tn_graph *graph, const char *name) {
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].refit_name && strcmp(graph->tensors[t].refit_name, name) == 0)
            graph->tensors[t].refit_name = NULL;
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        tn_graph_body *body;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL)
            unmark(body->graph, name);
    }
}

static tn_status mark_as(refit_marker *marker, const refit_scope *scope, tn_graph_tensor *tensor,
                         const char *name, bool is_wanted) {
    uint64_t index = 0;
    if (!tn_map_get(marker->marked, name, &index)) {
        tensor->refit_name = name;
        return tn_map_set(marker->marked, name, (uint64_t)(uintptr_t)tensor);
    }
    const tn_graph_tensor *first = (const tn_graph_tensor *)(uintptr_t)index;
    if (first && is_equal(first, tensor)) {
        tensor->refit_name = name;
        return TN_OK;
    }
    if (is_wanted)
        return refuse(name, "there are several of this name, in bodies, which are not equal");
    tn_runtime_log(scope->graph->runtime, TN_LOG_WARNING,
                   "constant '%s' cannot be refitted: there are several of this name, in bodies, "
                   "which are not equal",
                   name);
    while (scope->outer)
        scope = scope->outer;
    unmark(scope->graph, name);
    return tn_map_set(marker->marked, name, 0);
}

static tn_status mark_tensor(refit_marker *marker, const refit_scope *scope, tn_tensor_id id,
                             bool is_needed) {
    tn_graph_tensor *tensor = &scope->graph->tensors[id];
    const tn_builder_options *options = marker->options;
    uint64_t index = 0;
    if (!tensor->is_constant) return TN_OK;
    const char *name = name_of(scope, tensor);
    for (uint32_t i = 0; i < options->refit_count; i++)
        tn_nearest_offer(&marker->nearest[i], name);
    const bool is_wanted = tn_map_get(marker->wanted, name, &index);
    const bool is_float = (options->flags & TN_BUILD_REFIT) && tn_type_is_float(tensor->type);
    if (!is_wanted && !is_float) return TN_OK;
    if (is_wanted) marker->is_found[index] = true;
    const char *why = tn_graph_refuse_refit(tensor, is_needed);
    if (!why && tensor->use_count == 0) why = "nothing reads it";
    if (!why) return mark_as(marker, scope, tensor, name, is_wanted);
    return is_wanted ? refuse(name, why) : TN_OK;
}

static tn_status mark_graph(refit_marker *marker, const refit_scope *scope) {
    tn_graph *graph = scope->graph;
    bool *is_needed = tn_allocate_zero(graph->allocator, graph->tensor_count + 1, sizeof(bool));
    tn_status status = TN_OK;
    if (!is_needed) return tn_fail_memory("constants to be refitted");
    TN_GO(tn_graph_mark_values(graph, is_needed, NULL));
    for (tn_tensor_id t = 0; t < graph->tensor_count; t++)
        TN_GO(mark_tensor(marker, scope, t, is_needed[t]));
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t field = 0;
        tn_graph_body *body;
        if (graph->nodes[n].is_dead) continue;
        while ((body = tn_graph_next_body(&graph->nodes[n], &field)) != NULL) {
            const refit_scope inner = {.graph = body->graph, .outer = scope};
            TN_GO(tn_error_at(mark_graph(marker, &inner), "body '%s'", body->view.name));
        }
    }
done:
    tn_deallocate(graph->allocator, is_needed);
    return status;
}

static tn_status read_names(refit_marker *marker) {
    const tn_builder_options *options = marker->options;
    for (uint32_t i = 0; i < options->refit_count; i++) {
        if (!options->refit[i])
            return tn_fail(TN_ERROR_ARGUMENT, "the name of a constant to refit is null");
        TN_TRY(tn_map_set(marker->wanted, options->refit[i], i));
        tn_nearest_init(&marker->nearest[i], options->refit[i]);
    }
    return TN_OK;
}

static tn_status check_found(const refit_marker *marker) {
    const tn_builder_options *options = marker->options;
    for (uint32_t i = 0; i < options->refit_count; i++) {
        uint64_t index = i; /* a name may be given twice: the last one counts */
        (void)tn_map_get(marker->wanted, options->refit[i], &index);
        const char *best = marker->nearest[i].best;
        if (!marker->is_found[index])
            return tn_fail(TN_ERROR_NOT_FOUND, "there is no constant '%s' to refit%s%s%s",
                           options->refit[i], best ? "; the nearest is '" : "", best ? best : "",
                           best ? "'" : "");
    }
    return TN_OK;
}

tn_status tn_pass_mark_refit(tn_graph *graph, const tn_builder_options *options) {
    const tn_allocator *allocator = graph->allocator;
    refit_marker marker = {.options = options};
    const refit_scope whole = {.graph = graph};
    tn_status status = TN_OK;
    if (options->refit_count == 0 && !(options->flags & TN_BUILD_REFIT)) return TN_OK;
    marker.is_found = tn_allocate_zero(allocator, options->refit_count + 1u, sizeof(bool));
    marker.nearest =
        tn_allocate_zero(allocator, options->refit_count + 1u, sizeof(*marker.nearest));
    if (!marker.is_found || !marker.nearest) TN_GO(tn_fail_memory("constants to be refitted"));
    TN_GO(tn_map_create(allocator, &marker.wanted));
    TN_GO(tn_map_create(allocator, &marker.marked));
    TN_GO(read_names(&marker));
    TN_GO(mark_graph(&marker, &whole));
    TN_GO(check_found(&marker));
done:
    tn_map_destroy(marker.wanted);
    tn_map_destroy(marker.marked);
    tn_deallocate(allocator, marker.is_found);
    tn_deallocate(allocator, marker.nearest);
    return status;
}
