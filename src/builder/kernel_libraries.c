/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel libraries that come with Tenon, and whether a build needs them. Loading oneDNN and
 * asking it takes 2 to 3 ms, half of the build of a small network. Where estimates alone decide it
 * is known before: they prefer a library's kernels for blocks of channels alone, and a plan with
 * them has to win a share of the whole network (tn_lower_is_worth_openmp).
 */
#include "base/status.h"
#include "builder/build_state.h"
#include "builder/lower/lower_private.h"
#include "builder/rewrite/replace.h"

#include <math.h>
#include <string.h>

/* Whether the choice may do without what it has not seen. */
static bool is_by_estimates(const build_state *state) {
    const tn_builder_options *options = state->options;
    return (options->flags & TN_BUILD_NO_TIMING) && !(options->flags & TN_BUILD_REFERENCE) &&
           !state->cache && !options->timing_cache && options->precision == TN_PRECISION_F32 &&
           !options->force_kernel && options->pin_count == 0 &&
           !tn_runtime_forced_kernels(state->given->runtime) &&
           (!options->device || strcmp(options->device, "cpu") == 0);
}

/* Whether the graph has an operator of this name that takes no floats: rewrites of such ask which
 * kernels there are. */
static bool has_without_floats(const void *graph, const char *name) {
    const tn_graph *own = graph;
    for (size_t n = 0; n < own->node_count; n++) {
        const tn_operator_entry *entry = own->nodes[n].entry;
        if (strcmp(entry->op->name, name) == 0 && entry->op->input_count > 0 &&
            !(entry->inputs[0].types & TN_TYPE_BIT(TN_F32)))
            return true;
    }
    return false;
}

tn_status tn_build_load_kernels_first(const build_state *state) {
    return tn_runtime_load_companions(
        state->given->runtime, is_by_estimates(state) ? has_without_floats : tn_graph_has_operator,
        state->given);
}

/* ----------------------------------------------------------------------------------------------
 * what a library's operators could win */

typedef struct question {
    build_state *state;
    tn_status status;
} question;

/* Whether blocks of channels for all nodes of an operator would make the network's work so much
 * less. What bytes take is left out: it makes the share smaller. */
static bool wins_by_blocks(const tn_graph *graph, const tn_inference *optimum, const char *name) {
    double work = 0, saved = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        const double figure = node->is_dead ? 0 : tn_lower_work(graph, optimum, node);
        if (!(figure > 0)) continue;
        const double own = figure * tn_lower_linear_factor(graph, optimum, node);
        work += own;
        if (strcmp(node->entry->op->name, name) == 0)
            saved += fmax(0, own - figure * tn_lower_blocked_factor(graph, optimum, node));
    }
    return tn_lower_is_worth_loading(work - saved, work);
}

/* Whether a kernel that is there serves a node in 32-bit floats, of which estimates know. */
static bool is_served(question *q, const built_profile *profile, uint32_t node) {
    const tn_graph *graph = q->state->graph;
    const tn_tensor_id read =
        graph->nodes[node].input_count > 0 ? graph->nodes[node].inputs[0] : TN_NO_TENSOR;
    tn_arena *arena = NULL;
    int found = TN_KERNELS_NONE;
    if (read == TN_NO_TENSOR ||
        profile->shapes.points[TN_POINT_OPTIMUM]->tensors[read].storage.tensor.type != TN_F32)
        return false;
    q->status = tn_arena_create(graph->allocator, &arena);
    if (q->status == TN_OK)
        q->status =
            tn_kernels_of(&q->state->passes, graph, node, profile->shapes.points, arena, &found);
    tn_arena_destroy(arena);
    return q->status == TN_OK && found == TN_KERNELS_PROCESSOR;
}

static bool is_wanted(const void *user, const char *name) {
    question *q = (question *)(uintptr_t)user;
    const tn_graph *graph = q->state->graph;
    if (!tn_graph_has_operator(graph, name)) return false;
    for (uint32_t p = 0; p < q->state->sets.count; p++) {
        const built_profile *profile = &q->state->profiles[p];
        if (wins_by_blocks(graph, profile->shapes.points[TN_POINT_OPTIMUM], name)) return true;
        for (uint32_t n = 0; n < graph->node_count; n++)
            if (!graph->nodes[n].is_dead && strcmp(graph->nodes[n].entry->op->name, name) == 0 &&
                !is_served(q, profile, n))
                return true;
    }
    return false;
}

tn_status tn_build_load_kernels(build_state *state) {
    const question q = {.state = state};
    if (!is_by_estimates(state)) return TN_OK;
    TN_TRY(tn_runtime_load_companions(state->graph->runtime, is_wanted, &q));
    return q.status;
}
